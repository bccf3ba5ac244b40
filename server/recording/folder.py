"""A session folder while it is recorded, and all that can be done to one later."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree

from server.consent import Consent
from server.recording import journal, record
from server.recording.entries import SAMPLE_BYTES, Channel, Hush, Said, Sound
from server.recording.erasure import entomb, erase, keep_only
from server.recording.event_log import EventLog
from server.recording.finishing import complete
from server.recording.lock import Busy, Lock
from server.recording.paper import Reason
from server.recording.permitted import permitted
from server.recording.record import Unreadable
from server.recording.repair import MAKING, STOPPED, left_behind, needs_repair, repair
from server.recording.verify import verify
from server.recording.whole_files import PRIVATE_FOLDER, sync_folder
from server.sessions.format import (
    EVENTS_FILE,
    REPLY_JOURNAL,
    USER_JOURNAL,
    Ending,
    SessionFile,
    Stopped,
    folder_name,
)

__all__ = [
    "Busy",
    "SessionFolder",
    "Unreadable",
    "entomb",
    "keep_only",
    "left_behind",
    "needs_repair",
    "repair",
    "verify",
]

JOURNAL_OF: dict[Channel, str] = {"user": USER_JOURNAL, "reply": REPLY_JOURNAL}


class SessionFolder:
    """Blocking, for one thread at a time. Every method may raise OSError."""

    def __init__(self, path: Path, session: SessionFile, lock: Lock) -> None:
        self.path = path
        self._session = session
        self._lock = lock
        self._log = EventLog(path / EVENTS_FILE)
        self._reached = 0  # the furthest position anything was told of
        self._stopped: Stopped | None = None
        self._owes_erasure = False

    @classmethod
    def create(cls, runs: Path, session: SessionFile) -> "SessionFolder":
        """It appears with its record and locked, or not at all."""
        path = runs / folder_name(session.id, session.started.astimezone(UTC))
        path.parent.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        making = path.with_name(f"{MAKING}{path.name}")
        making.mkdir(PRIVATE_FOLDER)
        try:
            lock = Lock.take(making)
            record.write(making, session)
            making.rename(path)
        except BaseException:
            with suppress(OSError):
                rmtree(making)
            raise
        sync_folder(path.parent)
        return cls(path, session, lock)

    def write(self, entries: Iterable[Sound | Hush | Said]) -> None:
        """What happened, in order."""
        laid: dict[Channel, list[Sound | Hush]] = {"user": [], "reply": []}
        said: list[Said] = []
        allowed = permitted(self._session)
        for entry in entries:
            if isinstance(entry, Said):
                said.append(entry)
                self._reached = max(self._reached, entry.at)
            elif allowed.audio:
                laid[entry.channel].append(entry)
                if entry.channel == "user" and isinstance(entry, Sound):
                    end = entry.position + len(entry.pcm) // SAMPLE_BYTES
                    self._reached = max(self._reached, end)
        for channel, sounds in laid.items():
            if sounds:
                journal.write(self.path / JOURNAL_OF[channel], sounds)
        self._log.append(said)

    def describe(self, session: SessionFile) -> None:
        self._session = session
        record.write(self.path, self._as_it_is())

    def withdraw(self, session: SessionFile) -> None:
        """Erase what its last word on consent does not cover.

        The record comes first, so that a repair knows what to erase; but a full disk, which may
        have no room for it, keeps nothing from being erased.
        """
        self._session, self._owes_erasure = session, True
        with suppress(OSError):
            record.write(self.path, self._as_it_is())
        self.erase_owed()

    def erase_owed(self) -> bool:
        """Try again what `withdraw` could not do; whether there was anything."""
        if not self._owes_erasure:
            return False
        erase(self.path, self._as_it_is())
        self._log.recount()
        self._owes_erasure = False
        return True

    def stop(self, reason: Reason) -> None:
        """Nothing more will be written: the record shall say so, once it can be written."""
        if self._stopped:
            return
        self._stopped = Stopped(at=self._reached, wall=datetime.now(UTC), reason=reason)
        with suppress(OSError):  # an empty file has room where nothing else has
            (self.path / f"{STOPPED}{reason}").touch()

    def finish(self, session: SessionFile) -> None:
        """The conversation is over. If it raises it can be done again, or be left for a repair."""
        ended = session.ended or Ending(at=self._reached, wall=datetime.now(UTC), why="failed")
        self._session = session.model_copy(update={"ended": ended})
        self.erase_owed()
        self._tell_stopped()
        record.write(self.path, self._as_it_is())
        complete(self.path, self._as_it_is(), "finished")
        for note in self.path.glob(f"{STOPPED}*"):
            note.unlink(missing_ok=True)
        self._lock.release(self.path)

    def abandon(self) -> None:
        """Leave it for a repair."""
        self._lock.abandon()

    def _as_it_is(self) -> SessionFile:
        # Where writing stopped is known here best.
        stopped = [self._stopped] if self._stopped else self._session.stopped
        return self._session.model_copy(update={"state": "recording", "stopped": stopped})

    def _tell_stopped(self) -> None:
        if stopped := self._stopped:
            event = {"type": "recording.stopped", "reason": stopped.reason}
            with suppress(OSError):
                self._log.append([Said(stopped.at, stopped.wall, "recorder", event, Consent())])
