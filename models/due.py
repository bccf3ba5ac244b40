"""By when a call of a model is needed: who waits for it, and how long they still can.

A model works for many conversations, and takes first whose need is nearest. Whoever calls may say
so for all the calls made below; nobody need pass it on. Unless told, a call is needed at once, so
that calls are made in the order they came.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

Due = Callable[[], float]  # a moment of time.monotonic, asked anew for every call
LATER_SEC = 0.5  # what only runs along with somebody's speech can wait, but not for ever

_due: ContextVar[Due] = ContextVar("due", default=monotonic)


def due() -> float:
    """When what is called for now is needed."""
    return _due.get()()


def later() -> float:
    """For what nobody waits for."""
    return monotonic() + LATER_SEC


@contextmanager
def needed(when: Due) -> Iterator[None]:
    """All calls made in here, and in tasks begun in here, are needed by then."""
    token = _due.set(when)
    try:
        yield
    finally:
        _due.reset(token)
