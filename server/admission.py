"""Who may sit down: first come, first served, and no more than the machine holds."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from server.budgets import subscriber
from server.capacity import SETTLE_SEC
from server.seats import Seats

REMEMBERED = 50  # conversations by whose length a wait is estimated


class Holds(Protocol):
    """How many the machine holds."""

    @property
    def most(self) -> int: ...
    def total(self, taken: int, settled: int) -> int: ...
    def step(self, settled: int) -> None: ...


class Refused(Enum):
    FULL = "full"  # no seat, and no room to wait
    SHARE = "share"  # its address has as many as one may have


@dataclass(eq=False, slots=True)
class Guest:
    """Somebody who sits, or waits for it."""

    who: str
    address: str | None
    came: float
    sat: float | None = None  # since when
    news: asyncio.Event = field(default_factory=asyncio.Event)  # its place has changed


class Admission:
    """Told who comes and goes; a seat that is freed belongs to whoever has waited longest."""

    def __init__(
        self,
        seats: Seats,
        holds: Holds,
        room: int,
        share: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seats = seats
        self._holds = holds
        self._room = room  # for so many to wait
        self._share = share  # seats and places that one address may have; None: all
        self._now = now
        self._seated: set[Guest] = set()
        self._queue: list[Guest] = []
        self._shares: Counter[str] = Counter()  # of each subscriber
        self._lengths: deque[float] = deque(maxlen=REMEMBERED)  # of conversations that are over

    @property
    def taken(self) -> int:
        return self._seats.taken

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def total(self) -> int:
        """With those in other processes, of whom only that they sit is known here."""
        here = len(self._seats.here)
        elsewhere = self.taken - here
        return min(self._holds.most, elsewhere + self._holds.total(here, self._settled))

    @property
    def free(self) -> int:
        """Seats that somebody who comes now could have."""
        return 0 if self._queue else max(0, self.total - self.taken)

    # -- coming and going

    def sit(self, who: str, address: str | None = None) -> Guest | Refused:
        """A seat at once, or none: never past somebody who waits."""
        if self._has_share(address):
            return Refused.SHARE
        if not self.free or not self._seats.take(who):
            return Refused.FULL
        guest = Guest(who, address, self._now(), sat=self._now())
        self._seated.add(guest)
        self._count(guest, 1)
        return guest

    def wait(self, who: str, address: str | None = None) -> Guest | Refused:
        """A place in the queue."""
        if self._has_share(address):
            return Refused.SHARE
        if len(self._queue) >= self._room:
            return Refused.FULL
        guest = Guest(who, address, self._now())
        self._queue.append(guest)
        self._count(guest, 1)
        return guest

    def leave(self, guest: Guest) -> None:
        """Over, or tired of waiting."""
        self._count(guest, -1)
        if guest.sat is None:
            behind = self._queue[self._queue.index(guest) + 1 :]
            self._queue.remove(guest)
            self._tell(behind)
            return
        self._seated.remove(guest)
        self._seats.give_back(guest.who)
        self._lengths.append(self._now() - guest.sat)
        self._let_in()

    def step(self) -> None:
        """Once a second: the machine may hold more than before, or another process less."""
        self._holds.step(self._settled)
        self._let_in()

    def _let_in(self) -> None:
        let_in = False
        while self._queue and self.taken < self.total and self._seats.take(self._queue[0].who):
            guest = self._queue.pop(0)
            guest.sat = self._now()
            self._seated.add(guest)
            guest.news.set()
            let_in = True
        if let_in:
            self._tell(self._queue)

    def _tell(self, guests: list[Guest]) -> None:
        for guest in guests:
            guest.news.set()

    # -- how long it takes

    def position(self, guest: Guest) -> int:
        """Of somebody who waits: 1 is next."""
        return self._queue.index(guest) + 1

    def estimate_sec(self, position: int) -> float | None:
        """Until so many seats will have been freed, going by how long people talk.

        Those who still talk count as well, or the quickest to leave would speak for all. None
        until somebody has left: nothing is known.
        """
        if not self._lengths or not self._seated:
            return None
        now = self._now()
        talked = sum(self._lengths) + sum(now - (guest.sat or now) for guest in self._seated)
        leaving = max(1, self.taken - self.total + position)
        return leaving * talked / len(self._lengths) / len(self._seated)

    # -- shares

    @property
    def _settled(self) -> int:
        """Those who have talked long enough to show in what is measured."""
        since = self._now() - SETTLE_SEC
        return sum(guest.sat is not None and guest.sat <= since for guest in self._seated)

    def _has_share(self, address: str | None) -> bool:
        whose = subscriber(address)
        return self._share is not None and whose is not None and self._shares[whose] >= self._share

    def _count(self, guest: Guest, by: int) -> None:
        if (whose := subscriber(guest.address)) is None:
            return
        self._shares[whose] += by
        if not self._shares[whose]:
            del self._shares[whose]
