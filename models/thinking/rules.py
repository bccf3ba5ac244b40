"""From what was said and how, to a plan: by rules, in about a millisecond.

One situation is found and looked up in `rules.toml`; what else was heard only changes how the reply
is given. What was heard unsurely is allowed for and never spoken of as a fact. Nothing follows from
anyone's gender, and from an age no more than the manner of speaking.
"""

import asyncio
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from models.percept import Affect, Conflict
from models.style import Style
from models.styles import styled
from models.thinking.distress import Distress
from models.thinking.noticing import notice
from models.thinking.openings import opening
from models.thinking.plan import (
    AT_ODDS,
    REMEMBERED,
    Heard,
    Intent,
    ReplyPlan,
    Said,
    Strategy,
)
from models.thinking.reading import read
from models.types import Turn
from models.voicing import within_limits

STAYS = 4  # turns for which bad news may be what is talked about
PASTED = 4_000  # characters: to read so many takes so long that others should not wait for it
UNSURE = 0.5  # how strongly a style is worn that rests on a guess
STRESSED = ("so", "really", "very", "wonderful", "great", "fantastic", "amazing", "congratulations")
WORN_OUT = {"tired", "breath", "hoarse", "sigh", "yawn", "cough", "moan"}
BUSINESS = {Intent.ASKS, Intent.REQUESTS}  # a sad voice is no reason not to answer
UNHAPPY = {"sad", "angry", "fear", "disgust"}
# Situations that the words make; all others may rest on a guess at the voice.
OF_WORDS = {
    "danger", "unclear", "asks", "stuck", "requests", "favour", "greeting", "farewell", "thanks",
    "apology", "space", "mourning", "unprompted", "plain",
}  # fmt: skip
BRISK = {"asks", "stuck", "requests", "favour", "plain"}

# Whole replies, where a model's own words would be a risk or a waste.
ENGLISH_ONLY = (
    "I'm sorry, I only understand English so far. Could you say it in English?",
    "In English, please.",
)
AGAIN = (
    "Sorry, I didn't catch that. Could you say it again?",
    "I didn't quite hear you. Once more, please?",
    "That was hard to make out. Could you repeat it?",
    "I missed that. What did you say?",
)
NO_DOCTOR = (
    "I can't judge that safely. A pharmacist or a doctor can, and quickly.",
    "That's one for a pharmacist or a doctor. Please ask them before you do anything.",
)
OURSELVES = {
    "us/nature": (
        "I'm a computer program, a voice you can talk with.",
        "No person here: I'm a program that listens and talks.",
    ),
    "us/name": ("I'm Attune.", "My name is Attune."),
    "us/feelings": (
        "I don't feel things as you do, but I listen to how you say them.",
        "I have no feelings of my own. I do listen for yours.",
    ),
    "us/abilities": (
        "I can listen, talk with you, and hear a little of how you're doing.",
        "Talking and listening is what I do. What's on your mind?",
    ),
    "us/friend": (
        "I'm a program, so I can't be that. But I'm glad to keep you company.",
        "That's kind of you. I'm only a program, but I like our talks to be good ones.",
    ),
}

_ALL_WELL = re.compile(
    r"\b(?:fine|okay|ok|all right|alright|going well|no problem|don't mind)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Situation:
    """What to do about something, in general."""

    name: str
    strategies: tuple[Strategy, ...]
    emotion: str
    target: Affect


def _situations() -> dict[str, Situation]:
    table = tomllib.loads(Path(__file__).with_name("rules.toml").read_text("utf-8"))
    return {
        name: Situation(
            name,
            tuple(Strategy(strategy) for strategy in row["strategies"]),
            row["emotion"],
            Affect(*row["target"]),
        )
        for name, row in table["situations"].items()
    }


SITUATIONS = _situations()


@dataclass(frozen=True, slots=True)
class Impression:
    """Both halves together, as the situations ask about them."""

    words: str
    said: Said
    heard: tuple[Heard, ...]
    conflict: Conflict | None
    after_bad_news: bool

    @property
    def glad(self) -> bool:
        sociable = {Intent.GREETING, Intent.FAREWELL, Intent.THANKS, Intent.APOLOGY}
        return self.feels("happy") and self.said.intent not in sociable

    @property
    def belied(self) -> bool:
        """Whether all is said to be well in a voice that is not."""
        conflict = self.conflict
        if conflict and conflict.strength >= AT_ODDS:
            return conflict.voice in UNHAPPY and conflict.words not in UNHAPPY
        return self.perhaps("sigh", "moan") and _ALL_WELL.search(self.words) is not None

    def sure(self, *names: str) -> bool:
        return any(each.name in names and each.sure for each in self.heard)

    def perhaps(self, *names: str) -> bool:
        return any(each.name in names for each in self.heard)

    def feels(self, emotion: str) -> bool:
        """The voice says so; or the words do, and the voice says nothing else."""
        voice = next((each.name for each in self.heard if each.dimension == "emotion"), None)
        return voice == emotion or (voice is None and self.said.emotion == emotion)


# In this order: what is graver comes first.
_APPLIES: tuple[tuple[str, Callable[[Impression], bool]], ...] = (
    ("danger", lambda on: on.said.danger is not None),
    ("unclear", lambda on: on.said.intent is Intent.UNCLEAR),
    ("crying", lambda on: on.sure("sobbing") or on.perhaps("sobbing") and on.feels("sad")),
    ("hidden", lambda on: on.belied),
    ("wronged_by_us", lambda on: on.said.intent is Intent.COMPLAINS),
    ("afraid", lambda on: on.feels("fear") or on.sure("scream")),
    ("angry", lambda on: on.feels("angry") or on.sure("shout") and not on.feels("happy")),
    ("sad", lambda on: on.feels("sad") or on.said.intent is Intent.SHARES_BAD),
    ("disgusted", lambda on: on.feels("disgust")),
    ("worn_out", lambda on: on.perhaps(*WORN_OUT) and on.said.intent not in BUSINESS),
    ("delighted", lambda on: on.said.intent is Intent.SHARES_GOOD or on.glad),
    ("surprised", lambda on: on.feels("surprise")),
    ("amused", lambda on: on.perhaps("laughter")),
    ("stuck", lambda on: on.said.need == "help"),
    ("asks", lambda on: on.said.intent is Intent.ASKS),
    ("favour", lambda on: on.said.need == "a favour"),
    ("requests", lambda on: on.said.intent is Intent.REQUESTS),
    ("greeting", lambda on: on.said.intent is Intent.GREETING),
    ("farewell", lambda on: on.said.intent is Intent.FAREWELL),
    ("thanks", lambda on: on.said.intent is Intent.THANKS),
    ("apology", lambda on: on.said.intent is Intent.APOLOGY),
    ("space", lambda on: on.said.intent is Intent.REFUSES),
    ("mourning", lambda on: on.after_bad_news),
    ("plain", lambda on: True),
)


def plan(turns: Sequence[Turn], distress: Distress) -> ReplyPlan:
    """What to reply to the last turn, and in which voice."""
    spoken = [turn for turn in turns if turn.role != "system"]
    if not spoken or spoken[-1].role != "user":  # asked to speak by someone else
        return _unprompted()
    last = spoken[-1]
    ours = [turn.text for turn in spoken if turn.role == "assistant"][-REMEMBERED:]
    said = read(spoken, distress)
    conflict = last.percept.conflict if last.percept else None
    impression = Impression(
        last.text, said, notice(last.percept), conflict, _bad_news_before(spoken, distress)
    )
    situation, tone, also = _situation(impression)
    strategies = tuple(
        dict.fromkeys(
            [
                *(tone.strategies[:1] if tone is not situation else ()),
                *situation.strategies,
                *_manners(impression),
            ]
        )
    )
    fixed = _fixed(said, distress, ours)
    return ReplyPlan(
        said=said,
        situation=situation.name,
        heard=impression.heard,
        conflict=conflict,
        strategies=strategies,
        acknowledgement="" if fixed else _opening(impression, strategies, ours),
        emotion=tone.emotion,
        target=tone.target,
        style=_style(tone, impression),
        fixed=fixed,
        also=also,
    )


async def plan_aside(turns: Sequence[Turn], distress: Distress) -> ReplyPlan:
    """The plan, made in a thread where there is much to read."""
    if lengthy(turns):
        return await asyncio.to_thread(plan, turns, distress)
    return plan(turns, distress)


def lengthy(turns: Sequence[Turn]) -> bool:
    """Whether others should not wait while this is read."""
    return sum(len(turn.text) for turn in turns) > PASTED


def settled(plan: ReplyPlan, instructions: str) -> str:
    """The whole reply, where no model should word it; who we are, a client may say otherwise."""
    own = instructions.strip() and plan.said.topic in OURSELVES
    return "" if own else plan.fixed


def _situation(on: Impression) -> tuple[Situation, Situation, tuple[str, ...]]:
    """What to do, in which tone, and what else applied.

    A question asked in a sad voice is answered, in the tone that sadness asks for.
    """
    names = [name for name, applies in _APPLIES if applies(on)]
    tone = SITUATIONS[names[0]]
    business = [name for name in names if name in BRISK and name != "plain"]
    if on.said.intent in BUSINESS and on.said.emotion == "neutral" and names[0] not in OF_WORDS:
        taken = business[0]
    else:
        taken = names[0]
    return SITUATIONS[taken], tone, tuple(n for n in names if n not in (taken, "plain"))


def _bad_news_before(spoken: Sequence[Turn], distress: Distress) -> bool:
    """Whether one of the user's last turns told of something bad, and the talk stayed with it."""
    for at in [at for at, turn in enumerate(spoken) if turn.role == "assistant"][: -STAYS - 1 : -1]:
        before = read(spoken[:at], distress)
        if before.intent is Intent.SHARES_BAD:
            return True
        if before.intent not in (Intent.SHARES, Intent.AGREES):  # which may still be about it
            return False
    return False


def _opening(on: Impression, strategies: Sequence[Strategy], ours: Sequence[str]) -> str:
    return opening(
        on.said, on.heard, strategies, ours, conflict=on.conflict, seed=" ".join(on.words.split())
    )


def _unprompted() -> ReplyPlan:
    situation = SITUATIONS["unprompted"]
    said = Said(Intent.SHARES, "company")
    style = styled(situation.emotion, situation.target)
    return ReplyPlan(
        said,
        situation.name,
        strategies=situation.strategies,
        emotion=situation.emotion,
        target=situation.target,
        style=style,
    )


def _manners(on: Impression) -> tuple[Strategy, ...]:
    """What changes how things are put, whatever they are."""
    found = []
    if on.sure("child"):
        found.append(Strategy.ADDRESS_CHILD)
    if on.sure("elderly"):
        found.append(Strategy.ADDRESS_ELDER)
    if _noisy(on.heard):
        found.append(Strategy.ADAPT_TO_NOISE)
    return tuple(found)


def _noisy(heard: Sequence[Heard]) -> bool:
    quiet = {"dog", "sea", "music"}  # company rather than noise, unless it drowns the voice
    place = ("weather", "location", "human_sounds", "sudden_events", "other", "place")
    return any(each.dimension in place and each.name not in quiet for each in heard)


def _fixed(said: Said, distress: Distress, ours: Sequence[str]) -> str:
    if said.danger:
        return distress.reply(said.danger, ours)
    if said.language != "en":
        return _fresh(ENGLISH_ONLY, ours)
    if said.intent is Intent.UNCLEAR:
        return _fresh(AGAIN, ours)
    if said.need == "medical advice":
        return _fresh(NO_DOCTOR, ours)
    if said.need == "a repetition" and ours:
        return ours[-1]
    return _fresh(OURSELVES[said.topic], ours) if said.topic in OURSELVES else ""


def _fresh(choices: Sequence[str], ours: Sequence[str]) -> str:
    """The first that was not said yet, else the one said longest ago."""
    said = {
        choice: max((at for at, t in enumerate(ours) if choice in t), default=-1)
        for choice in choices
    }
    return min(choices, key=lambda choice: said[choice])


def _style(tone: Situation, on: Impression) -> Style:
    grounded = any(each.sure for each in on.heard) or on.said.emotion != "neutral"
    strength = 1.0 if grounded or tone.name in OF_WORDS else UNSURE
    style = styled(tone.emotion, tone.target, strength)
    if on.perhaps("fast") and tone.name in BRISK:
        style = replace(style, pace=style.pace * 1.05)
    return mannered(style, on.heard, on.said.about)


def mannered(style: Style, heard: Sequence[Heard], about: str) -> Style:
    """A style as this listener, in this place, needs it."""
    surely = {each.name for each in heard if each.sure}
    style = replace(style, stress=(*STRESSED, *about.lower().split()[1:]))
    if any(each.name == "whisper" for each in heard):  # and wants no one else to hear
        style = replace(style, loudness=style.loudness - 4, breath=style.breath + 0.2)
    if _noisy(heard):
        style = replace(style, loudness=style.loudness + 3, tilt=style.tilt + 1)
    if surely & {"child", "elderly"}:
        style = replace(style, pace=style.pace * 0.94, pause=style.pause * 1.2)
    return within_limits(style)
