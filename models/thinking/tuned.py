"""Speaking to a reply model that was taught to follow a note, in the form it was taught."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from models import prompt
from models.errors import BackendError
from models.protocols import Responder
from models.thinking import distress, rules
from models.thinking.followups import of_fact, written
from models.thinking.guards import apologises, claims_a_deed, stale, unnoted, unthought
from models.thinking.openings import nod
from models.thinking.plan import ReplyPlan
from models.thinking.refining import thought_over
from models.thinking.sentences import Sentence, Weighing, sentences
from models.thinking.told import SYSTEM, Told, note, parted, thought
from models.thinking.wording import dishonest, honest, ours, sensible, theirs
from models.types import Turn

ROLE = "thinker"
THOUGHT_TOKENS = 40
THOUGHT_SEC = 1.0  # a thought that takes longer is not waited for
SENTENCES = 2  # of a small model, after an opening
LED_SEC = 1.5  # an opening is spoken in about a second; who has found nothing by then is left out
SURE = -0.3  # the mean log-probability from which answers on questions of dev were mostly right


class TunedThinker:
    """A Thinker for models with our adapters (models/tuning): what they are told, they do."""

    def __init__(
        self,
        told: str = "plan",
        lead: bool = False,
        distress_file: str = "",
        helplines: str = "",
        sure: float = SURE,
    ) -> None:
        """Reads the tables.

        Args:
            told: "plan": the model is told what the rules plan, which costs no time; "think": it
                plans by itself first, and the rules only where it fails to.
            lead: whether replies open with the plan's own words, which can be spoken at once, and
                go on in ours, and the model is asked what is of fact, and heard where it is sure:
                for small models on slow machines. With a client's own instructions the model is
                told these behind the line it was taught with, and no note, and goes on as far as
                it likes.
            distress_file: a table in place of models/thinking/distress.toml.
            helplines: where people in distress are told to turn, in place of the table's words.
            sure: how sure the model must have been of a sentence after `lead`, as the mean
                log-probability of its tokens; another model wants another bar.
        """
        if told not in list(Told):
            raise BackendError(ROLE, f"Unknown way {told!r}; choose one of: {', '.join(Told)}.")
        self._told = Told(told)
        self._lead = lead
        self._sure = sure
        self._distress = distress.chosen(distress_file, helplines)

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan:
        """A fast model's own words open better than ours: of these a nod is left, if it is late."""
        plan = await rules.plan_aside(dialogue, self._distress)
        if plan.fixed:
            return plan
        if self._thinks(dialogue) and self._is_noted(plan, instructions):
            asked = _asked(instructions, dialogue, note(plan, Told.THINK))
            plan = await _thought_over(plan, asked, responder)
        if self._lead:
            return replace(plan, acknowledgement=opening(plan, dialogue))
        return replace(plan, acknowledgement="", nod=_nod(plan, dialogue))

    def prompt(self, instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
        """Nothing where the words so far are none that the model would be asked about."""
        if self._lead and not instructions.strip() and not rules.lengthy(dialogue):
            plan = rules.plan(dialogue, self._distress)
            if not of_fact(plan.situation):
                return []
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
        said = False
        worded = self._worded(plan, instructions, dialogue, responder, max_tokens)
        async with aclosing(worded) as words:
            async for word in words:
                said = said or any(map(str.isalnum, word))
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
        own = self._lead and bool(instructions.strip())  # a client with a wish has its way
        if not own and not self._is_noted(plan, instructions):
            return
        weighing = Weighing(responder)
        asked = self._told_of(plan, instructions, dialogue)
        async with (
            aclosing(sensible(weighing, asked, max_tokens)) as tokens,
            # Its part may want brackets; that it was taught to think in them nobody can know.
            aclosing(unthought(tokens) if own else unnoted(tokens)) as words,
        ):
            if not self._lead:
                async for word in words:
                    yield word
                return
            found = sentences(words, weighing)
            said = ours(dialogue)
            sayable = honest(found) if own else sound(found, plan, said, self._sure)
            wait = LED_SEC if plan.acknowledgement and not own else None
            async with aclosing(in_time(sayable, wait)) as given:
                async for sentence in given:
                    yield f"{sentence} "

    def _is_noted(self, plan: ReplyPlan, instructions: str) -> bool:
        """Whether the model is asked, and told of the plan in a note."""
        return not self._lead or (not instructions.strip() and of_fact(plan.situation))

    def _told_of(self, plan: ReplyPlan, instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
        """What the model is asked, and how its reply has begun."""
        noted = self._is_noted(plan, instructions)
        thinks = noted and self._thinks(dialogue)
        remark = note(plan, Told.THINK if thinks else Told.PLAN) if noted else ""
        asked = _asked(instructions, dialogue, remark)
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


async def sound(
    found: AsyncGenerator[Sentence, None], plan: ReplyPlan, recent: Sequence[str], bar: float
) -> AsyncGenerator[str, None]:
    """The first sentences, up to a question, or to one that should not be said."""
    given = 0
    async with aclosing(found):
        async for sentence in found:
            if given == SENTENCES or not _sound(sentence, plan, recent, bar):
                return
            yield sentence.text
            given += 1
            if sentence.asks:
                return


async def in_time(
    found: AsyncGenerator[str, None], seconds: float | None
) -> AsyncGenerator[str, None]:
    """All that is found, or nothing if the first keeps somebody waiting for longer."""
    async with aclosing(found):
        try:
            async with asyncio.timeout(seconds):
                first = await anext(found, None)
        except TimeoutError:
            return
        if first is None:
            return
        yield first
        async for each in found:
            yield each


def _sound(sentence: Sentence, plan: ReplyPlan, recent: Sequence[str], bar: float) -> bool:
    """Sure, whole, honest, of some use, and nothing that was said before."""
    sure = sentence.sureness is None or sentence.sureness >= bar
    return (
        sure
        and sentence.whole
        and not dishonest(sentence)
        and not claims_a_deed(sentence.text)
        and not stale(sentence.text)
        and not (apologises(sentence.text) and apologises(plan.acknowledgement))
        and all(sentence.text not in said for said in recent)
    )


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
