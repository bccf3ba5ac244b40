"""How many conversations the machine holds, learned from those it holds already."""

import time
from collections.abc import Callable
from typing import Protocol

from server.pressure import RISES, Level

SETTLE_SEC = 10.0  # until a new conversation shows in what is measured: about a turn
FULL = RISES[Level.SEATS]
GROW = 0.5  # so many more than have been measured, at most
HARDLY_ANY = 0.05  # of the limit: too little to divide by
RECOVER_SEC = 120.0  # after it was too many, one tries a little more so often


class Strained(Protocol):
    @property
    def level(self) -> Level: ...
    @property
    def used(self) -> float: ...
    @property
    def short_of_memory(self) -> bool: ...


class Capacity:
    """Grows while what is measured allows it. The operator's number is never passed.

    A conversation counts as measured once it has gone on for some seconds. What those use up,
    divided by their number, is what one more will cost.
    """

    def __init__(
        self,
        most: int,
        pressure: Strained,
        cores: int,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most = most
        self._pressure = pressure
        self._first = max(2, cores // 2)  # before anything is known
        self._now = now
        self._proven = 0  # so many at once have been well
        self._too_many: int | None = None
        self._changed = now()

    def total(self, taken: int, settled: int) -> int:
        """The seats there are now, the taken ones among them."""
        pressure = self._pressure
        if pressure.short_of_memory:  # one more could be the end of all
            return min(self.most, taken)
        if pressure.level >= Level.SEATS:
            return min(self.most, max(1, taken))
        total = max(self._first, self._proven, settled + max(1, round(settled * GROW)))
        if settled and pressure.used > HARDLY_ANY:
            fit = settled * FULL / pressure.used
            # Lateness grows faster than their number: into the unknown we go half of the way.
            untried = settled + (fit - settled) / 2
            total = min(total, int(max(min(self._proven, fit), untried)))
        if self._too_many is not None:
            total = min(total, self._too_many - 1)
        return min(self.most, max(1, total))

    def step(self, settled: int) -> None:
        """Once a second: learn from how it is."""
        if self._pressure.short_of_memory:
            return  # that is no question of how many talk: there is nothing to be learned
        level, now = self._pressure.level, self._now()
        if level >= Level.SEATS:
            if self._too_many is None or settled < self._too_many:
                self._too_many = max(2, settled)
            self._proven = min(self._proven, self._too_many - 1)
            self._changed = now
        elif level <= Level.PARTIALS:
            self._proven = max(self._proven, settled)
            if self._too_many is None or settled < self._too_many - 1:
                return  # what nobody has tried again is as it was
            if now - self._changed >= RECOVER_SEC:
                self._too_many += max(1, self._too_many // 8)
                self._changed = now
                if self._too_many > self.most:
                    self._too_many = None


class Fixed:
    """As many as were set, whatever is measured."""

    def __init__(self, most: int) -> None:
        self.most = most

    def total(self, taken: int, settled: int) -> int:
        return self.most

    def step(self, settled: int) -> None:
        pass
