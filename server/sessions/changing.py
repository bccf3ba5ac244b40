"""Who changes a session, and what they set out to do: one at a time, and finished after a crash."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from server.consent import Consent
from server.sessions.format import SESSION_ID, Shape, checked

try:
    import fcntl
except ImportError:  # a system without it: one process at a time
    fcntl = None  # type: ignore[assignment]

Why = Literal["revoked", "deleted", "retention"]


class Intent(Shape):
    """Delete a session; or, if something is still allowed, keep only that."""

    why: Why
    keep: tuple[bool, bool, bool] | None = None  # transcript, audio, research; None: nothing

    @classmethod
    def narrowing(cls, consent: Consent) -> "Intent":
        return cls(why="revoked", keep=(consent.transcript, consent.audio, consent.research))

    def joined(self, other: "Intent | None") -> "Intent":
        """What this one and the other take away, together."""
        if other is None or self.keep is None:
            return self
        if other.keep is None:
            return other
        return Intent.narrowing(Consent(*self.keep).both(Consent(*other.keep)))

    @property
    def consent(self) -> Consent | None:
        return None if self.keep is None else Consent(*self.keep)


class Change:
    """The right to change one session, and a slip that says what is being done."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def intended(self) -> Intent | None:
        """What somebody set out to do before and did not finish."""
        written = os.pread(self._handle, 4096, 0)
        try:
            return Intent.model_validate_json(written) if written else None
        except ValidationError:  # it broke off while it was written: nothing had begun
            return None

    def intend(self, intent: Intent) -> None:
        if intent == self.intended():
            return
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, intent.model_dump_json().encode(), 0)
        os.fsync(self._handle)

    def done(self) -> None:
        os.ftruncate(self._handle, 0)


class Changes:
    """A folder of slips, one for each session that is being changed or was left half changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def alone(self, session_id: str) -> Iterator[Change]:
        """Waits until nobody else, thread or process, changes the session."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / checked(session_id)
        handle = _locked(path)
        try:
            yield Change(handle)
        finally:
            if os.fstat(handle).st_size == 0:
                path.unlink(missing_ok=True)
            os.close(handle)

    def unfinished(self) -> list[str]:
        """Sessions with a slip; whether somebody is still at it, one learns by being alone."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []
        return [name for name in names if SESSION_ID.fullmatch(name)]


def _locked(path: Path) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl:
                fcntl.flock(handle, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(path.stat(), os.fstat(handle)):
                return handle
        except FileNotFoundError:
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the one before us has just removed it: ours is another file
