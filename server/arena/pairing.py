"""Which two systems meet next. Pure, but for chance."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from secrets import SystemRandom
from typing import TypeVar

T = TypeVar("T", bound=str)

_chance = SystemRandom()


def paired(systems: Sequence[T], met: Mapping[frozenset[T], int]) -> tuple[T, T]:
    """Two that met least often, in an order nobody can foresee."""
    pairs = [frozenset(pair) for pair in combinations(systems, 2)]
    fewest = min(met.get(pair, 0) for pair in pairs)
    chosen = _chance.choice([pair for pair in pairs if met.get(pair, 0) == fewest])
    first, second = _chance.sample(sorted(chosen), 2)
    return first, second
