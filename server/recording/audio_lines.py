"""Sound in the log: not a line for every message, but for every stretch of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from models.types import WIRE_RATE

LONGEST = WIRE_RATE  # a line tells of a second at most: no more is lost when the process dies

Note = Callable[[Literal["client", "server"], dict[str, Any]], None]


@dataclass(slots=True)
class _Stretch:
    begin: int
    end: int
    messages: int


class AudioLines:
    """Joins what follows without a gap, until something else happens or it grows long."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._heard: _Stretch | None = None
        self._sent: _Stretch | None = None
        self._reply = ("", "")  # the response and the item that is being sent
        self._messages = 0  # from the client, whose sound has not been counted in yet

    def message(self) -> None:
        """A message of the client's brings sound."""
        self._messages += 1

    def heard(self, begin: int, end: int) -> None:
        """The user's sound lies here on the session's clock."""
        messages, self._messages = self._messages, 0
        stretch = self._heard
        if stretch is None or stretch.end != begin or end - stretch.begin > LONGEST:
            self._flush_heard()
            stretch = self._heard = _Stretch(begin, begin, 0)
        stretch.end = end
        stretch.messages += messages

    def sent(self, response_id: str, item_id: str, begin: int, end: int) -> None:
        """These samples of a reply went out."""
        stretch = self._sent
        new = self._reply != (response_id, item_id)
        if stretch is None or new or stretch.end != begin or end - stretch.begin > LONGEST:
            self._flush_sent()
            self._reply = (response_id, item_id)
            stretch = self._sent = _Stretch(begin, begin, 0)
        stretch.end = end
        stretch.messages += 1

    def flush(self) -> None:
        self._flush_heard()
        self._flush_sent()

    def _flush_heard(self) -> None:
        stretch, self._heard = self._heard, None
        if stretch:
            samples = {"samples": [stretch.begin, stretch.end], "messages": stretch.messages}
            self._note("client", {"type": "input_audio_buffer.append", **samples})

    def _flush_sent(self) -> None:
        stretch, self._sent = self._sent, None
        if stretch:
            response_id, item_id = self._reply
            where = {"response_id": response_id, "item_id": item_id}
            samples = {"reply_samples": [stretch.begin, stretch.end], "messages": stretch.messages}
            self._note("server", {"type": "response.output_audio.delta", **where, **samples})
