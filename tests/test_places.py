"""Places that go to whoever needs one first, and are never lost."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from models.due import needed
from models.places import Places

LONG_SEC = 20.0


class Queue:
    """One place that is taken, and people who wait for it."""

    def __init__(self) -> None:
        self.places = Places(1)
        self.served: list[str] = []
        self._holding = AsyncExitStack()

    async def __aenter__(self) -> "Queue":
        await self._holding.enter_async_context(self.places.one(LONG_SEC))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._holding.aclose()

    async def free(self) -> None:
        await self._holding.aclose()

    async def join(self, name: str, due: float) -> asyncio.Task[None]:
        """In line, by when the moment comes at which this returns."""
        begun = asyncio.Event()

        async def wait() -> None:
            with needed(lambda: due):
                begun.set()
                async with self.places.one(LONG_SEC):
                    self.served.append(name)

        waiting = asyncio.create_task(wait())
        await begun.wait()
        return waiting


async def all_done(*waiting: "asyncio.Task[None]") -> None:
    async with asyncio.timeout(5):
        await asyncio.gather(*waiting)


async def test_whoever_needs_a_place_first_gets_it_and_of_equals_who_came_first() -> None:
    async with Queue() as queue:
        wanted = {"late": 9.0, "soon": 2.0, "soon, but came later": 2.0, "first": 1.0}
        waiting = [await queue.join(name, due) for name, due in wanted.items()]
        assert queue.served == []
        await queue.free()
        await all_done(*waiting)
    assert queue.served == ["first", "soon", "soon, but came later", "late"]


async def test_who_gives_up_waiting_keeps_nobody_waiting() -> None:
    async with Queue() as queue:
        given_up, other = await queue.join("given up", 1.0), await queue.join("other", 2.0)
        given_up.cancel()
        await asyncio.wait([given_up])
        await queue.free()
        await all_done(other)
    assert queue.served == ["other"]


@pytest.mark.parametrize("cancelled_first", [True, False])
async def test_a_place_given_to_somebody_who_gives_up_that_moment_is_passed_on(
    cancelled_first: bool,
) -> None:
    """Neither has run since: to the one it happens in this order, to the other in that."""
    async with Queue() as queue:
        given_up, other = await queue.join("given up", 1.0), await queue.join("other", 2.0)
        if cancelled_first:
            given_up.cancel()
            await queue.free()
        else:
            await queue.free()
            given_up.cancel()
        await all_done(other)
        assert given_up.cancelled() and queue.served == ["other"]
        await all_done(await queue.join("and the next", 0.0))


async def test_who_waits_too_long_is_told_and_leaves_the_line() -> None:
    async with Queue() as queue:
        with pytest.raises(TimeoutError):
            async with queue.places.one(0.0):
                pass
        other = await queue.join("other", 1.0)
        await queue.free()
        await all_done(other)
        async with queue.places.one(0.0):  # it is free again, so nobody waits
            pass
