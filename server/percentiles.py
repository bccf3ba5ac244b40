"""Percentiles of figures that come for ever, in little room."""

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

FINE = 10.0  # ms: below it steps are even, above it they grow with the figure
STEPS = 200  # to a step of 0.5 % of the figure: what is told is hardly off
MOST = 1e6  # ms; beyond it nobody minds


class Digest:
    """How often figures fell into each step; they may be negative."""

    __slots__ = ("_steps", "count")

    def __init__(self) -> None:
        self.count = 0
        self._steps: Counter[int] = Counter()

    def add(self, ms: float) -> None:
        if math.isnan(ms):
            return
        within = max(-MOST, min(MOST, ms))
        self._steps[round(math.asinh(within / FINE) * STEPS)] += 1
        self.count += 1

    def join(self, other: "Digest") -> None:
        self._steps.update(other._steps)
        self.count += other.count

    def at_most(self, bounds: Sequence[float]) -> list[int]:
        """How many figures are no greater than each bound, to the width of a step."""
        edges = [round(math.asinh(bound / FINE) * STEPS) for bound in bounds]
        return [sum(n for step, n in self._steps.items() if step <= edge) for edge in edges]

    @property
    def total(self) -> float:
        """All figures above 0 together, to the width of a step."""
        # Exact: in another order, as another process has them, a plain sum may be a bit less.
        return math.fsum(
            math.sinh(step / STEPS) * FINE * n for step, n in self._steps.items() if step > 0
        )

    def to_json(self) -> list[tuple[int, int]]:
        """Each step with how often; for another process to join."""
        return list(self._steps.items())

    @classmethod
    def from_json(cls, steps: Iterable[tuple[int, int]]) -> "Digest":
        digest = cls()
        digest._steps.update(dict(steps))
        digest.count = digest._steps.total()
        return digest

    def percentiles(self, shares: Sequence[float]) -> list[float | None]:
        """The figures below or at which so large a share of all lies; shares in rising order."""
        found: list[float | None] = []
        seen, steps = 0, iter(sorted(self._steps.items()))
        step = 0
        for share in shares:
            while self.count and seen < share * self.count:
                step, count = next(steps)
                seen += count
            found.append(round(math.sinh(step / STEPS) * FINE, 1) if self.count else None)
        return found


@dataclass(slots=True)
class _Part:
    until: float
    digest: Digest


class Lately:
    """The figures of the last so many seconds; what is older goes in parts of that time."""

    def __init__(
        self, seconds: float, parts: int = 15, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds = seconds
        self._part = seconds / parts
        self._now = now
        self._parts: deque[_Part] = deque()

    def add(self, ms: float) -> None:
        now = self._now()
        if not self._parts or now >= self._parts[-1].until:
            self._forget(now)
            self._parts.append(_Part(now + self._part, Digest()))
        self._parts[-1].digest.add(ms)

    def digest(self) -> Digest:
        self._forget(self._now())
        joined = Digest()
        for part in self._parts:
            joined.join(part.digest)
        return joined

    def _forget(self, now: float) -> None:
        while self._parts and self._parts[0].until <= now - self._seconds:
            self._parts.popleft()
