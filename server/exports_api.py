"""Exports over HTTP: what people allow of the sessions sought, as one file, for the operator."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response, Security
from starlette.datastructures import Headers

from server.access import AS_OPERATOR, Access, admitted
from server.export_desk import UNKEPT, Desk
from server.export_download import COMMAND, Workshop
from server.exports_shapes import Made, Progress, Wanted, zipped
from server.http_refusals import Route
from server.http_streams import whole
from server.openapi import Described, asks, failures
from server.sessions.library import Library

MOST_JSON = 16 * 1024  # bytes
FILE: Described = {200: zipped("The export: what is in it, DATASHEET.md tells")}
WAITING: Described = {201: {"model": Made, "description": "It waits under its address"}}


def _refused(status: int, why: str) -> Described:
    return {status: {**failures(status)[status], "description": why}}


UNFIT = _refused(409, "There is nothing to export, it was stopped, or somebody withdrew meanwhile")
GONE = _refused(404, "There is nothing to fetch under this address, or no longer")


def router(
    library: Library,
    runs: str,
    spool: Path | None,
    access: Access,
    allowed: Callable[[Headers], bool],
    command: Sequence[str] | None = None,
) -> APIRouter:
    """The routes over a library, whose exports a command makes from its runs."""
    desk = Desk(Workshop(library, runs, spool, command or COMMAND))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        await desk.open()
        try:
            yield
        finally:
            await desk.close()

    async def unkept(response: Response) -> None:
        response.headers.update(UNKEPT)

    routes = APIRouter(
        prefix="/api/exports",
        tags=["exports"],
        route_class=Route,
        dependencies=[Depends(admitted(allowed)), Depends(unkept)],
        responses=failures(403, 429, 500, 503),
        lifespan=lifespan,
    )
    by_operator: dict[str, Any] = {
        "dependencies": [Security(AS_OPERATOR), Depends(access.operator)]
    }

    @routes.get("", **by_operator, responses=failures(401))
    async def show_progress() -> Progress:
        """How far the export is that is under way."""
        return desk.progress

    @routes.post(
        "",
        **by_operator,
        response_class=Response,
        responses={**FILE, **WAITING, **UNFIT, **failures(400, 401, 413)},
        openapi_extra=asks(Wanted),
    )
    async def make_export(request: Request) -> Response:
        """One at a time; hanging up stops it."""
        wanted = Wanted.model_validate_json(await whole(request, MOST_JSON))
        download = await desk.make(wanted, request)
        if not wanted.ticket:
            return await desk.send(download)
        made = desk.keep(download)
        return Response(made.model_dump_json(), 201, UNKEPT, "application/json")

    @routes.get("/{ticket}", response_class=Response, responses={**FILE, **GONE, **UNFIT})
    async def fetch_export(ticket: str) -> Response:
        """For a browser, which saves to the disk what it fetches by itself, but shows no token."""
        return await desk.fetch(ticket)

    return routes
