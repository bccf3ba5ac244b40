"""The one bridge between blocking model code and the event loop."""

import asyncio
import logging
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future
from enum import Enum
from functools import partial
from itertools import count
from queue import PriorityQueue
from typing import Any, TypeVar

from models.due import due

T = TypeVar("T")

log = logging.getLogger(__name__)

CLOSE_SEC = 10.0  # for a call under way to end; one that hangs is left behind
AT_ONCE, AT_LAST = float("-inf"), float("inf")

# When it is needed, its place among those needed then, and the call itself; None is the end.
Calls = PriorityQueue[tuple[float, int, tuple[Future[Any], Callable[[], Any]] | None]]


class _End(Enum):
    END = 0


class Worker:
    """A model's own thread: calls queue up, so the model is never entered twice.

    The call that is needed first is made first, and of those needed at the same time the one that
    has waited longest: see models.due. A stream queues anew for every step. A thread that hangs in
    a model cannot be ended. It is a daemon, so the process can.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: Calls = PriorityQueue()
        self._order = count()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        end = (AT_LAST, next(self._order), None)
        self._close = weakref.finalize(self, self._calls.put, end)

    async def run(self, call: Callable[[], T]) -> T:
        """The call's result; cancelled while it still queues, the call is never made."""
        return await asyncio.wrap_future(self._submit(call, due()))

    async def stream(self, source: Generator[T, None, None]) -> AsyncGenerator[T, None]:
        """Iterate a blocking generator in the thread, closing it however we leave."""
        step: Callable[[], T | _End] = partial(next, source, _End.END)
        try:
            while not isinstance(item := await self.run(step), _End):
                yield item
        finally:
            try:
                # Made after a step still running, so never "generator already executing".
                self._submit(source.close, AT_ONCE)
            except RuntimeError:  # the worker was closed before us: no thread is in the generator
                source.close()

    def close(self) -> None:
        """Wait for what is queued, then end the thread."""
        with self._lock:
            self._close()
            thread = self._thread
        if thread:
            thread.join(CLOSE_SEC)
            if thread.is_alive():
                log.error("the thread of %s hangs, and is left behind", self._name)

    def _submit(self, call: Callable[[], T], needed: float) -> Future[T]:
        with self._lock:
            if not self._close.alive:
                raise RuntimeError("the worker is closed")
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_work, args=[self._calls], name=self._name, daemon=True
                )
                self._thread.start()
            result: Future[T] = Future()
            self._calls.put((needed, next(self._order), (result, call)))
        return result


def _work(calls: Calls) -> None:
    while (entry := calls.get()[2]) is not None:
        result, call = entry
        if result.set_running_or_notify_cancel():
            _made(result, call)
        del entry, result, call  # what they hold is not to wait for the next one


def _made(result: Future[Any], call: Callable[[], Any]) -> None:
    try:
        made = call()
    except BaseException as error:
        result.set_exception(error)
    else:
        result.set_result(made)
