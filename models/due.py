"""By when a call of a model is needed: who waits for it, and how long they still can.

A model works for many conversations, and takes first whose need is nearest. Whoever calls may say
so for all the calls made below; nobody need pass it on. Unless told, a call is needed at once, so
that calls are made in the order they came. What may yet turn out to be for nothing, such as a reply
to somebody who has only paused, comes after everything else for as long as that is so.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic

Due = Callable[[], float]  # a moment of time.monotonic, asked anew for every call
Rank = tuple[bool, float]  # a place in a line; the least comes first
LATER_SEC = 0.5  # what only runs along with somebody's speech can wait, but not for ever


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class _Need:
    when: Due
    sure: Callable[[], bool]


_AT_ONCE = _Need(monotonic, _always)
_need: ContextVar[_Need] = ContextVar("need", default=_AT_ONCE)


def due() -> float:
    """When what is called for now is needed, for a line that cannot be told anew."""
    return _need.get().when()


def rank() -> Callable[[], Rank]:
    """Where what is called for now stands in a line, asked anew whenever somebody's turn comes.

    Who waits may be found to need it sooner, and never falls back.
    """
    need = _need.get()
    asked = need.when()
    return lambda: (not need.sure(), min(asked, need.when()))


def later() -> float:
    """For what nobody waits for."""
    return monotonic() + LATER_SEC


@contextmanager
def needed(when: Due, sure: Callable[[], bool] = _always) -> Iterator[None]:
    """All calls made in here, and in tasks begun in here, are needed by then, if that is sure.

    Models' own threads ask as well.
    """
    token = _need.set(_Need(when, sure))
    try:
        yield
    finally:
        _need.reset(token)
