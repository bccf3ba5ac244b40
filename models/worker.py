"""The one bridge between blocking model code and the event loop."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from enum import Enum
from functools import partial
from heapq import heappop, heappush
from itertools import count
from threading import Lock
from typing import Any, TypeVar

from models.due import due

T = TypeVar("T")
AT_ONCE = float("-inf")


class _End(Enum):
    END = 0


class Worker:
    """A model's own thread: calls queue up, so the model is never entered twice.

    The call that is needed first is made first, and of those needed at the same time the one that
    has waited longest: see models.due. A stream queues anew for every step.
    """

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._lock = Lock()
        self._order = count()
        self._calls: list[tuple[float, int, Future[Any], Callable[[], Any]]] = []  # a heap

    async def run(self, call: Callable[[], T]) -> T:
        """The call's result; cancelled while it still queues, the call is never made."""
        return await asyncio.wrap_future(self._queue(call, due()))

    async def stream(self, source: Generator[T, None, None]) -> AsyncGenerator[T, None]:
        """Iterate a blocking generator in the thread, closing it however we leave."""
        step: Callable[[], T | _End] = partial(next, source, _End.END)
        try:
            while not isinstance(item := await self.run(step), _End):
                yield item
        finally:
            try:
                # Made after a step still running, so never "generator already executing".
                self._queue(source.close, AT_ONCE)
            except RuntimeError:  # the worker was closed before us: no thread is in the generator
                source.close()

    def close(self) -> None:
        """Wait for what is queued, then end the thread."""
        self._pool.shutdown()

    def _queue(self, call: Callable[[], T], needed: float) -> "Future[T]":
        made: Future[T] = Future()
        with self._lock:
            # For every call the thread is told once to make one: whichever is needed first then.
            self._pool.submit(self._make_next)
            heappush(self._calls, (needed, next(self._order), made, call))
        return made

    def _make_next(self) -> None:
        with self._lock:
            _, _, made, call = heappop(self._calls)
        if not made.set_running_or_notify_cancel():
            return
        try:
            made.set_result(call())
        except BaseException as error:
            made.set_exception(error)
            del made  # or the error would hold on to itself
