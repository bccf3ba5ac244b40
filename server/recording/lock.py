"""Who is at work on a session folder: the lock goes with its process, however that ends."""

import os
from pathlib import Path

from server.recording.whole_files import PRIVATE_FILE
from server.sessions.format import LOCK_FILE

try:
    import fcntl
except ImportError:  # a system without it: nobody else is expected to work on our folders
    fcntl = None  # type: ignore[assignment]


class Busy(Exception):
    """Somebody is at work on the folder."""


class Lock:
    """Held on a folder from `take` to `release`; its file shows that work was left undone."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def take(cls, folder: Path) -> "Lock":
        """Raises Busy at once if another holds it."""
        while True:
            file = folder / LOCK_FILE
            handle = os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
            try:
                if fcntl:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_still(file, handle):
                    return cls(handle)
            except BlockingIOError:
                os.close(handle)
                raise Busy(f"{folder.name} is being written") from None
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)  # the one who held it has just removed it: ours is another file

    def release(self, folder: Path) -> None:
        """The work is done."""
        (folder / LOCK_FILE).unlink(missing_ok=True)
        self.abandon()

    def abandon(self) -> None:
        """The work is left undone: the file stays and tells so."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


def is_held(folder: Path) -> bool:
    """Whether somebody is at work on the folder."""
    if not fcntl:
        return False
    try:
        handle = os.open(folder / LOCK_FILE, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)


def _is_still(file: Path, handle: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False
