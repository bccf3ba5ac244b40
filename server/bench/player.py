"""A loudspeaker without a sound: when would a client have been heard, and when silent? Pure.

It is told what happened and when, in that order; it has no clock of its own.
"""

from models.types import WIRE_RATE

FADE_SEC = 0.02  # a player told to be silent takes this long, so as not to click
GAP_SEC = 0.1  # a shorter gap between two sounds is a late packet, not silence


class Player:
    """Plays what it receives at once and in real time, keeping what came early."""

    def __init__(self) -> None:
        self.underruns = 0  # times it had nothing to play in mid-reply
        self._spans: list[tuple[float, float]] = []  # when it sounded, seconds
        self._kept = 0.0  # seconds of sound kept while held
        self._held = False
        self._stopped = False

    def receive(self, at: float, samples: int) -> None:
        seconds = samples / WIRE_RATE
        if self._stopped:
            return
        if self._held:
            self._kept += seconds
        elif self._spans and at <= self._spans[-1][1]:
            start, end = self._spans[-1]
            self._spans[-1] = (start, end + seconds)
        else:
            self.underruns += bool(self._spans)
            self._spans.append((at, at + seconds))

    def hold(self, at: float) -> None:
        """Fade out, and keep the rest."""
        if not self._held:
            self._held = True
            self._kept = self._cut(at + FADE_SEC)

    def resume(self, at: float) -> None:
        """Go on with what was kept."""
        if self._held:
            self._held = False
            if self._kept:
                self._spans.append((at, at + self._kept))
            self._kept = 0.0

    def stop(self, at: float) -> None:
        """Fade out and forget the rest, for good."""
        self._cut(at + FADE_SEC)
        self._kept = 0.0
        self._stopped = True

    def _cut(self, at: float) -> float:
        """Silence from here on; returns how much would have sounded after it."""
        if not self._spans:
            return 0.0
        start, end = self._spans[-1]
        cut = max(start, min(end, at))
        self._spans[-1] = (start, cut)
        return end - cut

    def sounding(self, at: float) -> bool:
        return any(start <= at < end for start, end in self._spans)

    def played(self, at: float) -> int:
        """Samples that have sounded by then."""
        seconds = sum(max(0.0, min(end, at) - start) for start, end in self._spans)
        return round(seconds * WIRE_RATE)

    @property
    def empty_at(self) -> float:
        """When it will have played everything it has."""
        return self._spans[-1][1] if self._spans else 0.0

    def silent_from(self, at: float) -> float:
        """The first moment from `at` on with nothing to hear for GAP_SEC."""
        for start, end in self._spans:
            if end <= at:
                continue
            if start >= at + GAP_SEC:
                return at
            at = end
        return at
