"""The open port: whoever comes is counted before anything else is done for them.

uvicorn would take in everybody, and with TLS would not know of those who never say hello.
"""

import asyncio
import socket
import ssl
from contextlib import suppress

import uvicorn

from server import http_lines
from server.crowd import Crowd, Place
from server.http_lines import HttpLine

BACKLOG = 2048
BUSY_SEC = 0.02  # until we look again, where nobody could be taken in
NO_ROOM = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"Retry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


class Entrance:
    """Those who come are handed on to a server, if the crowd has room for them."""

    def __init__(self, server: uvicorn.Server, crowd: Crowd, tls: ssl.SSLContext | None) -> None:
        self._server = server
        self._crowd = crowd
        self._tls = tls
        self._doors: list[asyncio.Task[None]] = []
        self._coming: set[asyncio.Task[None]] = set()

    def open(self, door: socket.socket) -> None:
        """Take in whoever comes, from now on. An OSError if others listen there."""
        door.listen(BACKLOG)
        door.setblocking(False)
        self._doors.append(asyncio.create_task(self._attend(door)))

    async def close(self) -> None:
        """Nobody comes any more."""
        waiting = [*self._doors, *self._coming]
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    async def _attend(self, door: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(door)
            except OSError:  # it has gone, or there are more than we may have open
                await asyncio.sleep(BUSY_SEC)
            else:
                self.take_in(connection)
                await asyncio.sleep(0)  # however many come, others have their turn in between

    def take_in(self, connection: socket.socket) -> None:
        """Somebody has come, and their socket does not block."""
        try:
            address = connection.getpeername()[0]
        except OSError:  # they have gone already
            connection.close()
            return
        place = self._crowd.enter(address)
        if place is None:
            self._turn_away(connection)
            return
        task = asyncio.create_task(self._adopt(connection, place))
        place.hang_up = task.cancel  # until there is a line
        self._coming.add(task)
        task.add_done_callback(self._coming.discard)

    def _turn_away(self, connection: socket.socket) -> None:
        if self._tls is None:  # else a word would cost more than it is worth
            with suppress(OSError):
                connection.send(NO_ROOM)
        connection.close()

    async def _adopt(self, connection: socket.socket, place: Place) -> None:
        def line() -> HttpLine:
            return HttpLine(
                config=self._server.config,
                server_state=self._server.server_state,
                app_state=self._server.lifespan.state,
                place=place,
            )

        loop = asyncio.get_running_loop()
        patience_sec = http_lines.HEAD_SEC if self._tls else None
        with suppress(OSError):  # they have gone, or speak no TLS
            try:
                await loop.connect_accepted_socket(
                    line, connection, ssl=self._tls, ssl_handshake_timeout=patience_sec
                )
            except BaseException:
                place.leave()
                connection.close()
                raise
