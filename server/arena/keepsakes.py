"""What somebody lets us keep of a round."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import AwareDatetime

from models.types import Samples
from server.arena.answering import Answer
from server.arena.ballots import Ballot, Entrant, Side, Verdict
from server.consent import Consent
from server.sessions.format import Shape


class KeptScopes(Shape):
    transcript: bool
    audio: bool
    research: bool


class KeptAnswer(Shape):
    system: Entrant
    text: str | None = None
    plan: dict[str, Any] | None = None
    percept: dict[str, Any] | None = None  # how the person sounded to this system
    stages_ms: dict[str, float] = {}


class KeptRound(Shape):
    """`round.json`."""

    schema_version: Literal[1] = 1
    id: str
    wall: AwareDatetime
    software: str
    consent: KeptScopes
    vote: Verdict
    session_id: str | None = None  # whose turn it was, if it had been recorded before
    said: str | None = None
    comment: str | None = None
    answers: dict[Side, KeptAnswer]


@dataclass(frozen=True, slots=True)
class Keepsake:
    consent: Consent
    turn: Samples | None
    answers: dict[Side, Answer]
    comment: str = ""
    session_id: str | None = None

    @property
    def sounds(self) -> dict[str, Samples]:
        """As they were, not as they were made for listening."""
        if not self.consent.audio or self.turn is None:
            return {}
        return {"turn": self.turn, **{side: each.audio for side, each in self.answers.items()}}

    def told(self, ballot: Ballot) -> KeptRound:
        words = self.consent.transcript
        entrants: dict[Side, Entrant] = {"a": ballot.a, "b": ballot.b}
        said = next((each.said for each in self.answers.values() if each.said), "")
        return KeptRound(
            id=ballot.id,
            wall=ballot.wall,
            software=ballot.software,
            consent=KeptScopes(**{s: getattr(self.consent, s) for s in KeptScopes.model_fields}),
            vote=ballot.vote,
            session_id=self.session_id,
            said=said if words else None,
            comment=self.comment or None,
            answers={
                side: KeptAnswer(
                    system=entrants[side],
                    text=each.text if words else None,
                    plan=each.plan if words else None,
                    percept=each.percept,
                    stages_ms=each.stages_ms,
                )
                for side, each in self.answers.items()
            },
        )
