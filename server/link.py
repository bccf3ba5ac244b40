"""The far end over a WebSocket: what it sends, one at a time, and what we send back."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from enum import Enum

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from server.server_events import Event
from server.sockets import ABORT

INBOX = 256  # messages waiting; past that the socket itself makes the client wait ...
INBOX_BYTES = 32 * 1024 * 1024  # ... as past this, however few they are
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
        self._tick_sec = tick_sec  # None: time passes only with messages
        self.close_code: int | None = None  # why the far end hung up, as it says
        self.over = asyncio.Event()  # nobody uses it any more
        self._quiet = False  # nothing has come since the last tick
        self._timer: asyncio.TimerHandle | None = None
        self._waiting_bytes = 0
        self._taken = asyncio.Event()
        self._inbox: asyncio.Queue[str | bytes | Wake | None] = asyncio.Queue(INBOX)
        for message in early:  # it came before there was anybody to take it
            self._waiting_bytes += len(message)
            self._inbox.put_nowait(message)

    async def messages(self) -> AsyncGenerator[str | bytes | Wake, None]:
        """Everything that arrives, until the client hangs up."""
        reading = asyncio.create_task(self._read())
        self._tick()
        try:
            while (message := await self._inbox.get()) is not None:
                if not isinstance(message, Wake):
                    self._waiting_bytes -= len(message)
                    self._taken.set()
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
        """Have `messages` yield soon. A full inbox wakes by itself."""
        if not self._inbox.full():
            self._inbox.put_nowait(why)

    async def _read(self) -> None:
        try:
            while True:
                message = await self._socket.receive()
                if message["type"] == "websocket.disconnect":
                    self.close_code = message.get("code")
                    return
                self._quiet = False
                text = message.get("text")
                await self._take_in(text if text is not None else message["bytes"])
        finally:
            self.part()

    def part(self) -> None:
        """Have `messages` end, whatever becomes of the socket."""
        # The conversation must learn of the end even when its inbox is full.
        while self._inbox.full():
            self._inbox.get_nowait()
        self._inbox.put_nowait(None)

    async def _take_in(self, message: str | bytes) -> None:
        while self._waiting_bytes and self._waiting_bytes + len(message) > INBOX_BYTES:
            self._taken.clear()
            await self._taken.wait()
        self._waiting_bytes += len(message)
        await self._inbox.put(message)

    async def tell(self, event: Event) -> None:
        await self.send(orjson.dumps(event).decode())

    async def play(self, frame: bytes) -> None:
        await self.send(frame)

    async def send(self, message: str | bytes) -> None:
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
