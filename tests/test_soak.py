"""A short stretch of the soak; `python -m tests.soak` is the hour."""

from pathlib import Path

import pytest

from tests.soak import GROWTH_MB, Soak, soaked


@pytest.mark.slow
@pytest.mark.timeout(900)  # the soak itself gives up after ten minutes
async def test_memory_is_flat_and_nothing_drifts_while_ten_talk(tmp_path: Path) -> None:
    soak = await soaked(10, 60, tmp_path, every=2)
    assert not soak.faults
    assert soak.replies >= 20


def test_a_leak_would_be_seen() -> None:
    flat, leaking = Soak(10, 3_600), Soak(10, 3_600)
    for second in range(0, 3_600, 5):
        flat.memory.append((second, 150 + min(second, 900) / 90 + second % 7))
        leaking.memory.append((second, 150 + second / 90))
    assert flat.growth_mb < 1 and leaking.growth_mb * 0.7 > GROWTH_MB
