"""Memory is flat over thousands of conversations, and no object outlives its own."""

import asyncio
import gc
from collections import Counter
from pathlib import Path

import pytest

from tests.nothing_left import PATIENCE_SEC
from tests.serving import serving
from tests.visits import EACH_KB, Visits, guests, visited

FIRST, THEN = 16, 64  # visits
OURS = ("server.", "models.", "_asyncio", "asyncio.", "uvicorn.", "starlette.", "websockets.")


def living() -> Counter[str]:
    """Objects that a conversation is made of, by their kind."""
    gc.collect()
    kinds = (type(each) for each in gc.get_objects())
    named = (f"{kind.__module__}.{kind.__qualname__}" for kind in kinds)
    return Counter(name for name in named if name.startswith(OURS))


@pytest.mark.slow
async def test_no_object_outlives_its_conversation(tmp_path: Path) -> None:
    async with serving(recording={"runs": str(tmp_path)}) as (url, _):

        async def come_and_go(count: int) -> None:
            seen, numbers = Visits(count), iter(range(count))
            await asyncio.gather(*(guests(url, numbers, seen, lambda _: None) for _ in range(8)))
            assert seen.answered == count

        await come_and_go(FIRST)
        before = living()
        await come_and_go(THEN)

        def left() -> dict[str, int]:
            """The last few still have something under way; of a leak there is one to each visit,
            or to each that was recorded."""
            more = living() - before
            return {kind: count for kind, count in more.items() if count >= THEN / 2}

        try:
            async with asyncio.timeout(PATIENCE_SEC):
                while left():  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.2)
        except TimeoutError:
            raise AssertionError(f"left behind: {left()}") from None


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_three_thousand_conversations_leave_nothing_behind(tmp_path: Path) -> None:
    # Of a thousand too many are gone before the allocator has found its size.
    seen = await visited(3000, 8, tmp_path)
    assert seen.answered == 3000 and not seen.problems
    assert seen.each_kb <= EACH_KB, seen.report()


def test_a_leak_would_be_told_from_warming_up() -> None:
    flat, leaking = Visits(1000), Visits(1000)
    for visit in range(0, 1000, 20):
        flat.memory.append((visit, 150 + min(visit, 300) / 20 + visit % 7))
        leaking.memory.append((visit, 150 + min(visit, 300) / 20 + 0.008 * visit))
    assert flat.each_kb < EACH_KB < leaking.each_kb


def test_what_stays_behind_with_every_visit_is_told_from_a_size_found_once() -> None:
    def grown(*steps: tuple[int, float], each_kb: float = 0.0) -> float:
        sizes = [
            (at, 150 + each_kb * at / 1e3 + sum(mb for begin, mb in steps if at >= begin))
            for at in range(0, 1000, 20)
        ]
        return Visits(1000, sizes).each_kb

    assert grown((100, 40.0), (740, 8.0)) <= 1e-6
    assert grown((100, 40.0), (740, 8.0), each_kb=8.0) >= EACH_KB
    assert Visits(100, [(0, 1.0), (50, 2.0), (60, 3.0), (80, 3.0)]).each_kb > 0
