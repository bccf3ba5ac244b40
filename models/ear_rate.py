"""Wire audio to the ear's rate, with a millisecond's delay.

A general resampler holds back 20 to 40 ms of a stream, and every one of them would be added to
every reply. 24 kHz to 16 kHz is only two samples out for three in: a short filter will do.
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided

from models.types import EAR_RATE, WIRE_RATE, Samples

UP, DOWN = 2, 3
assert WIRE_RATE * UP == EAR_RATE * DOWN
TAPS = 56  # of each phase; with both, 112 at 48 kHz: a delay of 1.2 ms
WINDOW = TAPS + 1  # input samples that both outputs of a group of three are made of
AT_ONCE = 8  # groups made by one row of the product: fewer and wider rows are quicker
LINES = 4  # sizes of piece prepared for at once
CUTOFF = 7_600  # Hz; half as loud there, 60 dB down where it would fold back below 7.2 kHz
KAISER_BETA = 5.65  # 60 dB


def _filters() -> Samples:
    """A low-pass at 48 kHz as two columns: what an even and an odd output make of a window."""
    rate = WIRE_RATE * UP
    time = np.arange(UP * TAPS) - (UP * TAPS - 1) / 2
    low_pass = np.sinc(2 * CUTOFF / rate * time) * np.kaiser(UP * TAPS, KAISER_BETA)
    low_pass *= UP / low_pass.sum()
    columns = np.zeros((WINDOW, UP), np.float32)
    columns[:TAPS, 0] = low_pass[0::UP][::-1]  # reversed: laid over samples in the order they came
    columns[1:, 1] = low_pass[1::UP][::-1]  # an odd output falls one input sample later
    return columns


def _filters_at_once() -> Samples:
    """The same for several groups in a row, each DOWN samples after the one before."""
    one = _filters()
    several = np.zeros((WINDOW + (AT_ONCE - 1) * DOWN, AT_ONCE * UP), np.float32)
    for group in range(AT_ONCE):
        several[group * DOWN : group * DOWN + WINDOW, group * UP : (group + 1) * UP] = one
    return several


FILTERS = _filters_at_once()


class EarResampler:
    """A stream from WIRE_RATE to EAR_RATE; push what comes, get what is ready."""

    def __init__(self) -> None:
        self._held: Samples = np.zeros(TAPS - 1, np.float32)  # samples the filters still reach
        self._lines: dict[int, tuple[Samples, Samples]] = {}  # by length, with their windows

    def push(self, samples: Samples) -> Samples:
        length = len(self._held) + len(samples)
        groups = (length - WINDOW) // DOWN + 1
        if groups < 1:
            self._held = np.concatenate([self._held, samples])
            return np.empty(0, np.float32)
        line, windows = self._line(length, groups)
        line[: len(self._held)] = self._held
        line[len(self._held) : length] = samples
        out: Samples = (windows @ FILTERS).ravel()[: groups * UP]
        self._held = line[groups * DOWN : length].copy()
        return out

    def _line(self, length: int, groups: int) -> tuple[Samples, Samples]:
        """Room for so many samples, and its windows, which may reach into silence behind them.

        Streams come in pieces of one size, so there are never more than a few.
        """
        if found := self._lines.get(length):
            return found
        if len(self._lines) >= LINES:
            self._lines.clear()
        rows, step = -(-groups // AT_ONCE), AT_ONCE * DOWN
        width = len(FILTERS)
        line = np.zeros(max(length, (rows - 1) * step + width), np.float32)
        steps = (step * line.itemsize, line.itemsize)
        found = line, as_strided(line, (rows, width), steps, writeable=False)
        self._lines[length] = found
        return found
