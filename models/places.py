"""Places for calls made at the same time, given to whoever needs one first."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from models.due import Rank, rank


@dataclass(frozen=True, eq=False, slots=True)
class Waiter:
    rank: Callable[[], Rank]
    given: asyncio.Future[None]  # comes true when the place is theirs


class Places:
    """Some places, and those who wait for one: see models.due for who comes first.

    Of those who need one at the same time, whoever has waited longest comes first. Everybody's need
    is looked at when a place is free. It goes from hand to hand, so nobody who comes later slips in
    between. All live in one event loop.
    """

    def __init__(self, total: int) -> None:
        self._free = total
        self._waiting: list[Waiter] = []  # as they came

    @asynccontextmanager
    async def one(self, within_sec: float) -> AsyncGenerator[None, None]:
        """A place for as long as the context lasts.

        Raises:
            TimeoutError: none was to be had in time.
        """
        async with asyncio.timeout(within_sec):
            await self._take()
        try:
            yield
        finally:
            self._give_back()

    async def _take(self) -> None:
        if self._free:
            self._free -= 1
            return
        me = Waiter(rank(), asyncio.get_running_loop().create_future())
        self._waiting.append(me)
        try:
            await me.given
        except asyncio.CancelledError:
            if not me.given.cancelled():  # it had become ours in the same moment
                self._give_back()
            raise
        finally:
            if me in self._waiting:
                self._waiting.remove(me)

    def _give_back(self) -> None:
        waiting = [each for each in self._waiting if not each.given.cancelled()]
        if not waiting:
            self._free += 1
            return
        first = min(waiting, key=lambda each: each.rank())
        self._waiting.remove(first)
        first.given.set_result(None)
