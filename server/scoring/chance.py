"""How likely a difference so large is where nothing differs: permutation tests. Pure.

Values come summed by cluster. Where there are few clusters, there are few ways to deal them: no
difference of theirs can look surer than it is.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from server.scoring.drawing import AT_ONCE, Floats

SURE = 0.05  # of p: what is below is called a difference
NEAR = 1e-9  # sums that differ by less are the same, whatever order they were added in


def by_signs(sums: Floats, draws: int, seed: int) -> float:
    """Two-sided p of paired differences: without one, each cluster might as well have its opposite.

    All ways to give signs are looked at, if they are no more than `draws`; else as many by chance,
    and the one that was found.
    """
    total, near = float(sums.sum()), NEAR * float(np.abs(sums).sum())
    hits = tried = 0
    for kept in _signs(sums.size, draws, seed):
        found = 2 * (kept @ sums) - total
        hits += int((np.abs(found) >= abs(total) - near).sum())
        tried += len(kept)
    if 2**sums.size <= draws:
        return hits / tried
    return (hits + 1) / (tried + 1)


def by_sides(
    ones: tuple[Floats, Floats], others: tuple[Floats, Floats], draws: int, seed: int
) -> float:
    """Two-sided p of a difference of means: each cluster might as well be on the other side.

    A side is the sums of its clusters, and their sizes.
    """
    sums, sizes = (np.concatenate(both) for both in zip(ones, others, strict=True))
    first, whole, size = ones[0].size, float(sums.sum()), float(sizes.sum())
    apart = float(others[0].sum() / others[1].sum() - ones[0].sum() / ones[1].sum())
    near = NEAR * float(np.abs(sums).sum()) / size
    hits = 0
    random = np.random.default_rng(seed)
    for rows in _chunks(sums.size, draws):
        dealt = random.random((rows, sums.size)).argpartition(first, axis=1)[:, :first]
        sum_, count = sums[dealt].sum(axis=1), sizes[dealt].sum(axis=1)
        found = (whole - sum_) / (size - count) - sum_ / count
        hits += int((np.abs(found) >= abs(apart) - near).sum())
    return (hits + 1) / (draws + 1)


def _signs(count: int, draws: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """[ways, clusters] by and by: 1 where a cluster keeps its sign, 0 where it does not."""
    if 2**count <= draws:
        begin = 0
        for rows in _chunks(count, 2**count):
            ways = np.arange(begin, begin + rows)[:, None]
            yield (ways >> np.arange(count) & 1).astype(np.float64)
            begin += rows
        return
    random = np.random.default_rng(seed)
    for rows in _chunks(count, draws):
        bits = random.integers(0, 256, (rows, -(-count // 8)), np.uint8)
        yield np.unpackbits(bits, axis=1, count=count).astype(np.float64)


def _chunks(wide: int, draws: int) -> Iterator[int]:
    """So many draws at once, so that memory is bounded."""
    rows = max(1, AT_ONCE // wide)
    for begin in range(0, draws, rows):
        yield min(rows, draws - begin)
