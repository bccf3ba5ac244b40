"""A line on which nothing comes is closed, and so is one whose far end takes nothing.

uvicorn waits without end for a request to begin or go on, and for an answer to be taken: whoever
opens lines and is silent would have them for as long as they like, without any token. How long an
answer is in the making is nobody's fault out there, and is never held against a line.
"""

import asyncio
import socket
import struct
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.crowd import Place
from server.sockets import LineSocket

HEAD_SEC = 15.0  # for a whole head, from when the line is free for one; before that, for TLS
STALL_SEC = 30.0  # for a body to go on, or for some of an answer to be taken
LOOK_SEC = 1.0  # how often that is looked at
STEP_BYTES = 1024  # of a body or an answer: a few now and then are no going on
# Of what Linux tells of a TCP connection: packets under way, bytes that have arrived, bytes that
# are yet to be sent.
TCP_INFO = struct.Struct("=24xI92xQ16xI")

# What the far end owes us: for how long it may, and by what we know that it has moved on.
Owed = tuple[float, object, int]


class HttpLine(H11Protocol):
    """uvicorn's HTTP, until the line becomes a WebSocket's: that has pings of its own."""

    def __init__(self, *args: Any, place: Place | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._place = place  # None: nobody counts, as among neighbours
        self._received = 0  # bytes
        self._owed: Owed | None = None
        self._owed_since = 0.0
        self._looking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._place:
            self._place.hang_up = transport.abort
        self._look()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        if self._place and self.cycle is not None:
            self._place.heard()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._look_no_more()
        super().handle_websocket_upgrade(event)
        successor = self.transport.get_protocol()
        assert isinstance(successor, LineSocket), "the line is its own from now on"
        if self._place:
            successor.when_lost = self._place.leave
        if not successor.handshake_initiated:
            successor.turn_away()
        elif self._place:
            self._place.heard()

    def connection_lost(self, exc: Exception | None) -> None:
        self._look_no_more()
        if self._place:
            self._place.leave()
        super().connection_lost(exc)

    def _look(self) -> None:
        now, owed = self.loop.time(), self._what_is_owed()
        if owed is None or owed != self._owed:
            self._owed, self._owed_since = owed, now
        elif now - self._owed_since >= owed[0]:
            self.transport.abort()
            return
        self._looking = self.loop.call_later(LOOK_SEC, self._look)

    def _look_no_more(self) -> None:
        if self._looking:
            self._looking.cancel()
            self._looking = None

    def _what_is_owed(self) -> Owed | None:
        untaken, taken = _written(self.transport)
        if untaken:  # perhaps of an answer that is over, or once we closed
            # What a neighbour takes is up to whoever it is for, whose line it looks at itself.
            return (STALL_SEC, "taking", taken) if self._place else None
        if self.transport.is_closing() or self.flow.read_paused:
            return None
        theirs, cycle = self.conn.their_state, self.cycle
        if theirs is h11.IDLE:
            return HEAD_SEC, cycle, 0  # a piece of a head changes nothing
        # Who asked whether to send the body, and was not told yet, waits for us.
        if theirs is h11.SEND_BODY and not (cycle and cycle.waiting_for_100_continue):
            return STALL_SEC, cycle, self._received // STEP_BYTES
        return None


def _written(transport: asyncio.Transport) -> tuple[bool, int]:
    """Whether the far end has yet to take some of what was written, and what changes as it does.

    The system holds megabytes, and asks for more only once a third of them has gone: by what is
    left to give it, whoever reads slowly would seem not to read at all. With TLS there may be more
    beneath that this transport does not tell of.
    """
    left = transport.get_write_buffer_size()
    try:
        line = transport.get_extra_info("socket")
        told = line.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size)
        under_way, taken, unsent = TCP_INFO.unpack(told)
    except (AttributeError, OSError, struct.error):  # no TCP, no Linux, or an old one
        return left > 0, left
    return bool(left or under_way or unsent), taken // STEP_BYTES
