"""`scores.json` as this scorer writes it: docs/scores-format.md, and what the report shows beside.

A reader of the plain format passes over what is added here.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from server.reports import ScoredExchange, ScoresFile
from server.scoring.annotation import Annotation
from server.sessions.format import ModelUsed


class Words(BaseModel):
    """With consent to the transcript only; the truth and the reference are the data set's."""

    model_config = ConfigDict(frozen=True)

    user: str | None = None  # as recognised
    truth: str | None = None
    reply: str | None = None  # as heard
    intended: str | None = None
    reference: str | None = None


class ToldExchange(ScoredExchange):
    words: Words | None = None
    annotation: Annotation | None = None
    percept: dict[str, Any] | None = None
    plan: dict[str, Any] | None = None
    stages_ms: dict[str, float] = {}
    interrupted: bool = False


class Headline(BaseModel):
    """What the means of `metrics` are over: what people get, nothing else mixed in."""

    data: list[str] = []  # benchmarks, or "own talk"
    cue: str | None = None  # of benchmark items: what the server was told of it
    condition: str | None = None
    exchanges: int = 0
    clusters: int = 0  # what intervals are drawn over
    drawn: Literal["scripts", "sessions"] = "sessions"
    pooled: dict[str, list[str]] = {}  # what still differs among them, by attribute
    aside: dict[str, int] = {}  # exchanges that are not among them, by reason
    asked: int = 0  # exchanges that want a reply
    unanswered: int = 0  # of those


class FailedItem(BaseModel):
    item: str
    problem: str


class PlayedSet(BaseModel):
    """A data set that was played, as its `bench.json` tells."""

    name: str
    title: str = ""
    licence: str = ""
    source: str = ""
    wanted: int = 0
    played: int = 0
    failed: int = 0
    problems: dict[str, int] = {}  # by sentence
    failures: list[FailedItem] = []  # the first of them


class BrokenPart(BaseModel):
    where: str
    problem: str


class UsedModel(BaseModel):
    """What filled a role in some of the sessions, as their `session.json` tells."""

    role: str
    used: ModelUsed
    sessions: int


class Run(BaseModel):
    """Exactly how it was made."""

    command: list[str]
    python: str
    packages: dict[str, str]
    machine: str
    settings: dict[str, Any]
    instruments: dict[str, str]  # by name: the key its scores depend on, or why it was not there
    commit: str | None = None  # of the checkout it ran in, if it ran in one
    models: list[UsedModel] = []  # exactly those that made the replies


class Results(ScoresFile):
    run: Run | None = None
    headline: Headline = Headline()
    benchmarks: list[PlayedSet] = []
    analyses: dict[str, dict[str, Any]] = {}  # by name, as server/scoring/analyses tells them
    broken: list[BrokenPart] = []
    left_out: dict[str, int] = {}  # sessions that may not be scored, by reason
    exchanges: list[ToldExchange] = []  # type: ignore[assignment]
