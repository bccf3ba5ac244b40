"""Words that were recognised and words that were answered, against values computed by hand."""

import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.consent import Consent
from server.scoring.annotation import Annotation
from server.scoring.exchange import Exchange
from server.scoring.score import Score, Unavailable, Unscored
from server.scoring.settings import EncoderSettings, Settings
from server.scoring.words import choices, overlap, understanding, wordnet
from server.scoring.words.answers import key_letter, labelled, parsed
from server.scoring.words.encoders import Absent
from server.scoring.words.normal import normal
from server.scoring.words.tokens import tokenizer
from server.scoring.words.understanding import Understanding, word_errors
from server.scoring.words.wordnet import WordNet
from tests.scoring_parts import exchange

NO_TRANSCRIPT = Consent(transcript=False, audio=True, research=True)
ABSENT = Absent("no encoder is configured")


def told(made: Exchange, **annotation: Any) -> Exchange:
    return replace(made, annotation=Annotation(**annotation))


def near(value: float) -> Any:
    return pytest.approx(value, abs=5e-4)


# -- word errors


@pytest.mark.parametrize(
    ("truth", "heard", "percent", "why"),
    [
        # sat→sit, "the" left out: 2 of 6
        ("the cat sat on the mat", "the cat sit on mat", 100 / 3, "1 substituted, 1 left out"),
        ("yes", "oh yes it is", 300, "0 substituted, 0 left out, 3 put in, 1 right"),
        ("Hello, world.", "hello world", 100, "2 substituted"),
        ("a b c d", "a b c d", 0, "4 right"),
        ("a b c d", "", 100, "4 left out"),
        ("a b c d", "d c b a", 100, ""),  # however it is turned back, it takes four changes
        ("say  it\tagain", "say it again", 0, "3 right"),
    ],
)
def test_word_errors_are_those_counted_by_hand(
    truth: str, heard: str, percent: float, why: str
) -> None:
    found = word_errors(truth, heard)

    assert found.value == near(percent)
    assert why in found.why


def test_word_errors_need_words_to_compare_with() -> None:
    with pytest.raises(Unscored, match="no words"):
        word_errors("  ", "something")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Hello, World!", "hello world"),
        ("I'm here; he won't, they've gone.", "i am here he will not they have gone"),
        ("She'd been there. It's been long.", "she had been there it has been long"),
        ("Mr. Smith, Dr. Who", "mister smith doctor who"),
        ("um, well, uh [noise] (laughs) yes", "well yes"),
        ("don’t — “quoted”…", "do not quoted"),
        ("Café naïve Ærø straße", "cafe naive aero strasse"),
        ("twenty-five", "25"),
        ("one hundred and one", "101"),
        ("two thousand and five", "2005"),
        ("two thousand three hundred", "2300"),
        ("one million two hundred thousand and three", "1200003"),
        ("nineteen ninety five", "1995"),
        ("one oh one", "101"),
        ("three point one four", "3.14"),
        ("two and a half", "2.5"),
        ("1,000,000", "1000000"),
        ("$5 million", "$5000000"),
        ("five dollars and seven cents", "$5.07"),
        ("fifty per cent", "50%"),
        ("minus five", "-5"),
        ("the twenty first", "the 21st"),
        ("the 3rd, the twelfth", "the 3rd the 12th"),
        ("the nineteen sixties", "the 1960s"),
        ("double five seven", "557"),
        ("5pm", "5 pm"),
        ("no one", "no one"),
        ("oh dear", "oh dear"),
        ("and a hundred more", "and a 100 more"),
        ("12 13", "12 13"),
        ("", ""),
        ("...?!", ""),
        ("$ % .", ""),
        ("9" * 5000, "9" * 5000),
        ("٣ cats", "3 cats"),
    ],
)
def test_what_two_transcripts_should_agree_on(text: str, plain: str) -> None:
    assert normal(text) == plain


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "I'm twenty-one, he's 5'11, they've won 2.5 million dollars!",
        "one thousand nine hundred and eighty four, seven eleven, two oh five",
        "Dr. Jones's 4th of July, the twenty-second, thousands of people in the sixties",
        "It cost five dollars and seven cents, or 50 per cent; 1,000,000 (roughly) [noise].",
        "we gotta go, y'all coulda told me, ma'am; she'd gone, it's got to be, I'ma see",
        "double five, then zero point five, a ten thousandth of three hundred and three people",
        "Café, naïve, œuvre, 3:30 pm, b2b, a million and a half, minus five degrees",
    ],
)
def test_it_agrees_with_the_normaliser_it_follows(text: str) -> None:
    whisper = pytest.importorskip("transformers.models.whisper.english_normalizer")

    assert normal(text) == " ".join(whisper.EnglishTextNormalizer({})(text).split())


@pytest.mark.parametrize(
    ("british", "american"),
    [
        ("colour", "color"), ("favourite", "favorite"), ("neighbours", "neighbors"),
        ("organisation", "organization"), ("apologised", "apologized"), ("analyse", "analyze"),
        ("centre", "center"), ("kilometres", "kilometers"), ("travelling", "traveling"),
        ("dialogue", "dialog"), ("defence", "defense"), ("anaemia", "anemia"),
        ("haemoglobin", "hemoglobin"), ("grey", "gray"), ("programme", "program"),
    ],
)  # fmt: skip
def test_both_spellings_are_one_word(british: str, american: str) -> None:
    assert normal(british) == normal(american)


@pytest.mark.parametrize(
    "pair",
    [
        ("raise", "raize"),
        ("prise", "prize"),
        ("four", "for"),
        ("hour", "hor"),
        ("michael", "michel"),
    ],
)
def test_words_that_only_look_like_spellings_stay_apart(pair: tuple[str, str]) -> None:
    assert normal(pair[0]) != normal(pair[1])


def test_an_utterance_is_scored_as_written_and_normalised() -> None:
    instrument = Understanding("key", ABSENT, ABSENT)
    said = told(exchange("I am twenty five."), text="I'm 25!")

    scores = instrument.measure(said)

    # two words were said and four written: two substituted, two put in
    assert scores["wer_raw"].value == near(200)
    assert scores["wer"].value == 0
    assert scores["semsim"] == scores["semsim_minilm"] == Score.none("no encoder is configured")


def test_nothing_recognised_is_all_wrong_and_not_left_out() -> None:
    class Reads:
        key = "reads"

        def vector(self, text: str) -> Any:
            raise AssertionError("nothing to read")

    scores = Understanding("key", Reads(), Reads()).measure(told(exchange(""), text="Say it."))

    assert scores["wer_raw"].value == scores["wer"].value == 100
    assert scores["semsim"] == scores["semsim_minilm"] == Score(0.0, "nothing was recognised")


@pytest.mark.parametrize(
    ("made", "annotation", "reason"),
    [
        (exchange(), {}, "no true transcript"),
        (exchange(), {"text": "  "}, "the true transcript is empty"),
        (exchange(consent=NO_TRANSCRIPT), {"text": "Yes."}, "no consent to words"),
        (replace(exchange(), user=None), {"text": "Yes."}, "no user turn"),
    ],
)
def test_an_utterance_is_unscored_for_a_reason(
    made: Exchange, annotation: dict[str, str], reason: str
) -> None:
    with pytest.raises(Unscored, match=reason):
        Understanding("key", ABSENT, ABSENT).measure(told(made, **annotation))


def test_a_truth_of_fillers_only_has_no_normalised_rate() -> None:
    scores = Understanding("key", ABSENT, ABSENT).measure(told(exchange("Um."), text="Um, uh."))

    assert scores["wer"].value is None
    assert scores["wer_raw"].value == 100  # "Um," and "uh." against "Um."


# -- multiple choice

FOUR = (
    "A. The speaker's voice shows happiness.",
    "B. The speaker is female.",
    "C. The speaker sighs while speaking.",
    "D. There is a dog.",
)
YES_NO = ("A. Yes", "B. No")


@pytest.mark.parametrize(
    ("reply", "letter", "way"),
    [
        # EchoMind's form
        ("The answer is: C", "C", "stated"),
        ("The answer is: [C]", "C", "stated"),
        ("the answer is: c.", "C", "stated"),
        ("The answer is C.", "C", "stated"),
        ("The answer is：C", "C", "stated"),
        ("The answer is: **B**", "B", "stated"),
        ("The correct answer is (B) The speaker is female.", "B", "stated"),
        ("I listened. The answer is: D because of the barking.", "D", "stated"),
        ("The answer is: A.", "A", "stated"),
        ("The answer is: A because it is bright", "A", "stated"),
        ("The answer is: A, a happy voice", "A", "stated"),
        ("The answer is: C, A happy voice would be brighter", "C", "stated"),
        ("The answer is: B, I think.", "B", "stated"),
        ("The answer is: C. Once more, the answer is: C.", "C", "stated"),
        ("The answer is: C. Not A.", "C", "stated"),
        ("The answer is: E", "E", "stated"),
        # the letter
        ("C", "C", "letter"),
        ("(c)", "C", "letter"),
        ("B.", "B", "letter"),
        ("C. The speaker sighs while speaking.", "C", "letter"),
        ("D) There is a dog", "D", "letter"),
        ("B, because she sounds female", "B", "letter"),
        ("Answer: D", "D", "letter"),
        ("I'd say option D, because of the barking", "D", "letter"),
        ("I think it's B.", "B", "letter"),
        ("B is correct.", "B", "letter"),
        ("B isn't right. It's C.", "C", "letter"),
        # the option's words
        ("I hear that the speaker sighs while speaking, sadly", "C", "words"),
        ("THE SPEAKER IS FEMALE", "B", "words"),
    ],
)
def test_an_answer_is_read(reply: str, letter: str, way: str) -> None:
    found = parsed(reply, FOUR)

    assert found is not None
    assert (found.letter, found.way) == (letter, way)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I don't know.",
        "The answer is: [A/B/C/D]",
        "The answer is: A or B",
        "The answer is: B or C because of the sigh",
        "The answer is: A, B",
        "The answer is: A. No, the answer is: B.",
        "The answer is: a dog",
        "The answer is: A dog",
        "The answer is not B",
        "A dog barks.",
        "It is a sad story.",
        "B and C are right",
        "Option A and option B",
        "The speaker is female. The speaker sighs while speaking.",
        "I sigh.",
    ],
)
def test_who_names_no_option_or_two_has_not_answered(reply: str) -> None:
    assert parsed(reply, FOUR) is None


@pytest.mark.parametrize(
    ("reply", "options", "letter"),
    [
        ("Yes", YES_NO, "A"),
        ("yes, the user laughs", YES_NO, "A"),
        ("I would say no.", YES_NO, "B"),
        ("I have no idea", YES_NO, None),
        ("No idea.", YES_NO, None),
        ("Yes and no.", YES_NO, None),
        ("very happy", ("A. Happy", "B. Very happy"), "B"),
        ("The speaker is male.", ("Male", "Female"), "A"),
    ],
)
def test_short_options_must_stand_out(
    reply: str, options: tuple[str, ...], letter: str | None
) -> None:
    found = parsed(reply, options)

    assert (found.letter if found else None) == letter


def test_options_carry_their_letters_or_get_them_by_place() -> None:
    assert labelled(("A. Yes", "(b) No")) == {"A": "Yes", "B": "No"}
    assert labelled(("A. Yes", "No")) == {"A": "A. Yes", "B": "No"}
    assert [key_letter(key, YES_NO) for key in ("b", "(B)", "B. No", "No", "Maybe")] == [
        "B", "B", "B", "B", None,
    ]  # fmt: skip


def asked(reply: str | None, **annotation: Any) -> Exchange:
    question = {"question": "Does it?", "options": YES_NO, "answer": "B", "level": "reasoning"}
    return told(exchange(reply=reply), **question | annotation)


def test_a_question_counts_for_its_level() -> None:
    instrument = choices.build(Settings())

    right = instrument.measure(asked("The answer is: B"))
    wrong = instrument.measure(asked("The answer is: A", level="understanding"))

    assert right["choice_reasoning"] == Score(100.0, "B (stated); right is B")
    assert right["choice_understanding"] == Score.none("a question of the other level")
    assert wrong["choice_understanding"] == Score(0.0, "A (stated); right is B")


@pytest.mark.parametrize(
    ("reply", "why"), [("Let me think.", "unparsed; right is B"), (None, "no answer; right is B")]
)
def test_no_answer_is_a_wrong_one(reply: str | None, why: str) -> None:
    scores = choices.build(Settings()).measure(asked(reply))

    assert scores["choice_reasoning"] == Score(0.0, why)


@pytest.mark.parametrize(
    ("annotation", "reason"),
    [
        ({"question": None}, "no multiple-choice question"),
        ({"answer": None}, "no multiple-choice question"),
        ({"level": None}, "a question of no level"),
        ({"answer": "Maybe"}, "the question's key is no option"),
    ],
)
def test_a_question_is_unscored_for_a_reason(annotation: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unscored, match=reason):
        choices.build(Settings()).measure(asked("B", **annotation))


# -- words in common


@pytest.fixture(scope="module")
def plain_overlap() -> Any:
    """Without WordNet, whatever this machine has."""
    built: Any = overlap.build(Settings(encoders=EncoderSettings(wordnet=Path("/nowhere"))))
    return built


def scored(instrument: Any, reply: str | None, reference: str) -> Mapping[str, Score]:
    found: Mapping[str, Score] = instrument.measure(
        told(exchange(reply=reply), reference=reference)
    )
    return found


@pytest.mark.parametrize(
    ("reply", "reference", "value"),
    [
        # 5/6 · 3/5 · 2/4 · 1/3 = 1/12, and its fourth root
        ("the cat sat on the mat", "the cat sat on a mat", 100 * (1 / 12) ** 0.25),
        ("THE CAT SAT ON THE MAT", "The cat sat on a mat", 100 * (1 / 12) ** 0.25),
        # 2/4 · 1/3 · 0.1/2 · 0.1/1: method 1 puts 0.1 for nought
        ("yes i am here", "i am there now", 100 * (1 / 1200) ** 0.25),
        # 2/2 · 1/1 · 0.1 · 0.1, half as long as it should be: e^(1 - 4/2)
        ("i am", "i am so sorry", 100 * 0.01**0.25 * 0.36787944),
        ("i am here", "i am here", 100 * 0.1**0.25),  # there are no four words in it
        ("we hear you well", "we hear you well", 100),
        ("we hear you 25 !", "we hear you 25!", 100),
        # tokens: that 's great . / that is great . → 3/4 · 1/3 · 0.1/2 · 0.1/1
        ("That's great.", "That is great.", 100 * (1 / 800) ** 0.25),
        ("nothing shared", "other words", 0),
        ("日本 東京 大阪 京都", "日本 東京 大阪 京都", 100),
    ],
)
def test_bleu_is_the_one_computed_by_hand(
    plain_overlap: Any, reply: str, reference: str, value: float
) -> None:
    assert scored(plain_overlap, reply, reference)["bleu4"].value == near(value)


def test_tokens_are_those_of_a_treebank_with_full_stops_apart() -> None:
    _, tokenize = tokenizer()

    assert tokenize("mr. smith can't come. sorry! it's 5 p.m. now, ok?") == [
        "mr.", "smith", "ca", "n't", "come", ".", "sorry", "!", "it", "'s", "5", "p.m.", "now",
        ",", "ok", "?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("reply", "reference", "value"),
    [
        # the longest in order is "the sat on": 3 of 6 and 3 of 6
        ("the mat sat on a cat", "the cat sat on the mat", 50),
        # "sad": 1 of 2 and 1 of 4 → 2 · ½ · ¼ / ¾
        ("oh sad", "you sound sad today", 100 / 3),
        # it s 5 / its 5: 1 of 3 and 1 of 2 → 2 · ⅓ · ½ / ⅚
        ("It's 5!", "its 5", 40),
        ("we hear you", "We hear you.", 100),
        ("she walks", "she walk", 50),  # not stemmed
        ("nothing shared", "other words", 0),
        ("!!!", "other words", 0),
    ],
)
def test_rouge_is_the_longest_common_sequence_counted_by_hand(
    plain_overlap: Any, reply: str, reference: str, value: float
) -> None:
    assert scored(plain_overlap, reply, reference)["rouge_l"].value == near(value)


def test_rouge_tells_how_much_of_either_is_shared(plain_overlap: Any) -> None:
    found = scored(plain_overlap, "oh sad", "you sound sad today")["rouge_l"]

    assert found.why == "precision 50.0, recall 25.0"


@pytest.mark.parametrize(
    ("reply", "reference", "value"),
    [
        # 5 of 6 both ways in 2 runs: 5/6 · (1 - ½ · (2/5)³)
        ("the cat was on the mat", "the cat sat on the mat", 100 * 5 / 6 * 0.968),
        # by stem, all 3 in a run: 1 - ½ · (1/3)³
        ("she walked home", "she walks home", 100 * (1 - 1 / 54)),
        # 2 of 2 and 2 of 4: 0.5 / (0.9 + 0.05), and 1 - ½ · (1/2)³
        ("so sorry", "i am so sorry", 100 * 0.5 / 0.95 * 0.9375),
        # no synonyms: 2 of 3 both ways
        ("a big automobile", "a big car", 100 * 2 / 3 * 0.9375),
        ("HOME", "home", 50),
        ("home.", "home", 0),  # cut at spaces: the full stop is part of the word
        ("naïve café 25", "naïve café 25", 100 * (1 - 1 / 54)),
    ],
)
def test_meteor_without_synonyms_is_the_one_computed_by_hand(
    plain_overlap: Any, reply: str, reference: str, value: float
) -> None:
    scores = scored(plain_overlap, reply, reference)

    assert scores["meteor_nosyn"].value == near(value)
    assert scores["meteor"].unscored == (
        "there is no WordNet in the folder given as encoders.wordnet"
    )


@pytest.mark.parametrize("reply", [None, "", "   "])
def test_no_reply_shares_nothing(plain_overlap: Any, reply: str | None) -> None:
    scores = scored(plain_overlap, reply, "I am so sorry.")

    for name in ("bleu4", "rouge_l", "meteor_nosyn"):
        assert scores[name] == Score(0.0, "no reply")


def test_a_reply_is_unscored_without_a_reference_or_consent(plain_overlap: Any) -> None:
    for made, reason in (
        (exchange(), "no reference reply"),
        (told(exchange(), reference=" "), "the reference reply is empty"),
        (told(exchange(consent=NO_TRANSCRIPT), reference="Yes."), "no consent to words"),
    ):
        with pytest.raises(Unscored, match=reason):
            plain_overlap.measure(made)


# -- synonyms

SENSES = {
    "noun": [["car", "auto", "automobile", "motor_car"], ["goose"], ["car", "railcar"]],
    "verb": [["travel", "go", "move"]],
    "adj": [["large", "big(a)"], ["Great", "big"]],
    "adv": [["quickly"]],
}
IRREGULAR = {"noun": "geese goose\n", "verb": "went go\n"}


@pytest.fixture(scope="module")
def small_wordnet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In the form of WordNet's own files, a licence at the head of each."""
    folder = tmp_path_factory.mktemp("wordnet")
    head = "  1 A licence.  \n  2 It goes on.  \n"
    for part, senses in SENSES.items():
        data = head
        index: dict[str, list[int]] = {}
        for words in senses:
            for word in words:
                lemma = word.partition("(")[0].lower()
                index.setdefault(lemma, []).append(len(data))
            listed = " ".join(f"{word} 0" for word in words)
            data += f"{len(data):08d} 06 {part[0]} {len(words):02x} {listed} 000 | what it is  \n"
        (folder / f"data.{part}").write_text(data)
        lines = [
            f"{lemma} {part[0]} {len(at)} 1 @ {len(at)} 0 {' '.join(f'{each:08d}' for each in at)}"
            for lemma, at in sorted(index.items())
        ]
        (folder / f"index.{part}").write_text(head + "  \n".join(lines) + "  \n")
        (folder / f"{part}.exc").write_text(IRREGULAR.get(part, ""))
    return folder


@pytest.mark.parametrize(
    ("word", "senses"),
    [
        ("car", [("car", "auto", "automobile", "motor_car"), ("car", "railcar")]),
        ("cars", [("car", "auto", "automobile", "motor_car"), ("car", "railcar")]),
        ("geese", [("goose",)]),
        ("went", [("travel", "go", "move")]),
        ("moving", [("travel", "go", "move")]),
        ("bigger", []),  # "bigg" is no word
        ("big", [("large", "big"), ("Great", "big")]),
        ("larger", [("large", "big")]),
        ("quickly", [("quickly",)]),
        ("CAR", [("car", "auto", "automobile", "motor_car"), ("car", "railcar")]),
        ("", []),
        ("zebra", []),
        ("aa", []),
    ],
)
def test_a_word_has_its_senses(small_wordnet: Path, word: str, senses: list[Any]) -> None:
    assert [found.words for found in WordNet(small_wordnet).synsets(word)] == senses


def test_every_word_of_an_index_is_found(small_wordnet: Path, tmp_path: Path) -> None:
    for path in small_wordnet.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    lines = (small_wordnet / "index.noun").read_text().splitlines()
    goose = next(line for line in lines if line.startswith("goose")).partition(" ")[2]
    words = sorted(f"{first}x{last}" for first in "abcdefghijkl" for last in "aeiou")
    listed = "\n".join(f"{word} {goose}" for word in words)
    (tmp_path / "index.noun").write_text(f"{lines[0]}\n{listed}\n")
    found = WordNet(tmp_path)

    assert all([each.words for each in found.synsets(word)] == [("goose",)] for word in words)
    assert not any(found.synsets(word) for word in ("a", "ax", "lxz", "zz", "0"))


def test_meteor_knows_synonyms_where_there_is_a_wordnet(small_wordnet: Path) -> None:
    built = overlap.build(Settings(encoders=EncoderSettings(wordnet=small_wordnet)))

    scores = scored(built, "a big auto", "a big car")

    assert scores["meteor"].value == near(100 * (1 - 1 / 54))  # all 3 in a run
    # What is left over has been stemmed, and "automobil" is no word: so it is with NLTK.
    assert scored(built, "a big automobile", "a big car")["meteor"].value == near(62.5)
    assert scores["meteor_nosyn"] == Score.none("there is a WordNet: see meteor")
    assert built.key != overlap.build(Settings()).key


def test_a_zip_of_nltk_serves_as_well(small_wordnet: Path, tmp_path: Path) -> None:
    (tmp_path / "corpora").mkdir()
    with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as packed:
        for path in small_wordnet.iterdir():
            packed.write(path, f"wordnet/{path.name}")

    found = wordnet.find(None, [str(tmp_path)])

    assert [each.words for each in WordNet(found).synsets("geese")] == [("goose",)]


def test_a_wordnet_is_looked_for_and_its_absence_told(
    small_wordnet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "none")
    with pytest.raises(Unavailable, match="apt-get install wordnet-base"):
        wordnet.find(None, [str(tmp_path)])

    monkeypatch.setattr(wordnet, "DEBIAN", small_wordnet)
    assert wordnet.find(None, []) == small_wordnet

    (tmp_path / "index.noun").touch()
    with pytest.raises(Unavailable, match="is not whole"):
        WordNet(tmp_path)


def test_measures_and_scores_have_the_same_names() -> None:
    asked_too = asked("B", text="Yes.", reference="I am sorry.")
    for module in (choices, overlap):
        names = {measure.name for measure in module.MEASURES}
        assert set(module.build(Settings()).measure(asked_too)) == names
    scores = Understanding("key", ABSENT, ABSENT).measure(asked_too)
    assert set(scores) == {measure.name for measure in understanding.MEASURES}
