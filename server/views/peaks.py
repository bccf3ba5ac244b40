"""The outline of a recording: the lowest and highest sample of every short step."""

from base64 import b64encode
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from server.views.stretch import BLOCK, COLUMN, Channel, Recording

STEP = 240  # samples: 10 ms, the finest that is kept in memory
MOST_KEPT = 16  # recordings; an hour of one takes 3 MB

Peaks = NDArray[np.int16]  # [points, channels, lowest and highest]


@dataclass(frozen=True, slots=True)
class Outline:
    """A stretch as so many points."""

    start: int
    end: int
    peaks: Peaks

    def told(self, channel: Channel) -> str:
        """Lowest and highest of every point in turn: base64 of 16-bit little-endian numbers."""
        return b64encode(self.peaks[:, COLUMN[channel]].astype("<i2").tobytes()).decode()


class Outlines:
    """Makes outlines, and remembers the last recordings it went through. Safe for threads."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._kept: OrderedDict[str, Peaks] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def of(self, recording: Recording, start: int, end: int, points: int) -> Outline:
        points = min(points, end - start)
        if end - start >= points * STEP:
            peaks = self._steps(recording)[start // STEP : -(-end // STEP)]
        else:
            peaks = _outline(recording.read(start, end), 1)
        return Outline(start, end, _fewer(peaks, points))

    def _steps(self, recording: Recording) -> Peaks:
        with self._lock:
            if (kept := self._kept.get(recording.mark)) is not None:
                self._kept.move_to_end(recording.mark)
                return kept
        length = BLOCK // STEP * STEP
        blocks = recording.blocks(0, recording.samples, length)
        made = np.concatenate([_outline(block, STEP) for block in blocks])
        with self._lock:
            self._kept[recording.mark] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


def _outline(sound: NDArray[np.int16], step: int) -> Peaks:
    begins = np.arange(0, len(sound), step)
    low, high = (each.reduceat(sound, begins, axis=0) for each in (np.minimum, np.maximum))
    return np.stack([low, high], axis=2)


def _fewer(peaks: Peaks, points: int) -> Peaks:
    """As many points, or all there are if there are no more."""
    count = min(points, len(peaks))
    begins = np.arange(count) * len(peaks) // count
    low = np.minimum.reduceat(peaks[:, :, 0], begins, axis=0)
    high = np.maximum.reduceat(peaks[:, :, 1], begins, axis=0)
    return np.stack([low, high], axis=2)
