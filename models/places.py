"""Places for calls made at the same time, given to whoever needs one first."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from heapq import heapify, heappop, heappush
from itertools import count

from models.due import due

# When it is needed, its place among those needed then, and what comes true when it is given.
Waiter = tuple[float, int, asyncio.Future[None]]


class Places:
    """Some places, and those who wait for one: see models.due for who comes first.

    Of those who need one at the same time, whoever has waited longest comes first. A place goes
    from hand to hand, so nobody who comes later slips in between. All live in one event loop.
    """

    def __init__(self, total: int) -> None:
        self._free = total
        self._waiting: list[Waiter] = []  # a heap
        self._order = count()

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
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        me = due(), next(self._order), given
        heappush(self._waiting, me)
        try:
            await given
        except asyncio.CancelledError:
            if given.cancelled():
                self._leave(me)
            else:  # it had become ours in the same moment
                self._give_back()
            raise

    def _leave(self, me: Waiter) -> None:
        if me in self._waiting:
            self._waiting.remove(me)
            heapify(self._waiting)

    def _give_back(self) -> None:
        while self._waiting:
            _, _, given = heappop(self._waiting)
            if not given.cancelled():  # else they are about to leave
                given.set_result(None)
                return
        self._free += 1
