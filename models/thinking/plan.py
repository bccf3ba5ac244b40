"""What is thought before a reply is given: an object anyone can look at."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from models.percept import Affect, Conflict
from models.style import MIDDLE, PLAIN, Style

AT_ODDS = 0.6  # from here on a conflict of words and voice counts
REMEMBERED = 6  # our own last turns that should not be said again


class Strategy(StrEnum):
    """What a reply does for the one it is given to: Hill's helping skills as ESConv names them,
    and what a voice asks for beyond words."""

    QUESTION = "question"
    RESTATEMENT = "restatement"
    REFLECTION = "reflection"
    SELF_DISCLOSURE = "self_disclosure"
    AFFIRMATION = "affirmation"
    SUGGESTION = "suggestion"
    INFORMATION = "information"
    CELEBRATE = "celebrate"
    CALM = "calm"
    DE_ESCALATE = "de_escalate"
    ADDRESS_CHILD = "address_child"
    ADDRESS_ELDER = "address_elder"
    ADAPT_TO_NOISE = "adapt_to_noise"


class Intent(StrEnum):
    """What someone does by saying something."""

    GREETING = "greeting"
    FAREWELL = "farewell"
    THANKS = "thanks"
    APOLOGY = "apology"
    ASKS = "asks"  # for something to be told
    REQUESTS = "requests"  # something to be done, or advice
    SHARES_GOOD = "shares_good"
    SHARES_BAD = "shares_bad"
    SHARES = "shares"
    COMPLAINS = "complains"  # about us, or to us
    AGREES = "agrees"
    REFUSES = "refuses"
    UNCLEAR = "unclear"  # nothing that can be made out


@dataclass(frozen=True, slots=True)
class Said:
    """The linguistic half: what the words do, and what someone who says them may need."""

    intent: Intent
    need: str  # "comfort", "company", "information", "advice", "to be heard", "safety", ...
    about: str = ""  # the matter in a few of their own words, as in "your exam"
    topic: str = ""  # one of EchoMind's, where one is plain
    emotion: str = "neutral"  # of the words alone
    danger: str | None = None  # a kind of distress that comes before everything else
    language: str = "en"


@dataclass(frozen=True, slots=True)
class Heard:
    """One thing the voice or the place says."""

    dimension: str
    name: str
    confidence: float
    sure: bool  # whether it may be spoken of as heard, rather than only allowed for


@dataclass(frozen=True, slots=True)
class ReplyPlan:
    """Both halves, and what follows from them."""

    said: Said
    situation: str = "plain"  # by which rule; models/thinking/rules.toml has them all
    heard: tuple[Heard, ...] = ()
    conflict: Conflict | None = None
    strategies: tuple[Strategy, ...] = ()
    acknowledgement: str = ""  # the words the reply opens with; empty where none are due
    nod: str = ""  # what is said first if the rest is late; empty where silence is better
    emotion: str = "neutral"  # of the reply: one of models.style.REPLY_EMOTIONS
    target: Affect = MIDDLE  # how the reply should strike the listener
    style: Style = PLAIN
    fixed: str = ""  # the whole reply, where no model should word it
    source: str = "rules"  # or "rules+model"
    also: tuple[str, ...] = ()  # situations that applied as well, and gave way

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "style": self.style.to_json(), "line": self.line}

    @property
    def line(self) -> str:
        """All of it in one line: what was heard, and what is done about it."""
        heard = ", ".join(each.name if each.sure else f"perhaps {each.name}" for each in self.heard)
        done = ", ".join(strategy.value.replace("_", " ") for strategy in self.strategies)
        return f"heard: {heard or 'nothing unusual'} → {self.emotion}: {done or 'answer'}"
