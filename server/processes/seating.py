"""A table in memory that all processes see: who has a seat, where, who waits, who is alive, and
which front has room."""

import fcntl
import mmap
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROW = 64  # bytes of a seat: which front, and whose
FRONT, WHO = 0, 1  # where in the row


class Table:
    """Made before the processes part. A process that is killed in a change leaves no lock."""

    def __init__(self, seats: int, fronts: int, queue: int, lock: Path) -> None:
        self.seats = seats
        self.fronts = fronts
        others = 2  # the models' process, and that of the backends
        line = (3 * fronts + others) * 8
        head = line + (fronts + 1 + queue) * 8
        self._memory = mmap.mmap(-1, head + seats * ROW)
        # What each front has taken in of what it was handed; what room it has for more, as its
        # crowd tells it; and pids, the others' last.
        self.adopted = np.frombuffer(self._memory, np.int64, fronts)
        self.room = np.frombuffer(self._memory, np.int64, fronts, fronts * 8)
        self.pids = np.frombuffer(self._memory, np.int64, fronts + others, 2 * fronts * 8)
        # Fronts that hold no more; how many tickets were drawn; and those of people who wait. A
        # ticket is when it was drawn and in which front in one number, so that it is written whole.
        self._full = np.frombuffer(self._memory, np.int64, fronts, line)
        self._drawn = np.frombuffer(self._memory, np.int64, 1, line + fronts * 8)
        self._tickets = np.frombuffer(self._memory, np.int64, queue, line + (fronts + 1) * 8)
        self._rows = np.frombuffer(self._memory, np.uint8, seats * ROW, head).reshape(-1, ROW)
        self._lock = os.open(lock, os.O_CREAT | os.O_RDWR, 0o600)

    @property
    def taken(self) -> int:
        return int(np.count_nonzero(self._rows[:, FRONT]))

    def talking(self) -> list[int]:
        """Seats taken in each front."""
        return np.bincount(self._rows[:, FRONT], minlength=self.fronts + 1)[1:].tolist()  # type: ignore[no-any-return]

    @property
    def waiting(self) -> int:
        return int(np.count_nonzero(self._tickets))

    def take(self, front: int, who: str, ticket: int | None = None) -> bool:
        name = who.encode()
        assert 0 < len(name) < ROW - WHO, f"{who} is no name for a seat"
        with self._alone():
            free = np.flatnonzero(self._rows[:, FRONT] == 0)
            if len(free) <= self._before(front, ticket):
                return False
            row = self._rows[free[0]]
            row[WHO:] = 0
            row[WHO : WHO + len(name)] = np.frombuffer(name, np.uint8)
            row[FRONT] = front + 1
            if ticket is not None:
                self._tickets[self._tickets == ticket] = 0
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
            self._tickets[self._tickets % self.fronts == front] = 0
            self._full[front] = 0

    def line_up(self, front: int, room: int) -> int | None:
        assert room <= len(self._tickets), "the table was laid for the same settings"
        with self._alone():
            if self.waiting >= room:
                return None
            self._drawn[0] += 1
            ticket = int(self._drawn[0]) * self.fronts + front
            self._tickets[np.flatnonzero(self._tickets == 0)[0]] = ticket
        return ticket

    def step_out(self, ticket: int) -> None:
        with self._alone():
            self._tickets[self._tickets == ticket] = 0

    def ahead(self, ticket: int) -> int:
        return len(self._older(ticket))

    def spare(self, front: int) -> int:
        return max(0, self.seats - self.taken - self._before(front))

    def hold_back(self, front: int, is_full: bool) -> None:
        self._full[front] = is_full

    def _before(self, front: int, ticket: int | None = None) -> int:
        """How many a seat is kept for. Those of other fronts that hold no more would keep one empty
        that this one has."""
        whose = self._older(ticket) % self.fronts
        return int(np.count_nonzero((whose == front) | (self._full[whose] == 0)))

    def _older(self, ticket: int | None) -> NDArray[np.int64]:
        """Than this one; without one, all."""
        waiting = self._tickets[self._tickets > 0]
        return waiting if ticket is None else waiting[waiting < ticket]

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

    @property
    def waiting(self) -> int:
        return self._table.waiting

    @property
    def spare(self) -> int:
        return self._table.spare(self._front)

    def take(self, who: str, ticket: int | None = None) -> bool:
        if not self._table.take(self._front, who, ticket):
            return False
        self.here.add(who)
        return True

    def give_back(self, who: str) -> None:
        if who in self.here:
            self.here.discard(who)
            self._table.give_back(self._front, who)

    def line_up(self, room: int) -> int | None:
        return self._table.line_up(self._front, room)

    def step_out(self, ticket: int) -> None:
        self._table.step_out(ticket)

    def ahead(self, ticket: int) -> int:
        return self._table.ahead(ticket)

    def hold_back(self, is_full: bool) -> None:
        self._table.hold_back(self._front, is_full)
