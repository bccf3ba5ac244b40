"""Thinking twice before speaking: about the words, and about how they were said."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import aclosing
from dataclasses import replace

from models import prompt
from models.errors import BackendError
from models.protocols import Responder
from models.thinking import distress, rules
from models.thinking.followups import leads, written
from models.thinking.guards import pretends, refuses
from models.thinking.openings import nod
from models.thinking.plan import ReplyPlan
from models.thinking.prompts import GUIDANCE, Strength, note
from models.thinking.ranking import Ranking
from models.thinking.refining import refined
from models.thinking.sentences import SENTENCE
from models.thinking.wording import ours, sensible, theirs
from models.types import Turn
from models.unmarked import plain

ROLE = "thinker"
LED_SEC = 1.0  # while an opening is spoken there is time to try several ways to go on
LED_TOKENS = 28  # of one way
SENTENCES = 2  # of a small model: from the third on it makes things up
MATTERS_OF_FACT = ("asks", "favour", "unprompted")  # answered by the model in its own words
FEWEST = 5  # words from which a small model can tell what they are about


class DualThinker:
    """A Thinker by rules, that leads a small model by the hand and informs a large one."""

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
            lead: whether replies open with the plan's own words and go on in ways that are tried
                out meanwhile: for models too small to make use of a note.
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
        self._ranking = Ranking() if lead else None

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan:
        plan = await rules.plan_aside(dialogue, self._distress)
        if self._refine_sec:
            plan = await refined(plan, dialogue, responder, self._refine_sec)
        if self._lead and not plan.acknowledgement and not plan.fixed:  # gives time to think
            given = nod(plan.situation, ours(dialogue), theirs(dialogue))
            plan = replace(plan, acknowledgement=given)
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
        before, words = ours(dialogue), theirs(dialogue)
        otherwise = written(plan, words, before)
        if settled := rules.settled(plan, instructions):
            yield settled
            return
        own = instructions.strip()
        told = self._strength is Strength.ENHANCED and not self._lead
        asked = self._asked(instructions, dialogue, note(plan) if told else "")
        factual = plan.situation in MATTERS_OF_FACT  # which a remark on a cough leads nowhere
        if plan.acknowledgement and not factual:
            asked.append(Turn("assistant", plan.acknowledgement))
        if self._ranking and not own and not factual:
            yield await self._led(self._ranking, plan, words, before, asked, responder) or otherwise
            return
        said = False
        async with (
            aclosing(sensible(responder, asked, max_tokens)) as worded,
            aclosing(_honest(worded) if self._lead else worded) as tokens,
        ):
            async for token in tokens:
                said = said or bool(token.strip())
                yield token
        if not said:
            yield otherwise

    def close(self) -> None:
        if self._ranking:
            self._ranking.close()

    def _asked(self, instructions: str, dialogue: Sequence[Turn], remark: str) -> list[Turn]:
        if self._strength is Strength.ZERO:
            return prompt.messages(instructions, dialogue, None)
        informed = self._strength is Strength.ENHANCED and not self._lead
        guidance = GUIDANCE if informed else prompt.SPOKEN
        return prompt.messages(instructions, dialogue, guidance, remark)

    async def _led(
        self,
        ranking: Ranking,
        plan: ReplyPlan,
        words: str,
        before: Sequence[str],
        asked: Sequence[Turn],
        responder: Responder,
    ) -> str | None:
        """The best sentence that could be found in the time there is; None if none was good."""
        found: list[str] = []
        if len(words.split()) < FEWEST:
            return None
        try:
            async with asyncio.timeout(LED_SEC):
                for lead in leads(plan.situation):
                    found.append(await _sentence(responder, asked, lead))
        except TimeoutError:
            pass
        return await ranking.best(plan, words, found, before)


async def _sentence(responder: Responder, asked: Sequence[Turn], lead: str) -> str:
    """One sentence that goes on from the reply's beginning and these first words."""
    begun = asked[-1].text if asked[-1].role == "assistant" else ""
    before = list(asked[:-1] if begun else asked)
    if start := f"{begun} {lead}".strip():
        before.append(Turn("assistant", start))
    text = ""
    async with (
        aclosing(responder.respond(before, LED_TOKENS)) as tokens,
        aclosing(plain(_after(lead, tokens))) as words,
    ):
        async for word in words:
            text += word
            if (whole := SENTENCE.match(text)) and whole.end() < len(text):
                return whole[1]
    whole = SENTENCE.match(text)
    return whole[1] if whole else ""


async def _after(lead: str, tokens: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    yield lead
    async for token in tokens:
        yield token


async def _honest(words: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The first sentences, each whole, up to one that refuses or pretends."""
    text, given = "", 0
    async for word in words:
        text += word
        while (whole := SENTENCE.match(text)) and whole.end() < len(text):
            if given == SENTENCES or _dishonest(whole[1]):
                return
            yield f"{whole[1]} "
            text, given = text[whole.end() :], given + 1
    if text.strip() and given < SENTENCES and not _dishonest(text):
        yield text.strip()


def _dishonest(sentence: str) -> bool:
    return refuses(sentence) or pretends(sentence)
