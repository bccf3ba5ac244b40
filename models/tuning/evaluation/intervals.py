"""How sure a figure is: what it would be if other scripts had been drawn."""

import math
from collections.abc import Callable, Sequence
from typing import TypedDict

import numpy as np

DRAWN = 2000
LEVEL = 0.95
DIGITS = 4


class Figure(TypedDict):
    """A mean with its 95 % interval; `n` values in `groups` that stand or fall together."""

    value: float
    low: float
    high: float
    n: int
    groups: int


def figure(groups: Sequence[Sequence[float]], seed: int) -> Figure | None:
    """The mean of all values, with groups drawn again and again; None without any.

    Replies to one script, and questions on one dialogue, are alike: they are drawn together.
    """
    filled = [group for group in groups if group]
    if not filled:
        return None
    sums = np.array([sum(group) for group in filled])
    sizes = np.array([len(group) for group in filled])
    drawn = np.random.default_rng(seed).integers(0, len(filled), (DRAWN, len(filled)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Figure(
        value=round(float(sums.sum() / sizes.sum()), DIGITS),
        low=round(float(low), DIGITS),
        high=round(float(high), DIGITS),
        n=int(sizes.sum()),
        groups=len(filled),
    )


def sign_test(wins: int, losses: int) -> float:
    """How likely so uneven a score is, either way, if nobody were better; ties are left out."""
    tried = wins + losses
    odd = sum(math.comb(tried, k) for k in range(max(wins, losses), tried + 1))
    return min(1.0, 2 * odd / float(2**tried))


def exact_interval(wins: int, losses: int) -> tuple[float, float]:
    """Shares of wins under which a score like this would not be odd (Clopper and Pearson)."""
    tried, rest = wins + losses, (1 - LEVEL) / 2
    low = 0.0 if wins == 0 else _where(lambda p: 1 - _at_most(wins - 1, tried, p) >= rest)
    high = 1.0 if losses == 0 else _where(lambda p: _at_most(wins, tried, p) < rest)
    return round(low, DIGITS), round(high, DIGITS)


def _at_most(wins: int, tried: int, chance: float) -> float:
    return sum(
        math.comb(tried, k) * chance**k * (1 - chance) ** (tried - k) for k in range(wins + 1)
    )


def _where(is_past: Callable[[float], bool]) -> float:
    """The share from which on something holds, by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if is_past(middle) else (middle, high)
    return high
