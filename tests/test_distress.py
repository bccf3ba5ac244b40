"""Distress is found in the words, sayings are not taken for it, and the reply is careful."""

import re
import time
from collections import Counter
from pathlib import Path

import pytest

from models.errors import BackendError
from models.thinking import distress
from models.thinking.phrases import SCANNED, plain
from models.thinking.reading import read
from models.types import Turn

TABLE = distress.load()
KINDS = ("danger_now", "medical", "other_at_risk", "self_harm", "harm_to_others", "abuse")
SENTENCES = [
    (sentence, None if kind == "-" else kind)
    for line in Path(__file__).with_name("data").joinpath("distress.txt").read_text().splitlines()
    if not line.startswith("#")
    for kind, sentence in [line.split(" | ", 1)]
]
SMALL = """
emergency = "the desk"
helplines = "the front office"
harmless = ["just a bear costume"]
settled = ["it left"]
[words]
beast = "bear|wolf"
[kinds.bears]
phrases = ["a <beast> is here"]
replies = ["Call {emergency}. {helplines} knows bears.", "Ask {helplines} again."]
"""


def said(*turns: str) -> str | None:
    """The danger in the last of a user's turns, each answered but the last."""
    dialogue = [t for text in turns for t in (Turn("user", text), Turn("assistant", "I see."))]
    return read(dialogue[:-1]).danger


def test_real_distress_is_told_from_what_only_sounds_like_it() -> None:
    found = {sentence: TABLE.kind(plain(sentence)) for sentence, _ in SENTENCES}
    missed = [s for s, kind in SENTENCES if kind and not found[s]]
    false = [s for s, kind in SENTENCES if found[s] and not kind]
    real = sum(kind is not None for _, kind in SENTENCES)
    assert real >= 200 and len(SENTENCES) - real >= 200
    assert len(missed) <= 0.01 * real, missed
    assert not false


def test_the_kind_of_distress_is_right() -> None:
    confused = Counter(
        (kind, found)
        for sentence, kind in SENTENCES
        if kind and (found := TABLE.kind(plain(sentence))) and found != kind
    )
    assert not confused
    assert {kind for _, kind in SENTENCES if kind} == set(KINDS) == set(TABLE.kinds)


@pytest.mark.parametrize("spoken", [str.upper, str.lower, lambda text: re.sub(r"[^\w ]", "", text)])
def test_it_is_found_without_capitals_or_marks(spoken: object) -> None:
    assert callable(spoken)
    for sentence in ("I'm going to kill myself.", "He hits me!", "I can't breathe, help!"):
        assert TABLE.kind(plain(spoken(sentence)))


def test_a_saying_does_not_hide_what_is_said_beside_it() -> None:
    assert said("This traffic is killing me. I want to die.") == "self_harm"
    assert said("I'm not suicidal, but I don't see a reason to live.") == "self_harm"
    assert said("I love that song called Goodbye and I want to kill myself") == "self_harm"


def test_what_is_happening_now_comes_before_all_else() -> None:
    assert said("I want to die and there is smoke in the house") == "danger_now"
    assert said("I wanted to kill myself so I took too many pills") == "medical"


def test_a_short_answer_does_not_end_it() -> None:
    assert said("I want to kill myself", "no") == "self_harm"
    assert said("I want to kill myself", "yes there is someone") == "self_harm"


def test_it_lasts_over_several_short_answers() -> None:
    assert said("I want to die", "yes", "no") == "self_harm"
    assert said("I want to die", "yes", "no", "maybe", "I don't know") == "self_harm"
    assert said("I want to die", "yes", "no", "maybe", "ok", "hello") is None
    pills = ("I took too many pills", "no it was an accident", "what should I do")
    assert said(*pills) == "medical"


def test_over_means_over_for_what_comes_after_it() -> None:
    assert said("I want to die", "just kidding", "hello") is None


@pytest.mark.parametrize("answer", ["I was just kidding", "I'm safe now", "the police are here"])
def test_being_told_that_it_is_over_ends_it(answer: str) -> None:
    assert said("someone is breaking into my house", answer) is None


def test_going_on_to_something_else_ends_it() -> None:
    later = "I talked to my sister and we are going to have dinner together tonight"
    assert said("I want to kill myself", later) is None
    assert said("I want to kill myself", later, "yes") is None


def test_distress_in_a_pause_belongs_to_the_same_turn() -> None:
    parts = [Turn("user", "I have been thinking"), Turn("user", "about killing myself")]
    assert read(parts).danger == "self_harm"


def test_distress_is_found_at_the_end_of_a_paste() -> None:
    assert said("lorem ipsum dolor " * 2000 + "I want to kill myself") == "self_harm"


def test_distress_is_found_in_the_middle_of_a_paste() -> None:
    around = "the budget was discussed at length by everyone in the room. " * 250
    assert said(f"{around} I want to kill myself. {around}") == "self_harm"
    assert said(around + around) is None


def test_looking_for_it_is_bounded_work() -> None:
    assert len(plain("word " * 100_000, SCANNED, SCANNED).split()) == 2 * SCANNED
    for paste in ("he said that I want to go on and ", "not my own life or hers ", "i "):
        words = plain(paste * 2000, SCANNED, SCANNED)
        start = time.process_time()
        TABLE.kind(words)
        assert time.process_time() - start < 1.0, paste  # about a tenth of it


def test_a_game_told_of_before_explains_a_beating_and_nothing_else_does() -> None:
    assert said("my wife beat me at tennis", "my brother always beats me") is None
    assert said("I lost a game of chess today", "he beats me every time") is None
    assert said("my wife came home", "my brother always beats me") == "abuse"
    assert said("my husband plays tennis and he beats me") == "abuse"
    assert said("my wife beat me at tennis", "my brother hits me") == "abuse"


def test_it_is_found_in_another_language() -> None:
    found = read([Turn("user", "Bonjour, je suis très triste, je veux mourir")])
    assert (found.danger, found.need, found.language) == ("self_harm", "safety", "fr")


def test_someone_bereaved_by_suicide_tells_sad_news() -> None:
    bereaved = read([Turn("user", "My grandpa died by suicide in 1990")])
    assert (bereaved.danger, bereaved.emotion, bereaved.about) == (None, "sad", "your grandpa")
    assert said("My dad died by suicide and I want to die too") == "self_harm"


@pytest.mark.parametrize("kind", KINDS)
def test_every_reply_names_a_place_to_turn_to_and_is_no_diagnosis(kind: str) -> None:
    for reply in TABLE.replies[kind]:
        assert "your local emergency number" in reply.lower()
        assert not re.search(r"[{}]|\d", reply), "no number is invented"
        assert not re.search(r"depress|disorder|diagnos|symptom|trauma|syndrome", reply.lower())
        assert 10 <= len(reply.split()) <= 60


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_is_not_said_twice_while_there_is_more_to_say(kind: str) -> None:
    given: list[str] = []
    for _ in TABLE.replies[kind]:
        given.append(TABLE.reply(kind, given))
    assert len(set(given)) == len(given) >= 2
    assert TABLE.reply(kind, given) == given[-1]


def test_a_reply_that_was_cut_short_counts_as_said() -> None:
    first = TABLE.reply("medical")
    assert TABLE.reply("medical", [first.split(". ")[0] + "."]) != first


def test_an_operator_brings_a_table(tmp_path: Path) -> None:
    file = tmp_path / "ours.toml"
    file.write_text(SMALL)
    ours = distress.load(file)
    assert ours.kind("a wolf is here") == "bears"
    assert ours.kind("just a bear costume a bird is here") is None
    assert read([Turn("user", "A bear is here!")], ours).danger == "bears"
    assert ours.reply("bears") == "Call the desk. The front office knows bears."
    assert (
        distress.load(file, "Ranger Kim").reply("bears") == "Call the desk. Ranger Kim knows bears."
    )


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (("helplines =", "help ="), "lacks 'helplines'"),
        (("{emergency}", "{police}"), "lacks 'police'"),
        (("<beast>", "<bird>"), "lacks 'bird'"),
        (("a <beast>", "a (<beast>"), "is wrong"),
        (("[words]", "[words"), "is wrong"),
        (('["Call', '[3, "Call'), "is wrong"),
        ((SMALL[SMALL.index("replies") :], "replies = []"), "nothing to say"),
    ],
)
def test_a_wrong_table_is_refused_in_one_sentence(
    tmp_path: Path, broken: tuple[str, str], sentence: str
) -> None:
    file = tmp_path / "ours.toml"
    file.write_text(SMALL.replace(*broken))
    with pytest.raises(BackendError, match=re.escape(sentence)):
        distress.load(file)


def test_a_missing_table_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="cannot be read"):
        distress.load(tmp_path / "none.toml")
