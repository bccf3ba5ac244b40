"""How strong each system is, by Bradley and Terry, and how sure that is. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

DRAWS, SEED = 1000, 6
INTERVAL = (2.5, 97.5)  # percentiles
STEPS, LONGEST_STEP, CLOSE = 100, 1.5, 1e-10
FAINTEST = 1e-9  # of a vote: below it one system would be infinitely stronger
ELO_MIDDLE, ELO = 1000.0, 400 / np.log(10)  # the scale chess players know

Outcome = Literal["first", "second", "tie"]
Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Strength:
    """In natural units: twice as strong is ln 2 more, and the mean of all is 0."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Tally:
    """How often one of two systems won, the other did, and neither."""

    first: float = 0
    second: float = 0
    tie: float = 0


def elo(value: float) -> float:
    return float(ELO_MIDDLE + ELO * value)


def strengths(
    count: int, tallies: Mapping[tuple[int, int], Tally], draws: int = DRAWS, seed: int = SEED
) -> list[Strength]:
    """Of `count` systems, compared in pairs; a tie is half a win for each.

    Every pair is given 1/count of a win each way before anybody votes: count - 1 votes in all, so
    that a system nobody has met, or that never lost, stays finite. The interval is a Bayesian
    bootstrap over the rounds: each weighs as much as chance gives it, and so do the votes given
    beforehand. For two systems it is the Jeffreys interval.
    """
    if count < 2:
        return [Strength(0.0, 0.0, 0.0)] * count
    cells = _cells(count, tallies)
    middle = _fitted(_wins(count, cells[None]))[0]
    weights = np.random.default_rng(seed).gamma(cells, size=(draws, *cells.shape))
    low, high = np.percentile(_fitted(_wins(count, weights)), INTERVAL, axis=0)
    return [Strength(*map(float, each)) for each in zip(middle, low, high, strict=True)]


def _cells(count: int, tallies: Mapping[tuple[int, int], Tally]) -> Table:
    """Votes for the first, for the second and for neither, of every two systems."""
    cells = np.zeros((count, count, 3))
    for (first, second), tally in tallies.items():
        assert first != second, "nobody is compared with themselves"
        told = (tally.first, tally.second, tally.tie)
        if first > second:
            first, second, told = second, first, (tally.second, tally.first, tally.tie)
        cells[first, second] += told
    ahead = np.triu(np.ones((count, count)), 1)[..., None]
    cells += ahead * np.array([1 / count, 1 / count, 0.0])
    return cells


def _wins(count: int, cells: Table) -> Table:
    """How often each won against each, [draws, winner, loser]."""
    ahead = np.triu(np.ones((count, count)), 1)
    first = np.maximum(cells[..., 0] + cells[..., 2] / 2, FAINTEST) * ahead
    second = np.maximum(cells[..., 1] + cells[..., 2] / 2, FAINTEST) * ahead
    return first + np.swapaxes(second, -1, -2)


def _fitted(wins: Table) -> Table:
    """The likeliest strengths of each table of wins, by Newton's method; their mean is 0."""
    draws, count, _ = wins.shape
    met = wins + np.swapaxes(wins, -1, -2)
    won = wins.sum(axis=-1)
    found = np.zeros((draws, count))
    level = np.full((count, count), 1 / count)  # holds the mean, which the votes leave open
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(found[:, None, :] - found[:, :, None]))
        slope = won - (met * chance).sum(axis=-1)
        bend = met * chance * (1 - chance)
        curve = -bend
        curve[:, range(count), range(count)] += bend.sum(axis=-1)
        # Each table on a scale of its own: what was hardly compared bends hardly at all.
        scale = np.maximum(np.trace(curve, axis1=-2, axis2=-1) / count, 1e-300)[:, None, None]
        step = np.linalg.solve(curve / scale + level + 1e-12 * np.eye(count),
                               (slope / scale[:, 0])[..., None])[..., 0]  # fmt: skip
        step *= np.minimum(1, LONGEST_STEP / np.maximum(np.abs(step).max(axis=-1), 1e-300))[:, None]
        found += step
        if np.abs(step).max() < CLOSE:
            break
    centred: Table = found - found.mean(axis=-1, keepdims=True)
    return centred
