"""Two answers made fit to be compared by ear: as loud as each other, and beginning alike. Pure."""

import numpy as np

from models.types import WIRE_RATE, Samples

AUDIBLE = 10 ** (-45 / 20)
LEAD, TAIL = WIRE_RATE // 10, WIRE_RATE // 4  # samples of quiet before and after
LOUDNESS_DB = -20.0  # of speech, full scale being 0
PEAK_DB = -1.0
BLOCK, HOP = WIRE_RATE * 2 // 5, WIRE_RATE // 10  # as broadcasters measure loudness
GATE_DB = -10.0  # below the mean of all blocks: a pause, and no part of how loud speech is
QUIETEST_DB = -70.0


def matched(first: Samples, second: Samples) -> tuple[Samples, Samples]:
    """Both at the same loudness, which is lower where one of them would be clipped."""
    both = trimmed(first), trimmed(second)
    level = min(LOUDNESS_DB, *(_loudest(each) for each in both))
    louder = [each * np.float32(10 ** ((level - loudness(each)) / 20)) for each in both]
    return louder[0], louder[1]


def trimmed(samples: Samples) -> Samples:
    """From a moment before the first audible sample to a moment after the last."""
    audible = np.flatnonzero(np.abs(samples) > AUDIBLE)
    if not len(audible):
        return samples
    begin, end = int(audible[0]) - LEAD, int(audible[-1]) + 1 + TAIL
    before, after = max(0, -begin), max(0, end - len(samples))
    return np.pad(samples[max(0, begin) : end], (before, after))


def loudness(samples: Samples) -> float:
    """Of its speech, in dB: the power of blocks of 0.4 s, without those that are pauses."""
    padded = np.pad(samples.astype(np.float64), (0, max(0, BLOCK - len(samples))))
    sums = np.concatenate([[0.0], np.cumsum(np.square(padded))])
    starts = np.arange(0, len(padded) - BLOCK + 1, HOP)
    power = (sums[starts + BLOCK] - sums[starts]) / BLOCK
    speech = power[power >= 10 ** (GATE_DB / 10) * power.mean()]
    return max(QUIETEST_DB, 10 * float(np.log10(max(speech.mean(), 1e-12))))


def _loudest(samples: Samples) -> float:
    """How loud it can be made without clipping."""
    peak = float(np.abs(samples).max(initial=0.0))
    return loudness(samples) + PEAK_DB - 20 * float(np.log10(max(peak, 1e-6)))
