"""The WebSocket under a conversation: whole frames straight between the socket and its link.

On uvicorn's own way a message passes a parser made of generators, two queues and two tasks, and
reading is stopped and started for each: a third of all a talker costs. Here a data frame that has
come whole is taken out of the bytes and handed over at once. All else, from the handshake to the
last close frame, is left to uvicorn and websockets, who are given whole frames in their order.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any

from starlette.websockets import WebSocket
from websockets.http11 import Request
from websockets.protocol import State

from server.sockets import LineSocket

try:
    from websockets.speedups import apply_mask
except ImportError:  # no compiled wheel for this machine
    from websockets.utils import apply_mask

NAME = "attune.wire"  # among the ASGI extensions
TEXT, BINARY = 0x81, 0x82  # first byte of a whole message
MASKED = 0x80
WHOLE, OPCODE = 0x80, 0x0F  # in the first byte: the last piece of a message, and which kind
CONTROL = 0x08  # in the first byte of pings, pongs and close frames
CANNOT = 1011
CRUMB = 1024  # bytes: a piece of a message that is smaller saves nobody anything
MOST_CRUMBS = 1_000  # a second
CONTROL_CRUMBS = 10  # what a control frame counts for
SHORT, LONG = 126, 127  # the length follows, in two or in eight bytes
_SHORT, _LONG = Struct(">H"), Struct(">Q")
_SHORT_HEADER, _LONG_HEADER = Struct(">BBH"), Struct(">BBQ")

Message = str | bytes
Listener = Callable[[Message], bool]  # says whether it has room for more


class Wire(LineSocket):
    """uvicorn's WebSocket, with a short way for what most messages are."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._listener: Listener | None = None
        self._framed = False  # the handshake is over: all that comes is frames
        self._begun = b""  # of a frame's header, too little to tell its length
        self._crumbs, self._crumbs_since = 0, 0.0
        self._owed = 0  # bytes of a frame whose beginning websockets has been given

    # -- for the link

    def listen(self, listener: Listener) -> None:
        """Give it all messages from now on, those first that wait for a reader already."""
        self._listener = listener
        self.go_on()
        for event in [self.queue.get_nowait() for _ in range(self.queue.qsize())]:
            if event["type"] == "websocket.receive":
                text = event.get("text")
                self._give(text if text is not None else event["bytes"] or b"")
            else:
                self.queue.put_nowait(event)

    def go_on(self) -> None:
        """The listener has room again."""
        if self.read_paused and not self.transport.is_closing():
            self.read_paused = False
            self.transport.resume_reading()

    def write(self, kind: int, data: bytes) -> bool:
        """Send a message, TEXT or BINARY; False if nobody is there to receive it."""
        if self.disconnected or self.close_sent or self.conn.state is not State.OPEN:
            return False
        size = len(data)
        if self.conn.extensions:
            (self.conn.send_binary if kind == BINARY else self.conn.send_text)(data)
            self.transport.write(b"".join(self.conn.data_to_send()))
        elif size < SHORT:
            self.transport.write(bytes((kind, size)) + data)
        elif size < 1 << 16:
            self.transport.write(_SHORT_HEADER.pack(kind, SHORT, size) + data)
        else:
            self.transport.write(_LONG_HEADER.pack(kind, LONG, size) + data)
        return True

    # -- for uvicorn

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            # The application has not run yet: it will find us there.
            self.scope["extensions"][NAME] = self  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        try:
            self._received(data)
        except MemoryError:  # of a message that is too much for us now: only its sender goes
            self._begun = b""
            self.conn.fail(CANNOT, "out of memory")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def _received(self, data: bytes) -> None:
        if not self._framed:
            super().data_received(data)
            # A frame that came with the request may be in the parser: then it has the rest, too.
            self._framed = self.handshake_initiated and not self.conn.reader.buffer
            return
        if self._begun:
            data, self._begun = self._begun + data, b""
        at, have = 0, len(data)
        while at < have:
            if self.conn.parser_exc is not None or self.transport.is_closing():
                return  # it is being hung up on
            if self._owed:
                part = data[at : at + self._owed]
                self._owed -= len(part)
                at += len(part)
                super().data_received(part)
            elif (place := _payload(data, at)) is None:
                self._begun = data[at:]
                return
            else:
                begin, end = place
                if end <= have and self._short(data[at], data[at + 1], end - begin):
                    message = apply_mask(data[begin:end], data[begin - 4 : begin])
                    self._hand_over(message, data[at] == TEXT)
                    at = end
                elif self._pesters(data[at], end - begin):
                    self.abort()
                    return
                else:
                    self._owed = end - at

    def send_receive_event_to_app(self) -> None:
        """A message that came the long way: in pieces, or compressed."""
        if self._listener is None:
            super().send_receive_event_to_app()
            return
        whole, self.frames = b"".join(self.frames), []
        if not self.close_sent:
            self._hand_over(whole, self.curr_msg_data_type == "text")

    def handle_ping(self) -> None:
        """Answered, unless whoever asks does not even read the answers."""
        answer = b"".join(self.conn.data_to_send())
        if self.writable.is_set():
            self.transport.write(answer)

    def _pesters(self, first: int, size: int) -> bool:
        """Whether frames that nobody else counts come as fast as nobody needs them.

        A message is counted once, in however many pieces it comes, and a control frame never.
        """
        control = first & CONTROL
        if not control and (size >= CRUMB or (first & WHOLE and first & OPCODE)):
            return False
        now = self.loop.time()
        if now - self._crumbs_since >= 1.0:
            self._crumbs, self._crumbs_since = 0, now
        self._crumbs += CONTROL_CRUMBS if control else 1
        return self._crumbs > MOST_CRUMBS

    # -- the short way

    def _short(self, first: int, second: int, size: int) -> bool:
        """Whether a frame is a whole message that may be handed over as it is."""
        conn = self.conn
        return (
            first in (TEXT, BINARY)
            and second >= MASKED
            and self._listener is not None
            and not conn.extensions
            and conn.cur_size is None  # else in the middle of a message in pieces
            and conn.state is State.OPEN
            and not self.close_sent
            and size <= self.config.ws_max_size
        )

    def _hand_over(self, message: bytes, text: bool) -> None:
        if not text:
            self._give(message)
            return
        try:
            told = message.decode()
        except UnicodeDecodeError:
            self.conn.send_close(1007)
            self.handle_parser_exception()
        else:
            self._give(told)

    def _give(self, message: Message) -> None:
        assert self._listener is not None, "nobody listens"
        if not self._listener(message) and not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()


def wire(socket: WebSocket) -> Wire | None:
    """The wire under a socket; None where another server or protocol is."""
    found = socket.scope.get("extensions", {}).get(NAME)
    return found if isinstance(found, Wire) else None


def _payload(data: bytes, at: int) -> tuple[int, int] | None:
    """Where the payload of the frame at `at` begins and ends; None if that is not yet known."""
    have = len(data) - at
    if have < 2:
        return None
    size, begin = data[at + 1] & 0x7F, at + 2
    if size == SHORT:
        if have < 4:
            return None
        (size,), begin = _SHORT.unpack_from(data, begin), begin + 2
    elif size == LONG:
        if have < 10:
            return None
        (size,), begin = _LONG.unpack_from(data, begin), begin + 8
    if data[at + 1] & MASKED:
        begin += 4
    return begin, begin + size
