"""Thinking twice before speaking: about the words, and about how they were said."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from models import prompt
from models.errors import BackendError
from models.protocols import Responder
from models.thinking import distress, rules
from models.thinking.followups import of_fact, written
from models.thinking.plan import ReplyPlan
from models.thinking.prompts import GUIDANCE, Strength, note
from models.thinking.refining import refined
from models.thinking.wording import ours, sensible, theirs
from models.types import Turn

ROLE = "thinker"


class DualThinker:
    """A Thinker by rules, that informs a model large enough to make use of a note."""

    def __init__(
        self,
        strength: str = "enhanced",
        refine_sec: float = 0.0,
        distress_file: str = "",
        helplines: str = "",
    ) -> None:
        """Reads the tables.

        Args:
            strength: how much the model is told beside the words: zero, basic or enhanced.
            refine_sec: how long the model may look over the plan; 0 asks only the rules.
            distress_file: a table in place of models/thinking/distress.toml.
            helplines: where people in distress are told to turn, in place of the table's words.
        """
        if strength not in list(Strength):
            known = ", ".join(Strength)
            raise BackendError(ROLE, f"Unknown strength {strength!r}; choose one of: {known}.")
        self._strength = Strength(strength)
        self._refine_sec = refine_sec
        self._distress = distress.chosen(distress_file, helplines)

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan:
        plan = await rules.plan_aside(dialogue, self._distress)
        if self._refine_sec:
            plan = await refined(plan, dialogue, responder, self._refine_sec)
        return plan

    def prompt(self, instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
        return self._asked(instructions, dialogue, "")

    async def answer(
        self,
        plan: ReplyPlan,
        instructions: str,
        dialogue: Sequence[Turn],
        responder: Responder,
        max_tokens: int,
    ) -> AsyncGenerator[str, None]:
        """What follows the plan's acknowledgement; never nothing."""
        if settled := rules.settled(plan, instructions):
            yield settled
            return
        asked = self._asked(instructions, dialogue, note(plan) if self._informs else "")
        if plan.acknowledgement and not of_fact(
            plan.situation
        ):  # a remark on a cough leads nowhere
            asked.append(Turn("assistant", plan.acknowledgement))
        said = False
        async with aclosing(sensible(responder, asked, max_tokens)) as words:
            async for word in words:
                said = said or bool(word.strip())
                yield word
        if not said:
            yield written(plan, theirs(dialogue), ours(dialogue))

    @property
    def _informs(self) -> bool:
        return self._strength is Strength.ENHANCED

    def _asked(self, instructions: str, dialogue: Sequence[Turn], remark: str) -> list[Turn]:
        if self._strength is Strength.ZERO:
            return prompt.messages(instructions, dialogue, None)
        guidance = GUIDANCE if self._informs else prompt.SPOKEN
        return prompt.messages(instructions, dialogue, guidance, remark)
