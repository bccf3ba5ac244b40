"""Recorded sessions over HTTP: for the operator all of them, for a talker their own."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import PurePosixPath
from time import monotonic
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response, Security
from pydantic import BaseModel
from starlette.datastructures import Headers

from server.access import AS_OPERATOR, AS_TALKER, Access, Attempts, Role, admitted
from server.http_refusals import Refusal, Route
from server.http_streams import Streamed, whole
from server.live_sessions import Live, find
from server.openapi import Described, answers, asks, failures, lines_of
from server.reception import Reception, Visit, deleted
from server.recorded_sound import Piece, pieces
from server.session_views import add_views
from server.sessions.format import Line, Notes, Rating
from server.sessions.library import Deletion, Library, StillRecording
from server.sessions.store import StoredSession
from server.sessions_shapes import (
    FLAC,
    ID_SCHEMA,
    LINES,
    RANGE,
    Gone,
    Listed,
    Narrowed,
    PutOff,
    Rated,
    Scopes,
    Shown,
    ShownFile,
    Sought,
    Withdrawal,
    sound,
)
from server.storage_threads import StorageThreads

Body = TypeVar("Body", bound=BaseModel)

MOST_JSON = 128 * 1024  # bytes
MOST_RATINGS = 200  # of one session, by users and by experts each
WAIT_SEC, AGAIN_SEC = 5.0, 0.1  # for a session that is just being finished
BATCH = 1 << 16  # bytes of the log at a time
PUT_OFF: Described = {202: {"model": PutOff, "description": "Written down: it is done soon"}}
UNKEPT = {"Cache-Control": "no-store"}  # what was deleted must not live on in a cache


def router(
    library: Library,
    operator_token: str | None,
    allowed: Callable[[Headers], bool],
    live: Live,
    attempts: Attempts | None = None,
) -> APIRouter:
    """The routes, for requests whose headers are allowed."""
    threads = StorageThreads()
    access = Access(operator_token, attempts)
    reception = Reception(library, access, threads)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        yield
        threads.close()

    async def unkept(response: Response) -> None:
        response.headers.update(UNKEPT)

    async def visit(
        request: Request,
        session_id: Annotated[str, Path(json_schema_extra=dict(ID_SCHEMA))],
    ) -> Visit:
        await live.written(session_id)
        return await reception.visit(request, session_id)

    async def present(visit: Annotated[Visit, Depends(visit)]) -> Visit:
        if visit.file.state == "deleted":
            raise deleted()
        return visit

    there = Annotated[Visit, Depends(visit)]
    kept = Annotated[Visit, Depends(present)]
    by_operator = [Security(AS_OPERATOR), Depends(access.operator)]
    by_both = [Security(AS_OPERATOR), Security(AS_TALKER)]
    routes = APIRouter(
        prefix="/api/sessions",
        tags=["recorded sessions"],
        route_class=Route,
        dependencies=[Depends(admitted(allowed)), Depends(unkept)],
        responses=failures(401, 403, 429, 500, 503),
        lifespan=lifespan,
    )

    @routes.get("", dependencies=by_operator, responses=failures(400))
    async def list_sessions(sought: Annotated[Sought, Query()]) -> Listed:
        page = await reception.run(partial(find, library, list(live.running), sought.filter))
        return Listed(sessions=page.rows, total=page.total)

    @routes.get("/{session_id}", dependencies=by_both, responses=failures(404))
    async def show_session(visit: there) -> Shown:
        return await reception.run(partial(_shown, library, visit))

    async def done(call: Callable[[], Deletion]) -> Deletion | None:
        """None: somebody still writes the session; the library does it once they have."""
        until = monotonic() + WAIT_SEC
        while True:
            try:
                return await reception.run(call)
            except StillRecording:
                if monotonic() > until:
                    return None
            await asyncio.sleep(AGAIN_SEC)  # a short recording is whole in a moment

    @routes.delete(
        "/{session_id}",
        dependencies=by_both,
        response_model=Gone,
        responses={**PUT_OFF, **failures(404)},
    )
    async def delete_session(visit: there) -> Gone | Response:
        """Repeating it does no harm."""
        session_id = visit.session.id
        await live.forget(session_id, None)
        gone = await done(partial(library.delete, session_id, "deleted"))
        if gone is None:
            return _put_off(session_id, "deleted")
        return Gone(**_told_to(visit.role, gone))

    async def audio(request: Request, visit: kept) -> Response:
        headers = request.headers
        found = reception.stream(
            pieces(visit.session, headers.get("range"), headers.get("if-range"))
        )
        first = await anext(found)
        shown = {**first.headers, **UNKEPT}
        if request.method == "HEAD":
            await found.aclose()
            return Response(status_code=first.status, headers=shown, media_type=FLAC)
        data = _data(found)
        return Streamed(await anext(data), data, FLAC, first.status, shown)

    sounds = {
        200: sound(200, "The recording: left the person, right the reply as it was played"),
        206: sound(206, "The part asked for with Range", RANGE),
        **failures(404, 410, 416),
    }
    for method in (routes.get, routes.head):
        method(
            "/{session_id}/audio",
            dependencies=by_both,
            response_class=Response,
            responses=sounds,
        )(audio)

    @routes.get(
        "/{session_id}/events",
        dependencies=by_both,
        response_class=Response,
        responses={
            **answers({LINES: lines_of(Line)}, "The log, a line for each event"),
            **failures(404, 410),
        },
    )
    async def events(visit: kept) -> Response:
        lines = reception.stream(_lines(visit.session))
        return Streamed(await anext(lines, b""), lines, LINES, headers=UNKEPT)

    @routes.post(
        "/{session_id}/consent",
        dependencies=by_both,
        response_model=Narrowed,
        responses={**PUT_OFF, **failures(400, 404, 409, 410, 413)},
        openapi_extra=asks(Withdrawal),
    )
    async def withdraw(request: Request, visit: kept) -> Narrowed | Response:
        """Consent can be narrowed afterwards, never widened: what was not kept is not there."""
        wish = await _body(request, Withdrawal)
        if anew := wish.widened(visit.held):
            message = (
                f"Consent to {' and '.join(anew)} was not given, and cannot be given afterwards."
            )
            raise Refusal(409, message, "consent_only_narrows", anew[0])
        left = wish.of(visit.held)
        scopes = Scopes(transcript=left.transcript, audio=left.audio, research=left.research)
        session_id = visit.session.id
        dealt_with = False
        with suppress(StillRecording):  # then the library notes it down, and does it later
            dealt_with = await live.forget(session_id, left)
        if dealt_with:
            removed = [scope for scope in visit.held.scopes if scope not in left.scopes]
            return Narrowed(id=session_id, removed=removed, exports=[], left=[], consent=scopes)
        gone = await done(partial(library.revoke, session_id, left))
        if gone is None:
            return _put_off(session_id, "narrowed")
        return Narrowed(**_told_to(visit.role, gone), consent=scopes)

    @routes.post(
        "/{session_id}/ratings",
        status_code=201,
        dependencies=by_both,
        responses=failures(400, 404, 409, 410, 413),
        openapi_extra=asks(Rated),
    )
    async def rate(request: Request, visit: kept) -> Rating:
        rating = _rating(await _body(request, Rated), visit)
        await reception.run(partial(library.rate, visit.session.id, rating, MOST_RATINGS))
        return rating

    @routes.put(
        "/{session_id}/notes",
        dependencies=by_operator,
        responses=failures(400, 404, 409, 410, 413),
        openapi_extra=asks(Notes),
    )
    async def annotate(request: Request, visit: kept) -> Notes:
        notes = await _body(request, Notes)
        await reception.run(partial(library.annotate, visit.session.id, notes))
        return notes

    add_views(routes, reception, present, by_both, UNKEPT)
    return routes


async def _body(request: Request, shape: type[Body]) -> Body:
    return shape.model_validate_json(await whole(request, MOST_JSON))


async def _data(found: AsyncGenerator[Piece, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(found):
        async for piece in found:
            yield piece.data


def _shown(library: Library, visit: Visit) -> Shown:
    session, row = visit.session, library.row(visit.session.id)
    file = ShownFile.model_validate(visit.file.model_dump())
    if visit.role is Role.OPERATOR:
        return Shown(session=file, summary=row, ratings=session.ratings(), notes=session.notes())
    row = replace(row, notes="", tags=(), expert_rating=None, expert_ratings=0)
    row = replace(row, rating=row.user_rating)
    own = [rating for rating in session.ratings() if rating.by == "user"]
    return Shown(session=file, summary=row, ratings=own, notes=None)


def _told_to(role: Role, gone: Deletion) -> dict[str, Any]:
    """Where on its machines an operator keeps things is not for talkers: they get bare names."""
    told = asdict(gone)
    if role is Role.TALKER:
        for kind in ("removed", "exports", "left"):
            told[kind] = [PurePosixPath(each).name for each in told[kind]]
    return told


def _lines(session: StoredSession) -> Generator[bytes, None, None]:
    """The log in batches; blocking code."""
    batch = bytearray()
    for line in session.lines():
        batch += line.model_dump_json(by_alias=True).encode() + b"\n"
        if len(batch) >= BATCH:
            yield bytes(batch)
            batch.clear()
    if batch:
        yield bytes(batch)


def _rating(rated: Rated, visit: Visit) -> Rating:
    if visit.role is Role.TALKER and rated.by == "expert":
        raise Refusal(400, "A talker rates as the user.", "invalid_value", "by")
    replies = [turn.item_id for turn in visit.file.turns if turn.role == "assistant"]
    known = rated.item_id is None or rated.item_id in replies
    # While a session goes on, its list of turns is not up to date.
    if not known and visit.file.state != "recording":
        raise Refusal(400, "There is no such reply in the session.", "invalid_value", "item_id")
    by = rated.by or ("user" if visit.role is Role.TALKER else "expert")
    given = rated.model_dump(exclude={"by"})
    return Rating(wall=datetime.now(UTC), by=by, **given)


def _put_off(session_id: str, what: str) -> Response:
    message = f"The session is still being written; it is {what} as soon as that is over."
    put_off = PutOff(id=session_id, message=message)
    return Response(put_off.model_dump_json(), 202, UNKEPT, "application/json")
