"""What is asked of the arena over HTTP, and what is answered."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from server.arena.arena import Progress
from server.arena.ballots import Ballot, Pair, Side, Standing, Standings, Verdict
from server.arena.rounds import Round
from server.arena.strength import INTERVAL, elo
from server.openapi import BINARY, asks
from server.sessions.format import SESSION_ID, Scope, Shape

MOST_ROWS = 500


class Allowed(BaseModel):
    """What may be kept of a round; nothing, unless it is said. And whether anybody spoke."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    consent: list[Scope] = Field([], max_length=9, description="Kept once there is a vote.")
    prepared: bool = Field(False, description="A recording spoke, and not whoever votes.")


class Sought(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    limit: int = Field(100, ge=1, le=MOST_ROWS)
    offset: int = Field(0, ge=0, le=2**53)


class RecordedTurn(Shape):
    session_id: str = Field(pattern=f"^{SESSION_ID.pattern}$")
    item_id: str = Field(max_length=64)


class Step(Shape):
    """One line of a round's answer: `progress` some times, then `ready`, or `error`."""

    type: Literal["progress", "ready", "error"]
    stage: Literal["waiting", "preparing", "answering"] | None = None
    answered: int | None = Field(None, description="How many of the two have.")
    round_id: str | None = None
    secret: str | None = Field(None, description="The bearer token of this round.")
    keeping: list[Scope] | None = Field(None, description="What will be kept with a vote.")
    seconds: dict[Side, float] | None = Field(None, description="How long the answers are.")
    error: dict[str, Any] | None = Field(None, description="As in any refusal.")

    @classmethod
    def of(cls, step: Progress | Round) -> "Step":
        if isinstance(step, Progress):
            return cls(type="progress", stage=step.stage, answered=step.answered)
        keeping: Any = step.consent.scopes if step.consent.personal else []
        return cls(
            type="ready",
            round_id=step.id,
            secret=step.secret,
            keeping=keeping,
            seconds=step.seconds,
        )

    def line(self) -> bytes:
        return self.model_dump_json(exclude_none=True).encode() + b"\n"


class Vote(Shape):
    vote: Verdict = Field(description="Which was better; tie: neither; bad: both were bad.")
    comment: Annotated[str, Field(max_length=2000)] = ""


class Uncovered(BaseModel):
    """One of the two answers, after the vote."""

    system: str
    label: str
    text: str
    plan: dict[str, Any] | None
    latency_ms: float | None = Field(description="From the end of speech to the first sound.")
    seconds: float


class Revealed(BaseModel):
    round_id: str
    vote: Verdict
    said: str = Field(description="What was understood of the turn.")
    answers: dict[Side, Uncovered]
    kept: list[Scope]

    @classmethod
    def of(cls, ballot: Ballot, voted: Round) -> "Revealed":
        kept: Any = voted.consent.scopes if voted.consent.personal else []
        return cls(
            round_id=ballot.id,
            vote=ballot.vote,
            said=next((each.said for each in voted.answers.values() if each.said), ""),
            answers={
                side: Uncovered(
                    system=voted.entrants[side].name,
                    label=voted.entrants[side].label,
                    text=each.text,
                    plan=each.plan,
                    latency_ms=each.latency_ms,
                    seconds=voted.seconds[side],
                )
                for side, each in voted.answers.items()
            },
            kept=kept,
        )


class ShownBallot(Ballot):
    secret_sha256: str = Field("", exclude=True)


class Rounds(BaseModel):
    rounds: list[ShownBallot] = Field(description="The newest first.")
    total: int


class Ranked(BaseModel):
    """A system, its record and its strength."""

    system: str
    label: str
    available: bool = Field(description="As far as is known: others are loaded when needed.")
    strength: float = Field(description="Bradley-Terry, natural units, 0 on the mean.")
    low: float
    high: float
    elo: float
    elo_low: float
    elo_high: float
    wins: int
    losses: int
    ties: int
    bad: int = Field(description="Both were bad: not in the strength.")
    rounds: int

    @classmethod
    def of(cls, standing: Standing, label: str, available: bool) -> "Ranked":
        strength, record = standing.strength, standing.record
        return cls(
            system=standing.name,
            label=label,
            available=available,
            strength=strength.value,
            low=strength.low,
            high=strength.high,
            elo=elo(strength.value),
            elo_low=elo(strength.low),
            elo_high=elo(strength.high),
            wins=record.wins,
            losses=record.losses,
            ties=record.ties,
            bad=record.bad,
            rounds=record.rounds,
        )


class Met(BaseModel):
    first: str
    second: str
    first_wins: int
    second_wins: int
    ties: int
    bad: int

    @classmethod
    def of(cls, pair: Pair) -> "Met":
        return cls(**{name: getattr(pair, name) for name in cls.model_fields})


class Service(BaseModel):
    role: str
    host: str


class Leaderboard(BaseModel):
    systems: list[Ranked] = Field(description="The strongest first.")
    pairs: list[Met]
    rounds: int
    left_out: int = Field(description="Votes on systems that are gone, or were set up otherwise.")
    interval: float = Field(description="How sure the intervals are, in per cent.")
    services: list[Service] = Field(description="Others who get the sound or words of a turn.")

    @classmethod
    def of(
        cls,
        standings: Standings,
        labels: dict[str, str],
        there: dict[str, bool],
        services: list[Service],
    ) -> "Leaderboard":
        return cls(
            systems=[Ranked.of(e, labels[e.name], there[e.name]) for e in standings.systems],
            pairs=[Met.of(each) for each in standings.pairs],
            rounds=standings.rounds,
            left_out=standings.left_out,
            interval=INTERVAL[1] - INTERVAL[0],
            services=services,
        )


SOUNDS = (
    "audio/wav", "audio/flac", "audio/ogg", "audio/mpeg", "audio/pcm", "application/octet-stream",
)  # fmt: skip
SPEECH: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The turn, 60 s at most; audio/pcm is PCM16, 24 kHz, mono, others a file.",
        "content": {media: {"schema": BINARY} for media in SOUNDS},
    }
}
A_RECORDED_TURN = asks(RecordedTurn)
