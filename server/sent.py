"""The last that was sent to a client, in its order: it may have missed some of it."""

from collections import deque

LIMIT = 1 << 20  # characters and bytes: about 20 s of a voice
OVERHEAD = 100  # each message counts for more than its length

# Its event's id, None for a frame of sound; and what was said, None if it is not to be said again.
# A plain tuple: the garbage collector walks through none, and there are a thousand to a client.
Message = tuple[str | None, str | bytes | None]
WITHDRAWN: Message = (None, None)


class Sent:
    """Messages have numbers, which count up by one; the oldest are forgotten."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._messages: deque[Message] = deque()
        self._begin = 0  # number of the oldest one kept
        self._size = 0
        self._forgotten: str | None = None  # the last event that is not kept any more
        self._greeted: tuple[frozenset[str], int] = (frozenset(), 0)

    def add(self, said: str | bytes | None, event_id: str | None) -> int:
        """The number it has."""
        message = (event_id, said)
        self._messages.append(message)
        self._size += _size(message)
        while self._size > self._limit:
            oldest = self._messages.popleft()
            self._size -= _size(oldest)
            self._begin += 1
            self._forgotten = oldest[0] or self._forgotten
        return self._begin + len(self._messages) - 1

    def withdraw(self, number: int) -> None:
        """It was not sent after all."""
        place = number - self._begin
        if place >= 0:  # else it is forgotten anyway
            self._size += _size(WITHDRAWN) - _size(self._messages[place])
            self._messages[place] = WITHDRAWN

    def greeted(self, event_ids: frozenset[str], before: int) -> None:
        """These were said on a new line, and after them what has this number."""
        self._greeted = event_ids, before

    def after(self, event_id: str | None) -> int | None:
        """The number that follows an event; None if nobody knows any more what did."""
        if event_id is None:
            return self._begin
        for place, (known, _) in enumerate(self._messages):
            if known == event_id:
                return self._begin + place + 1
        if event_id == self._forgotten:
            return self._begin
        events, before = self._greeted
        return before if event_id in events and before >= self._begin else None

    def get(self, number: int) -> tuple[int, str | bytes] | None:
        """What is to be said again from this number on, and its own number; None at the end."""
        for place in range(max(0, number - self._begin), len(self._messages)):
            if (said := self._messages[place][1]) is not None:
                return self._begin + place, said
        return None


def _size(message: Message) -> int:
    return OVERHEAD + len(message[1] or "")
