"""Thinking twice before speaking: about the words, and about how they were said."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from models import prompt
from models.errors import BackendError
from models.protocols import Responder
from models.thinking import distress, rules
from models.thinking.followups import written
from models.thinking.openings import nod
from models.thinking.plan import ReplyPlan
from models.thinking.prompts import GUIDANCE, Strength, note
from models.thinking.refining import refined
from models.thinking.sentences import sentences
from models.thinking.wording import honest, ours, sensible, theirs
from models.types import Turn

ROLE = "thinker"
SENTENCES = 2  # of a small model: from the third on it makes things up
MATTERS_OF_FACT = ("asks", "favour", "unprompted")  # answered by the model in its own words


class DualThinker:
    """A Thinker by rules, that informs a large model, and spares a small one what it cannot do."""

    def __init__(
        self,
        strength: str = "enhanced",
        lead: bool = False,
        refine_sec: float = 0.0,
        distress_file: str = "",
        helplines: str = "",
    ) -> None:
        """Reads the tables.

        Args:
            strength: how much the model is told beside the words: zero, basic or enhanced.
            lead: whether replies open with the plan's own words and go on in ours, and only
                questions of fact, and what a client sets a part for, are left to the model: for
                models too small to make use of a note.
            refine_sec: how long the model may look over the plan; 0 asks only the rules.
            distress_file: a table in place of models/thinking/distress.toml.
            helplines: where people in distress are told to turn, in place of the table's words.
        """
        if strength not in list(Strength):
            known = ", ".join(Strength)
            raise BackendError(ROLE, f"Unknown strength {strength!r}; choose one of: {known}.")
        self._strength = Strength(strength)
        self._lead = lead
        self._refine_sec = refine_sec
        self._distress = distress.chosen(distress_file, helplines)

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan:
        plan = await rules.plan_aside(dialogue, self._distress)
        if self._refine_sec:
            plan = await refined(plan, dialogue, responder, self._refine_sec)
        if self._lead and not plan.acknowledgement and not plan.fixed:
            given = nod(plan.situation, ours(dialogue), theirs(dialogue))
            plan = replace(plan, acknowledgement=given)
        return plan

    def prompt(self, instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
        """Nothing where the words so far are none that the model would be asked about."""
        asked = self._asked(instructions, dialogue, "")
        if not self._lead or instructions.strip() or rules.lengthy(dialogue):
            return asked
        plan = rules.plan(dialogue, self._distress)
        return asked if plan.situation in MATTERS_OF_FACT else []

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
        said = False
        worded = self._worded(plan, instructions, dialogue, responder, max_tokens)
        async with aclosing(worded) as words:
            async for word in words:
                said = said or bool(word.strip())
                yield word
        if not said:
            yield written(plan, theirs(dialogue), ours(dialogue))

    async def _worded(
        self,
        plan: ReplyPlan,
        instructions: str,
        dialogue: Sequence[Turn],
        responder: Responder,
        max_tokens: int,
    ) -> AsyncGenerator[str, None]:
        """The model's own words, as far as they may be said."""
        own, factual = bool(instructions.strip()), plan.situation in MATTERS_OF_FACT
        if self._lead and not own and not factual:
            return
        asked = self._asked(instructions, dialogue, note(plan) if self._informs else "")
        if plan.acknowledgement and not factual:  # a remark on a cough leads nowhere
            asked.append(Turn("assistant", plan.acknowledgement))
        async with aclosing(sensible(responder, asked, max_tokens)) as words:
            if not self._lead:
                async for word in words:
                    yield word
                return
            most = None if own else SENTENCES
            async with aclosing(honest(sentences(words), most)) as given:
                async for sentence in given:
                    yield f"{sentence} "

    @property
    def _informs(self) -> bool:
        return self._strength is Strength.ENHANCED and not self._lead

    def _asked(self, instructions: str, dialogue: Sequence[Turn], remark: str) -> list[Turn]:
        if self._strength is Strength.ZERO:
            return prompt.messages(instructions, dialogue, None)
        guidance = GUIDANCE if self._informs else prompt.SPOKEN
        return prompt.messages(instructions, dialogue, guidance, remark)
