"""uvicorn's WebSocket, for a line that may break: a lost one says so, and a dead one is let go."""

from asyncio import BaseTransport
from collections.abc import Callable
from typing import cast

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

LOST = 1006  # what the protocol calls a connection that ended without a word
FAREWELL_SEC = 5.0  # to answer our farewell
NO_HANDSHAKE = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
ABORT = "attune.abort"  # among the scope's extensions: lets the connection go at once


class LineSocket(WebSocketsSansIOProtocol):
    """Whoever reads no more would otherwise hold the connection for as long as they like.

    uvicorn closes it once all that was written has been read, which then is never.
    """

    when_lost: Callable[[], None] | None = None  # whoever counts connections is told

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.close_timeout = FAREWELL_SEC

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            extensions = cast(dict[str, object], self.scope["extensions"])
            extensions[ABORT] = self.abort

    def connection_lost(self, exc: Exception | None) -> None:
        if self.when_lost:
            self.when_lost()
        # uvicorn tells of it as of a farewell without a reason; the first that is told counts.
        if self.handshake_complete and not self.close_sent and self.conn.close_rcvd is None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": LOST})
        super().connection_lost(exc)

    def keepalive_timeout(self) -> None:
        if not (self.close_sent or self.transport.is_closing()):
            # The farewell that uvicorn sends is not heard: they are lost, and may come back.
            self.queue.put_nowait({"type": "websocket.disconnect", "code": LOST})
        super().keepalive_timeout()
        self.abort()

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and self.close_sent:
            self.handshake_complete = True  # by a refusal: uvicorn would log an error for each
        if message["type"] == "websocket.close" and self.close_timer is not None:
            self.close_timer.cancel()
            self.close_timer = self.loop.call_later(self.close_timeout, self.abort)

    def turn_away(self) -> None:
        """What HTTP takes for a head and the handshake does not, uvicorn lets lie unanswered."""
        self.close_sent = True
        self.transport.write(NO_HANDSHAKE)
        self.transport.close()
        self.close_timer = self.loop.call_later(self.close_timeout, self.abort)

    def abort(self) -> None:
        self.transport.abort()
