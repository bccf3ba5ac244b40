"""What Full-Duplex-Bench calls taking the floor, and a backchannel. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from server.scoring.duplex.segments import Segment
from server.scoring.duplex.words_timed import TimedWord, during

SHORT_SEC, FEW_WORDS = 1.0, 3  # less than the one and no more than the other is no taking over
LONG_SEC, BRIEF_WORDS = 3.0, 2  # of backchannels: longer is speaking, and so are more words
BIN_SEC = 0.2
_TINY = 1e-10  # in every bin, as the authors do, so that no bin is empty


def takes_over(words: Sequence[TimedWord]) -> bool:
    """Whether somebody spoke these words to have the floor, rather than to say "mm"."""
    if not words:
        return False
    span = words[-1].end - words[0].start
    return not (span < SHORT_SEC and len(words) <= FEW_WORDS)


@dataclass(frozen=True, slots=True)
class Backchannels:
    took_over: bool
    events: tuple[Segment, ...]  # since the floor was last taken, by nothing long


def backchannels(speech: Sequence[Segment], words: Sequence[TimedWord]) -> Backchannels:
    """Short segments are events, until one takes the floor; what comes after it counts anew.

    A long one takes the floor for good, and leaves the events before it, as the authors do.
    """
    took_over = False
    events: list[Segment] = []
    for each in speech:
        if each.length > LONG_SEC:
            return Backchannels(True, tuple(events))
        count = len(during(words, each.start, each.end))
        took_over = not (each.length < SHORT_SEC and count <= BRIEF_WORDS)
        if took_over:
            events.clear()
        else:
            events.append(each)
    return Backchannels(took_over, tuple(events))


def timing_distance(events: Sequence[Segment], seconds: float, people: Sequence[float]) -> float:
    """Jensen-Shannon distance of when events happen from when people's do; 1 for no events."""
    if not events:
        return 1.0
    bins = np.full(int(seconds / BIN_SEC) + 1, _TINY)
    for each in events:
        bins[int(each.start / BIN_SEC) : int(each.end / BIN_SEC) + 1] += 1
    whole = np.linspace(0, 1, len(people))
    likely = np.interp(np.linspace(0, 1, len(bins)), whole, np.asarray(people, np.float64))
    return jensen_shannon(bins, likely)


def jensen_shannon(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The square root of the divergence in nats; neither needs to sum to one."""
    p, q = one / one.sum(), other / other.sum()
    middle = (p + q) / 2
    halves = (_relative(p, middle) + _relative(q, middle)) / 2
    return float(np.sqrt(max(halves, 0.0)))


def _relative(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    there = p > 0
    return float((p[there] * np.log(p[there] / q[there])).sum())
