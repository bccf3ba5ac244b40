"""The one bridge between blocking model code and the event loop."""

import asyncio
import logging
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from functools import partial
from queue import Queue
from typing import Any, TypeVar

from models.due import Rank, rank

T = TypeVar("T")

log = logging.getLogger(__name__)

CLOSE_SEC = 10.0  # for a call under way to end; one that hangs is left behind
AT_ONCE, AT_LAST = (False, float("-inf")), (True, float("inf"))


@dataclass(frozen=True, eq=False, slots=True)
class _Call:
    rank: Callable[[], Rank]
    made: tuple[Future[Any], Callable[[], Any]] | None  # None is the end


class _Calls(Queue[_Call]):
    """Calls that wait: what is needed first is looked for when the thread is free."""

    def _init(self, maxsize: int) -> None:
        self._waiting: list[_Call] = []  # as they came

    def _qsize(self) -> int:
        return len(self._waiting)

    def _put(self, item: _Call) -> None:
        self._waiting.append(item)

    def _get(self) -> _Call:
        first = min(self._waiting, key=lambda each: each.rank())
        self._waiting.remove(first)
        return first


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
        self._calls = _Calls()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._close = weakref.finalize(self, self._calls.put, _Call(lambda: AT_LAST, None))

    async def run(self, call: Callable[[], T]) -> T:
        """The call's result; cancelled while it still queues, the call is never made."""
        return await asyncio.wrap_future(self._submit(call, rank()))

    async def stream(self, source: Generator[T, None, None]) -> AsyncGenerator[T, None]:
        """Iterate a blocking generator in the thread, closing it however we leave."""
        step: Callable[[], T | _End] = partial(next, source, _End.END)
        try:
            while not isinstance(item := await self.run(step), _End):
                yield item
        finally:
            try:
                # Made after a step still running, so never "generator already executing".
                self._submit(source.close, lambda: AT_ONCE)
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

    def _submit(self, call: Callable[[], T], needed: Callable[[], Rank]) -> Future[T]:
        with self._lock:
            if not self._close.alive:
                raise RuntimeError("the worker is closed")
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_work, args=[self._calls], name=self._name, daemon=True
                )
                self._thread.start()
            result: Future[T] = Future()
            self._calls.put(_Call(needed, (result, call)))
        return result


def _work(calls: _Calls) -> None:
    while (entry := calls.get().made) is not None:
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
