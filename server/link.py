"""The far end over a WebSocket: what it sends, one at a time, and what we send back."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from enum import Enum

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from server.server_events import Event
from server.sockets import ABORT
from server.wire_frames import BINARY, TEXT, Wire, wire

INBOX = 256  # messages waiting; past that the socket itself makes the client wait ...
INBOX_BYTES = 32 * 1024 * 1024  # ... as past this, however few they are
TURN_BYTES = 32 * 1024  # handed on in a row; then others get their turn
SEND_TIMEOUT_SEC = 20  # a client that reads nothing for so long is gone
SHUT_TIMEOUT_SEC = 2  # ... and one that does not take our farewell


class Wake(Enum):
    """Nothing arrived, but there is something to do."""

    TICK = "tick"  # time passed without a message
    NOTE = "note"  # one of the conversation's own tasks has news
    LEFT = "left"  # nobody is there any more, but they may come back
    BACK = "back"  # they are


class LinkLost(Exception):
    """The far end hung up, or stopped reading."""


class WebSocketLink:
    def __init__(
        self, socket: WebSocket, tick_sec: float | None, early: Iterable[str] = ()
    ) -> None:
        self._socket = socket
        self._wire = wire(socket)  # the short way, where there is one
        self._tick_sec = tick_sec  # None: time passes only with messages
        self.close_code: int | None = None  # why the far end hung up, as it says
        self.over = asyncio.Event()  # nobody uses it any more
        self._quiet = False  # nothing has come since the last tick
        self._timer: asyncio.TimerHandle | None = None
        self._waiting_bytes = 0
        self._inbox: deque[str | bytes | Wake | None] = deque()
        self._arrival: asyncio.Future[None] | None = None  # awaited while the inbox is empty
        self._taken = asyncio.Event()  # there may be room again
        for message in early:  # it came before there was anybody to take it
            self._take(message)

    async def messages(self) -> AsyncGenerator[str | bytes | Wake, None]:
        """Everything that arrives, until the client hangs up."""
        loop = asyncio.get_running_loop()
        reading = asyncio.create_task(self._read())
        if self._wire:
            self._wire.listen(self._take)
        self._tick()
        in_a_row = 0
        try:
            while True:
                while not self._inbox:
                    self._arrival = loop.create_future()
                    await self._arrival
                message = self._inbox.popleft()
                if message is None:
                    return
                if not isinstance(message, Wake):
                    self._waiting_bytes -= len(message)
                    self._make_room()
                    in_a_row += len(message)
                if in_a_row > TURN_BYTES:
                    in_a_row = 0
                    await asyncio.sleep(0)
                yield message
        finally:
            reading.cancel()
            if self._timer:
                self._timer.cancel()

    def _tick(self) -> None:
        """Wake whoever waits if nothing has come since the last tick."""
        if self._tick_sec is None:
            return
        if self._quiet:
            self.wake(Wake.TICK)
        self._quiet = True
        self._timer = asyncio.get_running_loop().call_later(self._tick_sec, self._tick)

    def wake(self, why: Wake = Wake.NOTE) -> None:
        """Have `messages` yield soon. What waits there wakes by itself."""
        if not self._inbox:
            self._put(why)

    def _put(self, message: str | bytes | Wake | None) -> None:
        self._inbox.append(message)
        if self._arrival and not self._arrival.done():
            self._arrival.set_result(None)

    def _take(self, message: str | bytes) -> bool:
        """Take a message in; says whether there is room for more."""
        self._quiet = False
        self._waiting_bytes += len(message)
        self._put(message)
        return self._has_room

    @property
    def _has_room(self) -> bool:
        return len(self._inbox) < INBOX and self._waiting_bytes <= INBOX_BYTES

    def _make_room(self) -> None:
        if self._has_room:
            self._taken.set()
            if self._wire:
                self._wire.go_on()

    async def _read(self) -> None:
        """All there is to hear where there is no short way, and the end of it in any case."""
        try:
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    self.close_code = message.get("code")
                    return
                text = message.get("text")
                if not self._take(text if text is not None else message["bytes"]):
                    self._taken.clear()
                    await self._taken.wait()
        finally:
            self.part()

    def part(self) -> None:
        """Have `messages` end, whatever becomes of the socket."""
        self._put(None)

    async def tell(self, event: Event) -> None:
        await self.send(orjson.dumps(event).decode())

    async def play(self, frame: bytes) -> None:
        await self.send(frame)

    async def send(self, message: str | bytes) -> None:
        if self._wire:
            await self._write(self._wire, message)
            return
        if self._socket.client_state is WebSocketState.DISCONNECTED:
            raise LinkLost
        kind = "text" if isinstance(message, str) else "bytes"
        try:
            async with asyncio.timeout(SEND_TIMEOUT_SEC):
                await self._socket.send({"type": "websocket.send", kind: message})
        except TimeoutError as error:
            self.part()  # the socket itself would never tell
            raise LinkLost from error
        except (WebSocketDisconnect, RuntimeError, OSError) as error:
            raise LinkLost from error

    async def _write(self, way: Wire, message: str | bytes) -> None:
        if not way.writable.is_set():
            try:
                async with asyncio.timeout(SEND_TIMEOUT_SEC):
                    await way.writable.wait()
            except TimeoutError as error:
                self.part()  # the socket itself would never tell
                raise LinkLost from error
        text = isinstance(message, str)
        data = message.encode() if isinstance(message, str) else message
        if not way.write(TEXT if text else BINARY, data):
            raise LinkLost

    async def shut(self, code: int, reason: str) -> None:
        """Hang up; on one who does not even read that, without a word."""
        try:
            async with asyncio.timeout(SHUT_TIMEOUT_SEC):
                await self._socket.close(code, reason)
        except TimeoutError:
            self.abort()
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # they did

    def abort(self) -> None:
        """Let go of the socket at once."""
        if abort := self._socket.scope.get("extensions", {}).get(ABORT):
            abort()
