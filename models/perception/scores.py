"""How well classes were told apart, and how far the stated chances can be trusted."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 15  # of confidence, equally wide
RESAMPLES = 1000
_ENOUGH = 0.05  # of the resamples must have the figure

Counts = NDArray[np.int64]
Figures = NDArray[np.float64]
Flags = NDArray[np.bool_]


def confusion(truth: Counts, chosen: Counts, classes: int) -> Counts:
    """How often each class (row) was taken for each (column)."""
    pairs = np.bincount(truth * classes + chosen, minlength=classes * classes)
    return pairs.reshape(classes, classes)


def recalls(matrix: Counts) -> Figures:
    """The share of each class that was recognised; nan for a class that never occurred."""
    return _ratio(matrix.diagonal(), matrix.sum(axis=1))


def uar(matrix: Counts) -> float:
    """Unweighted average recall: the mean over the classes that occurred."""
    return _mean(recalls(matrix))


def macro_f1(matrix: Counts) -> float:
    """The mean F1 of the classes that occurred; taking them for others costs precision."""
    occurred = matrix.sum(axis=1) > 0
    f1 = _ratio(2 * matrix.diagonal(), matrix.sum(axis=0) + matrix.sum(axis=1))
    return _mean(f1[occurred])


@dataclass(frozen=True, slots=True)
class Reliability:
    """Per bin of confidence: how many, their mean confidence, and how many of them were right."""

    n: Counts
    confidence: Figures  # nan where the bin is empty, like the next
    accuracy: Figures

    @property
    def ece(self) -> float:
        """Expected calibration error: the bins' mean gap between confidence and accuracy."""
        if not self.n.any():
            return float("nan")
        filled = self.n > 0
        gaps = np.abs(self.confidence - self.accuracy)[filled]
        return float(np.average(gaps, weights=self.n[filled]))


def reliability(confidence: Figures, correct: Flags, bins: int = BINS) -> Reliability:
    """What was claimed against what was so; a confidence of exactly 1 is in the last bin."""
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    n = np.bincount(place, minlength=bins)
    return Reliability(
        n,
        _ratio(np.bincount(place, confidence, bins), n),
        _ratio(np.bincount(place, correct, bins), n),
    )


def auc(chance: Figures, positive: Flags) -> float:
    """How often a positive has the higher chance than a negative; a tie counts half."""
    _, place, ties = np.unique(chance, return_inverse=True, return_counts=True)
    rank = (np.cumsum(ties) - (ties - 1) / 2)[place]
    positives, negatives = int(positive.sum()), int((~positive).sum())
    if not positives or not negatives:
        return float("nan")
    wins = rank[positive].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))


def bootstrap(
    figures: Callable[[Counts], Figures], groups: Counts, resamples: int = RESAMPLES, seed: int = 0
) -> Figures:
    """The 95 % interval of each figure, as rows of low and high.

    `figures` works out a row of figures from the indices of the chosen clips; one it cannot work
    out is nan, and its interval is that of the draws where it could. Whole groups are drawn: a
    speaker's clips are alike, so each on its own would make the interval too narrow. One group
    alone says nothing about others: the answer is then nan.
    """
    kinds = int(groups.max()) + 1
    if kinds < 2:
        return np.full((len(figures(np.arange(len(groups)))), 2), np.nan)
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(resamples):
        times = np.bincount(rng.integers(kinds, size=kinds), minlength=kinds)
        drawn.append(figures(np.repeat(np.arange(len(groups)), times[groups])))
    return np.array([_interval(column) for column in np.array(drawn).T])


def _ratio(part: Counts | Figures, whole: Counts) -> Figures:
    out = np.full(len(whole), np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _interval(drawn: Figures) -> Figures:
    known = drawn[~np.isnan(drawn)]
    enough = len(known) > len(drawn) * _ENOUGH
    return np.percentile(known, [2.5, 97.5]) if enough else np.full(2, np.nan)


def _mean(figures: Figures) -> float:
    known = figures[~np.isnan(figures)]
    return float(known.mean()) if len(known) else float("nan")
