"""What each stage of training asks, and what it should be answered."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from models.corpus.exchange import DIMENSION_OF, Exchange, Way
from models.corpus.plain import Plain
from models.corpus.simple import Replies
from models.thinking import told
from models.thinking.followups import free
from models.thinking.plan import ReplyPlan
from models.thinking.told import SYSTEM, Told
from models.thinking.tuned import opening
from models.tuning.emobank import Perspective, Sentence, in_words
from models.tuning.planned import heard, plan_of, planned
from models.types import Turn

UNDERSTAND = "You tell how people feel, from their words and how they say them."
ASKED = {
    Perspective.WRITER: "How does the one who wrote this feel?",
    Perspective.READER: "How does one feel who reads this?",
}
STATE = "How is the user, and what do they need?"
STATES = {
    "happy": "happy", "sad": "sad", "angry": "angry", "fear": "afraid", "disgust": "put off",
    "surprise": "surprised", "sobbing": "in tears", "breath": "out of breath", "tired": "worn out",
    "hoarse": "short of voice", "laughter": "amused", "sigh": "weary", "cough": "unwell",
    "yawn": "sleepy", "moan": "uncomfortable", "shout": "worked up", "whisper": "guarded",
    "fast": "in a hurry", "slow": "in need of time",
}  # fmt: skip


OWN = 0.5  # how often a model that is led also learns to open by itself
OTHERWISE = {Way.TARGET: Way.ALTERNATIVE, Way.ALTERNATIVE: Way.TARGET, Way.NEUTRAL: Way.TARGET}


class Stage(StrEnum):
    UNDERSTAND = "understand"  # what was said, how, and what it does to whom
    REPLY = "reply"  # spoken answers to words alone
    EMPATHY = "empathy"  # answers that follow from how the words were said, with thinking


@dataclass(frozen=True, slots=True)
class Example:
    """A dialogue up to where the model speaks, and what it should say."""

    turns: tuple[Turn, ...]
    answer: str
    script: str = ""  # which examples begin alike
    begun: str = ""  # what of the answer stands there already
    wrong: str = ""  # an answer to the same words, said in another way


def understanding(
    exchanges: Iterable[Exchange],
    sentences: Iterable[Sentence],
    perspectives: Sequence[Perspective],
) -> list[Example]:
    """Stage one: the state of whoever speaks, and both sides of a sentence's emotion."""
    found = [
        Example(
            (Turn("system", UNDERSTAND), *_noted(each, told.cue(plan)), Turn("user", STATE)),
            state(plan),
            each.id,
        )
        for each in exchanges
        for plan in (each.plan(way) for way in Way)
    ]
    return found + [
        Example(
            (Turn("system", UNDERSTAND), Turn("user", f"{sentence.text} {ASKED[side]}")),
            in_words(sentence.felt[side]),
            sentence.id,
        )
        for sentence in sentences
        for side in perspectives
    ]


def replies(exchanges: Iterable[Exchange], questions: Iterable[Plain]) -> list[Example]:
    """Stage two: what to say where nothing but the words is known."""
    said = [
        Example((Turn("system", SYSTEM), *_lines(each)), each.variants[Way.NEUTRAL].reply, each.id)
        for each in exchanges
    ]
    return said + [
        Example((Turn("system", SYSTEM), Turn("user", each.question)), each.answer, each.id)
        for each in questions
    ]


def empathy(
    exchanges: Iterable[Exchange],
    questions: Iterable[Plain],
    seed: int,
    simple: Replies | None = None,
) -> list[Example]:
    """Stage three: each way of saying it, told a plan or to think, by chance.

    A plan is told twice as often, for that is how the running system asks: it costs no time. With
    plain replies the model also learns to go on from an opening of ours, as a small one is led to.
    """
    rng = random.Random(seed)
    how = (Told.PLAN, Told.PLAN, Told.THINK)
    found = [_answered(each) for each in questions]
    for each in exchanges:
        for way in Way:
            dialogue = heard(each, way)
            plan = plan_of(dialogue)
            if plan.fixed:  # no model is ever asked there
                continue
            after = None
            if simple:
                more, other = (simple[each.id][one].more for one in (way, OTHERWISE[way]))
                after = _led(each, dialogue, plan, more, f" {other}" if _apart(each, way) else "")
            found += [after] if after else []
            if not after or rng.random() < OWN:
                found.append(_empathic(each, way, plan, rng.choice(how)))
    return found


def led(exchange: Exchange, way: Way, more: str) -> Example | None:
    """A sentence that goes on from our opening; None where there is none, or no model may."""
    dialogue = heard(exchange, way)
    return _led(exchange, dialogue, plan_of(dialogue), more)


def _led(
    exchange: Exchange, dialogue: Sequence[Turn], plan: ReplyPlan, more: str, wrong: str = ""
) -> Example | None:
    begun = opening(plan, dialogue)
    if not begun or not free(plan.situation):
        return None
    return Example(asked(exchange, plan, Told.PLAN), f" {more}", exchange.id, begun, wrong)


def _answered(plain: Plain) -> Example:
    asked = Turn("user", plain.question)
    noted = f"{plain.question} {told.note(plan_of([asked]), Told.PLAN)}"
    return Example((Turn("system", SYSTEM), Turn("user", noted)), plain.answer, plain.id)


def empathic(exchange: Exchange, way: Way, how: Told) -> Example:
    """A reply after the rules' plan, which it is told, or after its author's, which it thinks."""
    return _empathic(exchange, way, planned(exchange, way), how)


def _empathic(exchange: Exchange, way: Way, plan: ReplyPlan, how: Told) -> Example:
    reply = exchange.variants[way].reply
    if how is Told.THINK:
        thought = told.thought(exchange.plan(way))
        return Example(asked(exchange, plan, how), f"{thought} {reply}", exchange.id)
    wrong = exchange.variants[OTHERWISE[way]].reply if _apart(exchange, way) else ""
    return Example(asked(exchange, plan, how), reply, exchange.id, wrong=wrong)


def _apart(exchange: Exchange, way: Way) -> bool:
    """Whether two ways of saying it ask for different answers, as two genders do not."""
    one, other = (
        {cue.name for cue in exchange.variants[each].cues if DIMENSION_OF[cue.name] != "gender"}
        for each in (way, OTHERWISE[way])
    )
    return one != other


def asked(exchange: Exchange, plan: ReplyPlan, how: Told) -> tuple[Turn, ...]:
    """A script up to where the reply is due, told of a plan of its author's or of anyone's."""
    return (Turn("system", SYSTEM), *_noted(exchange, told.note(plan, how)))


def state(plan: ReplyPlan) -> str:
    """How someone is, in a sentence; of their gender and age, and the place, nothing."""
    felt = [
        STATES[each.name] if each.sure else f"perhaps {STATES[each.name]}"
        for each in plan.heard
        if each.name in STATES
    ]
    return f"They seem {' and '.join(felt) or 'at ease'}. They need {plan.said.need}."


def _noted(exchange: Exchange, note: str) -> list[Turn]:
    *before, last = _lines(exchange)
    return [*before, Turn("user", f"{last.text} {note}".strip())]


def _lines(exchange: Exchange) -> list[Turn]:
    return [Turn(line.role, line.text) for line in exchange.lines]
