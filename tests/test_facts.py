"""Questions of fact: none that was learned, and what is said is what is sure."""

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from models.corpus import plain
from models.thinking.tuned import SURE, TunedThinker
from models.tuning.evaluation import facts
from models.tuning.evaluation.chat import sane
from models.tuning.evaluation.facts import TOKENS, Said, at
from models.types import Token, Turn
from tests.fakes import Scripted


def test_no_question_is_asked_twice() -> None:
    asked = [fact.ask.lower() for split in ("dev", "test") for fact in facts.facts(split)]
    assert len(asked) == len(set(asked)) == 80


TWO = [Token("It is Havana. ", -0.1), Token("It is Rome. ", -0.1), Token("It is Lima.", -0.1)]
FEW = re.compile(
    r"\b(?:what|is|the|an?|of|do|does|did|which|who|how|many|in|on|you|call|to|are|was|that|ha[sv]e?"
    r"|for|we|us|our|can|tell|me|there|about|from|at|your|know|it|comes?)\b"
)


def matter(question: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", FEW.sub("", question.lower())))


@pytest.mark.parametrize("split", ["dev", "test"])
def test_nothing_that_was_learned_is_asked_in_other_words(split: facts.Which) -> None:
    learned = plain.load()
    for fact in facts.facts(split):
        about = matter(fact.ask)
        known = [
            each.question
            for each in learned
            if 2 * len(about & matter(each.question)) >= max(2, len(about))
            and sane(each.answer, fact.words)
        ]
        assert not known, fact.ask


async def test_it_is_asked_and_answered_as_in_the_running_system() -> None:
    for fact in facts.facts("dev"):
        responder, dialogue = Scripted(*TWO), [Turn("user", fact.ask)]
        thinker = TunedThinker(lead=True)
        plan = await thinker.think(dialogue, responder)
        live = [word async for word in thinker.answer(plan, "", dialogue, responder, TOKENS)]
        (said,) = await facts.answered(fact, responder, [SURE])
        assert (plan.situation, said.text) == ("asks", "".join(live).strip()), fact.ask
        assert said.text == "It is Havana. It is Rome."
        assert responder.asked[0] == responder.asked[1]


async def test_what_the_running_system_would_not_say_is_not_counted() -> None:
    """How sure of it the model may be: a phrase of the trade, a claim, half a sentence, nothing."""
    fact = facts.facts("dev")[0]
    kept_back = ("How can I help you with Havana?", "I've looked up Havana.", "It is Havana and")
    for words in (*kept_back, ""):
        said = await facts.answered(fact, Scripted(Token(words, -0.01)))
        assert [each.text for each in said] == [""] * len(facts.BARS), words
        assert not any(each.right for each in said)


async def test_an_answer_is_said_up_to_where_it_is_less_sure_and_asked_for_once() -> None:
    fact = facts.facts("dev")[0]
    unsure = [
        Token("It is ", -0.1),
        Token("Havana. ", -0.3),
        Token("No, ", -4.0),
        Token("Lima.", -4.0),
    ]
    responder = Scripted(*unsure)
    said = await facts.answered(fact, responder, [facts.NONE, SURE, -0.1])
    assert [each.text for each in said] == ["It is Havana. No, Lima.", "It is Havana.", ""]
    assert [each.right for each in said] == [True, True, False]
    assert len(responder.asked) == 1
    (wrong,) = await facts.answered(fact, Scripted(Token("It is Lima.", -0.1)), [SURE])
    assert wrong.text and not wrong.right


def test_a_bar_counts_what_was_said_there() -> None:
    said = [
        Said("a", SURE, "x", True),
        Said("b", SURE, "y", False),
        Said("c", SURE, "", False),
        Said("a", facts.NONE, "x", True),
    ]
    assert at(SURE, said) == (2, 1)
    assert at(facts.NONE, said) == (1, 1)


@pytest.mark.slow
def test_the_command_asks_the_packaged_model(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(facts.main)
    ran = CliRunner().invoke(app, ["--split", "test", "--out", str(tmp_path / "facts.json")])
    assert ran.exit_code == 0, ran.output
    found = json.loads((tmp_path / "facts.json").read_text("utf-8"))
    assert {each["asked"] for each in found} == {fact.ask for fact in facts.facts("test")}
    assert any(each["right"] for each in found)
