"""Speaking to a reply model that was taught to follow a note, in the form it was taught."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from models import prompt
from models.errors import BackendError
from models.protocols import Responder
from models.thinking import distress, rules
from models.thinking.followups import written
from models.thinking.guards import unnoted
from models.thinking.openings import nod
from models.thinking.plan import ReplyPlan
from models.thinking.refining import thought_over
from models.thinking.told import SYSTEM, Told, note, parted, thought
from models.thinking.wording import ours, sensible, theirs
from models.types import Turn

ROLE = "thinker"
THOUGHT_TOKENS = 40
THOUGHT_SEC = 1.0  # a thought that takes longer is not waited for


class TunedThinker:
    """A Thinker for models with our adapters (models/tuning): what they are told, they do."""

    def __init__(self, told: str = "plan", distress_file: str = "", helplines: str = "") -> None:
        """Reads the tables.

        Args:
            told: "plan": the model is told what the rules plan, which costs no time; "think": it
                plans by itself first, and the rules only where it fails to.
            distress_file: a table in place of models/thinking/distress.toml.
            helplines: where people in distress are told to turn, in place of the table's words.
        """
        if told not in list(Told):
            raise BackendError(ROLE, f"Unknown way {told!r}; choose one of: {', '.join(Told)}.")
        self._told = Told(told)
        self._distress = distress.chosen(distress_file, helplines)

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan:
        """Its own words open better than ours: of these only a nod is left, if it is late."""
        plan = await rules.plan_aside(dialogue, self._distress)
        if plan.fixed:
            return plan
        if self._thinks(dialogue):
            asked = _asked(instructions, dialogue, note(plan, Told.THINK))
            plan = await _thought_over(plan, asked, responder)
        meanwhile = nod(plan.situation, ours(dialogue), theirs(dialogue))
        return replace(plan, acknowledgement="", nod=meanwhile)

    def prompt(self, instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
        return _asked(instructions, dialogue, "")

    async def answer(
        self,
        plan: ReplyPlan,
        instructions: str,
        dialogue: Sequence[Turn],
        responder: Responder,
        max_tokens: int,
    ) -> AsyncGenerator[str, None]:
        """The reply; never nothing."""
        if settled := rules.settled(plan, instructions):
            yield settled
            return
        thinks = self._thinks(dialogue)
        told = note(plan, Told.THINK if thinks else Told.PLAN)
        asked = _asked(instructions, dialogue, told)
        if thinks:
            asked.append(Turn("assistant", thought(plan)))
        said = False
        async with (
            aclosing(sensible(responder, asked, max_tokens)) as tokens,
            aclosing(unnoted(tokens)) as words,
        ):
            async for word in words:
                said = said or any(map(str.isalnum, word))
                yield word
        if not said:
            yield written(plan, theirs(dialogue), ours(dialogue))

    def _thinks(self, dialogue: Sequence[Turn]) -> bool:
        """Only about what a user said was it taught to."""
        spoken = [turn for turn in dialogue if turn.role != "system"]
        return self._told is Told.THINK and bool(spoken) and spoken[-1].role == "user"


def _asked(instructions: str, dialogue: Sequence[Turn], remark: str) -> list[Turn]:
    return prompt.messages(f"{SYSTEM} {instructions}", dialogue, None, remark)


async def _thought_over(plan: ReplyPlan, asked: Sequence[Turn], responder: Responder) -> ReplyPlan:
    """The plan as the model thinks it; the rules' if it is late, fails, or thinks nothing."""
    text = ""
    try:
        async with (
            asyncio.timeout(THOUGHT_SEC),
            aclosing(responder.respond(asked, THOUGHT_TOKENS)) as tokens,
        ):
            async for token in tokens:
                text += token
                if "]" in token:
                    break
    except (TimeoutError, BackendError):
        return plan
    found, _ = parted(text)
    return thought_over(plan, found.strategies, found.emotion, found.need) if found else plan
