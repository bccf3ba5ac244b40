"""A table in memory that all processes see: who has a seat, where, and who is alive."""

import fcntl
import mmap
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

ROW = 64  # bytes of a seat: which front, and whose
FRONT, WHO = 0, 1  # where in the row


class Table:
    """Made before the processes part. A process that is killed in a change leaves no lock."""

    def __init__(self, seats: int, fronts: int, lock: Path) -> None:
        self.seats = seats
        self.fronts = fronts
        others = 2  # the models' process, and that of the backends
        head = (2 * fronts + others) * 8
        self._memory = mmap.mmap(-1, head + seats * ROW)
        # What each front has taken in of what it was handed; and pids, the others' last.
        self.adopted = np.frombuffer(self._memory, np.int64, fronts)
        self.pids = np.frombuffer(self._memory, np.int64, fronts + others, fronts * 8)
        self._rows = np.frombuffer(self._memory, np.uint8, seats * ROW, head).reshape(-1, ROW)
        self._lock = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)

    @property
    def taken(self) -> int:
        return int(np.count_nonzero(self._rows[:, FRONT]))

    def talking(self) -> list[int]:
        """Seats taken in each front."""
        return np.bincount(self._rows[:, FRONT], minlength=self.fronts + 1)[1:].tolist()  # type: ignore[no-any-return]

    def take(self, front: int, who: str) -> bool:
        name = who.encode()
        assert 0 < len(name) < ROW - WHO, f"{who} is no name for a seat"
        with self._alone():
            free = np.flatnonzero(self._rows[:, FRONT] == 0)
            if not len(free):
                return False
            row = self._rows[free[0]]
            row[WHO:] = 0
            row[WHO : WHO + len(name)] = np.frombuffer(name, np.uint8)
            row[FRONT] = front + 1
        return True

    def give_back(self, front: int, who: str) -> None:
        with self._alone():
            for row in np.flatnonzero(self._rows[:, FRONT] == front + 1):
                if self._who(row) == who:
                    self._rows[row] = 0

    def clear(self, front: int) -> None:
        """The front is no more."""
        with self._alone():
            self._rows[self._rows[:, FRONT] == front + 1] = 0

    def owner(self, who: str) -> int | None:
        """The front in which they talk."""
        return next((front for front, name in self.everyone() if name == who), None)

    def everyone(self) -> list[tuple[int, str]]:
        rows = np.flatnonzero(self._rows[:, FRONT])
        return [(int(self._rows[row, FRONT]) - 1, self._who(row)) for row in rows]

    def _who(self, row: np.intp) -> str:
        return self._rows[row, WHO:].tobytes().rstrip(b"\0").decode("ascii", "replace")

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        # Of the process, not of the file handle: so it holds between processes that were forked.
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)


class SharedSeats:
    """One front's view of the table."""

    def __init__(self, table: Table, front: int) -> None:
        self.here: set[str] = set()
        self._table = table
        self._front = front

    @property
    def taken(self) -> int:
        return self._table.taken

    def take(self, who: str) -> bool:
        if not self._table.take(self._front, who):
            return False
        self.here.add(who)
        return True

    def give_back(self, who: str) -> None:
        if who in self.here:
            self.here.discard(who)
            self._table.give_back(self._front, who)
