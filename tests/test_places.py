"""Places that go to whoever needs one first, and are never lost."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from models.due import Due, needed
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

    async def join(
        self, name: str, due: float | Due, sure: Callable[[], bool] = lambda: True
    ) -> asyncio.Task[None]:
        """In line, by when the moment comes at which this returns."""
        begun = asyncio.Event()

        async def wait() -> None:
            with needed(due if callable(due) else lambda: due, sure):
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


async def test_what_may_be_for_nothing_waits_behind_what_came_later_and_not_behind_nobody() -> None:
    async with Queue() as queue:
        unsure = await queue.join("unsure", 1.0, lambda: False)
        waiting = [unsure, await queue.join("came later", 9.0)]
        await queue.free()
        await all_done(*waiting)
        await all_done(await queue.join("unsure, and alone", 1.0, lambda: False))
    assert queue.served == ["came later", "unsure", "unsure, and alone"]


async def test_what_is_found_to_be_needed_sooner_moves_up_and_nothing_falls_back() -> None:
    async with Queue() as queue:
        now = {"moves up": 9.0, "puts it off": 3.0}
        found_sure = False
        waiting = [
            await queue.join("moves up", lambda: now["moves up"], lambda: found_sure),
            await queue.join("another", 2.0),
            await queue.join("puts it off", lambda: now["puts it off"]),
            await queue.join("last", 4.0),
        ]
        now, found_sure = {"moves up": 1.0, "puts it off": 9.0}, True
        await queue.free()
        await all_done(*waiting)
    assert queue.served == ["moves up", "another", "puts it off", "last"]


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
