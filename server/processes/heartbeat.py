"""How a process shows that its event loop goes round, and how others see that it does not."""

import asyncio
import mmap
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import numpy as np

BEAT_SEC = 1.0
LOOKS = 20  # in a row without a beat, a second apart: then it hangs


class Heartbeats:
    """Made before the processes part; each writes its own, and each number is written whole."""

    def __init__(self, count: int) -> None:
        self._beats = np.frombuffer(mmap.mmap(-1, 8 * count), np.int64)
        self._seen = [0] * count
        self._missed = [0] * count

    @asynccontextmanager
    async def beating(self, place: int) -> AsyncGenerator[None, None]:
        """In a process: for as long as it is to be believed alive."""
        beating = asyncio.create_task(self._beat(place))
        try:
            yield
        finally:
            beating.cancel()

    async def _beat(self, place: int) -> None:
        while True:
            self.beat(place)
            await asyncio.sleep(BEAT_SEC)

    def beat(self, place: int) -> None:
        self._beats[place] += 1

    def begin(self, place: int) -> None:
        """In the parent: from now on it is looked at."""
        self._missed[place] = 0

    def hangs(self, place: int) -> bool:
        """Looked at once a second. Looks are counted, not seconds: where all were suspended, or
        the machine has no time for anybody, those who look miss as many as those who beat."""
        beats = int(self._beats[place])
        self._missed[place] = self._missed[place] + 1 if beats == self._seen[place] else 0
        self._seen[place] = beats
        return self._missed[place] >= LOOKS
