"""Questions of fact: none that was learned, and what is said is what is sure."""

import json
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from models.corpus import plain
from models.thinking.tuned import TunedThinker
from models.tuning.evaluation import facts
from models.tuning.evaluation.chat import sane
from models.tuning.evaluation.facts import Said, asked, at
from models.types import Token, Turn
from tests.fakes import Scripted


def test_no_question_is_asked_twice() -> None:
    asked = [fact.ask.lower() for split in ("dev", "test") for fact in facts.facts(split)]
    assert len(asked) == len(set(asked)) == 80


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


async def test_it_is_asked_as_the_running_system_does() -> None:
    for fact in facts.facts("dev"):
        responder, dialogue = Scripted("Hm."), [Turn("user", fact.ask)]
        thinker = TunedThinker(lead=True)
        plan = await thinker.think(dialogue, responder)
        assert plan.situation == "asks", fact.ask
        assert [word async for word in thinker.answer(plan, "", dialogue, responder, 50)]
        assert responder.asked == [asked(fact)]


async def test_the_first_sentence_counts_with_how_sure_the_model_was_of_it() -> None:
    fact = facts.facts("dev")[0]
    tokens = [
        Token("It is ", -0.1),
        Token("Havana. ", -0.3),
        Token("No, ", -4.0),
        Token("Lima.", -4.0),
    ]
    said = await facts.answered(fact, Scripted(*tokens))
    assert (said.text, said.right) == ("It is Havana.", True)
    assert said.sureness == pytest.approx(-0.2)
    wrong = await facts.answered(fact, Scripted(Token("It is Lima.", -0.1)))
    assert not wrong.right
    assert (await facts.answered(fact, Scripted())).text == ""


def test_a_bar_leaves_out_what_is_less_sure_and_what_was_not_said() -> None:
    said = [
        Said("a", "x", -0.1, True),
        Said("b", "y", -0.4, False),
        Said("c", "z", -0.4, True),
        Said("d", "", -9.0, False),
    ]
    assert at(-9.0, said) == (3, 2)
    assert at(-0.3, said) == (1, 1)


@pytest.mark.slow
def test_the_command_asks_the_packaged_model(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(facts.main)
    ran = CliRunner().invoke(app, ["--split", "test", "--out", str(tmp_path / "facts.json")])
    assert ran.exit_code == 0, ran.output
    found = json.loads((tmp_path / "facts.json").read_text("utf-8"))
    assert len(found) == 40 and any(each["right"] for each in found)
