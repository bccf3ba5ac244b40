"""The thread that writes conversations down, so that none of them ever waits for a disk."""

import errno
import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from server.private_log import where
from server.recording.entries import Closed, Described, Entry, Hush, Said, Sound, Withdrawn
from server.recording.folder import SessionFolder
from server.recording.paper import Reason
from server.sessions.format import SessionFile

log = logging.getLogger(__name__)

TICK_SEC = (
    0.2  # how often everything is written: a crash costs no more than this, and what it takes
)
QUEUE_BYTES = 64_000_000  # of one conversation, at most
WAKE_BYTES = 1_000_000  # so much does not wait for the next round
SLOW_SEC = 5.0  # a disk that takes so long cannot keep what a crash would cost small
LINE_BYTES = 500  # what a line takes in memory beside its text
FINISH_AGAIN_SEC = 30.0  # after which a folder is finished again that the disk had no room for
AGAIN_SEC = 2.0  # after which an erasure is tried again that the disk would not allow

REASONS: dict[int | None, Reason] = {
    errno.ENOSPC: "disk_full",
    errno.EDQUOT: "disk_full",
    errno.EROFS: "disk_unwritable",
    errno.EACCES: "disk_unwritable",
    errno.EPERM: "disk_unwritable",
}


class Sheet:
    """One conversation's place with the thread: filled in the event loop, emptied by the thread."""

    def __init__(
        self,
        session: SessionFile,
        failed: Callable[[Reason], None],
        begun: Callable[[], None],
        wake: Callable[[], None],
    ) -> None:
        self.session = session
        self.begun = begun
        self.stopped: Reason | None = None
        self._failed = failed
        self._wake = wake
        self._entries: deque[tuple[Entry, int]] = deque()
        # Each is counted up by one thread only, and so needs no lock.
        self._put = 0
        self._taken = 0
        self._waiting_since: float | None = None  # how long something has not been written

    def put(self, entry: Entry) -> None:
        """Have it written soon. Never waits: what a slow disk cannot take in time is not kept."""
        if isinstance(entry, Closed | Withdrawn):
            self._entries.append((entry, 0))
            self._wake()
            return
        waiting, now = self._put - self._taken, monotonic()
        since = self._waiting_since or now
        if waiting > QUEUE_BYTES or now - since > SLOW_SEC:
            self.fail("disk_slow")
        if self.stopped and (waiting > QUEUE_BYTES or not isinstance(entry, Described)):
            return
        weight = _weight(entry)
        self._put += weight
        self._entries.append((entry, weight))
        self._waiting_since = since
        if waiting + weight > WAKE_BYTES >= waiting:
            self._wake()

    def take(self) -> list[Entry]:
        """All that was put; the thread's side."""
        entries: list[Entry] = []
        while self._entries:
            entry, weight = self._entries.popleft()
            entries.append(entry)
            self._taken += weight
        return entries

    def written(self) -> None:
        """What was taken is on the disk; the thread's side."""
        self._waiting_since = monotonic() if self._entries else None

    def fail(self, reason: Reason) -> None:
        """Nothing more is recorded; the first reason counts."""
        if self.stopped:
            return
        self.stopped = reason
        log.error("recording of %s stopped: %s", self.session.id, reason)
        try:
            self._failed(reason)
        except Exception as error:
            log.error("nobody could be told that recording stopped: %s", where(error))


class Scribe:
    """One thread writes for all conversations of the process, a second makes folders whole."""

    def __init__(self, runs: Path, finished: Callable[[Path], None]) -> None:
        self._runs = runs
        self._finished = finished
        self._opened: deque[Sheet] = deque()
        self._wake = threading.Event()
        self._over: SimpleQueue[tuple[SessionFolder, Closed] | None] = SimpleQueue()
        self._closing = threading.Event()
        self._threads: list[threading.Thread] = []

    def open(
        self,
        session: SessionFile,
        failed: Callable[[Reason], None],
        begun: Callable[[], None] = lambda: None,
    ) -> Sheet:
        """A sheet whose folder is made soon. `failed` may be called from any thread."""
        if not self._threads:
            for name, work in (("scribe", self._write), ("binder", self._finish)):
                self._threads.append(threading.Thread(target=work, name=name, daemon=True))
                self._threads[-1].start()
        sheet = Sheet(session, failed, begun, self._wake.set)
        self._opened.append(sheet)
        self._wake.set()
        return sheet

    def close(self, timeout: float) -> None:
        """Write and finish what was put; what takes longer is left for a repair."""
        until = monotonic() + timeout
        self._closing.set()
        self._wake.set()
        for thread in self._threads:
            thread.join(max(0.0, until - monotonic()))
        try:
            while left := self._over.get_nowait():
                left[0].abandon()
        except Empty:
            pass

    def _write(self) -> None:
        pages: list[_Page] = []
        while True:
            self._wake.wait(TICK_SEC if pages else None)
            self._wake.clear()
            last = self._closing.is_set()
            while self._opened:
                pages.append(page := _Page(self._runs, self._opened.popleft()))
                page.begin()
            for page in pages:
                page.write()
                if page.closed and page.folder:
                    self._over.put((page.folder, page.closed))
            pages = [page for page in pages if page.closed is None]
            if last:
                for page in pages:
                    page.abandon()
                self._over.put(None)
                return

    def _finish(self) -> None:
        unfinished: list[tuple[SessionFolder, Closed]] = []
        while True:
            try:
                over = self._over.get(timeout=FINISH_AGAIN_SEC if unfinished else None)
            except Empty:
                unfinished = [each for each in unfinished if not self._finished_one(*each)]
                continue
            if over is None:
                break
            if not self._finished_one(*over):
                unfinished.append(over)
        for folder, _ in unfinished:
            folder.abandon()

    def _finished_one(self, folder: SessionFolder, closed: Closed) -> bool:
        try:
            folder.finish(closed.session)
        except Exception as error:
            if isinstance(error, FileNotFoundError) and not folder.path.exists():
                log.error("%s has vanished; should it come back, it is repaired", folder.path.name)
                folder.abandon()
                return True
            log.error("%s cannot be finished yet: %s", folder.path.name, where(error))
            return False
        try:
            self._finished(folder.path)
        except Exception as error:
            log.error("%s is whole, but not put away: %s", folder.path.name, where(error))
        return True


class _Page:
    """A sheet in the hands of the thread, and the folder it is copied to."""

    def __init__(self, runs: Path, sheet: Sheet) -> None:
        self.folder: SessionFolder | None = None
        self.closed: Closed | None = None
        self._runs = runs
        self._sheet = sheet
        self._again: float | None = None  # when to try again what could not be erased
        self._erased: list[Callable[[], None]] = []  # whom to tell once it has gone

    def begin(self) -> None:
        self._try(self._create)
        self._sheet.begun()

    def write(self) -> None:
        """Write down what was put since; whatever goes wrong concerns this conversation only."""
        run: list[Sound | Hush | Said] = []
        for entry in self._sheet.take():
            if isinstance(entry, Sound | Hush | Said):
                run.append(entry)
                continue
            self._write_run(run)
            run = []
            self._heed(entry)
        self._write_run(run)
        self._sheet.written()
        if self.folder and self._again is not None and monotonic() > self._again:
            self._erase(self.folder.erase_owed)

    def abandon(self) -> None:
        if self.folder:
            self.folder.abandon()

    def _create(self) -> None:
        self.folder = SessionFolder.create(self._runs, self._sheet.session)

    def _write_run(self, run: list[Sound | Hush | Said]) -> None:
        folder, stopped = self.folder, self._sheet.stopped
        # What a slow disk had still to write was put in time.
        if folder and run and stopped in (None, "disk_slow"):
            self._try(partial(folder.write, run))
        if folder and stopped:
            folder.stop(stopped)

    def _heed(self, entry: Described | Withdrawn | Closed) -> None:
        if isinstance(entry, Closed):
            self.closed = entry
        elif isinstance(entry, Described):
            if self.folder:
                self._try(partial(self.folder.describe, entry.session))
        else:
            self._erased.append(entry.erased)
            if self.folder:
                self._erase(partial(self.folder.withdraw, entry.session))
            else:
                self._tell_erased()

    def _erase(self, work: Callable[[], object]) -> None:
        """What was withdrawn has to go, whether or not anything more is recorded."""
        done = self._try(work)
        self._again = None if done else monotonic() + AGAIN_SEC
        if done:
            self._tell_erased()

    def _tell_erased(self) -> None:
        told, self._erased = self._erased, []
        for tell in told:
            tell()

    def _try(self, work: Callable[[], object]) -> bool:
        try:
            work()
            return True
        except OSError as error:
            reason = REASONS.get(error.errno, "disk_error")
        except Exception as error:
            log.error("a recording cannot be written: %s", where(error))
            reason = "disk_error"
        self._sheet.fail(reason)
        if self.folder:
            self.folder.stop(reason)
        return False


def _weight(entry: Entry) -> int:
    """About how much memory it holds."""
    if isinstance(entry, Sound):
        return len(entry.pcm)
    return LINE_BYTES + (_text(entry.event) if isinstance(entry, Said) else 0)


def _text(event: dict[str, Any]) -> int:
    """The length of all that is written in it."""
    total = 0
    waiting: list[Any] = [event]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return total
