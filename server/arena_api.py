"""The arena over HTTP: rounds, votes and the leaderboard."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, aclosing, asynccontextmanager
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response, Security
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers

from models.types import Samples
from server.access import AS_OPERATOR, Access, admitted
from server.arena import turns
from server.arena.archive import NotAllowed
from server.arena.arena import Arena, Progress, Terms, already_voted, unknown
from server.arena.ballots import ROUND_ID, Side
from server.arena.rounds import Round
from server.arena_shapes import (
    A_RECORDED_TURN,
    SPEECH,
    Allowed,
    Leaderboard,
    RecordedTurn,
    Revealed,
    Rounds,
    Service,
    ShownBallot,
    Sought,
    Step,
    Vote,
)
from server.consent import SCOPES, Consent
from server.guests import Guests
from server.http_refusals import Refusal, Route
from server.http_streams import Streamed, whole
from server.neighbours import elsewhere
from server.openapi import SOUND, answers, asks, failures, lines_of
from server.private_log import where
from server.reception import Reception
from server.sessions.library import Library
from server.sessions_shapes import LINES
from server.storage_threads import StorageThreads

log = logging.getLogger(__name__)

MOST_SOUND = 12 * 1024 * 1024  # bytes: a minute in stereo at 48 kHz
MOST_JSON = 16 * 1024
TIDY_SEC = 60.0
CHORES = 60  # tidyings between two looks at how long things may be kept
SEND_SEC = 60.0  # a turn may take to come
UNKEPT = {"Cache-Control": "no-store"}

Turn = tuple[Samples, Terms]

AS_VOTER = HTTPBearer(
    scheme_name="voter", description="The secret of the round, from its answer.", auto_error=False
)


def router(
    arena: Arena,
    library: Library,
    access: Access,
    allowed: Callable[[Headers], bool],
    guests: Guests,
    keep_days: float | None = None,
) -> APIRouter:
    """The routes, for requests whose headers are allowed."""
    threads = StorageThreads()
    reception = Reception(library, access, threads)
    others = elsewhere(each.choices for each in arena.systems.values())
    hosts = [Service(role=role, host=host) for role, host in others]

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        tidying = asyncio.create_task(_tidy(arena, keep_days))
        try:
            yield
        finally:
            tidying.cancel()
            await asyncio.gather(tidying, return_exceptions=True)
            threads.close()
            arena.stable.close()

    async def unkept(response: Response) -> None:
        response.headers.update(UNKEPT)

    def voters(request: Request, round_id: str) -> Round | None:
        """The round whose secret is shown."""
        found = arena.waiting.find(round_id)
        if found and access.is_talker(access.token(request), found.secret_sha256):
            return found
        return None

    async def own(
        request: Request,
        round_id: Annotated[str, Path(json_schema_extra={"pattern": f"^{ROUND_ID}$"})],
    ) -> Round:
        token = access.token(request)
        if found := voters(request, round_id):
            return found
        ballot = await reception.run(partial(arena.archive.find, round_id))
        if ballot and access.is_talker(token, ballot.secret_sha256):
            raise already_voted()
        access.failed(request)
        raise unknown()

    by_operator = [Security(AS_OPERATOR), Depends(access.operator)]
    by_voter = [Security(AS_VOTER)]
    routes = APIRouter(
        prefix="/api/arena",
        tags=["arena"],
        route_class=Route,
        dependencies=[Depends(admitted(allowed)), Depends(unkept)],
        responses=failures(403, 429, 500, 503),
        lifespan=lifespan,
    )

    @routes.get("/leaderboard", dependencies=guests.required, responses=guests.refusals)
    async def leaderboard() -> Leaderboard:
        """How strong each system is, by the votes on it."""
        ballots = await reception.run(arena.archive.ballots)
        standings = await reception.run(partial(arena.standings, ballots))
        labels = {name: each.label for name, each in arena.systems.items()}
        there = {name: arena.stable.available(each) for name, each in arena.systems.items()}
        return Leaderboard.of(standings, labels, there, hosts)

    async def begun(address: str | None, asked: Callable[[], Awaitable[Turn]]) -> Response:
        """What is asked is read only by who has a place: so few are in memory at once."""
        with ExitStack() as held:
            held.enter_context(arena.place(address))
            try:
                async with asyncio.timeout(SEND_SEC):
                    speech, terms = await asked()
            except TimeoutError:
                message = f"The turn was not sent within {SEND_SEC:g} seconds."
                raise Refusal(400, message, "request_too_slow") from None
            lines = _lines(arena.play(speech, terms, reception.run), held.pop_all())
            return Streamed(await anext(lines), lines, LINES, headers=UNKEPT)

    told = answers({LINES: lines_of(Step)}, "How far it is, line by line; the last is the round")

    @routes.post(
        "/rounds",
        response_class=Response,
        dependencies=guests.required,
        responses={**told, **failures(400, 413), **guests.refusals},
        openapi_extra=SPEECH,
    )
    async def begin_round(request: Request, wish: Annotated[Allowed, Query()]) -> Response:
        """Two systems answer a spoken turn. Nothing of it is kept before there is a vote."""

        async def asked() -> Turn:
            data = await whole(request, MOST_SOUND)
            media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            raw = media in ("audio/pcm", "audio/l16")
            speech = await reception.run(partial(turns.read, data, raw=raw))
            consent = Consent(**{scope: scope in wish.consent for scope in SCOPES})
            return speech, Terms(consent, "prepared" if wish.prepared else "voice")

        return await begun(request.client.host if request.client else "", asked)

    @routes.post(
        "/rounds/recorded",
        response_class=Response,
        dependencies=by_operator,
        responses={**told, **failures(400, 401, 404, 409, 410, 413)},
        openapi_extra=A_RECORDED_TURN,
    )
    async def begin_recorded_round(request: Request) -> Response:
        """The same with a turn of a recorded session, on whose consent all that is kept rests."""

        async def asked() -> Turn:
            wanted = RecordedTurn.model_validate_json(await whole(request, MOST_JSON))
            speech, held = await reception.run(
                partial(turns.recorded, library, wanted.session_id, wanted.item_id)
            )
            return speech, Terms(held, "session", wanted.session_id)

        return await begun(None, asked)

    @routes.get("/rounds", dependencies=by_operator, responses=failures(400, 401))
    async def list_rounds(sought: Annotated[Sought, Query()]) -> Rounds:
        """Those with a vote."""
        ballots = await reception.run(arena.archive.ballots)
        ballots.sort(key=lambda each: each.wall, reverse=True)
        page = ballots[sought.offset : sought.offset + sought.limit]
        shown = [ShownBallot.model_validate(each.model_dump()) for each in page]
        return Rounds(rounds=shown, total=len(ballots))

    @routes.get(
        "/rounds/{round_id}/answers/{side}",
        dependencies=by_voter,
        response_class=Response,
        responses={
            **answers({"audio/wav": SOUND}, "The answer, as loud as the other"),
            **failures(400, 401, 404, 409),
        },
    )
    async def hear(side: Side, found: Annotated[Round, Depends(own)]) -> Response:
        found.heard.add(side)
        return Response(found.sounds[side], media_type="audio/wav", headers=UNKEPT)

    @routes.post(
        "/rounds/{round_id}/vote",
        dependencies=by_voter,
        responses=failures(400, 401, 404, 409, 413),
        openapi_extra=asks(Vote),
    )
    async def vote(request: Request, found: Annotated[Round, Depends(own)]) -> Revealed:
        """Once; the answer tells which system was which."""
        wish = Vote.model_validate_json(await whole(request, MOST_JSON))
        try:
            ballot = await arena.vote(found, wish.vote, wish.comment.strip(), reception.run)
        except NotAllowed:
            arena.waiting.drop(found.id)
            message = "The session was deleted, or may no longer be used: the round is void."
            raise Refusal(409, message, "consent_missing") from None
        return Revealed.of(ballot, found)

    @routes.delete(
        "/rounds/{round_id}",
        status_code=204,
        dependencies=[Security(AS_OPERATOR), Security(AS_VOTER)],
        response_class=Response,
        responses=failures(401, 404),
    )
    async def delete_round(
        request: Request,
        round_id: Annotated[str, Path(json_schema_extra={"pattern": f"^{ROUND_ID}$"})],
    ) -> Response:
        """The vote, and all that was kept with it."""
        token = access.token(request)
        waiting = arena.waiting.find(round_id)
        ballot = await reception.run(partial(arena.archive.find, round_id))
        secret = waiting.secret_sha256 if waiting else ballot.secret_sha256 if ballot else None
        if not access.is_operator(token) and not access.is_talker(token, secret):
            access.failed(request)
            raise unknown()
        if waiting is None and ballot is None:
            raise unknown()
        await arena.delete(waiting, ballot, reception.run)
        return Response(status_code=204, headers=UNKEPT)

    return routes


async def _lines(
    steps: AsyncGenerator[Progress | Round, None], held: ExitStack
) -> AsyncGenerator[bytes, None]:
    """A refusal before the first line is an answer of its own; after it, the last line."""
    begun = False
    with held:
        async with aclosing(steps):
            try:
                async for step in steps:
                    yield Step.of(step).line()
                    begun = True
            except Exception as error:
                if not begun:
                    raise
                refusal = Refusal.of(error)
                if refusal.status >= 500:
                    log.error("a round broke off: %s", where(error))
                yield Step(type="error", error=refusal.error).line()


async def _tidy(arena: Arena, keep_days: float | None) -> None:
    """Forget rounds nobody votes on, and what is older than may be kept."""
    count = 0
    while True:
        arena.waiting.tidy()
        if keep_days and count % CHORES == 0:
            try:
                await asyncio.to_thread(arena.archive.forget_older, keep_days)
            except Exception as error:
                log.error("rounds could not be looked through: %s", where(error))
        count += 1
        await asyncio.sleep(TIDY_SEC)
