"""How a reply goes on after its opening: what we would write, and where a model is asked."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from models.thinking.plan import ReplyPlan


@dataclass(frozen=True, slots=True)
class FollowUps:
    written: tuple[str, ...]
    about: tuple[str, ...]
    free: bool
    of_fact: bool


def _table() -> Mapping[str, FollowUps]:
    rows = tomllib.loads(Path(__file__).with_name("followups.toml").read_text("utf-8"))
    return {
        name: FollowUps(
            tuple(row["written"]),
            tuple(row.get("about", ())),
            row.get("free", False),
            row.get("of_fact", False),
        )
        for name, row in rows.items()
    }


TABLE = _table()


def written(plan: ReplyPlan, words: str, recent: Sequence[str]) -> str:
    """A sentence to go on with, the same for the same words, and none that was said just now."""
    row, about = TABLE[plan.situation], plan.said.about
    named = about in plan.acknowledgement or any(about in each for each in recent)
    specific = [] if named else [each.format(about=about) for each in row.about]
    choices = specific or row.written
    said = " ".join(recent)
    fresh = [choice for choice in choices if choice not in said] or choices
    return fresh[crc32(words.encode()) % len(fresh)]


def free(situation: str) -> bool:
    """Whether a model learns to go on in its own words."""
    return TABLE[situation].free


def of_fact(situation: str) -> bool:
    """Whether there is something to be answered that nobody can have written before."""
    return TABLE[situation].of_fact
