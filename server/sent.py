"""The last that was sent to a client, in its order: it may have missed some of it."""

from collections import deque
from dataclasses import dataclass

LIMIT = 1 << 20  # characters and bytes: about 20 s of a voice
OVERHEAD = 100  # each message counts for more than its length


@dataclass(slots=True)
class Message:
    event_id: str | None  # None: a frame of sound
    said: str | bytes | None  # None: not to be said again


class Sent:
    """Messages have numbers, which count up by one; the oldest are forgotten."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._messages: deque[Message] = deque()
        self._begin = 0  # number of the oldest one kept
        self._size = 0
        self._forgotten: str | None = None  # the last event that is not kept any more
        self._greeted: tuple[frozenset[str], int] = (frozenset(), 0)

    def add(self, said: str | bytes | None, event_id: str | None) -> Message:
        message = Message(event_id, said)
        self._messages.append(message)
        self._size += _size(message)
        while self._size > self._limit:
            oldest = self._messages.popleft()
            self._size -= _size(oldest)
            self._begin += 1
            self._forgotten = oldest.event_id or self._forgotten
        return message

    def withdraw(self, message: Message) -> None:
        """It was not sent after all."""
        self._size -= _size(message)
        message.event_id = message.said = None
        self._size += _size(message)

    def greeted(self, event_ids: frozenset[str], before: int) -> None:
        """These were said on a new line, and after them what has this number."""
        self._greeted = event_ids, before

    def after(self, event_id: str | None) -> int | None:
        """The number that follows an event; None if nobody knows any more what did."""
        if event_id is None:
            return self._begin
        for place, message in enumerate(self._messages):
            if message.event_id == event_id:
                return self._begin + place + 1
        if event_id == self._forgotten:
            return self._begin
        events, before = self._greeted
        return before if event_id in events and before >= self._begin else None

    def get(self, number: int) -> tuple[int, str | bytes] | None:
        """What is to be said again from this number on, and its own number; None at the end."""
        for place in range(max(0, number - self._begin), len(self._messages)):
            if (said := self._messages[place].said) is not None:
                return self._begin + place, said
        return None


def _size(message: Message) -> int:
    return OVERHEAD + len(message.said or "")
