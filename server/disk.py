"""How much room there is where sessions are recorded."""

import asyncio
import shutil
import time
from pathlib import Path

FRESH_SEC = 10.0
PATIENCE_SEC = 2.0
LEAST = 64 << 20  # bytes; with less, the disk counts as full
GB = 1 << 30


class Disk:
    """A slow disk is asked seldom, in a thread, and by one at a time: it may hang."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._looked = float("-inf")
        self._looking: asyncio.Future[int | None] | None = None
        self._free: int | None = None

    async def free(self) -> int | None:
        """Bytes, as they were some seconds ago; None if the disk does not say."""
        if self._looking is None and time.monotonic() - self._looked >= FRESH_SEC:
            self._looked = time.monotonic()
            self._looking = asyncio.ensure_future(asyncio.to_thread(self._look))
            self._looking.add_done_callback(self._seen)
        if self._looking:
            await asyncio.wait([self._looking], timeout=PATIENCE_SEC)
            if self._looking:  # it hangs
                self._free = None
        return self._free

    async def free_gb(self) -> float | None:
        free = await self.free()
        return None if free is None else round(free / GB, 1)

    def _seen(self, looking: "asyncio.Future[int | None]") -> None:
        self._looking = None
        if not looking.cancelled():
            self._free = looking.result()

    def _look(self) -> int | None:
        there = next((each for each in (self._path, *self._path.parents) if each.exists()), None)
        try:
            return shutil.disk_usage(there).free if there else None
        except OSError:
            return None
