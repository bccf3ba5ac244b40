"""The one port: health, a plain page, and conversations on /v1/realtime."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response, WebSocket
from fastapi.responses import HTMLResponse
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from models.protocols import Models
from server import (
    arena_api,
    audio_api,
    client_secrets_api,
    exports_api,
    ids,
    metrics_api,
    reports_api,
    sessions_api,
    system_api,
)
from server.access import FROM_ELSEWHERE, Access, Attempts
from server.arena import opening
from server.client_secrets import ClientSecrets
from server.clock import SampleClock, WallClock
from server.commands import handle
from server.company import ALONE, Company
from server.config import Config
from server.costly import Costly
from server.draining import Talk
from server.errors import server_error
from server.guests import Guests, turn_away
from server.house import House
from server.http_refusals import Refusal
from server.limits import Doorbell, Meter
from server.link import LinkLost, WebSocketLink
from server.metrics import exposed
from server.neighbours import is_this_machine
from server.openapi import DescribedApp
from server.page import page, policy
from server.porter import TRY_AGAIN_LATER
from server.private_log import where
from server.readiness import Readiness
from server.recording.recorder import Why
from server.relink import Relink
from server.resuming import resume, token_of
from server.safe_headers import SafeHeaders
from server.server_events import event
from server.session import Session
from server.session_config import UNNAMED, Attune, SessionConfig, updated
from server.tracing import tracing
from server.version import SOFTWARE, VERSION

log = logging.getLogger(__name__)

TICK_SEC = 0.1  # how soon a silent socket is noticed; the clock then moves in such steps
INTERNAL_ERROR, BEYOND_LIMITS = 1011, 1008


class Alive(BaseModel):
    status: Literal["ok"] = "ok"
    version: str
    sessions: int


def create(
    models: Models, config: Config, *, plain_page: bool = True, company: Company = ALONE
) -> FastAPI:
    """The application, with models that are warm already; with no page if there are others."""
    house = House(models, config, company)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        async with (
            house.kept_well(),
            house.desk.at_work(company.chores),
            house.porter.at_work(),
            house.watchdog.on_duty(),
            tracing(config.watching.traces, house.vitals),
        ):
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
    app.add_middleware(SafeHeaders)
    token = config.operator_token.get_secret_value() if config.operator_token else None
    attempts = Attempts(vitals=house.vitals)
    access = Access(token, attempts)
    key = config.client_secret_key
    secrets = ClientSecrets(key.get_secret_value() if key else None)
    guests = Guests(config, access, secrets)
    speech = audio_api.router(house.models, allowed)
    costly = Costly(guests, house.porter.address_limits)
    speech_asks = [*guests.required, *costly.counted]
    app.include_router(speech, dependencies=speech_asks, responses=guests.refusals)
    secret = client_secrets_api.router(secrets, guests, allowed)
    app.include_router(secret, dependencies=costly.counted, responses=costly.refusals)
    live = company.live(house.desk)
    app.include_router(sessions_api.router(house.library, token, allowed, live, attempts))
    app.include_router(system_api.router(house.watch, access, allowed))
    if config.watching.metrics:

        async def told() -> bytes:
            return figures(await house.tally())

        figures = exposed(house.figures)
        app.include_router(metrics_api.router(told, access, allowed, open_=config.metrics_open))
    runs = config.recording.runs
    options = config.scoring.options
    app.include_router(reports_api.router(house.library, runs, access, allowed, options=options))
    spool = config.recording.spool
    app.include_router(exports_api.router(house.library, runs, spool, access, allowed))
    if config.arena.enabled:
        arena = opening.opened(config, house.models, house.library, house, SOFTWARE)
        days = config.recording.keep_days
        compared = arena_api.router(arena, house.library, access, allowed, guests, days)
        app.include_router(compared, dependencies=costly.counted)
        app.state.arena = arena

    @app.get("/health")
    async def health() -> Alive:
        return Alive(version=VERSION, sessions=house.seats.taken)

    @app.get("/ready", responses={503: {"model": Readiness, "description": "Not ready"}})
    async def ready(response: Response) -> Readiness:
        readiness = await house.readiness()
        response.status_code = 200 if readiness.ready else 503
        return readiness

    if plain_page:
        front_page = page(models.perceiver)
        safe = {"Content-Security-Policy": policy(front_page)}

        @app.get("/", response_class=HTMLResponse)
        async def front() -> HTMLResponse:
            return HTMLResponse(front_page, headers=safe)

    often = config.limits.connections_per_minute if config.exposed else None
    bell = Doorbell(often, vitals=house.vitals)

    @app.websocket("/v1/realtime")
    async def realtime(socket: WebSocket) -> None:
        try:
            if not may_connect(socket.headers, config):
                raise Refusal(403, FROM_ELSEWHERE, "origin_not_allowed")
            wish = guests.admit(socket)
            bell.ring(socket)  # counts only whom a token let in: no stranger can use it up
        except Refusal as refusal:
            await turn_away(socket, refusal)
            return
        offered = socket.scope.get("subprotocols", [])
        await socket.accept("realtime" if "realtime" in offered else None)
        if house.stopping:
            await _refuse_stopping(socket)
            return
        if token := token_of(socket):
            tick_sec = None if config.clock == "samples" else TICK_SEC
            await resume(socket, house.parking, token, tick_sec)
            return
        session_id = ids.new("sess")
        entered = await house.porter.meet(socket, session_id)
        if entered is None:
            return
        try:
            if house.stopping:  # it began while they waited
                await _refuse_stopping(socket)
                return
            await converse(socket, house, session_id, wish, entered.said)
        finally:
            house.porter.admission.leave(entered.guest)

    app.state.house = house
    return app


async def converse(
    socket: WebSocket,
    house: House,
    session_id: str,
    wish: dict[str, Any],
    early: Sequence[str] = (),
) -> None:
    """One conversation, from its first message until the client hangs up.

    It begins as the client secret wished that opened it, if one did.
    """
    by_samples = house.config.clock == "samples"
    config = SessionConfig(
        id=session_id,
        model=wish.get("model") or socket.query_params.get("model") or UNNAMED,
        attune=Attune(events=socket.query_params.get("attune") == "1"),
    )
    config = updated(config, wish, has_spoken=False)
    tick_sec = None if by_samples else TICK_SEC
    link = Relink(WebSocketLink(socket, tick_sec, early), tick_sec)
    clock = SampleClock() if by_samples else WallClock()
    paper = house.desk.paper(session_id, socket.headers.get("user-agent"))
    pressed, limits = house.porter.pressed, house.config.limits
    session = Session(link, house.models, clock, config, paper, house.vitals, pressed, limits)
    if not by_samples:
        together = house.porter.together(socket)
        session.meter = Meter(limits, clock.time(), house.vitals, together)
    session.ticket = partial(house.parking.ticket, session_id, link)
    link.greet = session.welcome_back
    link.heard = partial(house.parking.confirm, session_id)
    recorder = session.room.recorder
    why: Why = "failed"
    talk = Talk(session, link)
    house.talks.add(talk)
    house.vitals.began(recorder)
    log.info("session %s opened, %d in all", session_id, house.seats.taken)
    try:
        with house.desk.attended(recorder):
            await session.run(handle)
        if session.ended:
            await link.shut(BEYOND_LIMITS, session.ended.code)
        why = _ending(link.close_code)
    except* LinkLost:  # hanging up is no error
        why = "lost"
    except* Exception as errors:
        log.error("session %s failed: %s", session_id, where(errors))
        await _break_off(link)
    finally:
        if why != "failed" and not session.ended and (link.stopped or house.stopping):
            why = "server_stopped"
        try:
            recorder.close(why, clock.time())
        finally:  # whatever becomes of the recording, the seat and the line are free
            link.release()
            house.parking.forget(session_id)
            house.talks.discard(talk)
            talk.over.set()
            house.vitals.ended(recorder, why)
            log.info("session %s closed", session_id)


def _ending(close_code: int | None) -> Why:
    match close_code:
        case 1012:  # what our own server says when it stops
            return "server_stopped"
        case 1000 | 1001 | 1005:
            return "hung_up"
    return "lost"


async def _refuse_stopping(socket: WebSocket) -> None:
    link = WebSocketLink(socket, None)
    message = "The server is being restarted; please try again soon."
    try:
        await link.tell(event("error", error=server_error(message, "server_stopping")))
        await socket.close(TRY_AGAIN_LATER, "server stopping")
    except (LinkLost, RuntimeError):
        pass  # it did not wait for the answer


async def _break_off(link: Relink) -> None:
    if not link.socket:
        return
    problem = server_error("Something went wrong on our side; the session ends here.")
    try:
        await link.socket.tell(event("error", error=problem))
    except LinkLost:
        return  # it hung up first
    await link.socket.shut(INTERNAL_ERROR, "internal error")


def may_connect(headers: Headers, config: Config) -> bool:
    """Browsers let any page open a socket to us: only our own pages, and those allowed, may.

    On loopback the Host must name it, or a page could reach us under a name of its own that
    resolves to this machine; a proxy may pass on the name of an allowed page. Programs send no
    Origin.
    """
    host, origin = headers.get("host", ""), headers.get("origin")
    try:
        named = {urlsplit(page).netloc for page in config.origins}
        ours = is_this_machine(urlsplit(f"//{host}").hostname or "") or host in named
        if config.on_loopback and not ours:
            return False
        if origin is None or origin in config.origins:
            return True
        return bool(host) and urlsplit(origin).netloc == host
    except ValueError:  # no address at all
        return False
