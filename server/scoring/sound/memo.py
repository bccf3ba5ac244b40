"""What was worked out about a conversation, kept while that very conversation is looked at."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import ref

from server.scoring.exchange import Conversation

T = TypeVar("T")
MOST = 256


class Memo(Generic[T]):
    """By the conversation itself and not by its id: the same id may come back with less in it."""

    def __init__(self) -> None:
        self._held: OrderedDict[Hashable, tuple[ref[Conversation], T]] = OrderedDict()

    def get(self, conversation: Conversation, what: Hashable, work: Callable[[], T]) -> T:
        place = (id(conversation), what)
        if place in self._held:
            of, found = self._held[place]
            if of() is conversation:  # ids are used again
                return found
        found = work()
        self._held[place] = ref(conversation), found
        self._held.move_to_end(place)
        if len(self._held) > MOST:
            self._held.popitem(last=False)
        return found
