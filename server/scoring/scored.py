"""Everything that was scored, light enough to be held at once: what analyses look at."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic import BaseModel

from server.arena.ballots import Ballot
from server.scoring.annotation import Annotation
from server.scoring.score import JudgeNamed, Measure
from server.sessions.format import Rating


@dataclass(frozen=True, slots=True)
class Row:
    """One exchange with its scores; no words and no sound."""

    session_id: str
    number: int
    user_item: str | None
    reply_item: str | None
    attributes: Mapping[str, str]  # what figures are broken down by
    values: Mapping[str, float]  # by metric; what has none is missing
    unscored: Mapping[str, str]  # why
    annotation: Annotation
    percept: Mapping[str, Any] | None
    plan: Mapping[str, Any] | None
    stages_ms: Mapping[str, float]
    interrupted: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """What a judge was asked and what it cost."""

    judge: str
    calls: int = 0
    retries: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None  # None: nobody said what a token costs


@dataclass(frozen=True, slots=True)
class Scored:
    rows: Sequence[Row]
    measures: Mapping[str, Measure]
    ratings: Sequence[tuple[str, Rating]] = ()  # with the session's id
    votes: Sequence[Ballot] = ()  # of the arena
    usage: Sequence[Usage] = ()
    judges: Sequence[JudgeNamed] = ()
    draws: int = 2000
    seed: int = 7
    humdial_delays: tuple[float, float] | None = None  # of the settings

    def values(self, metric: str) -> Iterator[tuple[Row, float]]:
        for row in self.rows:
            if metric in row.values:
                yield row, row.values[metric]


class Analysis(Protocol):
    """A look at all scores together. None: there is nothing it could say."""

    def __call__(self, scored: Scored) -> BaseModel | None: ...


@dataclass(frozen=True, slots=True)
class Broken:
    """A session, or a file of one, that could not be read; the others were scored all the same."""

    where: str
    problem: str = field(default="")
