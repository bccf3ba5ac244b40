"""The one port: health, a plain page, and conversations on /v1/realtime."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response, WebSocket
from fastapi.responses import HTMLResponse
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.websockets import WebSocketState

from models.protocols import Models
from models.provenance import describe
from server import (
    arena_api,
    audio_api,
    exports_api,
    ids,
    reports_api,
    sessions_api,
    system_api,
)
from server.access import Access
from server.arena import opening
from server.clock import SampleClock, WallClock
from server.commands import handle
from server.company import ALONE, Company
from server.config import Config, choices
from server.errors import server_error
from server.http_refusals import Refusal
from server.link import LinkLost, WebSocketLink
from server.neighbours import LOOPBACK
from server.openapi import DescribedApp
from server.page import page
from server.private_log import where
from server.recording.desk import Desk, used
from server.recording.recorder import Why
from server.server_events import event
from server.session import Session
from server.session_config import UNNAMED, Attune, SessionConfig
from server.sessions.library import Library
from server.version import SOFTWARE, VERSION
from server.vitals import Vitals

log = logging.getLogger(__name__)

TICK_SEC = 0.1  # how soon a silent socket is noticed; the clock then moves in such steps
TRY_AGAIN_LATER, INTERNAL_ERROR = 1013, 1011


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str
    sessions: int


class Readiness(BaseModel):
    ready: bool
    profile: str
    seats_free: int


class House:
    """Who is talking with us now."""

    def __init__(self, models: Models, config: Config, company: Company = ALONE) -> None:
        self.models = models
        self.config = config
        self.company = company
        self.seats = company.seats(config.seats)
        self.vitals = Vitals()
        self.library = Library.open(config.recording.runs, config.recording.spool)
        self.chosen = choices(config)
        self.used = used(describe(self.chosen))
        self.desk = Desk(
            config.recording,
            self.library,
            SOFTWARE,
            config.profile,
            self.used,
        )
        self.ready = True

    @property
    def sessions(self) -> set[str]:
        """Those in this process."""
        return self.seats.here

    @property
    def full(self) -> bool:
        return self.seats.taken >= self.config.seats

    @property
    def watch(self) -> system_api.Watch:
        """What its operator may look at."""
        return system_api.Watch(
            vitals=self.vitals,
            seats=self.config.seats,
            seats_taken=lambda: self.seats.taken,
            version=VERSION,
            profile=self.config.profile,
            models=self.used,
            chosen=self.chosen,
            perceiver=self.models.perceiver,
            records=self.config.recording.enabled,
            disk=self.library.local,
            company=self.company,
        )


def create(
    models: Models, config: Config, *, plain_page: bool = True, company: Company = ALONE
) -> FastAPI:
    """The application, with models that are warm already; with no page if there are others."""
    house = House(models, config, company)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        async with house.desk.at_work(company.chores):
            yield
            house.ready = False
        house.library.close()

    # FastAPI's own documentation pages would be fetched from elsewhere.
    app = DescribedApp(
        title="Attune", version=VERSION, lifespan=lifespan, docs_url=None, redoc_url=None
    )

    @app.exception_handler(HTTPException)
    async def no_such_route(_: Request, error: HTTPException) -> Response:
        """What no route answers is refused as everything else is."""
        return Refusal.of(error).answer()

    allowed = partial(may_connect, config=config)
    app.include_router(audio_api.router(models, allowed))
    token = config.operator_token.get_secret_value() if config.operator_token else None
    app.include_router(sessions_api.router(house.library, token, allowed, company.live(house.desk)))
    access = Access(token)
    app.include_router(system_api.router(house.watch, access, allowed))
    runs = config.recording.runs
    options = config.scoring.options
    app.include_router(reports_api.router(house.library, runs, access, allowed, options=options))
    spool = config.recording.spool
    app.include_router(exports_api.router(house.library, runs, spool, access, allowed))
    if config.arena.enabled:
        arena = opening.opened(config, models, house.library, house, SOFTWARE)
        days = config.recording.keep_days
        app.include_router(arena_api.router(arena, house.library, access, allowed, days))
        app.state.arena = arena

    @app.get("/health")
    async def health() -> Health:
        return Health(version=VERSION, sessions=house.seats.taken)

    @app.get("/ready", responses={503: {"model": Readiness, "description": "Not ready"}})
    async def ready(response: Response) -> Readiness:
        is_ready = house.ready and await company.models_there()
        response.status_code = 200 if is_ready else 503
        free = config.seats - house.seats.taken
        return Readiness(ready=is_ready, profile=config.profile, seats_free=free)

    if plain_page:
        front_page = page(models.perceiver)

        @app.get("/", response_class=HTMLResponse)
        async def front() -> HTMLResponse:
            return HTMLResponse(front_page)

    @app.websocket("/v1/realtime")
    async def realtime(socket: WebSocket) -> None:
        if not may_connect(socket.headers, config):
            await socket.close()  # before accepting: answered with 403
            return
        offered = socket.scope.get("subprotocols", [])
        await socket.accept("realtime" if "realtime" in offered else None)
        session_id = ids.new("sess")
        if not house.seats.take(session_id):
            house.vitals.refused += 1
            await _refuse(socket)
            return
        try:
            await converse(socket, house, session_id)
        finally:
            house.seats.give_back(session_id)

    app.state.house = house
    return app


async def converse(socket: WebSocket, house: House, session_id: str) -> None:
    """One conversation, from its first message until the client hangs up."""
    by_samples = house.config.clock == "samples"
    config = SessionConfig(
        id=session_id,
        model=socket.query_params.get("model") or UNNAMED,
        attune=Attune(events=socket.query_params.get("attune") == "1"),
    )
    link = WebSocketLink(socket, None if by_samples else TICK_SEC)
    clock = SampleClock() if by_samples else WallClock()
    paper = house.desk.paper(session_id, socket.headers.get("user-agent"))
    session = Session(link, house.models, clock, config, paper, house.vitals)
    recorder = session.room.recorder
    why: Why = "failed"
    house.vitals.began(recorder)
    log.info("session %s opened, %d in all", session_id, house.seats.taken)
    try:
        with house.desk.attended(recorder):
            await session.run(handle)
        why = _ending(link.close_code)
    except* LinkLost:  # hanging up is no error
        why = "lost"
    except* Exception as errors:
        log.error("session %s failed: %s", session_id, where(errors))
        await _break_off(socket, link)
    finally:
        recorder.close(why, clock.time())
        house.vitals.ended(recorder, why)
        log.info("session %s closed", session_id)


def _ending(close_code: int | None) -> Why:
    match close_code:
        case 1012:  # what our own server says when it stops
            return "server_stopped"
        case 1000 | 1001 | 1005:
            return "hung_up"
    return "lost"


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
        if config.on_loopback and urlsplit(f"//{host}").hostname not in LOOPBACK:
            return False
        return origin is None or origin in config.origins or urlsplit(origin).netloc == host
    except ValueError:  # no address at all
        return False
