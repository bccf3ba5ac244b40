"""A socket that belongs to a neighbour's conversation: all that comes is passed on, both ways."""

import asyncio
import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, unix_connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.typing import Subprotocol

from server.porter import TRY_AGAIN_LATER
from server.sockets import LOST

PLAIN_HOST = re.compile(r"[A-Za-z0-9.-]+(:\d{1,5})?|\[[0-9a-fA-F:]+\](:\d{1,5})?")
GONE = 1012  # what a client is told whose neighbour died: it may come back
HEADERS = ("authorization", "origin", "user-agent", "x-attune-resume")


async def relay(socket: WebSocket, door: Path, client: tuple[str, str]) -> None:
    """Until either side hangs up; what one says in parting is told the other."""
    asked = [(name, socket.headers[name]) for name in HEADERS if name in socket.headers]
    asked.append(client)
    offered = [Subprotocol(each) for each in socket.scope.get("subprotocols", [])]
    host = socket.headers.get("host", "")
    host = host if PLAIN_HOST.fullmatch(host) else "neighbour"  # which is refused there
    query = urlencode(socket.query_params.multi_items())
    try:
        there = await unix_connect(
            str(door),
            f"ws://{host}{socket.scope['path']}?{query}",
            additional_headers=asked,
            subprotocols=offered or None,
            user_agent_header=None,
            compression=None,
            max_size=None,
            ping_interval=None,  # each end of the line is asked by its own server
        )
    except (OSError, ValueError, InvalidHandshake, InvalidURI, TimeoutError):
        await socket.accept()
        await socket.close(TRY_AGAIN_LATER, "please try again soon")
        return
    async with there:
        await socket.accept(there.subprotocol)
        back = asyncio.create_task(_back(there, socket))
        await until_one_ends(back, asyncio.create_task(_on(socket, there)))


async def until_one_ends(*tasks: asyncio.Task[None]) -> None:
    """Both ways of a line end together, whichever ends first."""
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _on(socket: WebSocket, there: ClientConnection) -> None:
    with suppress(ConnectionClosed):
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                code = message.get("code", LOST)
                if code == LOST:  # without a word, as it was left
                    there.transport.abort()
                else:
                    await there.close(code)
                return
            text = message.get("text")
            await there.send(text if text is not None else message["bytes"])


async def _back(there: ClientConnection, socket: WebSocket) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        try:
            async for message in there:
                if isinstance(message, str):
                    await socket.send_text(message)
                else:
                    await socket.send_bytes(message)
        except ConnectionClosed:
            pass
        told = there.protocol.close_rcvd
        await socket.close(told.code if told else GONE, told.reason if told else "")
