"""Speaking to a reply model that was taught to follow a note, in the form it was taught."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from models import prompt
from models.errors import BackendError
from models.protocols import Responder
from models.thinking import distress, rules
from models.thinking.followups import free, written
from models.thinking.guards import pretends, refuses, unnoted
from models.thinking.openings import nod
from models.thinking.plan import ReplyPlan
from models.thinking.refining import thought_over
from models.thinking.sentences import Sentence, Weighing, sentences
from models.thinking.told import SYSTEM, Told, note, parted, thought
from models.thinking.wording import ours, sensible, theirs
from models.types import Turn

ROLE = "thinker"
THOUGHT_TOKENS = 40
THOUGHT_SEC = 1.0  # a thought that takes longer is not waited for
SENTENCES = 2  # of a small model, after an opening
SURE = -0.8  # the mean log-probability from which its sentences mostly make sense, read on dev


class TunedThinker:
    """A Thinker for models with our adapters (models/tuning): what they are told, they do."""

    def __init__(
        self,
        told: str = "plan",
        lead: bool = False,
        distress_file: str = "",
        helplines: str = "",
    ) -> None:
        """Reads the tables.

        Args:
            told: "plan": the model is told what the rules plan, which costs no time; "think": it
                plans by itself first, and the rules only where it fails to.
            lead: whether replies open with the plan's own words, which can be spoken at once, and
                go on in the model's where these are sure: for small models on slow machines.
            distress_file: a table in place of models/thinking/distress.toml.
            helplines: where people in distress are told to turn, in place of the table's words.
        """
        if told not in list(Told):
            raise BackendError(ROLE, f"Unknown way {told!r}; choose one of: {', '.join(Told)}.")
        self._told = Told(told)
        self._lead = lead
        self._distress = distress.chosen(distress_file, helplines)

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan:
        """A fast model's own words open better than ours: of these a nod is left, if it is late."""
        plan = await rules.plan_aside(dialogue, self._distress)
        if plan.fixed:
            return plan
        if self._thinks(dialogue):
            asked = _asked(instructions, dialogue, note(plan, Told.THINK))
            plan = await _thought_over(plan, asked, responder)
        if self._lead:
            return replace(plan, acknowledgement=opening(plan, dialogue))
        return replace(plan, acknowledgement="", nod=_nod(plan, dialogue))

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
        """The reply, or what follows the plan's opening; never nothing."""
        if settled := rules.settled(plan, instructions):
            yield settled
            return
        weighing = Weighing(responder)
        said = False
        if not self._lead or free(plan.situation):
            asked = self._told_of(plan, instructions, dialogue)
            async with (
                aclosing(sensible(weighing, asked, max_tokens)) as tokens,
                aclosing(unnoted(tokens)) as words,
                aclosing(sound(sentences(words, weighing)) if self._lead else words) as given,
            ):
                async for word in given:
                    said = said or any(map(str.isalnum, word))
                    yield word
        if not said:
            yield written(plan, theirs(dialogue), ours(dialogue))

    def _told_of(self, plan: ReplyPlan, instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
        """What the model is asked, and how its reply has begun."""
        thinks = self._thinks(dialogue)
        asked = _asked(instructions, dialogue, note(plan, Told.THINK if thinks else Told.PLAN))
        begun = [thought(plan) if thinks else "", plan.acknowledgement]
        return [*asked, Turn("assistant", " ".join(filter(None, begun)))] if any(begun) else asked

    def _thinks(self, dialogue: Sequence[Turn]) -> bool:
        """Only about what a user said was it taught to."""
        spoken = [turn for turn in dialogue if turn.role != "system"]
        return self._told is Told.THINK and bool(spoken) and spoken[-1].role == "user"


def opening(plan: ReplyPlan, dialogue: Sequence[Turn]) -> str:
    """What is said before the model has found any words; nothing where these should come first."""
    return plan.acknowledgement or _nod(plan, dialogue)


def _nod(plan: ReplyPlan, dialogue: Sequence[Turn]) -> str:
    return nod(plan.situation, ours(dialogue), theirs(dialogue))


async def sound(found: AsyncGenerator[Sentence, None]) -> AsyncGenerator[str, None]:
    """The first sentences, up to a question, or to one that is unsure, unfinished or untrue."""
    given = 0
    async with aclosing(found):
        async for sentence in found:
            if given == SENTENCES or not _sound(sentence):
                return
            yield f"{sentence.text} "
            given += 1
            if sentence.asks:
                return


def _sound(sentence: Sentence) -> bool:
    sure = sentence.sureness is None or sentence.sureness >= SURE
    return sure and sentence.whole and not (refuses(sentence.text) or pretends(sentence.text))


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
