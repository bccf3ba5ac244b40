"""Requests for what there can be only one of, sent on to the front that has it."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx2
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from server.http_refusals import Refusal
from server.parking import owner_of
from server.private_log import where
from server.processes.neighbours import PRIVATE, Neighbours
from server.processes.relaying import relay, until_one_ends
from server.resuming import token_of

log = logging.getLogger(__name__)

# Rounds that wait for a vote, exports and scoring runs, one at a time, and their tickets.
AT_HOME = ("/api/arena", "/api/exports", "/api/reports")
CLIENT = b"x-attune-client"  # who asks, as the neighbour saw it
OF_A_CONNECTION = (b"connection", b"keep-alive", b"transfer-encoding", b"upgrade", CLIENT)


class Forwarding:
    """Stands before a front's application."""

    def __init__(self, app: ASGIApp, neighbours: Neighbours, private: ASGIApp, home: int) -> None:
        self.state = getattr(app, "state", None)  # for whoever stops us
        self._app = app
        self._neighbours = neighbours
        self._private = private
        self._home = home
        self._relays: set[asyncio.Event] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_neighbour = scope.get("server") == (self._neighbours.own_door, None)
        if is_neighbour and scope["type"] in ("http", "websocket"):
            # What is passed on for somebody else names them, and is never private.
            asks_itself = not any(name == CLIENT for name, _ in scope["headers"])
            if asks_itself and scope["type"] == "http" and scope["path"].startswith(f"{PRIVATE}/"):
                await self._private(scope, receive, send)
                return
            scope = _as_seen(scope)
        elif scope["type"] == "http":
            if self._home != self._neighbours.number and _is_at_home(scope["path"]):
                await self._forward(scope, receive, send)
                return
        elif scope["type"] == "websocket" and (front := self._owner(scope)) is not None:
            over = asyncio.Event()
            self._relays.add(over)
            try:
                name, value = _seen(scope)
                client = name.decode(), value.decode()
                socket = WebSocket(scope, receive, send)
                await relay(socket, self._neighbours.door(front), client)
            finally:
                self._relays.discard(over)
                over.set()
            return
        await self._app(scope, receive, send)

    async def relays_over(self, seconds: float) -> None:
        """Until neighbours have parted with those whose sockets end here, though not for ever."""
        waiting = [asyncio.ensure_future(over.wait()) for over in self._relays]
        if waiting:
            _, still = await asyncio.wait(waiting, timeout=seconds)
            for each in still:
                each.cancel()

    def _owner(self, scope: Scope) -> int | None:
        """The neighbour to whose conversation somebody wants to come back."""
        token = token_of(WebSocket(scope, _nothing, _nobody))
        owner = owner_of(token) if token else ""
        front = int(owner) if owner.isdecimal() and len(owner) < 4 else None
        return front if front in self._neighbours.others else None

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        over = asyncio.Event()
        passing = asyncio.create_task(self._pass_on(scope, receive, send, over))
        await until_one_ends(passing, asyncio.create_task(_until_gone(receive, over)))
        if not passing.cancelled():
            passing.result()

    async def _pass_on(
        self, scope: Scope, receive: Receive, send: Send, over: asyncio.Event
    ) -> None:
        begun = False
        body = _body(receive, over)
        client = self._neighbours.client(self._home)
        query = scope["query_string"].decode("latin-1")
        request = client.build_request(
            scope["method"],
            httpx2.URL(scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")),
            headers=_headers(scope),
            content=body,
        )
        try:
            async with aclosing(body):
                answer = await client.send(request, stream=True)
                try:
                    begun = True
                    await send(_start(answer))
                    async for piece in answer.aiter_raw():
                        await send(_part(piece))
                    await send(_part(b"", more=False))
                finally:
                    await answer.aclose()
        except ClientDisconnect:
            log.debug("%s: who asked has gone", scope["path"])
        except (httpx2.HTTPError, OSError) as error:
            log.error("the front at home did not answer: %s", where(error))
            if begun:  # by the missing end the client knows that something is missing
                raise
            message = "This part of the server is being started again; please try again soon."
            headers = {"Retry-After": "2"}
            refusal = Refusal(503, message, "restarting", kind="server_error", headers=headers)
            await refusal.answer()(scope, receive, send)


async def _nothing() -> Message:
    raise RuntimeError("only the head of the request is read here")


async def _nobody(_: Message) -> None:
    raise RuntimeError("nothing is answered here")


def _is_at_home(path: str) -> bool:
    if ".." in path.split("/"):  # on its way it would become another
        return False
    return any(path == each or path.startswith(f"{each}/") for each in AT_HOME)


def _headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in scope["headers"] if name not in OF_A_CONNECTION]
    return [*kept, _seen(scope)]


def _seen(scope: Scope) -> tuple[bytes, bytes]:
    host, port = scope.get("client") or ("", 0)  # who has hung up already has no address
    return CLIENT, f"{host} {port}".encode()


def _as_seen(scope: Scope) -> Scope:
    """With the client that our neighbour was asked by."""
    seen = next((value for name, value in scope["headers"] if name == CLIENT), None)
    if seen is None:
        return scope
    host, _, port = seen.decode().partition(" ")
    return {**scope, "client": (host, int(port))}


async def _body(receive: Receive, over: asyncio.Event) -> AsyncGenerator[bytes, None]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        yield message.get("body", b"")
        if not message.get("more_body"):
            over.set()
            return


async def _until_gone(receive: Receive, over: asyncio.Event) -> None:
    """Hanging up on us hangs up on the neighbour, who may stop the work."""
    await over.wait()  # nobody else waits for messages from now on
    while (await receive())["type"] != "http.disconnect":
        pass


def _start(answer: httpx2.Response) -> Message:
    headers = [(n.lower(), v) for n, v in answer.headers.raw if n.lower() not in OF_A_CONNECTION]
    return {"type": "http.response.start", "status": answer.status_code, "headers": headers}


def _part(piece: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": piece, "more_body": more}
