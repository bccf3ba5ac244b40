"""The one port: health, a plain page, and conversations on /v1/realtime."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

from fastapi import FastAPI, WebSocket
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.datastructures import Headers
from starlette.websockets import WebSocketState

from models.protocols import Models
from server import audio_api, ids
from server.clock import SampleClock, WallClock
from server.commands import handle
from server.config import Config
from server.errors import server_error
from server.link import LinkLost, WebSocketLink
from server.page import page
from server.private_log import where
from server.server_events import event
from server.session import Session
from server.session_config import UNNAMED, Attune, SessionConfig

log = logging.getLogger(__name__)

VERSION = "0.1.0"
TICK_SEC = 0.1  # how soon a silent socket is noticed; the clock then moves in such steps
TRY_AGAIN_LATER, INTERNAL_ERROR = 1013, 1011
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class House:
    """Who is talking with us now."""

    def __init__(self, models: Models, config: Config) -> None:
        self.models = models
        self.config = config
        self.ready = True
        self.sessions: set[str] = set()

    @property
    def full(self) -> bool:
        return len(self.sessions) >= self.config.seats


def create(models: Models, config: Config) -> FastAPI:
    """The application, with models that are warm already."""
    house = House(models, config)
    front_page = page(models.perceiver)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        yield
        house.ready = False

    app = FastAPI(title="Attune", version=VERSION, lifespan=lifespan)
    app.include_router(audio_api.router(models, partial(may_connect, config=config)))

    @app.get("/health")
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok", "version": VERSION, "sessions": len(house.sessions)})

    @app.get("/ready")
    async def ready() -> JSONResponse:
        free = config.seats - len(house.sessions)
        shown = {"ready": house.ready, "profile": config.profile, "seats_free": free}
        return JSONResponse(shown, status_code=200 if house.ready else 503)

    @app.get("/")
    async def front() -> HTMLResponse:
        return HTMLResponse(front_page)

    @app.websocket("/v1/realtime")
    async def realtime(socket: WebSocket) -> None:
        if not may_connect(socket.headers, config):
            await socket.close()  # before accepting: answered with 403
            return
        offered = socket.scope.get("subprotocols", [])
        await socket.accept("realtime" if "realtime" in offered else None)
        if house.full:
            await _refuse(socket)
            return
        await converse(socket, house)

    app.state.house = house
    return app


async def converse(socket: WebSocket, house: House) -> None:
    """One conversation, from its first message until the client hangs up."""
    session_id = ids.new("sess")
    by_samples = house.config.clock == "samples"
    config = SessionConfig(
        id=session_id,
        model=socket.query_params.get("model") or UNNAMED,
        attune=Attune(events=socket.query_params.get("attune") == "1"),
    )
    link = WebSocketLink(socket, None if by_samples else TICK_SEC)
    clock = SampleClock() if by_samples else WallClock()
    house.sessions.add(session_id)
    log.info("session %s opened, %d in all", session_id, len(house.sessions))
    try:
        await Session(link, house.models, clock, config).run(handle)
    except* LinkLost:
        pass  # hanging up is no error
    except* Exception as errors:
        log.error("session %s failed: %s", session_id, where(errors))
        await _break_off(socket, link)
    finally:
        house.sessions.discard(session_id)
        log.info("session %s closed", session_id)


async def _refuse(socket: WebSocket) -> None:
    link = WebSocketLink(socket, None)
    problem = server_error("All seats are taken; please try again soon.", "session_limit_reached")
    try:
        await link.tell(event("error", error=problem))
        await socket.close(TRY_AGAIN_LATER, "all seats taken")
    except (LinkLost, RuntimeError):
        pass  # it did not wait for the answer


async def _break_off(socket: WebSocket, link: WebSocketLink) -> None:
    if socket.client_state is WebSocketState.CONNECTED:
        problem = server_error("Something went wrong on our side; the session ends here.")
        try:
            await link.tell(event("error", error=problem))
            async with asyncio.timeout(5):
                await socket.close(INTERNAL_ERROR, "internal error")
        except (LinkLost, RuntimeError, TimeoutError):
            pass  # it hung up first


def may_connect(headers: Headers, config: Config) -> bool:
    """Browsers let any page open a socket to us: only our own pages, and those allowed, may.

    On loopback the Host must name it, or a page could reach us under a name of its own that
    resolves to this machine. Programs send no Origin.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    try:
        if config.on_loopback and urlsplit(f"//{host}").hostname not in LOOPBACK_NAMES:
            return False
        return origin is None or origin in config.origins or urlsplit(origin).netloc == host
    except ValueError:  # no address at all
        return False
