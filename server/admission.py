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
    ticket: int | None = None  # of somebody who waits
    place: int = 0  # in the line, as of when it last changed
    sat: float | None = None  # since when
    news: asyncio.Event = field(default_factory=asyncio.Event)  # its place has changed


class Admission:
    """Told who comes and goes; seats that are freed belong to those who have waited longest, in
    whichever process."""

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
        self._queue: list[Guest] = []  # those of the line who wait here
        self._shares: Counter[str] = Counter()  # of each subscriber
        self._lengths: deque[float] = deque(maxlen=REMEMBERED)  # of conversations that are over

    @property
    def taken(self) -> int:
        return self._seats.taken

    @property
    def waiting(self) -> int:
        return self._seats.waiting

    @property
    def waiting_here(self) -> int:
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
        here = self.total - self.taken - len(self._queue)
        return max(0, min(here, self._seats.spare))

    # -- coming and going

    def sit(self, who: str, address: str | None = None) -> Guest | Refused:
        """A seat at once, or none: never one that somebody who waits could have."""
        if self._has_share(address):
            return Refused.SHARE
        self._let_in()  # or who waits here would be passed, should it hold less when we next look
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
        if (ticket := self._seats.line_up(self._room)) is None:
            return Refused.FULL
        guest = Guest(who, address, self._now(), ticket)
        guest.place = self.position(guest)
        self._queue.append(guest)
        self._count(guest, 1)
        return guest

    def leave(self, guest: Guest) -> None:
        """Over, or tired of waiting."""
        self._count(guest, -1)
        if guest.sat is None:
            self._queue.remove(guest)
            self._seats.step_out(_ticket(guest))
            self._tell_moved()
            return
        self._seated.remove(guest)
        self._seats.give_back(guest.who)
        self._lengths.append(self._now() - guest.sat)
        self._let_in()

    def step(self) -> None:
        """Once a second: the machine may hold more than before, or another process less; there a
        seat may have come free for somebody here, or the line have moved."""
        self._holds.step(self._settled)
        self._let_in()

    def _let_in(self) -> None:
        while self._queue and self.taken < self.total:
            guest = self._queue[0]
            if not self._seats.take(guest.who, _ticket(guest)):
                break
            self._queue.pop(0)
            guest.sat = self._now()
            self._seated.add(guest)
            guest.news.set()
        here = len(self._seats.here)
        self._seats.hold_back(self._holds.total(here, self._settled) <= here < self._holds.most)
        self._tell_moved()

    def _tell_moved(self) -> None:
        for guest in self._queue:
            if (place := self.position(guest)) != guest.place:
                guest.place = place
                guest.news.set()

    # -- how long it takes

    def position(self, guest: Guest) -> int:
        """Of somebody who waits, in the one line of all processes: 1 is next."""
        return self._seats.ahead(_ticket(guest)) + 1

    def estimate_sec(self, position: int) -> float | None:
        """Until so many seats will have been freed, going by how long people talk.

        Those who still talk count as well, or the quickest to leave would speak for all. How long
        is known of those here, and seats are freed by all. None until somebody has left: nothing
        is known.
        """
        if not self._lengths or not self.taken:
            return None
        now = self._now()
        talked = sum(self._lengths) + sum(now - (guest.sat or now) for guest in self._seated)
        leaving = max(1, self.taken - self.total + position)
        return leaving * talked / len(self._lengths) / self.taken

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


def _ticket(guest: Guest) -> int:
    assert guest.ticket is not None, "whoever waits has one"
    return guest.ticket
