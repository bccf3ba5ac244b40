"""Evaluating the reply model: what is asked, what is counted, and what readers may not know."""

import json
import math
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from models import adapter_files, evaluate_reply, weights
from models.corpus.exchange import Exchange, Split, Way, load
from models.corpus.references import of_all, of_author
from models.percept import Affect
from models.responder_llamacpp import LlamaCpp
from models.thinking.imagined import imagined
from models.thinking.noticing import notice
from models.thinking.plan import Strategy
from models.thinking.told import Told
from models.tuning import emobank
from models.tuning.emobank import Perspective, Sentence
from models.tuning.evaluation import (
    chat,
    contestants,
    dream,
    emotions,
    judge,
    live,
    pairs,
    verdicts,
)
from models.tuning.evaluation.contestants import gguf, model_key, parse, parse_all
from models.tuning.evaluation.errors import EvaluationError
from models.tuning.evaluation.figures import of_corpus as corpus_figures
from models.tuning.evaluation.intervals import exact_interval, figure, sign_test
from models.tuning.evaluation.kept import Kept
from models.tuning.evaluation.manner import manner
from models.tuning.evaluation.meaning import Meaning
from models.tuning.evaluation.overlap import bleu4, meteor, overlap, rouge_l
from models.tuning.evaluation.plan_fit import of_rules, shared
from models.tuning.evaluation.preference import preference
from models.tuning.evaluation.questions import (
    How,
    Plans,
    Question,
    live_of_corpus,
    name,
    of_corpus,
    of_echomind,
)
from models.tuning.evaluation.replies import Answer, answer, collect
from models.tuning.evaluation.steering import of_gender, steering
from models.tuning.evaluation.weighing import Remembered
from models.tuning.examples import asked, empathic
from models.tuning.planned import plan_of, planned
from models.types import Turn

CORPUS = load(Split.TEST)
SEED = 7


class StandIn:
    """A Responder that answers the last words by a function, and counts how often."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self.answer = answer
        self.asked = 0

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        self.asked += 1
        for word in self.answer(dialogue[-1].text).split(" "):
            yield f"{word} "

    def close(self) -> None:
        pass


class Scale:
    """A Weigher by a function of what is read and what would be said."""

    def __init__(self, weigh: Callable[[str, str], float]) -> None:
        self.weigh = weigh
        self.asked: list[tuple[str, str, tuple[str, ...]]] = []

    def answers(self, turns: Sequence[Turn], answers: Sequence[str]) -> list[float]:
        self.asked.append((turns[-1].text, "", tuple(answers)))
        return [self.weigh(turns[-1].text, each) for each in answers]

    def endings(self, turns: Sequence[Turn], begun: str, endings: Sequence[str]) -> list[float]:
        self.asked.append((turns[-1].text, begun, tuple(endings)))
        return [self.weigh(begun, each) for each in endings]


def same(one: str, other: str) -> float:
    """Nearness without an encoder."""
    return float(one == other)


def spoken(texts: dict[str, str]) -> dict[str, Answer]:
    return {place: answer(text, Told.PLAN) for place, text in texts.items()}


def references(exchanges: Sequence[Exchange], of: Callable[[Way], Way]) -> dict[str, str]:
    return {name(each.id, way): each.variants[of(way)].reply for each in exchanges for way in Way}


# --- what is asked


def test_a_plan_that_is_told_is_the_rules_own_and_not_the_authors() -> None:
    other = [
        each
        for each in CORPUS
        if planned(each, Way.TARGET).said.need != each.variants[Way.TARGET].need
    ]
    assert other, "rules that always agree would make this test worthless"
    (question, *_) = of_corpus(other[:1], Told.PLAN, Plans.RULES)
    rules = planned(other[0], Way.TARGET)
    assert f"Need: {rules.said.need}." in question.turns[-1].text
    assert other[0].variants[Way.TARGET].need not in question.turns[-1].text
    (authored, *_) = of_corpus(other[:1], Told.PLAN, Plans.AUTHOR)
    assert authored.turns == asked(other[0], other[0].plan(Way.TARGET), Told.PLAN)


@pytest.mark.parametrize("told", list(Told))
def test_scripts_are_asked_as_they_were_taught(told: Told) -> None:
    questions = {each.id: each.turns for each in of_corpus(CORPUS[:5], told, Plans.RULES)}
    assert questions == {
        name(each.id, way): empathic(each, way, told).turns for each in CORPUS[:5] for way in Way
    }


def test_the_rules_hear_what_the_author_let_be_heard() -> None:
    for each in CORPUS:
        for way in Way:
            cues = [cue.heard for cue in each.variants[way].cues]
            heard = {(one.name, one.sure) for one in notice(imagined(cues))}
            # As when it is live: of gender nothing, and of age no mere guess.
            assert heard == {
                (cue.name, cue.sure)
                for cue in cues
                if cue.dimension != "gender" and (cue.sure or cue.dimension != "age")
            }


def test_echominds_dialogues_are_told_of_their_cues(tmp_path: Path) -> None:
    sample = tmp_path / "sample.json"
    variant = {"attribute": "Sigh", "reference_response": "I heard that."}
    dialogue = {"script": "All is well.", "variants": {"target": variant}}
    sample.write_text(json.dumps({"dialogues": [dialogue]}))
    (found,) = of_echomind(sample, Told.THINK)
    assert found.question.turns[-1].text == "All is well. [The user sighs. Think first.]"
    assert found.reference == "I heard that."
    (planned_one,) = of_echomind(sample, Told.PLAN)
    assert "Need: " in planned_one.question.turns[-1].text


# --- what is answered


def test_a_thought_is_never_speech() -> None:
    whole = answer("[Need: comfort. Do: reflection. Tone: comforting.] That's hard.", Told.THINK)
    assert whole.thought and whole.thought.strategies == (Strategy.REFLECTION,)
    assert (whole.speech, whole.leaked) == ("That's hard.", False)
    cut = answer("[Need: comfort. Do: reflection, quest", Told.THINK)
    assert (cut.thought, cut.speech, cut.leaked) == (None, "", True)
    twice = answer(
        "[Need: comfort. Do: calm. Tone: comforting.] Oh. [Need: rest.] Sleep well.", Told.THINK
    )
    assert (twice.speech, twice.leaked) == ("Oh. Sleep well.", True)
    plain = answer("Oh dear.", Told.THINK)
    assert (plain.thought, plain.speech, plain.leaked) == (None, "Oh dear.", False)
    assert answer("Good. [The user smiles.]", Told.PLAN).leaked


async def test_what_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    questions = of_corpus(CORPUS[:2], Told.PLAN, Plans.RULES)
    first = StandIn(lambda said: f"About {said}")
    found = await collect(questions[:4], lambda: first, Kept(file), "a", "model")
    assert first.asked == 4
    second = StandIn(lambda said: "never the same")
    again = await collect(questions, lambda: second, Kept(file), "renamed", "model")
    assert second.asked == len(questions) - 4
    assert all(again[place] == one for place, one in found.items())
    other = StandIn(lambda said: "mine")
    await collect(questions, lambda: other, Kept(file), "a", "another model")
    assert other.asked == len(questions)


async def test_an_answer_torn_by_a_stop_is_asked_for_again(tmp_path: Path) -> None:
    file = tmp_path / "replies.jsonl"
    questions = of_corpus(CORPUS[:1], Told.PLAN, Plans.RULES)
    await collect(questions, lambda: StandIn(lambda said: "Yes."), Kept(file), "a", "model")
    file.write_text(file.read_text("utf-8")[:-9], "utf-8")
    again = StandIn(lambda said: "No.")
    found = await collect(questions, lambda: again, Kept(file), "a", "model")
    assert again.asked == 1
    assert [one.speech for one in found.values()] == ["Yes.", "Yes.", "No."]
    assert len(Kept(file)) == 3
    file.write_text("nonsense\n", "utf-8")
    with pytest.raises(EvaluationError, match=r"replies\.jsonl:1"):
        Kept(file)


# --- what is counted


def test_one_who_listens_is_told_from_one_who_does_not() -> None:
    listens = steering(CORPUS, references(CORPUS, lambda way: way), same, SEED)
    assert listens["all"]["value"] == listens["differs"]["value"] == 1.0
    assert all(each["value"] == 1.0 for each in listens["dimensions"].values())
    deaf = steering(CORPUS, references(CORPUS, lambda way: Way.TARGET), same, SEED)
    assert deaf["all"]["value"] == 0.5
    assert (deaf["target"]["value"], deaf["alternative"]["value"]) == (1.0, 0.0)
    assert deaf["differs"]["value"] == 0.0
    silent = steering(CORPUS, dict.fromkeys(references(CORPUS, lambda way: way), ""), same, SEED)
    assert silent["all"]["value"] == silent["follows"]["value"] == 0.0
    assert (listens["follows"]["value"], deaf["follows"]["value"]) == (1.0, 0.0)


def test_a_reply_may_be_any_of_several_good_ones() -> None:
    """One that is not the author's is still nearer to its own cue's than to the other's."""
    several = of_all()
    for at in range(3):
        replies = {
            name(each.id, way): several(each, way)[at] for each in CORPUS[:20] for way in Way
        }
        assert steering(CORPUS[:20], replies, same, SEED, several)["all"]["value"] == 1.0
    by_author = steering(CORPUS[:20], replies, same, SEED)
    assert by_author["all"]["value"] < 0.1


def test_replies_that_are_right_on_the_whole_follow_the_cue() -> None:
    """Both may be nearer to one reference, and the right one all the same the nearer of the two."""
    some = [each for each in CORPUS[:20] if not of_gender(each)]
    nearness = {Way.TARGET: {Way.TARGET: 0.9, Way.ALTERNATIVE: 0.6},
                Way.ALTERNATIVE: {Way.TARGET: 0.8, Way.ALTERNATIVE: 0.7}}  # fmt: skip
    ways = {each.variants[way].reply: way for each in some for way in Way}
    replies = {name(each.id, way): way.value for each in some for way in Way}
    found = steering(some, replies, lambda reply, one: nearness[Way(reply)][ways[one]], SEED)
    assert (found["all"]["value"], found["follows"]["value"]) == (0.5, 1.0)


def test_gender_is_counted_apart_and_should_change_nothing() -> None:
    found = steering(CORPUS, references(CORPUS, lambda way: way), same, SEED)
    genders = [
        each
        for each in CORPUS
        if {cue.name for cue in each.variants[Way.TARGET].cues} <= {"male", "female"}
    ]
    assert found["gender"]["same as neutral"]["n"] == len(genders) > 0
    assert found["gender"]["same as neutral"]["value"] == 0.0
    assert "gender" not in found["dimensions"]
    assert found["all"]["n"] == 2 * (len(CORPUS) - len(genders))
    plain = steering(CORPUS, references(CORPUS, lambda way: Way.NEUTRAL), same, SEED)
    assert plain["gender"]["same as neutral"]["value"] == 1.0


def test_meaning_is_read_to_the_end_of_a_reply() -> None:
    near = Meaning().near
    long = "We talked about the garden for quite a while this morning. " * 4
    sad, glad = f"{long}I am so sorry he died.", f"{long}Congratulations on your wedding!"
    assert near(sad, "I am so sorry that he died.") > near(glad, "I am so sorry that he died.")
    assert near(sad, sad) == pytest.approx(1.0, abs=1e-5)
    assert near("", sad) == near("...", sad) == 0.0


def test_a_thought_that_did_not_come_fits_nothing() -> None:
    some = CORPUS[:4]
    texts = {
        name(each.id, way): empathic(each, way, Told.THINK).answer for each in some for way in Way
    }
    answers = {place: answer(text, Told.THINK) for place, text in texts.items()}
    perfect = corpus_figures(some, answers, How.THINK, same, SEED, of_author)
    assert perfect["thinking"]["strategies"]["value"] == 1.0
    assert perfect["thinking"]["emotion"]["value"] == 1.0
    assert (perfect["thinking"]["without a thought"], perfect["leaks"]) == (0.0, 0.0)
    assert perfect["overlap"]["all"]["rouge_l"] == 1.0  # of speech alone, the thought left out
    first = name(some[0].id, Way.TARGET)
    answers[first] = answer(some[0].variants[Way.TARGET].reply, Told.THINK)
    lacking = corpus_figures(some, answers, How.THINK, same, SEED, of_author)["thinking"]
    assert lacking["without a thought"] == round(1 / 12, 4)
    assert lacking["strategies"]["value"] == lacking["emotion"]["value"] == round(11 / 12, 4)


def test_strategies_are_shared_by_how_many_either_has() -> None:
    some = {Strategy.QUESTION, Strategy.CALM}
    assert shared(some, {Strategy.CALM, Strategy.REFLECTION}) == pytest.approx(1 / 3)
    assert shared([], []) == 0.0
    rules = of_rules(CORPUS[:10], SEED)
    assert 0 < rules["strategies"]["value"] < 1 and rules["strategies"]["n"] == 30
    assert rules["strategies"]["groups"] == 10  # the ways of a script are drawn together


def test_manner_finds_what_nobody_should_hear() -> None:
    good = "That sounds like a long day. What would help now?"
    bad = (
        "* First **rest**",
        "As an AI I cannot help you.",
        "I'll come over to my office. One. Two. Three.",
        "we go on and on and on and on and on and on and then it stops",
    )
    found = manner([good, *bad], SEED)
    for label in ("markup", "refuses", "pretends", "over three sentences", "loops"):
        assert found[label] == 0.2, label
    assert found["silent"] == 0.0 and manner(["", good], SEED)["silent"] == 0.5
    alike = manner([good] * 4 + ["No."], SEED)
    assert alike["commonest opening"] == {"words": "that sounds like", "share": 0.8}
    assert alike["self-BLEU"] > found["self-BLEU"] and alike["distinct-1"] < found["distinct-1"]


def test_overlap_goes_from_nothing_to_all() -> None:
    right = "That must have been hard. Was anyone there with you?"
    assert overlap([(right, right)])["rouge_l"] == 1.0
    assert bleu4(right, right) == pytest.approx(1.0)
    assert (bleu4("", right), rouge_l("", right), meteor("", right)) == (0.0, 0.0, 0.0)
    assert meteor("the dogs walked", "the dog walks") > 0.5  # by stem
    assert bleu4("Was anyone there with you?", right) < bleu4(right, right)


def test_intervals_draw_what_belongs_together() -> None:
    alike = figure([[1.0] * 10, [0.0] * 10] * 5, SEED)
    alone = figure([[1.0], [0.0]] * 50, SEED)
    assert alike and alone and (alike["value"], alike["n"]) == (alone["value"], alone["n"])
    assert alike["high"] - alike["low"] > 2 * (alone["high"] - alone["low"])
    assert figure([], SEED) is None and figure([[]], SEED) is None
    assert figure([[1.0], [0.0, 0.0]], SEED) == figure([[1.0], [0.0, 0.0]], SEED)


def test_the_sign_test_is_the_one_of_the_books() -> None:
    assert sign_test(9, 1) == pytest.approx(0.02148, abs=1e-4)
    assert sign_test(1, 9) == sign_test(9, 1) and sign_test(5, 5) == sign_test(0, 0) == 1.0
    assert exact_interval(8, 2) == pytest.approx((0.4439, 0.9748), abs=1e-4)
    assert exact_interval(0, 10) == pytest.approx((0.0, 0.3085), abs=1e-4)


# --- what is weighed


def test_a_reference_is_preferred_under_its_own_cue_alone() -> None:
    some = CORPUS[:6]
    own = {
        asked(each, planned(each, way), Told.PLAN)[-1].text: each.variants[way].reply
        for each in some
        for way in Way
    }
    listens = preference(
        some, Told.PLAN, Plans.RULES, Scale(lambda read, said: same(own[read], said)), SEED
    )
    assert [each["value"] for each in listens.values()] == [1.0, 1.0, 1.0]
    target = {each.variants[Way.TARGET].reply for each in some}
    deaf = preference(
        some, Told.PLAN, Plans.RULES, Scale(lambda read, said: float(said in target)), SEED
    )
    assert [each["value"] for each in deaf.values()] == [1.0, 0.0, 0.0]


def test_dream_is_answered_by_the_likeliest_choice(tmp_path: Path) -> None:
    file = tmp_path / "dream.json"
    two = [
        {"question": "Where?", "choice": ["Here.", "Somewhere else."], "answer": "Here."},
        {"question": "When?", "choice": ["Now.", "Tomorrow morning."], "answer": "Now."},
    ]
    one = {"question": "Who?", "choice": ["Me.", "All of them."], "answer": "All of them."}
    file.write_text(json.dumps([[["W: Hello.", "M: Hi."], two, "1"], [["W: Bye."], [one], "2"]]))
    scale = Scale(lambda read, said: -len(said))
    found = dream.accuracy(dream.read(file), scale, SEED)
    assert (found["accuracy"]["value"], found["accuracy"]["n"]) == (round(2 / 3, 4), 3)
    assert (found["accuracy"]["groups"], found["by chance"]) == (2, 0.5)
    assert scale.asked[0][0] == "W: Hello.\nM: Hi.\n\nWhere?"
    assert len(dream.some(dream.read(file), 1, SEED)) == 1
    file.write_text(json.dumps([{"question": "Where?"}]))
    with pytest.raises(EvaluationError, match="DREAM"):
        dream.read(file)


def test_a_sentence_is_felt_one_scale_after_the_other() -> None:
    felt = {side: Affect(4.0, 2.0, 3.0) for side in Perspective}
    sentence = Sentence("SemEval_7", "test", "Team wins the cup", felt)
    wanted = {"Happy,", " calm,", " helpless."}
    scale = Scale(lambda begun, said: float(said in wanted))
    found = emotions.guesses([sentence], Perspective.READER, scale)
    assert [begun for _, begun, _ in scale.asked] == ["", "Happy,", "Happy, calm,"]
    assert "who reads this" in scale.asked[0][0]
    assert all(len(ways) == 5 for _, _, ways in scale.asked)
    leaning = found["valence"][0].expected  # "happy" is e times as likely as each other word
    assert leaning == pytest.approx((0 + 1 + 2 + 3 + 4 * math.e) / (4 + math.e))
    assert {kind: rows[0].right for kind, rows in found.items()} == {
        "valence": 1.0,
        "arousal": 1.0,
        "dominance": 0.0,
    }
    figures = emotions.figures(found, SEED)
    assert figures["valence"]["genres"]["headlines"]["accuracy"]["value"] == 1.0
    assert figures["valence"]["r"] is None  # of one sentence nothing goes along


def test_genres_are_told_by_the_beginning_of_an_id() -> None:
    ids = {
        "SemEval_12": "headlines",
        "wsj_0120_1_2": "newspapers",
        "WhereToHongKong_1_2": "travel guides",
        "lw1_0_120": "fiction",
        "112C-L013_1_2": "letters",
        "Uprooted_Bike_1_2": "blogs",
        "Bartok_1_2": "essays",
        "unheard_of_1_2": emobank.OTHER,
    }
    assert {each: emobank.genre(each) for each in ids} == ids
    assert emotions.pearson([0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0]) == 1.0
    assert emotions.pearson([2, 2, 2], [1.0, 2.0, 3.0]) is None


def test_nothing_is_weighed_twice(tmp_path: Path) -> None:
    scale = Scale(lambda read, said: len(said) / 3)
    turns = [Turn("user", "Hi.")]
    one = Remembered(lambda: scale, Kept(tmp_path / "weighed.jsonl"), "a")
    first = one.answers(turns, ["Hello.", "Yes?"])
    again = Remembered(lambda: scale, Kept(tmp_path / "weighed.jsonl"), "a")
    assert (
        again.answers(turns, ["Hello.", "Yes?"]) == first == [2.0, pytest.approx(4 / 3, abs=1e-5)]
    )
    assert len(scale.asked) == 1
    again.endings(turns, "", ["Hello.", "Yes?"])
    Remembered(lambda: scale, Kept(tmp_path / "weighed.jsonl"), "b").answers(turns, ["Hello."])
    assert len(scale.asked) == 3


def test_plain_questions_want_whole_words() -> None:
    asked_plainly = chat.plain()
    assert [len(row) for row in asked_plainly.values()] == [20, 20]
    assert asked_plainly[chat.AS_LISTENER][0].question.turns[0].role == "system"
    assert [turn.role for turn in asked_plainly[chat.UNTOLD][0].question.turns] == ["user"]
    assert chat.sane("It is paris, of course.", ["Paris"])
    assert not chat.sane("That is nice.", ["ice"])
    assert not chat.sane("Paris Paris Paris Paris Paris Paris", ["Paris"])
    row = asked_plainly[chat.UNTOLD]
    found = chat.sanity(row, spoken({each.question.id: "Paris." for each in row}), SEED)
    assert found["sane"]["value"] == 0.05 and len(found["missed"]) == 19


# --- who reads


def laid_out(folder: Path, seed: int = SEED, most: int = 40) -> pairs.Drawn:
    some = CORPUS[:30]
    replies = {
        ("base", how): {name(each.id, Way.TARGET): f"Plain {each.id}" for each in some}
        for how in How
    } | {
        ("tuned", how): {name(each.id, Way.TARGET): f"Kind {how} {each.id}" for each in some}
        for how in How
    }
    for how in How:  # one script where both say the same
        place = name(some[0].id, Way.TARGET)
        replies["tuned", how][place] = replies["base", how][place]
    drawn = pairs.draw(some, replies, "base", most, seed)
    pairs.write(drawn, folder, seed)
    return drawn


def test_pairs_are_blind_and_their_key_is_right(tmp_path: Path) -> None:
    drawn = laid_out(tmp_path)
    text = (tmp_path / pairs.PAIRS).read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    key = json.loads((tmp_path / pairs.KEY).read_text("utf-8"))
    assert len(rows) == 40 and drawn.same > 0
    assert set(rows[0]) == {"pair", "script", "cue", "A", "B"}
    assert "tuned" not in text and '"base"' not in text
    for row in rows:
        side = key["pairs"][row["pair"]]
        assert {side["A"], side["B"]} == {"base", "tuned"}
        assert row["A"].startswith("Plain" if side["A"] == "base" else "Kind")
    firsts = [key["pairs"][row["pair"]]["A"] for row in rows]
    assert 8 <= firsts.count("base") <= 32  # by chance, not always the same side
    tolds = {key["pairs"][row["pair"]]["told"] for row in rows}
    assert tolds == {"plan", "think", "live"}
    again = tmp_path / "again"
    again.mkdir()
    assert laid_out(again) == drawn and laid_out(again, SEED + 1) != drawn


def test_pairs_with_verdicts_are_left_alone(tmp_path: Path) -> None:
    drawn = laid_out(tmp_path)
    before = (tmp_path / pairs.PAIRS).read_bytes()
    (tmp_path / pairs.VERDICTS).write_text("")
    assert not pairs.write(drawn, tmp_path, SEED + 1)
    assert (tmp_path / pairs.PAIRS).read_bytes() == before


def judged_by(folder: Path, wins: int, losses: int, ties: int, reader: str) -> list[str]:
    """Verdicts of a reader who finds the tuned model better so often."""
    key = json.loads((folder / pairs.KEY).read_text("utf-8"))["pairs"]
    wanted = ["tuned"] * wins + ["base"] * losses + [""] * ties
    lines = []
    for (number, sides), winner in zip(key.items(), wanted, strict=False):
        choice = next((side for side in "AB" if sides[side] == winner), "tie")
        lines.append(json.dumps({"pair": number, "choice": choice, "why": "so", "by": reader}))
    return lines


def test_verdicts_are_scored_by_reader(tmp_path: Path) -> None:
    laid_out(tmp_path)
    lines = judged_by(tmp_path, 8, 2, 3, "Ada") + judged_by(tmp_path, 1, 4, 0, "a model")
    (tmp_path / pairs.VERDICTS).write_text("\n".join(lines) + "\n", "utf-8")
    ran = CliRunner().invoke(evaluate_reply.app, ["verdicts", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    found = json.loads((tmp_path / "verdicts.json").read_text("utf-8"))["meetings"]["base / tuned"]
    assert set(found) == {verdicts.EVERYONE, "Ada", "a model"}
    assert (found["Ada"]["read"], found["Ada"]["ties"]) == (13, 3)
    ada = found["Ada"]["contestants"]["tuned"]
    assert (ada["wins"], ada["share"], ada["interval"]) == (8, 0.8, [0.4439, 0.9748])
    assert found["Ada"]["p"] == pytest.approx(sign_test(8, 2), abs=1e-4)
    assert found["a model"]["contestants"]["tuned"]["share"] == 0.2
    assert found[verdicts.EVERYONE]["contestants"]["tuned"]["wins"] == 9
    assert "Ada" in ran.output and "80% (44%–97%)" in ran.output


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"pair": "pair-999", "choice": "A", "by": "Ada"}', "no pair-999"),
        ('{"pair": "pair-001", "choice": "C", "by": "Ada"}', "choice"),
        ('{"pair": "pair-001", "choice": "A", "by": ""}', "by"),
        ('{"pair": "pair-001", "choice": "A", "by": "Ada"}\n' * 2, "before"),
        ("nonsense", "verdicts.jsonl:1"),
    ],
)
def test_a_verdict_that_cannot_be_is_refused(tmp_path: Path, line: str, told: str) -> None:
    laid_out(tmp_path)
    (tmp_path / pairs.VERDICTS).write_text(line, "utf-8")
    with pytest.raises(EvaluationError, match=told):
        verdicts.score(tmp_path)


def test_verdicts_on_other_pairs_are_refused(tmp_path: Path) -> None:
    laid_out(tmp_path)
    (tmp_path / pairs.VERDICTS).write_text("", "utf-8")
    with (tmp_path / pairs.PAIRS).open("a") as file:
        file.write("\n")
    with pytest.raises(EvaluationError, match="not the file"):
        verdicts.score(tmp_path)


# --- who judges


@pytest.fixture
def judging() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A judge that gives every second reply a 4, and cannot be read otherwise."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            said = 'Well: {"why": "kind", "empathy": 4}' if len(requests) % 2 else "Five!"
            body = json.dumps({"choices": [{"message": {"content": said}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
        server.shutdown()
        thread.join()


async def test_a_judge_is_asked_once_with_the_rubric_and_what_was_heard(
    judging: tuple[str, list[dict[str, Any]]], tmp_path: Path
) -> None:
    url, requests = judging
    one = judge.judge(url, "wise-70b", ["smollm2"])
    rows = [(each, "There, there.") for each in CORPUS[:4]]
    for _ in range(2):
        found = await judge.empathy(one, rows, Kept(tmp_path / "judged.jsonl"), SEED)
    assert (found["empathy"]["value"], found["empathy"]["n"], found["unread"]) == (4.0, 2, 2)
    assert len(requests) == 4
    assert (requests[0]["temperature"], requests[0]["model"]) == (0, "wise-70b")
    assert requests[0]["messages"][0]["content"] == judge.RUBRIC
    assert "sounds angry" in requests[0]["messages"][1]["content"]
    assert "Friday's fish" not in requests[0]["messages"][1]["content"]  # the reference


@pytest.mark.parametrize(
    "name", ["smollm2", "HuggingFaceTB/SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q8_0.gguf"]
)
def test_nobody_judges_themselves(name: str) -> None:
    with pytest.raises(EvaluationError, match="its own judge"):
        judge.judge("http://127.0.0.1:1/v1", name, evaluate_reply._base_names())
    judge.judge("http://127.0.0.1:1/v1", "SmolLM3-3B", evaluate_reply._base_names())


def test_a_grade_beyond_the_scale_is_none() -> None:
    def body(said: str) -> bytes:
        return json.dumps({"choices": [{"message": {"content": said}}]}).encode()

    assert judge.grade(body('{"empathy": 5, "why": ""}')) == 5
    for said in ('{"empathy": 6}', '{"empathy": 2.5}', '{"kindness": 3}', "5", ""):
        assert judge.grade(body(said)) is None
    assert judge.grade(b"<html>") is None


# --- who is compared


def adapter(folder: Path, numbers: bytes = b"numbers") -> Path:
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(numbers)
    (folder / "adapter_config.json").write_text('{"r": 4, "lora_alpha": 8}')
    adapter_files.seal(folder)
    return folder


def test_contestants_are_named_once_and_wear_what_is_there(tmp_path: Path) -> None:
    one, other = adapter(tmp_path / "one"), adapter(tmp_path / "other", b"others")
    assert parse("base=").is_base
    assert parse(f"tuned={one},{other}").adapters == (one, other)
    for wrong in ("tuned", f"tuned={tmp_path}"):
        with pytest.raises(EvaluationError):
            parse(wrong)
    with pytest.raises(EvaluationError, match="two contestants"):
        parse_all(["base=", "base="])
    with pytest.raises(EvaluationError, match="Nobody"):
        parse_all([])


def test_a_merged_model_is_kept_under_what_it_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "base.gguf"
    base.write_bytes(b"base")
    one, other = adapter(tmp_path / "one"), adapter(tmp_path / "other", b"others")
    merges = []

    def merge(base: Path, adapters: Sequence[Path], out: Path) -> None:
        merges.append(tuple(adapters))
        out.write_bytes(b"merged")

    monkeypatch.setattr(contestants, "merge", merge)
    files = {
        text: gguf(parse(text), base, tmp_path)
        for text in (f"a={one},{other}", f"renamed={one},{other}", f"a={other},{one}", "base=")
    }
    assert merges == [(one, other), (other, one)]  # order matters, names do not
    assert files["base="] == base and len({*files.values()}) == 3
    before = model_key(parse(f"a={one}"), base)
    (one / "adapter_config.json").write_text('{"r": 4, "lora_alpha": 16}')
    adapter_files.seal(one)
    assert model_key(parse(f"a={one}"), base) != before


def test_an_evaluation_from_the_command_line_and_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[StandIn] = []

    def serve(model: str, **options: object) -> StandIn:
        assert options["temperature"] == 0
        tuned = model != str(weights.path("smollm2"))
        served.append(StandIn(lambda said: f"I hear {hash(said)}." if tuned else "Paris is fine."))
        return served[-1]

    monkeypatch.setattr(evaluate_reply, "LlamaCpp", serve)
    monkeypatch.setattr(contestants, "merge", lambda base, adapters, out: out.write_bytes(b""))
    folder, out = adapter(tmp_path / "adapter"), tmp_path / "out"
    arguments = ["--contestant", "base=", "--contestant", f"tuned={folder}", "--told", "plan"]
    arguments += ["--limit", "3", "--no-likelihood", "--pairs", "2", "--out", str(out)]
    first = CliRunner().invoke(evaluate_reply.app, arguments)
    assert first.exit_code == 0, first.output
    assert [each.asked for each in served] == [40 + 9] * 2
    found = json.loads((out / "evaluation.json").read_text("utf-8"))
    base, tuned = found["contestants"]["base"], found["contestants"]["tuned"]
    assert base["told"]["plan"]["steering"]["differs"]["value"] == 0.0
    assert tuned["told"]["plan"]["steering"]["differs"]["value"] == 1.0
    assert base["told"]["plan"]["likelihood"] == base["dream"] == {"absent": "not asked for"}
    assert base["told"]["plan"]["judge"] == {"absent": "no judge"}
    assert base["chat"][chat.UNTOLD]["sane"]["value"] == 0.05
    assert base["adapters"] == [] and len(tuned["adapters"]) == 1
    assert found["made"]["base"]["sha256"] == weights.find("smollm2").sha256
    assert str(tmp_path) not in json.dumps(found["made"])
    told = (out / "evaluation.md").read_text("utf-8")
    assert "base, plan" in told and "tuned, plan" in told
    assert len((out / pairs.PAIRS).read_text("utf-8").splitlines()) == 2
    again = CliRunner().invoke(evaluate_reply.app, arguments)
    assert again.exit_code == 0 and len(served) == 2  # nothing was asked, nobody was served
    assert (out / "evaluation.md").read_text("utf-8") == told


def test_live_the_plain_questions_are_answered_as_a_person_would_hear_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim of a deed would be sane by its words; live it is not said."""
    replies = {"France": "It is Paris.", "Italy": "I've looked up Rome."}

    def say(asked: str) -> str:
        return next((reply for name, reply in replies.items() if name in asked), "Hm, hm.")

    monkeypatch.setattr(evaluate_reply, "LlamaCpp", lambda *_, **__: StandIn(say))
    arguments = ["--contestant", "base=", "--told", "live", "--limit", "1", "--no-likelihood"]
    ran = CliRunner().invoke(evaluate_reply.app, [*arguments, "--out", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    found = json.loads((tmp_path / "evaluation.json").read_text("utf-8"))
    sane = {way: each["sane"] for way, each in found["contestants"]["base"]["chat"].items()}
    assert [sane[way]["value"] for way in (chat.UNTOLD, chat.LIVE)] == [0.1, 0.05]
    assert sane[chat.LIVE]["n"] == 20
    missed = found["contestants"]["base"]["chat"][chat.LIVE]["missed"]
    assert any("Italy" in each["asked"] and "Rome" not in each["said"] for each in missed)
    table = (tmp_path / "evaluation.md").read_text("utf-8")
    assert f"plain questions answered sanely, {chat.LIVE}" in table


def test_what_cannot_be_evaluated_is_said_in_a_sentence(tmp_path: Path) -> None:
    for arguments, told in (
        (["--contestant", "base="], "--out"),
        (["--contestant", "tuned", "--out", str(tmp_path)], "no contestant"),
        (["--out", str(tmp_path)], "Nobody"),
        (
            ["--out", str(tmp_path), "--judge", "http://x/v1", "--judge-model", "smollm2"],
            "own judge",
        ),
    ):
        ran = CliRunner().invoke(evaluate_reply.app, arguments)
        assert ran.exit_code == 1 and told in ran.output.replace("\n", " ")


# --- real models


async def test_live_a_reply_is_what_a_person_would_hear(tmp_path: Path) -> None:
    responder = StandIn(lambda said: "What did they say?")
    dialogues = live_of_corpus(CORPUS[:4])
    kept = Kept(tmp_path / "replies.jsonl")
    found = await live.given(dialogues, lambda: responder, kept, "tuned", "model")
    assert len(found) == 12 and 0 < responder.asked <= 12
    for place, dialogue in dialogues.items():
        plan = plan_of(dialogue)
        assert found[place].speech.startswith(plan.fixed or plan.acknowledgement)
    asked = responder.asked
    again = await live.given(dialogues, lambda: responder, kept, "tuned", "model")
    assert again == found and responder.asked == asked


@pytest.mark.slow
async def test_the_packaged_model_answers_two_scripts(tmp_path: Path) -> None:
    questions: list[Question] = of_corpus(CORPUS[:2], Told.PLAN, Plans.RULES)
    responder = LlamaCpp(str(weights.path("smollm2")), slots=1, temperature=0)
    try:
        found = await collect(questions, lambda: responder, Kept(tmp_path / "a"), "base", "model")
        again = await collect(
            questions[:1], lambda: responder, Kept(tmp_path / "b"), "base", "model"
        )
    finally:
        responder.close()
    assert all(one.speech for one in found.values())
    assert again[questions[0].id] == found[questions[0].id]  # always the likeliest word
    figures = corpus_figures(CORPUS[:2], found, How.PLAN, Meaning().near, SEED, of_author)
    assert figures["manner"]["n"] == 6 and figures["manner"]["words"] > 3
    assert 0 < figures["similarity"]["value"] < 1


TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def tiny() -> Any:
    """A Base of two small layers that know nothing, and whose tokens are bytes."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip("peft")
    from models.tuning.base import Base

    torch.set_num_threads(1)
    marks = ["<|im_start|>", "<|im_end|>"]
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(letters)}
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.add_special_tokens(marks)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token=marks[1], pad_token=marks[1], chat_template=TEMPLATE
    )
    torch.manual_seed(SEED)
    config = transformers.LlamaConfig(
        vocab_size=len(letters) + len(marks),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.3,  # or all words would be about equally likely
    )
    return Base("tiny", transformers.LlamaForCausalLM(config), tokenizer)


def weighed_directly(base: Any, before: str, said: str, ended: bool) -> list[float]:
    """Every token's log-probability by reading all of it at once."""
    import torch

    tokens = [
        base.tokenizer(text, add_special_tokens=False)["input_ids"] for text in (before, said)
    ]
    tail = tokens[1] + ([base.tokenizer.eos_token_id] if ended else [])
    with torch.inference_mode():
        logits = base.network(torch.tensor([tokens[0] + tail])).logits[0]
    chances = torch.log_softmax(logits.float(), dim=-1)
    start = len(tokens[0]) - 1
    return [float(chances[start + at, token]) for at, token in enumerate(tail)]


@pytest.mark.slow
def test_what_is_read_once_is_weighed_as_if_read_each_time(tiny: Any) -> None:
    from models.tuning.encoded import laid_out as in_its_form
    from models.tuning.evaluation.likelihood import TorchWeigher

    weigher = TorchWeigher(tiny)
    turns = [Turn("system", "Be kind."), Turn("user", "How was your day?")]
    answers = ["Fine.", "It was long, and I am glad that it is over now.", "No"]
    before = in_its_form(tiny.tokenizer, turns)
    for given, said in zip(weigher.answers(turns, answers), answers, strict=True):
        each = weighed_directly(tiny, before, said, ended=True)
        assert given == pytest.approx(sum(each) / len(each), abs=1e-4)
    ways = [" calm,", " neither calm nor excited,"]
    for given, said in zip(weigher.endings(turns, "Happy,", ways), ways, strict=True):
        each = weighed_directly(tiny, f"{before}Happy,", said, ended=False)
        assert given == pytest.approx(sum(each), abs=1e-3)
    alone = [weigher.answers(turns, [said])[0] for said in answers]
    assert weigher.answers(turns, answers) == pytest.approx(alone, abs=1e-4)


@pytest.mark.slow
def test_a_dialogue_too_long_to_read_is_cut_alike_for_all_answers(tiny: Any) -> None:
    from models.tuning.evaluation.likelihood import TorchWeigher

    turns = [Turn("user", "word " * 300)]
    found = TorchWeigher(tiny).answers(turns, ["Yes.", "A much longer answer than the first."])
    assert all(-20 < each < 0 for each in found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Could not find a config file:UserWarning")  # peft's, likewise
def test_adapters_change_what_is_likely(
    tiny: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import copy

    from models.tuning import adapters
    from models.tuning.base import Base
    from models.tuning.encoded import encode, fork
    from models.tuning.evaluation.likelihood import TorchWeigher
    from models.tuning.examples import Example
    from models.tuning.lesson import Recipe, learn

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # where peft would look for the base by its name
    turns = (Turn("system", "Be kind."), Turn("user", "My cat died."))
    kind, unkind = "I am so sorry.", "Whatever, it is a cat."
    adapted = adapters.put_on(copy.deepcopy(tiny.network), SEED, rank=4)
    lesson = [fork([encode(tiny.tokenizer, Example(turns, kind))])] * 8
    recipe = Recipe(epochs=20, batch=8, pace=2e-2)
    learn(adapted, lesson, [], recipe, tmp_path / "log", 0, lambda *_: None, {})
    adapters.save(adapted, tmp_path / "adapter", "tiny")
    worn = adapters.merged(copy.deepcopy(tiny.network), [tmp_path / "adapter"])
    before = TorchWeigher(tiny).answers(turns, [kind, unkind])
    after = TorchWeigher(Base("tiny", worn, tiny.tokenizer)).answers(turns, [kind, unkind])
    assert after[0] > before[0] + 1 and after[0] > after[1]
