"""When to look for what conversations left behind in circles: seldom, and all at once.

Whoever talks waits meanwhile: for some 20 ms, with fifty who do. Python would look whenever a
quarter has been added, which with so many is every ten seconds.
"""

import asyncio
import gc
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

LOOK_SEC = 1.0
ENOUGH = 16  # conversations that are over, each with some 300 kB in circles
LONGEST_SEC = 60.0  # those that go on leave some behind, too, with every reply


def settle_memory() -> None:
    """What is loaded stays: the collector need not walk through it again while people talk.

    What is left is walked through whole once a quarter has been added to it.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # else the frozen count as living, and the new must be a quarter of these first
    gc.set_threshold(1_000, 5, 1)


class Tidying:
    """Knows when it is due."""

    def __init__(
        self,
        here: Callable[[], int],
        over: Callable[[], int],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Takes how many conversations go on, and how many are over since the start."""
        self._here = here
        self._over = over
        self._now = now
        self._done()

    def due(self) -> bool:
        """True once, until it is due again. Where nobody talks, nobody is kept waiting."""
        left = self._over() - self._over_before
        enough = ENOUGH if self._here() else 1
        if left < enough and self._now() - self._since < LONGEST_SEC:
            return False
        self._done()
        return True

    def _done(self) -> None:
        self._over_before, self._since = self._over(), self._now()

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[None, None]:
        """For as long as the server runs; Python looks by itself only if very much is made."""
        first, second, third = gc.get_threshold()
        gc.set_threshold(first, second, 100)
        working = asyncio.create_task(self._work())
        try:
            yield
        finally:
            working.cancel()
            gc.set_threshold(first, second, third)

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SEC)
            if self.due():
                gc.collect()
