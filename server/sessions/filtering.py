"""Which sessions are sought, and how that is asked of the index."""

import unicodedata
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

from server.consent import SCOPES

Order = Literal["newest", "oldest", "longest", "shortest", "slowest", "fastest", "best", "worst"]
ORDERS: dict[Order, str] = {
    "newest": "started DESC",
    "oldest": "started ASC",
    "longest": "seconds DESC",
    "shortest": "seconds ASC",
    "slowest": "latency_p50_ms DESC",
    "fastest": "latency_p50_ms ASC",
    "best": "rating DESC",
    "worst": "rating ASC",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """All that is given must hold. What a session has no figure for is left out once asked for."""

    since: date | None = None  # the UTC day it began, both ends included
    until: date | None = None
    model: str | None = None  # the backend that replied, spoke or perceived
    profile: str | None = None
    consent: tuple[str, ...] = ()  # scopes it must have, all of them
    rating_min: float | None = None  # the mean of all ratings
    longer: float | None = None  # seconds, at least
    shorter: float | None = None  # seconds, at most
    emotion: str | None = None
    latency_min_ms: float | None = None  # the median
    latency_max_ms: float | None = None
    tag: str | None = None
    speaker: str | None = None
    replay_of: str | None = None
    text: str | None = None  # in the notes
    state: str | None = None
    deleted: bool = False  # show these, too
    order: Order = "newest"
    limit: int | None = 100
    offset: int = 0


def condition(sought: Filter) -> tuple[str, list[Any]]:
    """What must hold, with a mark for each value."""
    parts: list[tuple[str, Any]] = [
        ("date >= ?", sought.since and sought.since.isoformat()),
        ("date <= ?", sought.until and sought.until.isoformat()),
        ("? IN (responder, voice, perceiver)", sought.model),
        ("profile = ?", sought.profile),
        ("rating >= ?", sought.rating_min),
        ("seconds >= ?", sought.longer),
        ("seconds <= ?", sought.shorter),
        ("emotion = ?", sought.emotion),
        ("latency_p50_ms >= ?", sought.latency_min_ms),
        ("latency_p50_ms <= ?", sought.latency_max_ms),
        ("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)", sought.tag),
        ("speaker = ?", sought.speaker),
        ("replay_of = ?", sought.replay_of),
        ("instr(folded, ?)", folded(sought.text) if sought.text else None),
        ("state = ?", sought.state),
    ]
    parts = [(text, value) for text, value in parts if value is not None]
    conditions = [text for text, _ in parts]
    if unknown := set(sought.consent) - set(SCOPES):
        raise ValueError(f"unknown consent '{min(unknown)}'; choose from: {', '.join(SCOPES)}")
    conditions += sorted(set(sought.consent))
    if not sought.deleted and sought.state is None:
        conditions.append("state != 'deleted'")
    return " AND ".join(conditions) or "1", [value for _, value in parts]


def folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
