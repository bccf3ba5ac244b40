"""What is asked about reports over HTTP, and what is answered."""

from datetime import date
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.report_shelf import NAME
from server.reports import Figures, ScoredExchange, SessionId, Summary
from server.reports import Name as MetricName
from server.scoring_run import Progress
from server.sessions.format import Shape

MOST_ROWS = 200

ReportName = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]


class HeadMetric(Figures):
    """One figure of a report, with what is needed to draw it."""

    name: MetricName
    title: str
    family: str
    unit: str
    higher_is_better: bool | None
    smallest: float | None
    largest: float | None


class Headline(BaseModel):
    """A report in a line."""

    name: ReportName
    made: str | None = Field(description="When; null if it cannot be read.")
    software: str | None = None
    judges: list[str] = []
    sessions: int = 0
    exchanges: int = 0
    metrics: list[HeadMetric] = []
    problem: str | None = Field(None, description="Why it cannot be read.")


class Reports(BaseModel):
    reports: list[Headline] = Field(description="The newest first.")
    running: Progress | None


class Report(Summary):
    name: ReportName
    page: str | None = Field(description="Opens the HTML report for an hour; null: it has none.")
    files: list[str] = Field(description="That can be fetched from `files/`.")


class Sought(BaseModel):
    """Which exchanges to list: all that is given must hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    session_id: SessionId | None = None
    metric: MetricName | None = Field(None, description="It was asked about them.")
    order: Literal["number", "lowest", "highest"] = Field(
        "number", description="By the metric's value, if one is named; unscored ones last."
    )
    offset: int = Field(0, ge=0, le=2**53)
    limit: int = Field(50, ge=1, le=MOST_ROWS)


class Exchanges(BaseModel):
    exchanges: list[ScoredExchange]
    total: int = Field(description="As if there were no limit.")


class TrendPoint(BaseModel):
    day: date = Field(description="UTC, on which the sessions began.")
    model: str | None = Field(description="Backend that replied; null: all of them.")
    mean: float
    n: int


class Trend(BaseModel):
    metric: str
    points: list[TrendPoint]


class Wanted(Shape):
    """A scoring to be started."""

    name: ReportName | None = Field(None, description="Of the report; by itself, the time.")


class Removed(BaseModel):
    name: str
    stopped: bool = Field(description="It was being made, and is no longer.")
