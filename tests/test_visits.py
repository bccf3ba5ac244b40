"""Memory is flat over a thousand conversations."""

from pathlib import Path

import pytest

from tests.visits import EACH_KB, Visits, visited


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_a_thousand_conversations_leave_nothing_behind(tmp_path: Path) -> None:
    seen = await visited(1000, 8, tmp_path)
    assert seen.answered == 1000 and not seen.problems
    assert seen.each_kb <= EACH_KB, seen.report()


def test_a_leak_would_be_seen() -> None:
    flat, leaking = Visits(1000), Visits(1000)
    for visit in range(0, 1000, 20):
        flat.memory.append((visit, 150 + min(visit, 300) / 20 + visit % 7))
        leaking.memory.append((visit, 150 + 0.03 * visit))
    assert flat.each_kb < EACH_KB < leaking.each_kb
