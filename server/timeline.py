"""The session's clock: samples received, with silence counted in where none came."""

from models.types import WIRE_RATE

STALL_SEC = 0.2  # this long without audio, and the clock goes on by itself


class Timeline:
    """Counts session time in samples at WIRE_RATE. Pure: it is told what time it is.

    When audio stops arriving on an open connection, `silence` says how much silence has
    passed. If the network had only held the audio back, it comes later in a burst, faster
    than real time: `arrived` then counts it against that silence first, so that nothing is
    counted twice.
    """

    def __init__(self, now: float) -> None:
        self.position = 0  # samples of session time
        self._last = now  # when audio last arrived
        self._anchor = (now, 0)  # a moment, and the position the clock truly had then
        self._owed = 0  # samples of silence counted in, which a burst may repay

    def arrived(self, count: int, now: float) -> int:
        """Count audio in; returns how many of its samples repaid a gap."""
        repaid = 0
        if self._owed:
            early = self.position + count - self._due(now)
            repaid = max(0, min(self._owed, count, early))
            self._owed -= repaid
        self.position += count - repaid
        self._last = now
        if not self._owed:
            self._anchor = (now, self.position)
        return repaid

    def silence(self, now: float) -> int:
        """Samples of silence to count in by now: 0 while audio flows."""
        if now - self._last < STALL_SEC:
            return 0
        if not self._owed:
            self._anchor = (self._last, self.position)
        missing = max(0, self._due(now) - self.position)
        self.position += missing
        self._owed += missing
        return missing

    @property
    def last_arrival(self) -> float:
        """When audio last arrived."""
        return self._last

    @property
    def owed(self) -> int:
        """Samples of silence counted in for which audio may still come."""
        return self._owed

    def forgive(self, now: float) -> None:
        """Nothing was held back: the silence was one, and what comes now is new."""
        self._owed = 0
        self._last = now
        self._anchor = (now, self.position)

    def late(self, now: float) -> int:
        """How far the clock is behind where it should be, while a gap is being repaid."""
        return max(0, self._due(now) - self.position) if self._owed else 0

    def excuse(self, late: int) -> None:
        """The clock is so far behind for good: the client's own runs slower than ours."""
        then, position = self._anchor
        self._anchor = (then, position - late)

    def now(self, now: float) -> int:
        """Where the clock stands between two arrivals."""
        return self.position + round(min(now - self._last, STALL_SEC) * WIRE_RATE)

    def _due(self, now: float) -> int:
        then, position = self._anchor
        return position + round((now - then) * WIRE_RATE)
