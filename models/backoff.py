"""How long to leave something alone that failed, before it is tried again."""

import random
from collections.abc import Callable
from dataclasses import dataclass

DOUBLINGS = 32  # more would tell no more


@dataclass(frozen=True, slots=True)
class Backoff:
    """Twice as long after every further failure, up to a limit; never the same for two of us."""

    first_sec: float = 1.0
    longest_sec: float = 30.0
    spread: float = 0.5  # of the time, by which it differs at the most
    dice: Callable[[], float] = random.random

    def after(self, failures: int) -> float:
        """Seconds to wait after so many failures in a row."""
        assert failures > 0, "nothing failed"
        doubled = self.first_sec * 2.0 ** min(failures - 1, DOUBLINGS)
        return min(doubled, self.longest_sec) * (1 + self.spread * (self.dice() - 0.5))
