"""What a conversation is written on."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Literal, Protocol

from server.recording.entries import Entry
from server.sessions.format import ModelUsed, SessionFile

Reason = Literal[
    "disk_full", "disk_unwritable", "disk_slow", "disk_error", "recorder_error", "child"
]


class Sheet(Protocol):
    """One conversation's place with the thread that writes."""

    def put(self, entry: Entry) -> None:
        """Have it written soon; never waits."""
        ...


class Sheets(Protocol):
    """Where new sheets come from; what is given is called from another thread.

    `begun` is called once the folder can be found, or could not be made.
    """

    def open(
        self,
        session: SessionFile,
        failed: Callable[[Reason], None],
        begun: Callable[[], None] = lambda: None,
    ) -> Sheet: ...


@dataclass(frozen=True, slots=True)
class Paper:
    """A conversation before anything is written: who it is, and with what it is held."""

    session_id: str
    secret: str  # lets the talker fetch and delete what was kept
    started: datetime
    software: str
    profile: str
    models: dict[str, ModelUsed]
    user_agent: str | None
    sheets: Sheets | None  # None: nothing is recorded here
    pseudonym: Callable[[str], str | None]
    loop: asyncio.AbstractEventLoop
    children: bool = True  # False: what a child says is not kept

    def session(self) -> SessionFile:
        """The record of a conversation nobody has consented to yet."""
        return SessionFile(
            id=self.session_id,
            state="recording",
            software=self.software,
            started=self.started,
            secret_sha256=sha256(self.secret.encode()).hexdigest(),
            profile=self.profile,
            models=self.models,
        )
