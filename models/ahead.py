"""Running a stream a few items ahead of its reader."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum
from typing import Generic, TypeVar

T = TypeVar("T")


class _End(Enum):
    END = 0


class _Ahead(Generic[T]):
    """The reader's side. Not a generator: a reader that breaks off leaves nothing to finalise."""

    def __init__(self, source: AsyncGenerator[T, None], depth: int) -> None:
        self._room = asyncio.Semaphore(depth)  # taken before the source moves, so depth is exact
        self._made: asyncio.Queue[T | _End] = asyncio.Queue()
        self.task = asyncio.create_task(self._run(source))

    async def _run(self, source: AsyncGenerator[T, None]) -> None:
        try:
            while True:
                await self._room.acquire()
                self._made.put_nowait(await anext(source))
        except StopAsyncIteration:
            pass
        finally:
            self._made.put_nowait(_End.END)

    def __aiter__(self) -> "_Ahead[T]":
        return self

    async def __anext__(self) -> T:
        item = await self._made.get()
        if isinstance(item, _End):
            self._made.put_nowait(item)  # for a reader that asks again
            await self.task  # raises what the source raised
            raise StopAsyncIteration
        self._room.release()
        return item


@asynccontextmanager
async def ahead(source: AsyncGenerator[T, None], depth: int) -> AsyncIterator[AsyncIterator[T]]:
    """The source's items, made at most `depth` before they are asked for.

    The source belongs to the context: leaving it stops the work under way and closes the source
    before returning. What the source raises reaches the reader after the items made before it;
    a reader that has left early hears no more of it.
    """
    assert depth > 0, "nothing can be made ahead"
    items = _Ahead(source, depth)
    try:
        yield items
    finally:
        items.task.cancel()
        await asyncio.wait([items.task])
        if not items.task.cancelled():
            items.task.exception()  # seen, or no longer wanted: asyncio need not report it
        await source.aclose()  # the task may have been cancelled before its first step
