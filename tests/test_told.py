"""What a tuned model is told, and what it tells of its thinking."""

from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from models.corpus import plain
from models.corpus.exchange import Split, Way, load
from models.percept import Affect
from models.thinking.plan import Heard, Intent, ReplyPlan, Said, Strategy
from models.thinking.told import SYSTEM, Told, cue, note, parted, thought
from models.tuning import emobank, examples
from models.tuning.emobank import Perspective, Sentence
from models.tuning.planned import planned

PLAN = ReplyPlan(
    Said(Intent.SHARES, "to be heard"),
    heard=(Heard("emotion", "angry", 0.9, True), Heard("weather", "rain", 0.6, False)),
    strategies=(Strategy.DE_ESCALATE, Strategy.QUESTION),
    emotion="comforting",
)
SILENT = ReplyPlan(Said(Intent.SHARES, "interest"), strategies=(Strategy.QUESTION,))


def test_a_note_tells_what_was_heard_and_no_more_than_asked() -> None:
    heard = "The user sounds angry, and perhaps it is raining."
    assert cue(PLAN) == f"[{heard}]"
    assert note(PLAN, Told.THINK) == f"[{heard} Think first.]"
    planned = "Need: to be heard. Do: de escalate, question. Tone: comforting."
    assert note(PLAN, Told.PLAN) == f"[{heard} {planned}]"


def test_where_nothing_was_heard_nothing_is_told_of_it() -> None:
    assert cue(SILENT) == ""
    assert note(SILENT, Told.THINK) == "[Think first.]"


def test_a_thought_is_parted_from_what_is_said() -> None:
    found, said = parted(f"{thought(PLAN)} What happened then?")
    assert said == "What happened then?"
    assert found is not None and found.need == "to be heard" and found.emotion == "comforting"
    assert found.strategies == (Strategy.DE_ESCALATE, Strategy.QUESTION)


@pytest.mark.parametrize("text", ["Tell me [more].", "[Need: x] Well.", "", "Need: a. Do: b."])
def test_what_is_no_thought_is_said(text: str) -> None:
    assert parted(text) == (None, text)


def test_unknown_strategies_of_a_thought_are_dropped() -> None:
    found, _ = parted("[Need: rest. Do: sing, calm. Tone: pleasant.] Yes.")
    assert found is not None and found.strategies == (Strategy.CALM,)


# ---- what training asks


def test_the_same_words_are_asked_in_three_ways_and_answered_in_three() -> None:
    exchange = load(Split.DEV)[0]
    asked = [examples.empathic(exchange, way, Told.PLAN) for way in Way]
    assert len({example.turns for example in asked}) == 3
    assert [example.answer for example in asked] == [exchange.variants[w].reply for w in Way]
    assert all(example.turns[0].text == SYSTEM for example in asked)
    plans = [note(planned(exchange, way), Told.PLAN) for way in Way]  # the rules', as live
    assert [each.turns[-1].text for each in asked] == [f"{exchange.words} {n}" for n in plans]


def test_a_thinking_example_answers_with_a_thought_that_can_be_parted() -> None:
    exchange = load(Split.DEV)[0]
    found, said = parted(examples.empathic(exchange, Way.TARGET, Told.THINK).answer)
    variant = exchange.variants[Way.TARGET]
    assert said == variant.reply and found is not None
    assert (found.need, found.emotion) == (variant.need, variant.emotion)
    assert found.strategies == variant.strategies


def test_every_thought_of_the_corpus_can_be_parted() -> None:
    for exchange in load(Split.DEV):
        for way in Way:
            assert parted(thought(exchange.plan(way)))[0] is not None, exchange.id


def test_examples_are_the_same_for_the_same_seed() -> None:
    held, plainly = load(Split.DEV), plain.load()

    def taught(seed: int) -> list[examples.Example]:
        return examples.empathy(held, plainly, seed)

    assert taught(3) == taught(3) != taught(4)


def test_where_no_model_would_be_asked_none_is_taught() -> None:
    """What rules answer in fixed words, such as questions for a doctor."""
    held = load(Split.TRAIN)[:200]
    fixed = {each.id for each in held if all(planned(each, way).fixed for way in Way)}
    assert fixed and not fixed & {example.script for example in examples.empathy(held, [], 7)}


def test_plain_questions_are_taught_as_they_are_asked() -> None:
    (question, *_) = plain.load()
    (alone,) = examples.replies([], [question])
    assert alone.turns[-1].text == question.question
    (told_of,) = examples.empathy([], [question], 7)
    assert told_of.turns[-1].text.startswith(f"{question.question} [Need: ")
    assert alone.answer == told_of.answer == question.answer


def test_both_sides_of_a_sentence_are_asked_for_in_words() -> None:
    felt = {Perspective.WRITER: Affect(2.0, 3.0, 3.0), Perspective.READER: Affect(4.0, 3.6, 2.7)}
    sentence = Sentence("1", "train", "They took it down.", felt)
    both = examples.understanding([], [sentence], tuple(Perspective))
    assert [example.answer for example in both] == [
        "Unhappy, neither calm nor excited, neither in charge nor helpless.",
        "Happy, excited, rather helpless.",
    ]
    (one,) = examples.understanding([], [sentence], [Perspective.READER])
    assert one == both[1]


def test_a_state_says_nothing_of_gender_age_or_place() -> None:
    heard = (
        Heard("gender", "male", 0.9, True),
        Heard("age", "child", 0.9, True),
        Heard("nonverbal", "sigh", 0.6, False),
        Heard("weather", "rain", 0.9, True),
    )
    plan = ReplyPlan(Said(Intent.SHARES, "rest"), heard=heard)
    assert examples.state(plan) == "They seem perhaps weary. They need rest."


def test_words_of_a_scale_follow_its_values() -> None:
    assert [emobank.step(value) for value in (1.0, 2.7, 3.0, 3.2, 5.0)] == [0, 1, 2, 3, 4]


@pytest.mark.slow  # with what is installed for training
@pytest.mark.parametrize(
    "name", ["tuning.sides", "tuning.stages", "tuning.ablations", "train_reply"]
)
def test_without_emobank_nothing_is_begun_and_it_is_said_in_a_line(
    name: str, tmp_path: Path
) -> None:
    for needed in ("torch", "peft"):
        pytest.importorskip(needed)
    app = typer.Typer()
    app.command()(import_module(f"models.{name}").main)
    out, half = tmp_path / "out", tmp_path / "half"
    half.mkdir()
    for each in ("emobank", "writer"):
        (half / f"{each}.csv").touch()
    for folder, missing in ((tmp_path / "nowhere", "emobank.csv"), (half, "reader.csv")):
        ran = CliRunner().invoke(app, ["--emobank", str(folder), "--out", str(out)])
        told = f"{folder} is not EmoBank's folder: it has no {missing}"
        assert ran.exit_code == 1 and "".join(ran.stderr.split()) == "".join(told.split())
        assert not out.exists()
