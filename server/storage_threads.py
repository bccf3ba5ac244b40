"""Threads for blocking storage: a few, so that a slow one holds up nobody's conversation."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from functools import partial
from typing import TypeVar

from server.http_refusals import Places

T = TypeVar("T")

THREADS = 4
AT_ONCE = 32  # being served or waiting for a thread; whoever comes then is asked to come again


class _End(Enum):
    END = 0


class StorageThreads:
    """Where requests wait for the disk or the object storage."""

    def __init__(self, threads: int = THREADS, at_once: int = AT_ONCE) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="sessions")
        self._places = Places(at_once)

    async def run(self, call: Callable[[], T]) -> T:
        """The call's result; once it has begun it goes on, even if nobody waits any more."""
        with self._places.taken():
            return await asyncio.wrap_future(self._pool.submit(call))

    async def stream(self, source: Generator[T, None, None]) -> AsyncGenerator[T, None]:
        """Iterate a blocking generator, closing it however we leave."""
        step: Future[T | _End] | None = None
        try:
            with self._places.taken():
                while True:
                    step = self._pool.submit(partial(next, source, _End.END))
                    item = await asyncio.wrap_future(step)
                    if isinstance(item, _End):
                        return
                    yield item
        finally:
            if step is not None:  # it may still run: only after it can the generator be closed
                step.add_done_callback(lambda _: self._close(source))

    def _close(self, source: Generator[T, None, None]) -> None:
        try:
            self._pool.submit(source.close)
        except RuntimeError:  # the threads have ended: none of them is in the generator
            source.close()

    def close(self) -> None:
        """End the threads once they have done what is queued; nobody waits for slow storage."""
        self._pool.shutdown(wait=False)
