"""What a conversation hands to the thread that writes it down, in the order it happened."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from server.consent import Consent
from server.sessions.format import SessionFile

SAMPLE_BYTES = 2

Channel = Literal["user", "reply"]


@dataclass(frozen=True, slots=True)
class Sound:
    """PCM16 that sounded at a position of session time; it replaces what was put there before."""

    channel: Channel
    position: int
    pcm: bytes


@dataclass(frozen=True, slots=True)
class Hush:
    """Nothing sounded from `begin` to `end` after all."""

    channel: Channel
    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Said:
    """One line of the log to be; what of the event may be kept, the consent says."""

    at: int
    wall: datetime
    source: Literal["client", "server", "recorder"]
    event: dict[str, Any]
    consent: Consent


@dataclass(frozen=True, slots=True)
class Described:
    """`session.json` as it should now be, but for what is only known at the end."""

    session: SessionFile


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """From now on only this is allowed: what it does not cover goes."""

    session: SessionFile
    consent: Consent
    erased: Callable[[], None] = lambda: None  # called, by the thread, once it has gone


@dataclass(frozen=True, slots=True)
class Closed:
    """The conversation is over; `session` tells when and why."""

    session: SessionFile


Entry = Sound | Hush | Said | Described | Withdrawn | Closed


def since(entry: Sound | Hush, begin: int) -> Sound | Hush | None:
    """What of it lies at or after a position."""
    if isinstance(entry, Hush):
        if entry.end <= begin:
            return None
        return Hush(entry.channel, max(begin, entry.begin), entry.end)
    before = begin - entry.position
    if before <= 0:
        return entry
    rest = entry.pcm[before * SAMPLE_BYTES :]
    return Sound(entry.channel, begin, rest) if rest else None
