"""The form of `scores.json`: what a scorer found, as docs/scores-format.md tells it.

A reader passes over what it does not know: a scorer may say more.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from server.sessions.format import SESSION_ID

SCORES_FILE = "scores.json"
REPORT_PAGE = "report/index.html"
SCHEMA = 1

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")]  # of a metric
SessionId = Annotated[str, Field(pattern=f"^{SESSION_ID.pattern}$")]
Count = Annotated[int, Field(ge=0)]


class Tolerant(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Judge(Tolerant):
    """Whoever gave scores."""

    name: str
    version: str | None = None
    host: str | None = Field(None, description="Of a remote one; null: it ran beside the scorer.")
    licence: str | None = None


class Figures(Tolerant):
    """A mean over exchanges with its 95 % bootstrap interval, and what it is not over."""

    mean: FiniteFloat | None = Field(None, description="Null where nothing could be scored.")
    n: Count = 0
    unscored: Count = 0
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None


class Metric(Figures):
    name: Name
    title: str
    family: str = Field("other", description="As echomind, aeq, echat, sound, latency.")
    about: str = Field("", description="What it measures, in a sentence.")
    caveat: str = Field("", description="Where it differs from what its authors published.")
    unit: str = ""
    higher_is_better: bool | None = Field(None, description="Null: neither is.")
    smallest: FiniteFloat | None = Field(None, description="Of the scale.")
    largest: FiniteFloat | None = None
    judge: str | None = Field(None, description="Name of the judge; null: it is computed.")
    reasons: dict[str, Count] = Field({}, description="Why exchanges were not scored, how many.")


class Group(Figures):
    metric: Name
    value: str = Field(description="Of what it is broken down by, as a model's name.")


class Breakdown(Tolerant):
    by: str = Field(description="As responder, speaker, perceiver, emotion, age.")
    groups: list[Group] = []


class ScoredSession(Tolerant):
    id: SessionId
    started: AwareDatetime
    profile: str | None = None
    models: dict[str, str] = Field({}, description="Backends by role.")
    exchanges: Count = 0
    replay_of: SessionId | None = Field(None, description="Whose user was played once more.")


class Score(Tolerant):
    value: FiniteFloat | None = None
    why: str = Field("", description="What the judge said, or what was counted.")
    unscored: str | None = Field(None, description="Why there is no value.")

    @model_validator(mode="after")
    def _says_something(self) -> "Score":
        if (self.value is None) == (self.unscored is None):
            raise ValueError("a score has a value, or says why it has none")
        return self


class ScoredExchange(Tolerant):
    session_id: SessionId
    number: Count = Field(description="Of the exchange in its session.")
    user_item: str | None = None
    reply_item: str | None = None
    attributes: dict[str, str] = {}
    scores: dict[Name, Score] = {}


class Summary(Tolerant):
    """All but the single exchanges."""

    schema_version: Literal[1]
    made: AwareDatetime
    software: str
    took_sec: FiniteFloat | None = None
    judges: list[Judge] = []
    sessions: list[ScoredSession] = []
    metrics: list[Metric] = []
    breakdowns: list[Breakdown] = []


class ScoresFile(Summary):
    exchanges: list[ScoredExchange] = []
