"""Drawing again from what there is: bootstraps in bounded memory. Pure."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 21  # numbers in memory for one chunk of draws
FEWEST = 5  # clusters: draws from fewer are little more than the clusters themselves
KEPT = 1 << 25  # the largest table of draws that is remembered: as many bytes

Floats = NDArray[np.float64]
Clusters = Sequence[Hashable] | None


def belonging(clusters: Clusters, n: int) -> tuple[NDArray[np.intp], int]:
    """The cluster of each value, and how many there are."""
    if clusters is None:
        return np.arange(n), n
    if len(clusters) != n:
        raise ValueError("every value needs its cluster")
    places: dict[Hashable, int] = {}
    belongs = [places.setdefault(each, len(places)) for each in clusters]
    return np.array(belongs, np.intp), len(places)


def drawn(
    count: int, wide: int, draws: int, seed: int, statistic: Callable[[Floats], Floats]
) -> Floats | None:
    """A statistic of every draw; those in which it is undefined are passed over. None: too few."""
    if count < FEWEST:
        return None
    parts = [statistic(times) for times in _times(count, max(wide, count), draws, seed)]
    found = np.concatenate(parts)
    found = found[~np.isnan(found)]
    return found if found.size > draws / 2 else None


def _times(count: int, wide: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each of `count` is drawn, [draws, count] by and by, so that memory is bounded."""
    rows = max(1, AT_ONCE // wide)
    kept = _remembered(count, draws, seed) if count * draws <= KEPT else None
    random = np.random.default_rng(seed)
    for begin in range(0, draws, rows):
        some = min(rows, draws - begin)
        # The same stream, however it is cut: what is remembered and what is not agree.
        told = _counted(random, count, some) if kept is None else kept[begin : begin + some]
        yield told.astype(np.float64)


@lru_cache(maxsize=2)  # many metrics are told of the same number of sessions
def _remembered(count: int, draws: int, seed: int) -> NDArray[np.uint8]:
    random = np.random.default_rng(seed)
    kept = np.empty((draws, count), np.uint8)
    rows = max(1, AT_ONCE // count)
    for begin in range(0, draws, rows):
        some = min(rows, draws - begin)
        kept[begin : begin + some] = _counted(random, count, some)
    return kept


def _counted(random: np.random.Generator, count: int, rows: int) -> NDArray[np.int64]:
    places = random.integers(0, count, (rows, count))
    places += np.arange(rows)[:, None] * count
    return np.bincount(places.ravel(), minlength=rows * count).reshape(rows, count)
