"""`scores.json` as this scorer writes it: docs/scores-format.md, and what the report shows beside.

A reader of the plain format passes over what is added here.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict

from server.reports import ScoredExchange, ScoresFile
from server.scoring.annotation import Annotation


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


class BrokenPart(BaseModel):
    where: str
    problem: str


class Run(BaseModel):
    """Exactly how it was made."""

    command: list[str]
    python: str
    packages: dict[str, str]
    machine: str
    settings: dict[str, Any]
    instruments: dict[str, str]  # by name: the key its scores depend on, or why it was not there


class Results(ScoresFile):
    run: Run | None = None
    analyses: dict[str, dict[str, Any]] = {}  # by name, as server/scoring/analyses tells them
    broken: list[BrokenPart] = []
    left_out: dict[str, int] = {}  # sessions that may not be scored, by reason
    exchanges: list[ToldExchange] = []  # type: ignore[assignment]
