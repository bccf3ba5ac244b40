"""Ratings as opinions: who thought what of which reply, each person's last word."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from server.sessions.format import Rating

Who = Literal["user", "expert"]
UNNAMED = "unnamed"  # of one session they count as one person


class Key(NamedTuple):
    """One question about one reply, or about a whole session."""

    by: Who
    session_id: str
    item_id: str | None
    dimension: str

    @property
    def about(self) -> Literal["reply", "session"]:
        return "session" if self.item_id is None else "reply"


@dataclass(frozen=True, slots=True)
class Rated:
    count: int  # of ratings that have scores
    opinions: Mapping[Key, Mapping[str, float]]  # by rater

    def means(self) -> dict[Key, float]:
        """What people thought on average."""
        return {key: sum(told.values()) / len(told) for key, told in self.opinions.items()}


def gathered(ratings: Iterable[tuple[str, Rating]], played: Collection[str]) -> tuple[Rated, int]:
    """All opinions, and how many ratings are nobody's.

    In a session that a benchmark `played` there was no user who could have thought anything.
    """
    opinions: dict[Key, dict[str, float]] = {}
    count = left_out = 0
    for session_id, rating in sorted(ratings, key=lambda told: told[1].wall):
        if not rating.scores:
            continue
        if rating.by == "user" and session_id in played:
            left_out += 1
            continue
        count += 1
        rater = rating.rater or f"{UNNAMED} {session_id}"
        for dimension, value in rating.scores.items():
            key = Key(rating.by, session_id, rating.item_id, dimension)
            opinions.setdefault(key, {})[rater] = value
    return Rated(count, opinions), left_out
