"""How the network is shown a sound: in windows, at one level, with what counts marked."""

import numpy as np
from numpy.typing import NDArray

from models.types import EAR_RATE, Samples

LOWEST_RATE, HIGHEST_RATE = 4_000, 400_000  # Hz; beyond these no voice was recorded
WINDOW = 3 * EAR_RATE  # what is longer goes in several
SHORTEST = EAR_RATE // 2  # what is shorter gets silence behind
STEP = 384  # samples from one of the network's states to the next: 24 ms
LEVEL = 0.05  # RMS at which everything is shown: collections and microphones differ in it
FAINT = 35.0  # dB below the loudest; fainter steps do not count
QUIETEST = 1e-4  # RMS that is still made louder; what is below stays faint

_REACH = 511  # samples behind one state, about: the first convolutions' width

Weights = NDArray[np.float32]  # of every step; they add up to 1


def levelled(samples: Samples) -> Samples:
    """At the one level, measured in the louder half; silence stays silent."""
    gain = np.float32(LEVEL / max(loudness(samples), QUIETEST))
    out: Samples = np.clip(samples * gain, -1, 1)
    return out


def loudness(samples: Samples) -> float:
    """RMS of the louder half, by frames of 20 ms."""
    size = EAR_RATE // 50
    frames = samples[: len(samples) // size * size].reshape(-1, size)
    powers = np.sort(np.square(frames).mean(1))
    return float(np.sqrt(powers[len(powers) // 2 :].mean()))


def steps(size: int) -> int:
    """How many states the network has of so many samples."""
    for width, stride in ((127, 64), (7, 3), (3, 2)):
        size = (size - width) // stride + 1
    return size


def powers(window: Samples) -> Samples:
    """The power at every step."""
    starts = np.arange(steps(len(window))) * STEP
    summed = np.concatenate(([0.0], np.cumsum(np.square(window), dtype=np.float64)))
    ends = np.minimum(starts + _REACH, len(window))
    out: Samples = ((summed[ends] - summed[starts]) / _REACH + 1e-12).astype(np.float32)
    return out


def activity(power: Samples) -> Weights:
    """Even weights for the steps at which something sounds."""
    loudest = np.sort(power)[-3:].mean()
    counts = power > loudest * 10 ** (-FAINT / 10)
    weights: Weights = (counts / max(counts.sum(), 1)).astype(np.float32)
    return weights
