"""Scoring reports over HTTP: listing, reading, opening and making them, for the operator."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, Any, TypeVar

import orjson
from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response, Security
from fastapi.responses import FileResponse
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from server.access import AS_OPERATOR, Access, admitted
from server.http_refusals import Refusal, Route
from server.http_streams import whole
from server.openapi import BINARY, Described, asks, failures
from server.report_digest import BrokenReport
from server.report_shelf import MEDIA, Shelf, UnknownReport
from server.report_tickets import Tickets
from server.reports import REPORT_PAGE, SCORES_FILE
from server.reports_shapes import (
    Exchanges,
    Headline,
    HeadMetric,
    Removed,
    Report,
    ReportName,
    Reports,
    Sought,
    Trend,
    TrendPoint,
    Wanted,
)
from server.scoring_run import COMMAND, Busy, Progress, Scorer
from server.sessions.library import Library
from server.sessions.stored import BrokenSession, UnknownSession
from server.storage_threads import StorageThreads

T = TypeVar("T")

FOLDER = "reports"
MOST_JSON = 4096
THREADS, AT_ONCE = 2, 16
UNKEPT = {"Cache-Control": "no-store"}
# A report shows what people said: it runs nothing, and fetches from nowhere else.
CAGED = {
    **UNKEPT,
    "Content-Security-Policy": (
        "sandbox allow-popups allow-popups-to-escape-sandbox allow-downloads; default-src 'none'; "
        "img-src 'self' data:; media-src 'self' data:; style-src 'self' 'unsafe-inline'; "
        "font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def _absent(what: str) -> Described:
    return {404: {**failures(404)[404], "description": what}}


NO_REPORT = _absent("There is no such report, or nothing of the kind in it")
FILE: Described = {
    200: {
        "description": "A file of the report",
        "content": {media: {"schema": BINARY} for media in sorted(set(MEDIA.values()))},
    }
}


def register(library: Library, report: FilePath, session_ids: Sequence[str]) -> None:
    """Note down of whom a report tells; blocking. It may be about somebody who has just left."""
    library.derived.register("report", report, session_ids)
    for session_id in session_ids:
        try:
            row = library.row(session_id)
        except (UnknownSession, BrokenSession):  # recorded elsewhere, perhaps: it may come yet
            continue
        if row.state == "deleted" or not row.research:
            library.derived.purge(session_id)


def router(
    library: Library,
    runs: str,
    access: Access,
    allowed: Callable[[Headers], bool],
    command: Sequence[str] | None = None,
    options: Sequence[str] = (),
) -> APIRouter:
    """The routes over the reports beside a library, made by a command from its runs."""
    shelf = Shelf(library.local / FOLDER, partial(register, library))

    def made(name: str) -> None:
        with suppress(UnknownReport):  # somebody it tells of has left meanwhile
            shelf.digest(name)

    scorer = Scorer(runs, shelf.folder, made, command or COMMAND, options)
    threads, tickets = StorageThreads(THREADS, AT_ONCE), Tickets()
    named = Annotated[ReportName, Path()]
    inside = Annotated[str, Path(description="As report/index.html.")]

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await scorer.stop()
            threads.close()

    async def run(call: Callable[[], T]) -> T:
        with _failures_told():
            return await threads.run(call)

    async def unkept(response: Response) -> None:
        response.headers.update(UNKEPT)

    routes = APIRouter(
        prefix="/api/reports",
        tags=["reports"],
        route_class=Route,
        dependencies=[Depends(admitted(allowed)), Depends(unkept)],
        responses=failures(400, 403, 429, 500, 503),
        lifespan=lifespan,
    )
    by_operator: dict[str, Any] = {
        "dependencies": [Security(AS_OPERATOR), Depends(access.operator)]
    }

    @routes.get("", **by_operator, responses=failures(401))
    async def list_reports() -> Reports:
        found = await run(partial(_headlines, shelf))
        return Reports(reports=found, running=scorer.running)

    @routes.post(
        "",
        **by_operator,
        status_code=202,
        responses=failures(401, 409, 413),
        openapi_extra=asks(Wanted),
    )
    async def make_report(request: Request) -> Progress:
        """Score all recorded sessions that may be; one such run at a time."""
        wanted = Wanted.model_validate_json(await whole(request, MOST_JSON))
        name = wanted.name or f"{datetime.now(UTC):%Y-%m-%d-%H%M%S}"
        if shelf.has(name):
            raise Refusal(409, f"There is a report '{name}' already.", "report_exists", "name")
        try:
            with _failures_told():
                return await scorer.start(name)
        except Busy:
            raise Refusal(409, "A scoring is running already.", "scoring_running") from None

    @routes.get(
        "/{name}",
        **by_operator,
        response_model=Report,
        responses={**NO_REPORT, **failures(401)},
    )
    async def show_report(name: named) -> Response:
        summary = await run(lambda: shelf.digest(name).summary())
        files = await run(partial(_files, shelf, name))
        has_page = REPORT_PAGE in files
        page = f"/api/reports/{name}/view/{tickets.of(name)}/{REPORT_PAGE}" if has_page else None
        head = orjson.dumps({"name": name, "page": page, "files": files})
        return _json(head[:-1] + b"," + summary.encode()[1:])

    @routes.delete("/{name}", **by_operator, responses={**NO_REPORT, **failures(401)})
    async def remove_report(name: named) -> Removed:
        """Delete a report; one that is being made is stopped."""
        running = scorer.running
        if running and running.name == name:
            await scorer.stop()
            return Removed(name=name, stopped=True)
        await run(partial(shelf.remove, name))
        return Removed(name=name, stopped=False)

    @routes.get(
        "/{name}/exchanges",
        **by_operator,
        response_model=Exchanges,
        responses={**NO_REPORT, **failures(401)},
    )
    async def list_exchanges(name: named, wanted: Annotated[Sought, Query()]) -> Response:
        found = await run(lambda: shelf.digest(name).exchanges(**wanted.model_dump()))
        rows = ",".join(found.exchanges)
        return _json(f'{{"exchanges":[{rows}],"total":{found.total}}}'.encode())

    @routes.get("/{name}/trend", **by_operator, responses={**NO_REPORT, **failures(401)})
    async def show_trend(name: named, metric: Annotated[str, Query(max_length=64)]) -> Trend:
        """One metric by the day the sessions began, for all models and for each."""
        points = await run(lambda: shelf.digest(name).trend(metric))
        return Trend(metric=metric, points=[TrendPoint(**asdict(each)) for each in points])

    @routes.get("/{name}/progress", **by_operator, responses={**NO_REPORT, **failures(401)})
    async def show_progress(name: named) -> Progress:
        progress = scorer.progress(name)
        if progress is None:
            raise Refusal(404, "No such scoring was started here.", "report_not_found")
        return progress

    @routes.get(
        "/{name}/files/{path:path}",
        **by_operator,
        response_class=Response,
        responses={**FILE, **NO_REPORT, **failures(401)},
    )
    async def fetch_file(name: named, path: inside) -> Response:
        return await file_of(name, path)

    @routes.get(
        "/{name}/view/{ticket}/{path:path}",
        response_class=Response,
        responses={**FILE, **NO_REPORT},
    )
    async def view_file(name: named, ticket: str, path: inside) -> Response:
        """The same for a browser's tab, which can show no token: the address holds a ticket."""
        if not tickets.holds(name, ticket):
            message = "This address opens no report, or no longer; open it from the page again."
            raise Refusal(404, message, "report_not_found")
        return await file_of(name, path)

    async def file_of(name: str, path: str) -> Response:
        found = await run(partial(shelf.file, name, path))
        return WholeFile(found, media_type=MEDIA[found.suffix], headers=CAGED)

    return routes


class WholeFile(FileResponse):
    """A file that is sent from its beginning to its end: parts of it cannot be asked for."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.headers["Accept-Ranges"] = "none"
        asked = [each for each in scope["headers"] if each[0] not in (b"range", b"if-range")]
        await super().__call__({**scope, "headers": asked}, receive, send)


def _json(told: bytes) -> Response:
    """It was checked when it was read: to check it again, as it grows, costs others' time."""
    return Response(told, media_type="application/json", headers=UNKEPT)


def _headlines(shelf: Shelf) -> list[Headline]:
    found: list[Headline] = []
    for name in shelf.names():
        with suppress(UnknownReport):  # it has just gone
            found.append(_headline(shelf, name))
    return sorted(found, key=lambda each: (each.made or "", each.name), reverse=True)


def _headline(shelf: Shelf, name: str) -> Headline:
    try:
        digest = shelf.digest(name)
        head, (sessions, exchanges) = digest.head(), digest.counts()
    except BrokenReport as error:
        return Headline(name=name, made=None, problem=str(error))
    shown = set(HeadMetric.model_fields)
    return Headline(
        name=name,
        made=head.made.astimezone(UTC).isoformat(),
        software=head.software,
        judges=[judge.name for judge in head.judges],
        sessions=sessions,
        exchanges=exchanges,
        metrics=[HeadMetric(**each.model_dump(include=shown)) for each in head.metrics],
    )


def _files(shelf: Shelf, name: str) -> list[str]:
    """Those one would want to have."""
    wanted = (SCORES_FILE, "scores.parquet", REPORT_PAGE)
    return [each for each in wanted if (shelf.path(name) / each).is_file()]


@contextmanager
def _failures_told() -> Iterator[None]:
    try:
        yield
    except UnknownReport:
        message = "There is no such report, or no such file in it."
        raise Refusal(404, message, "report_not_found") from None
    except BrokenReport as error:
        raise Refusal(500, str(error), "report_broken", kind="server_error") from None
    except OSError as error:
        message = "The reports cannot be reached just now."
        raise Refusal(503, message, "storage_failed", kind="server_error") from error
