"""A model that was taught to follow a note: told as in training, and heard only when it speaks."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest

from models.corpus.exchange import Split, Way, load
from models.errors import BackendError
from models.thinking.followups import written
from models.thinking.imagined import imagined
from models.thinking.openings import NODS
from models.thinking.plan import ReplyPlan, Strategy
from models.thinking.told import SYSTEM, Told, note, thought
from models.thinking.tuned import TunedThinker
from models.tuning.examples import empathic
from models.types import Turn
from tests.fakes import Scripted, known

SAD = known(emotion={"sad": 0.9, "neutral": 0.1})
SAID = Turn("user", "I got my results back today.", SAD)


async def replied(
    thinker: TunedThinker, responder: Scripted, *dialogue: Turn, instructions: str = ""
) -> tuple[ReplyPlan, str]:
    plan = await thinker.think(dialogue, responder, instructions)
    answer = thinker.answer(plan, instructions, dialogue, responder, 50)
    return plan, "".join([token async for token in answer])


async def test_the_model_is_told_as_it_was_taught() -> None:
    responder = Scripted("What ", "did they ", "say?")
    plan, said = await replied(TunedThinker(), responder, SAID)
    assert said == "What did they say?"
    assert responder.asked == [
        [Turn("system", SYSTEM), Turn("user", f"{SAID.text} {note(plan, Told.PLAN)}")]
    ]
    assert "The user sounds sad." in note(plan, Told.PLAN)
    assert responder.open == 0


async def test_its_own_words_open_the_reply() -> None:
    plan, _ = await replied(TunedThinker(), Scripted("Oh."), Turn("user", "My dog died.", SAD))
    assert plan.acknowledgement == ""


@pytest.mark.parametrize("told", list(Told))
async def test_what_is_asked_is_what_was_taught(told: Told) -> None:
    """Up to the reply, letter by letter, for scripts of the corpus."""
    for exchange in load(Split.DEV)[:20]:
        for way in Way:
            before = [Turn(line.role, line.text) for line in exchange.lines[:-1]]
            heard = imagined(cue.heard for cue in exchange.variants[way].cues)
            responder = Scripted("Hm.")
            thinker = TunedThinker(told)
            plan, _ = await replied(
                thinker, responder, *before, Turn("user", exchange.words, heard)
            )
            if plan.fixed:
                continue
            taught = list(empathic(exchange, way, told).turns)
            assert all(asked[: len(taught)] == taught for asked in responder.asked)
            assert responder.asked


@pytest.mark.parametrize("told", list(Told))
async def test_what_is_read_ahead_begins_what_is_asked(told: Told) -> None:
    thinker, responder = TunedThinker(told), Scripted("Hm.")
    ahead = thinker.prompt("Be brief.", [Turn("user", SAID.text)])
    await replied(thinker, responder, SAID, instructions="Be brief.")
    assert ahead[0].text == f"{SYSTEM} Be brief."
    for asked in responder.asked:
        assert asked[0] == ahead[0]
        assert asked[1].text.startswith(ahead[1].text)


async def test_there_is_nothing_to_think_about_what_we_said_ourselves() -> None:
    responder = Scripted("Still there?")
    ours = Turn("assistant", "How was your day?")
    await replied(TunedThinker("think"), responder, SAID, ours)
    assert responder.asked == [[Turn("system", SYSTEM), Turn("user", SAID.text), ours]]


async def test_a_thought_is_planned_with_and_never_said() -> None:
    responder = Scripted("[Need: good", " news. Do: celebrate, sing. ", "Tone: happy.] Hooray!")
    plan = await TunedThinker("think").think([SAID], responder)
    assert plan.strategies == (Strategy.CELEBRATE,)  # there is no singing
    assert (plan.emotion, plan.said.need, plan.source) == ("happy", "good news", "rules+model")
    assert responder.open == 0
    speaking = Scripted("Well done!")
    answer = TunedThinker("think").answer(plan, "", [SAID], speaking, 50)
    assert [token async for token in answer] == ["Well done!"]
    asked = speaking.asked[0]
    assert asked[-2].text.endswith("Think first.]")
    assert asked[-1] == Turn("assistant", thought(plan))


@pytest.mark.parametrize("tokens", [(), ("Oh dear.",), ("[Need: ", "x" * 400), ("[Need: a.]",)])
async def test_without_a_thought_the_rules_plan(tokens: Sequence[str]) -> None:
    by_rules = await TunedThinker().think([SAID], Scripted())
    assert await TunedThinker("think").think([SAID], Scripted(*tokens)) == by_rules


class Late(Scripted):
    """A Responder that begins when it is let."""

    def __init__(self, begin: asyncio.Event, *tokens: str) -> None:
        super().__init__(*tokens)
        self._begin = begin

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        self.open += 1
        try:
            await self._begin.wait()
            async with aclosing(super().respond(dialogue, max_tokens)) as tokens:
                async for token in tokens:
                    yield token
        finally:
            self.open -= 1


async def test_a_model_that_never_thinks_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("models.thinking.tuned.THOUGHT_SEC", 0.01)
    by_rules = await TunedThinker().think([SAID], Scripted())
    late = Late(asyncio.Event())
    assert await TunedThinker("think").think([SAID], late) == by_rules
    assert late.open == 0


async def test_a_reply_that_is_left_lets_go_of_the_model() -> None:
    responder = Scripted("Which one", " is it,", " then?")
    plan = await TunedThinker().think([SAID], responder)
    answer = TunedThinker().answer(plan, "", [SAID], responder, 50)
    assert await anext(answer) == "Which one"
    assert responder.open == 1
    await answer.aclose()
    assert responder.open == 0


async def test_a_plan_has_a_nod_for_a_reply_that_is_late() -> None:
    said = Turn("user", "I bought a new phone today.")
    plan = await TunedThinker().think([said], Scripted())
    assert plan.nod in NODS[plan.situation] and plan.acknowledgement == ""


async def test_notes_and_circles_of_the_model_are_not_passed_on() -> None:
    _, said = await replied(TunedThinker(), Scripted("[The user sighs.] ", "Oh."), SAID)
    assert said == "Oh."
    _, said = await replied(TunedThinker(), Scripted(*["We go on. "] * 400), SAID)
    assert 1 <= said.count("We go on.") <= 3


@pytest.mark.parametrize(
    "tokens",
    [(), ("",), ("[Need: rest.]",), ("(Need: rest.)",), ("*[Need: a.]", "*"), ("<|im_end|>",)],
)
async def test_a_model_that_says_nothing_still_gives_a_reply(tokens: Sequence[str]) -> None:
    plan, said = await replied(TunedThinker(), Scripted(*tokens), SAID)
    assert said.strip("* ") == written(plan, SAID.text, [])  # marks are not spoken


async def test_distress_gets_the_careful_reply_and_no_model_is_asked() -> None:
    for told in Told:
        responder = Scripted("Cheer up!")
        plan, said = await replied(
            TunedThinker(told), responder, Turn("user", "I don't want to live anymore.")
        )
        assert plan.fixed == said and "Cheer" not in said
        assert responder.asked == []


async def test_an_operator_can_say_where_to_turn() -> None:
    thinker = TunedThinker(helplines="the night line on 555")
    _, said = await replied(thinker, Scripted(), Turn("user", "I want to kill myself."))
    assert "the night line on 555" in said


def test_an_unknown_way_names_those_there_are() -> None:
    with pytest.raises(BackendError, match="plan, think"):
        TunedThinker("cue")
