"""A line of our own in front of a backend: nobody's patience with the backend is spent in it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class _Count:
    """Seconds of patience, counted down by a limit while somebody waits for the backend."""

    def __init__(self, limit: asyncio.Timeout, seconds: float) -> None:
        self.over = False
        self._limit = limit
        self._seconds = seconds

    def stop(self) -> None:
        self._end_at(None)

    def begin(self) -> None:
        self._end_at(asyncio.get_running_loop().time() + self._seconds)

    def _end_at(self, when: float | None) -> None:
        if not self.over and not self._limit.expired():
            self._limit.reschedule(when)


_count: ContextVar[_Count | None] = ContextVar("count", default=None)


@contextmanager
def counted(limit: asyncio.Timeout, seconds: float) -> Iterator[None]:
    """The limit ends what is waited for in here, but counts anew from where a line is left."""
    count = _Count(limit, seconds)
    token = _count.set(count)
    try:
        yield
    finally:
        count.over = True  # a task begun in here may live longer
        _count.reset(token)


@contextmanager
def in_line() -> Iterator[None]:
    """What is waited for in here is our own turn, and not the backend."""
    count = _count.get()
    if count:
        count.stop()
    try:
        yield
    finally:
        if count:
            count.begin()
