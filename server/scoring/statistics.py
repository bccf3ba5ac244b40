"""How sure figures are: seeded bootstraps, rank correlation, agreement, many tests at once. Pure.

Every interval is a 95 % percentile interval. It is None where there is too little to draw from:
fewer than FEWEST clusters (the exchanges of one session, what comes of one script), or values that
come in none. So is p.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from server.scoring.chance import by_sides, by_signs
from server.scoring.drawing import Clusters, Floats, belonging, drawn

DRAWS, SEED = 2000, 7
PERCENTILES = (2.5, 97.5)

Level = Literal["nominal", "ordinal", "interval"]


class Interval(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over `n` values; None where there are none."""

    mean: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of `b - a`, and how likely one so far from 0 is by chance."""

    mean: float | None
    low: float | None
    high: float | None
    p: float | None  # two-sided
    n: int


@dataclass(frozen=True, slots=True)
class Correlation:
    """Spearman's; None where one side never changes."""

    rho: float | None
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Krippendorff's alpha over the units at least two rated; None where nobody ever differed."""

    alpha: float | None
    low: float | None
    high: float | None
    units: int
    raters: int


def interval(
    values: ArrayLike, clusters: Clusters = None, draws: int = DRAWS, seed: int = SEED
) -> Interval | None:
    """Of the mean. Clusters are drawn whole, with all their values."""
    means = _drawn_means(_floats(values), clusters, draws, seed)
    return None if means is None else _percentiles(means)


def mean_interval(
    values: ArrayLike, clusters: Clusters = None, draws: int = DRAWS, seed: int = SEED
) -> Estimate:
    found = _floats(values)
    if not found.size:
        return Estimate(None, None, None, 0)
    low, high = interval(found, clusters, draws, seed) or (None, None)
    return Estimate(float(found.mean()), low, high, found.size)


def paired(
    a: ArrayLike,
    b: ArrayLike,
    clusters: Clusters = None,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Difference:
    """What b is more than a, where the nth of both belong together."""
    apart = _floats(b) - _floats(a)
    if not apart.size:
        return Difference(None, None, None, None, 0)
    mean = float(apart.mean())
    means = _drawn_means(apart, clusters, draws, seed)
    if means is None:
        return Difference(mean, None, None, None, apart.size)
    p = by_signs(_summed(apart, clusters)[0], draws, seed)
    return Difference(mean, *_percentiles(means), p, apart.size)


def unpaired(
    a: ArrayLike,
    b: ArrayLike,
    clusters_a: Clusters = None,
    clusters_b: Clusters = None,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Difference:
    """What the mean of b is more than that of a, where nothing belongs together; n counts both."""
    first, second = _floats(a), _floats(b)
    n = first.size + second.size
    if not first.size or not second.size:
        return Difference(None, None, None, None, n)
    mean = float(second.mean() - first.mean())
    ones, others = (
        _drawn_means(first, clusters_a, draws, seed),
        _drawn_means(second, clusters_b, draws, seed + 1),  # else equal sizes are drawn alike
    )
    if ones is None or others is None:
        return Difference(mean, None, None, None, n)
    p = by_sides(_summed(first, clusters_a), _summed(second, clusters_b), draws, seed)
    return Difference(mean, *_percentiles(others - ones), p, n)


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    draws: int = DRAWS,
    seed: int = SEED,
    clusters: Clusters = None,
) -> Correlation:
    """Rank correlation; equal values share their mean rank, in every draw anew."""
    pairs = _floats(x), _floats(y)
    n = pairs[0].size
    ranks = [_Ranked(each) for each in pairs]
    whole = _rho(np.ones((1, n)), ranks) if n > 2 else np.full(1, np.nan)
    if np.isnan(whole[0]):
        return Correlation(None, None, None, n)
    belongs, _ = belonging(clusters, n)
    found = drawn(
        int(belongs.max()) + 1, n, draws, seed, lambda times: _rho(times[:, belongs], ranks)
    )
    low, high = (None, None) if found is None else _percentiles(found)
    return Correlation(float(whole[0]), low, high, n)


def alpha(
    ratings: Sequence[Mapping[Any, Any]],
    level: Level = "ordinal",
    draws: int = DRAWS,
    seed: int = SEED,
) -> Agreement:
    """How far raters agree: 1 wholly, 0 no more than by chance. One mapping of raters a unit.

    Missing ratings are left out of it; units that one rater saw say nothing. The interval is drawn
    over units.
    """
    units = [unit for unit in ratings if len(unit) > 1]
    raters = len({rater for unit in units for rater in unit})
    if not units:
        return Agreement(None, None, None, 0, 0)
    scale = {value: place for place, value in enumerate(_scale(units, level))}
    table = np.zeros((len(units), len(scale)))
    for place, unit in enumerate(units):
        for value in unit.values():
            table[place, scale[value]] += 1
    points = np.array([0.0 if level == "nominal" else float(value) for value in scale])
    whole = _alphas(np.ones((1, len(units))), table, points, level)
    if np.isnan(whole[0]):
        return Agreement(None, None, None, len(units), raters)
    wide = max(table.shape)
    found = drawn(len(units), wide, draws, seed, lambda times: _alphas(times, table, points, level))
    low, high = (None, None) if found is None else _percentiles(found)
    return Agreement(float(whole[0]), low, high, len(units), raters)


def holm(ps: Sequence[float]) -> list[float]:
    """Each p as large as it must be so that one wrong finding among all stays as unlikely."""
    adjusted, highest = [1.0] * len(ps), 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        highest = max(highest, min(1.0, ps[place] * (len(ps) - rank)))
        adjusted[place] = highest
    return adjusted


def _floats(values: ArrayLike) -> Floats:
    found = np.asarray(values, np.float64).ravel()
    if not np.isfinite(found).all():
        raise ValueError("statistics need finite values")
    return found


def _drawn_means(values: Floats, clusters: Clusters, draws: int, seed: int) -> Floats | None:
    sums, sizes = _summed(values, clusters)
    count = sums.size
    return drawn(count, count, draws, seed, lambda times: (times @ sums) / (times @ sizes))


def _summed(values: Floats, clusters: Clusters) -> tuple[Floats, Floats]:
    """By cluster: the sum of its values, and how many they are."""
    belongs, count = belonging(clusters, values.size)
    sums = np.zeros(count)
    np.add.at(sums, belongs, values)
    return sums, np.bincount(belongs, minlength=count).astype(np.float64)


def _percentiles(found: Floats) -> Interval:
    low, high = np.percentile(found, PERCENTILES)
    return Interval(float(low), float(high))


# -- ranks


class _Ranked:
    """Values whose ranks can be told for every draw at once."""

    def __init__(self, values: Floats) -> None:
        self._order = np.argsort(values, kind="stable")
        ordered = values[self._order]
        self._firsts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: values.size])
        self._group = np.empty(values.size, np.intp)
        self._group[self._order] = np.searchsorted(ordered[self._firsts], ordered)

    def ranks(self, times: Floats) -> Floats:
        """Mean ranks, [draws, values], of values that occur so many times."""
        sizes = np.add.reduceat(times[:, self._order], self._firsts, axis=1)
        return (np.cumsum(sizes, axis=1) - sizes / 2)[:, self._group]


def _rho(times: Floats, ranked: Sequence[_Ranked]) -> Floats:
    total = times.sum(axis=1, keepdims=True)
    first, second = (
        ranks - (times * ranks).sum(axis=1, keepdims=True) / total
        for ranks in (each.ranks(times) for each in ranked)
    )
    spread = (times * first**2).sum(axis=1) * (times * second**2).sum(axis=1)
    shared = (times * first * second).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, shared / np.sqrt(spread), np.nan)


# -- agreement


def _scale(units: Sequence[Mapping[Any, Any]], level: Level) -> list[Any]:
    values = {value for unit in units for value in unit.values()}
    return sorted(values, key=str if level == "nominal" else None)


def _alphas(times: Floats, table: Floats, points: Floats, level: Level) -> Floats:
    """Alpha where each unit, a row of counts by value, occurs so many times."""
    sizes = table.sum(axis=1)
    counts = times @ table
    total = counts.sum(axis=1)
    if level == "nominal":
        within = (sizes**2 - (table**2).sum(axis=1)) / (sizes - 1)
        observed = times @ within
        expected = (total**2 - (counts**2).sum(axis=1)) / (total - 1)
    else:
        # Ordinal distance is the distance of mean ranks, which every draw has its own.
        ranks = np.cumsum(counts, axis=1) - counts / 2
        places = ranks if level == "ordinal" else np.broadcast_to(points, counts.shape)
        places = places - (counts * places).sum(axis=1, keepdims=True) / total[:, None]
        spread = places**2 @ table.T - (places @ table.T) ** 2 / sizes
        observed = (times * spread * (sizes / (sizes - 1))).sum(axis=1)
        expected = (counts * places**2).sum(axis=1) * total / (total - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 1e-12, 1 - observed / expected, np.nan)
