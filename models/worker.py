"""The one bridge between blocking model code and the event loop."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import partial
from typing import TypeVar

T = TypeVar("T")


class _End(Enum):
    END = 0


class Worker:
    """A model's own thread: calls queue up, so the model is never entered twice."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, call: Callable[[], T]) -> T:
        """The call's result; cancelled while it still queues, the call is never made."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    async def stream(self, source: Generator[T, None, None]) -> AsyncGenerator[T, None]:
        """Iterate a blocking generator in the thread, closing it however we leave."""
        step: Callable[[], T | _End] = partial(next, source, _End.END)
        try:
            while not isinstance(item := await self.run(step), _End):
                yield item
        finally:
            try:
                # Queued behind a step still running, so never "generator already executing".
                self._pool.submit(source.close)
            except RuntimeError:  # the worker was closed before us: no thread is in the generator
                source.close()

    def close(self) -> None:
        """Wait for what is queued, then end the thread."""
        self._pool.shutdown()
