"""Speech faster or slower in the same voice: WSOLA, by Verhelst and Roelands. Pure."""

import numpy as np
from numpy.typing import NDArray

from models.types import WIRE_RATE, Samples

WINDOW = WIRE_RATE * 30 // 1000  # samples; two periods of the lowest voice
HOP = WINDOW // 2
REACH = WIRE_RATE * 10 // 1000  # so far from its place a piece may be taken, to either side


def stretched(clip: Samples, pace: float) -> Samples:
    """The clip in 1 / pace of its time, at the pitch it had.

    Pieces are laid over one another at even steps. Each is taken from near the place in the clip
    that its time asks for: where it is most like what followed the piece before, so that periods
    of the voice meet.
    """
    length = round(len(clip) / pace)
    if pace == 1.0 or not length:
        return clip[:length].copy()
    lead = REACH + HOP
    # Silence around it, so that no piece reaches beyond an end.
    behind = REACH + 2 * WINDOW + 2 * round(HOP * pace)
    sound = np.pad(clip.astype(np.float64), (lead, behind))
    shape = np.hanning(WINDOW + 1)[:-1]  # two of them, half a window apart, sum to one
    steps = length // HOP + 2
    laid = np.zeros(steps * HOP + WINDOW)
    natural = sound[:WINDOW]
    for step in range(steps):
        place = lead - HOP + round(step * HOP * pace)
        taken = place + _nearest(sound[place - REACH : place + REACH + WINDOW], natural)
        laid[step * HOP : step * HOP + WINDOW] += shape * sound[taken : taken + WINDOW]
        natural = sound[taken + HOP : taken + HOP + WINDOW]
    return laid[HOP : HOP + length].astype(np.float32)


def _nearest(around: NDArray[np.float64], wanted: NDArray[np.float64]) -> int:
    """How far from the middle the piece most like the wanted one begins."""
    likeness = np.correlate(around, wanted, "valid")
    powers = np.cumsum(np.concatenate([[0.0], around**2]))
    likeness /= np.sqrt(powers[WINDOW:] - powers[:-WINDOW] + 1e-9)
    # Of pieces that are all alike, as silence is, the one in its place.
    best = int(np.argmax(likeness))
    return best - REACH if likeness[best] > likeness[REACH] + 1e-9 else 0
