"""Stretches of speech, from how likely each frame of a channel is to hold some. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.types import EAR_RATE, FRAME

FRAME_SEC = FRAME / EAR_RATE  # 0.032

# Silero's own defaults, with which Full-Duplex-Bench listens.
THRESHOLD, HYSTERESIS = 0.5, 0.15
SHORTEST, GAP = 0.25, 0.1  # seconds


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """From and to seconds of session time."""

    start: float
    end: float

    @property
    def length(self) -> float:
        return self.end - self.start

    @property
    def span(self) -> tuple[float, float]:
        return self.start, self.end

    def within(self, begin: float, end: float) -> "Segment | None":
        """What of it lies between; None for nothing."""
        start, stop = max(self.start, begin), min(self.end, end)
        return Segment(start, stop) if stop > start else None


def segments(
    chances: NDArray[np.float32],
    threshold: float = THRESHOLD,
    gap: float = GAP,
    shortest: float = SHORTEST,
) -> list[Segment]:
    """Speech among frames of FRAME_SEC; shorter gaps are bridged, shorter speech is dropped.

    Once it is speech, HYSTERESIS less is still speech: a voice that wavers is not cut.
    """
    found = []
    begun: int | None = None
    for number, chance in enumerate([*chances.tolist(), -1.0]):
        if begun is None and chance >= threshold:
            begun = number
        elif begun is not None and chance < threshold - HYSTERESIS:
            found.append(Segment(begun * FRAME_SEC, number * FRAME_SEC))
            begun = None
    return [each for each in merged(found, gap) if each.length >= shortest - 1e-9]


def merged(speech: Iterable[Segment], gap: float) -> list[Segment]:
    """Those with no more than so many seconds between them as one."""
    joined: list[Segment] = []
    for each in sorted(speech):
        if joined and each.start - joined[-1].end <= gap + 1e-9:
            joined[-1] = Segment(joined[-1].start, max(joined[-1].end, each.end))
        else:
            joined.append(each)
    return joined


def between(speech: Iterable[Segment], begin: float, end: float) -> list[Segment]:
    """What of the speech lies between two moments."""
    cut = (each.within(begin, end) for each in speech)
    return [each for each in cut if each]


def reaching(speech: Iterable[Segment], begin: float, end: float) -> list[Segment]:
    """The segments, whole, that lie at least partly between two moments."""
    return [each for each in speech if each.within(begin, end)]


def gaps(user: Sequence[Segment], reply: Sequence[Segment]) -> list[Segment]:
    """From the last end of the user's speech to each onset of the reply that follows one."""
    found = []
    onset = float("-inf")
    for each in sorted(reply):
        ends = [said.end for said in user if onset <= said.end < each.start]
        onset = each.start
        if ends:
            found.append(Segment(max(ends), onset))
    return found


def pauses(speech: Sequence[Segment], shortest: float) -> list[Segment]:
    """The silences between segments that last so long or longer."""
    ordered = sorted(speech)
    silences = (
        Segment(a.end, b.start)
        for a, b in zip(ordered, ordered[1:], strict=False)
        if b.start > a.end
    )
    return [each for each in silences if each.length >= shortest - 1e-9]
