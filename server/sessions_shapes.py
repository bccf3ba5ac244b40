"""What is asked about recorded sessions over HTTP, and what is answered."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from server.consent import SCOPES, Consent
from server.openapi import SOUND
from server.sessions.format import SESSION_ID, Notes, Rating, Scope, Scores, SessionFile, Shape
from server.sessions.index import Filter, Order
from server.sessions.summary import Row

MOST_ROWS = 500
MOST_SCORES = 32

AtLeastNothing = Annotated[FiniteFloat, Field(ge=0)]
Name = Annotated[str, Field(max_length=200)]


class Which(BaseModel):
    """Which sessions are meant: all that is given must hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    since: date | None = Field(None, description="The UTC day it began, this one included.")
    until: date | None = Field(None, description="The UTC day it began, this one included.")
    model: Name | None = Field(None, description="The backend that replied, spoke or perceived.")
    profile: Name | None = None
    consent: list[Scope] = Field([], max_length=9, description="Scopes it has, all of them.")
    rating_min: FiniteFloat | None = Field(None, description="Of the mean of all ratings, 1 to 5.")
    longer: AtLeastNothing | None = Field(None, description="Seconds, at least.")
    shorter: AtLeastNothing | None = Field(None, description="Seconds, at most.")
    emotion: Name | None = Field(None, description="Most often heard of the person.")
    latency_min_ms: AtLeastNothing | None = Field(None, description="Of the median.")
    latency_max_ms: AtLeastNothing | None = Field(None, description="Of the median.")
    tag: Name | None = None
    speaker: Name | None = Field(None, description="A pseudonym.")
    text: Name | None = Field(None, description="Somewhere in the notes.")
    state: Literal["recording", "finished", "repaired", "deleted", "broken"] | None = None
    replay_of: Name | None = Field(None, description="A session it replays.")
    deleted: bool = Field(False, description="Show what is left of deleted ones, too.")

    @property
    def filter(self) -> Filter:
        return Filter(**{**dict(self), "consent": tuple(self.consent)})


class Sought(Which):
    """Which sessions to list, and how many at a time."""

    order: Order = "newest"
    limit: int = Field(100, ge=1, le=MOST_ROWS)
    offset: int = Field(0, ge=0, le=2**53)


class Listed(BaseModel):
    sessions: list[Row]
    total: int = Field(description="As if there were no limit.")


class ShownFile(SessionFile):
    """`session.json`, less what is only there to recognise the talker by."""

    secret_sha256: str | None = Field(None, exclude=True)


class Shown(BaseModel):
    session: ShownFile
    summary: Row = Field(description="What the index has of it.")
    ratings: list[Rating]
    notes: Notes | None = Field(description="The operator's; nobody else sees them.")


class Gone(BaseModel):
    id: str
    removed: list[str] = Field(description="Just now; what went before is not told again.")
    exports: list[str] = Field(description="Copies handed out, which nobody can take back.")
    left: list[str] = Field(description="Made of it, but lying where the server may not delete.")


class PutOff(BaseModel):
    """What was asked is written down, and done once the session has been."""

    id: str
    message: str


class Scopes(Shape):
    transcript: bool
    audio: bool
    research: bool


class Narrowed(Gone):
    consent: Scopes = Field(description="What is allowed from now on.")


class Withdrawal(Shape):
    """What is no longer allowed: false. What is not named, or null, stays as it is."""

    transcript: bool | None = None
    audio: bool | None = None
    research: bool | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if all(getattr(self, scope) is None for scope in SCOPES):
            raise ValueError(f"name at least one of {', '.join(SCOPES)}")
        return self

    def widened(self, held: Consent) -> list[str]:
        """What it would allow anew."""
        return [scope for scope in SCOPES if getattr(self, scope) and not getattr(held, scope)]

    def of(self, held: Consent) -> Consent:
        """What is left."""
        kept = {s: getattr(held, s) and getattr(self, s) is not False for s in SCOPES}
        return Consent(**kept)


class Rated(Shape):
    """What somebody thinks of a session, or of one reply in it."""

    by: Literal["user", "expert"] | None = Field(
        None, description="A talker is the user. Otherwise an expert, unless it is said."
    )
    rater: Annotated[str, Field(max_length=64)] | None = None
    item_id: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="The reply that is meant; without it, all of the session."
    )
    scores: Scores = Field({}, max_length=MOST_SCORES)
    comment: Annotated[str, Field(max_length=4000)] = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.scores and not self.comment.strip():
            raise ValueError("give scores, a comment, or both")
        return self


def _header(description: str, kind: str = "string") -> dict[str, Any]:
    return {"description": description, "schema": {"type": kind}}


def sound(status: int, description: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A response with the recording or a part of it."""
    headers = {
        "ETag": _header("Another once the recording is another."),
        "Accept-Ranges": _header("bytes"),
        "Content-Length": _header("Of what is sent, in bytes.", "integer"),
        **(more or {}),
    }
    return {"description": description, "headers": headers, "content": {FLAC: SOUND}}


FLAC, LINES = "audio/flac", "application/jsonl"
ID_SCHEMA = {"pattern": f"^{SESSION_ID.pattern}$"}
RANGE = {"Content-Range": _header("Which bytes of how many.")}
