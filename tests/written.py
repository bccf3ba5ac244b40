"""Sessions to be written down: what a conversation would hand to the thread that writes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from numpy.typing import NDArray

from models.types import WIRE_RATE
from server import ids
from server.consent import Consent
from server.recording.entries import Said
from server.sessions.format import (
    SESSION_ID,
    Client,
    Consented,
    Ending,
    Prompts,
    SessionFile,
    Tombstone,
)

STARTED = datetime(2026, 3, 14, 23, 59, 30, tzinfo=UTC)
ALL = Consent(transcript=True, audio=True, research=True)
NONE = Consent()
WORDS = "marzipan bicycle"


def at_wall(position: int) -> datetime:
    return STARTED + timedelta(seconds=position / WIRE_RATE)


def begun(consent: Consent = ALL, at: int = 0, name: str | None = None) -> SessionFile:
    """The record when somebody has just consented."""
    name = name or ids.new("sess")
    assert SESSION_ID.fullmatch(name)
    session = SessionFile(id=name, state="recording", software="attune 0", started=STARTED)
    return agreed(session, consent, at)


def agreed(session: SessionFile, consent: Consent, at: int) -> SessionFile:
    """The record after another word on consent."""
    before = session.allowed
    word = Consented(
        at=at,
        wall=at_wall(at),
        transcript=consent.transcript,
        audio=consent.audio,
        research=consent.research,
    )
    gone: list[Any] = [
        scope
        for scope in ("transcript", "audio")
        if before and getattr(before, scope) and not getattr(consent, scope)
    ]
    stones = [Tombstone(wall=at_wall(at), what=gone, why="revoked")] if gone else []
    client = Client(model="attune", binary=True, input_format="pcm", output_format="pcm")
    return session.model_copy(
        update={
            "consent": [*session.consent, word],
            "tombstones": [*session.tombstones, *stones],
            "client": client if consent.personal else None,
            "prompts": Prompts(instructions=WORDS) if consent.transcript else None,
        }
    )


def ended(session: SessionFile, at: int) -> SessionFile:
    ending = Ending(at=at, wall=at_wall(at), why="hung_up")
    return session.model_copy(update={"ended": ending})


def said(at: int, consent: Consent = ALL, words: str = WORDS) -> Said:
    """Something in words."""
    event = {
        "type": "conversation.item.input_audio_transcription.completed",
        "item_id": "item_0a000000000000000000",
        "content_index": 0,
        "transcript": words,
    }
    return Said(at, at_wall(at), "server", event, consent)


def noted(at: int, kind: str, consent: Consent = ALL, **fields: Any) -> Said:
    """One of the recorder's own lines."""
    return Said(at, at_wall(at), "recorder", {"type": kind, **fields}, consent)


def noise(count: int, seed: int) -> bytes:
    """Sound that is nowhere silent."""
    made = np.random.default_rng(seed).integers(1, 2000, count)
    return made.astype("<i2").tobytes()


def channels(folder: Path) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """What `audio.flac` holds: the user, the reply."""
    frames, rate = soundfile.read(folder / "audio.flac", dtype="int16", always_2d=True)
    assert rate == WIRE_RATE
    return frames[:, 0], frames[:, 1]


def samples(pcm: bytes) -> NDArray[np.int16]:
    return np.frombuffer(pcm, "<i2")


def everything_in(folder: Path) -> bytes:
    """All bytes of all files, to look for what should not be there."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
