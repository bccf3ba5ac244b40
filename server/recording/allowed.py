"""What a session's record says once a person has allowed something, or no longer does. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from server.consent import Consent
from server.sessions.format import Client, Consented, Prompts, SessionFile, Tombstone

Kept = Literal["transcript", "percepts", "audio", "research"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a client set for its conversation, as far as a recording tells of it."""

    client: Client
    prompts: Prompts
    replay_of: str | None = None


def lost(before: Consent | None, now: Consent) -> list[Kept]:
    """What was kept so far and may not be any longer."""
    if before is None:
        return []
    gone: list[Kept] = []
    if before.transcript and not now.transcript:
        gone.append("transcript")
    if before.personal and not now.personal:
        gone.append("percepts")
    if before.audio and not now.audio:
        gone.append("audio")
    if before.research and not now.research:
        gone.append("research")
    return gone


def consented(
    session: SessionFile,
    consent: Consent,
    at: int,
    wall: datetime,
    gone: Sequence[Kept],
    exports: Sequence[str] = (),
) -> SessionFile:
    """The record after a word on consent; a tombstone stands for what it took away."""
    allowed = Consented(
        at=at,
        wall=wall,
        transcript=consent.transcript,
        audio=consent.audio,
        research=consent.research,
    )
    stone = Tombstone(wall=wall, what=[*gone], why="revoked", exports=[*exports])
    stones = [stone] if gone else []
    return session.model_copy(
        update={
            "consent": [*session.consent, allowed],
            "tombstones": [*session.tombstones, *stones],
        }
    )


def described(
    session: SessionFile, consent: Consent, setting: Setting, speaker: str | None
) -> SessionFile:
    """The record with what it may tell of the person and their settings."""
    return session.model_copy(
        update={
            "speaker": (speaker or session.speaker) if consent.personal else None,
            "client": setting.client if consent.personal else None,
            "prompts": setting.prompts if consent.transcript else None,
            "replay_of": setting.replay_of,
        }
    )
