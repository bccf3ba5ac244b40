"""What a judge reads about an exchange: words that may be taken, and how something was said."""

from dataclasses import dataclass
from typing import Any

from server.scoring.exchange import Exchange
from server.scoring.score import Unscored

NO_CUE = "no cue, neither true nor perceived"
EARLIER = 6  # turns before the exchange


@dataclass(frozen=True, slots=True)
class Cue:
    """How something was said, in words."""

    words: str
    true: bool

    @property
    def note(self) -> str:
        return "" if self.true else f"Judged by the cue that was perceived ({self.words})."


def cue(exchange: Exchange) -> Cue:
    """The true one, in the data set's words if it has any; else what the perceiver relied on."""
    from server.sessions.export.spoken_info import PLACES, STRINGS, UNKNOWN, spoken_info

    truth = exchange.annotation
    if truth.spoken_info:
        return Cue(truth.spoken_info, true=True)
    if truth.cue:
        return Cue(STRINGS.get(truth.cue) or PLACES.get(truth.cue) or truth.cue, true=True)
    try:
        perceived = spoken_info(exchange.percept())
    except Unscored:
        raise Unscored(NO_CUE) from None
    if perceived == UNKNOWN:
        raise Unscored(NO_CUE)
    return Cue(perceived.text, true=False)


def state(exchange: Exchange) -> dict[str, str]:
    """The cue where it is known; whoever hears the user does without it."""
    try:
        return {"how_it_was_said": cue(exchange).words}
    except Unscored:
        return {}


def said(exchange: Exchange) -> str:
    """What was really said, where somebody knows it; else what was recognised."""
    return exchange.annotation.text or exchange.user_words()


def about(exchange: Exchange) -> dict[str, Any]:
    """What is known before the user speaks: the topic, the situation, the turns before."""
    truth = exchange.annotation
    told: dict[str, Any] = {}
    if truth.topic:
        told["topic"] = truth.topic
    if truth.context:
        told["situation"] = truth.context
    if earlier := [
        {"who": "user" if turn.role == "user" else "reply", "said": turn.text}
        for turn in exchange.before[-EARLIER:]
        if turn.text and exchange.consent.transcript
    ]:
        told["earlier"] = earlier
    return told
