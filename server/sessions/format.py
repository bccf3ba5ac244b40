"""What a session folder holds: the shapes of `session.json` and of a line of `events.jsonl`.

A folder is `<runs>/<date>/<session id>/`, with the UTC date on which the session began. Positions
are samples of session time at WIRE_RATE, and the same in every file: sample n of `audio.flac` is
what sounded at position n.
"""

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

SCHEMA_VERSION = 1

SESSION_FILE = "session.json"
EVENTS_FILE = "events.jsonl"
AUDIO_FILE = "audio.flac"  # 16 bit, WIRE_RATE; left the user as received, right the reply as played
RATINGS_FILE = "ratings.jsonl"
NOTES_FILE = "notes.json"
# While a session is recorded, and until it is finished or repaired: raw PCM16 at WIRE_RATE, and the
# lock its writer holds.
USER_JOURNAL, REPLY_JOURNAL, LOCK_FILE = "user.pcm", "reply.pcm", ".recording"

SESSION_ID = re.compile(r"sess_[0-9a-f]{20}")
SPEAKER_ID = re.compile(r"spk_[0-9a-f]{16}")

Position = Annotated[int, Field(ge=0)]
Scope = Literal["transcript", "audio", "research"]
# Names of questions and nothing else: free text could tell what was said.
ScoreName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
Scores = Annotated[
    dict[ScoreName, Annotated[float, Field(ge=1, le=5)]],
    Field(json_schema_extra={"additionalProperties": False}),
]


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Consented(Shape):
    """What was allowed from a moment on."""

    at: Position
    wall: AwareDatetime
    transcript: bool
    audio: bool
    research: bool


class Ending(Shape):
    at: Position
    wall: AwareDatetime
    why: Literal["hung_up", "lost", "failed", "server_stopped", "crashed"]


class Capture(Shape):
    """How the client says it records; None where it did not say."""

    echo_cancellation: bool | None = None
    noise_suppression: bool | None = None
    auto_gain_control: bool | None = None
    sample_rate: Annotated[int, Field(ge=1)] | None = None
    channel_count: Annotated[int, Field(ge=1)] | None = None


class Client(Shape):
    user_agent: str | None = None
    model: str  # the one it asked for
    binary: bool  # audio went as binary frames
    input_format: str
    output_format: str
    capture: Capture = Capture()


class ModelFile(Shape):
    name: str
    sha256: str | None  # None: served elsewhere, or too large to hash at start
    licence: str | None = None


class ModelUsed(Shape):
    backend: str
    options: dict[str, Any] = {}
    version: str | None = None  # of the package or server it runs in
    files: list[ModelFile] = []
    licence: str | None = None  # shown where it restricts use


class Prompts(Shape):
    instructions: str  # what the client set; the last, if it changed
    strength: str | None = None  # how strongly the thinker leads the model


class Audio(Shape):
    file: Literal["audio.flac"] = "audio.flac"
    rate: int
    samples: Position  # to both channels
    recorded_from: Position  # before it there was no consent: digital silence
    gaps: list[tuple[Position, Position]] = []  # no audio came from the user: silence


class TurnSpan(Shape):
    """Where a turn lies: `audio.flac` from `start` to `end`, left for a user, right for a reply."""

    item_id: str
    role: Literal["user", "assistant"]
    start: Position
    end: Position
    response_id: str | None = None
    interrupted: bool = False


class Stopped(Shape):
    """Recording broke off, though the conversation went on."""

    at: Position
    wall: AwareDatetime
    reason: Literal[
        "disk_full", "disk_unwritable", "disk_slow", "disk_error", "recorder_error", "child"
    ]


class Tombstone(Shape):
    """Something that was kept and is no more."""

    wall: AwareDatetime
    # "research": it may no longer be exported or scored, and what was made of it is gone.
    what: list[Literal["transcript", "percepts", "audio", "research", "session"]]
    why: Literal["revoked", "deleted", "retention"]
    exports: list[str] = []  # copies already handed out, which nobody can take back


class SessionFile(Shape):
    schema_version: Literal[1] = 1
    id: Annotated[str, Field(pattern=f"^{SESSION_ID.pattern}$")]
    state: Literal["recording", "finished", "repaired", "deleted"]
    software: str  # "attune 0.1.0"
    started: AwareDatetime
    ended: Ending | None = None
    consent: list[Consented] = []  # the last holds
    secret_sha256: str | None = None  # of what lets the talker fetch and delete it
    speaker: Annotated[str, Field(pattern=f"^{SPEAKER_ID.pattern}$")] | None = None
    client: Client | None = None  # with transcript or audio
    profile: str | None = None
    models: dict[str, ModelUsed] = {}
    prompts: Prompts | None = None  # with transcript
    audio: Audio | None = None
    turns: list[TurnSpan] = []
    stopped: list[Stopped] = []
    tombstones: list[Tombstone] = []
    replay_of: Annotated[str, Field(pattern=f"^{SESSION_ID.pattern}$")] | None = None

    @property
    def allowed(self) -> Consented | None:
        return self.consent[-1] if self.consent else None


class Line(BaseModel):
    """One line of `events.jsonl`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    n: Annotated[int, Field(ge=0)]  # counts up by one
    at: Position
    wall: AwareDatetime
    source: Annotated[Literal["client", "server", "recorder"], Field(alias="from")]
    event: dict[str, Any]  # as it crossed the wire, or a `recording.*` one of the recorder's own


class Rating(Shape):
    """What somebody thought of a session, or of one reply in it."""

    wall: AwareDatetime
    by: Literal["user", "expert"]
    rater: Annotated[str, Field(max_length=64)] | None = None
    item_id: Annotated[str, Field(max_length=64)] | None = None  # the reply; None: all of it
    scores: Scores = {}
    comment: Annotated[str, Field(max_length=4000)] = ""


class Notes(Shape):
    notes: Annotated[str, Field(max_length=20_000)] = ""
    tags: list[Annotated[str, Field(min_length=1, max_length=64)]] = []


def folder_name(session_id: str, started: datetime) -> str:
    """Where in the runs a session lies."""
    return f"{started:%Y-%m-%d}/{checked(session_id)}"


def checked(session_id: str) -> str:
    """The id, if it is one: nothing else may ever become a path."""
    if not SESSION_ID.fullmatch(session_id):
        raise ValueError(f"'{session_id[:64]}' is no session id")
    return session_id
