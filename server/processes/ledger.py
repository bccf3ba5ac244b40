"""What each front has counted, where it outlives the front."""

import asyncio
import mmap
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import numpy as np
import orjson

from server.tally import Tally

ENTRY_SEC = 5.0  # so much at most is lost with a front, if nobody has asked it meanwhile
# Bytes of an entry: more than all digests with every step in use. What is not used is free.
ROOM = 4 << 20
WRITTEN, LENGTHS = 0, 1  # where in a head: how many entries there were; how long the last two are


class Ledger:
    """Made before the processes part; each front writes in its own place, and all read.

    The last two entries are kept in turn, so that one in which a front was killed is none. No
    lock: whoever is stopped in the middle would hold up all others.
    """

    def __init__(self, fronts: int) -> None:
        self._heads = np.frombuffer(mmap.mmap(-1, fronts * 3 * 8), np.int64).reshape(fronts, 3)
        self._memory = mmap.mmap(-1, fronts * 2 * ROOM)

    def write(self, front: int, tally: Tally) -> None:
        entry = orjson.dumps(tally.counted().to_json())
        assert len(entry) <= ROOM, "digests have an end"
        head = self._heads[front]
        place = (int(head[WRITTEN]) + 1) % 2
        begin = self._begin(front, place)
        self._memory[begin : begin + len(entry)] = entry
        head[LENGTHS + place] = len(entry)
        head[WRITTEN] += 1  # last: now it is there

    def read(self, front: int) -> Tally:
        """What it wrote last, or whoever had its number before."""
        head = self._heads[front]
        while written := int(head[WRITTEN]):
            place = written % 2
            begin = self._begin(front, place)
            entry = self._memory[begin : begin + int(head[LENGTHS + place])]
            if written == head[WRITTEN]:  # or it may have been written over meanwhile
                return Tally.from_json(orjson.loads(entry))
        return Tally()

    def _begin(self, front: int, place: int) -> int:
        return (2 * front + place) * ROOM


@asynccontextmanager
async def entered(enter: Callable[[], object]) -> AsyncGenerator[None, None]:
    """Meanwhile, an entry is made every few seconds."""

    async def run() -> None:
        while True:
            enter()
            await asyncio.sleep(ENTRY_SEC)

    entering = asyncio.create_task(run())
    try:
        yield
    finally:
        entering.cancel()
