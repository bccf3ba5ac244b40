"""GET /metrics: for whoever watches over the server from outside."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Depends, Response, Security
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from starlette.datastructures import Headers

from server.access import AS_OPERATOR, Access, admitted
from server.http_refusals import Route
from server.openapi import TEXT, answers, failures


def router(
    told: Callable[[], Awaitable[bytes]],
    access: Access,
    allowed: Callable[[Headers], bool],
    *,
    open_: bool,
) -> APIRouter:
    """Open to anybody who reaches us if `open_`; else to the operator, with the token."""
    routes = APIRouter(tags=["system"], route_class=Route)
    guards = [] if open_ else [Security(AS_OPERATOR), Depends(access.operator)]

    @routes.get(
        "/metrics",
        dependencies=[Depends(admitted(allowed)), *guards],
        response_class=Response,
        responses={
            **answers({"text/plain": TEXT}, "Prometheus' text form"),
            **failures(*(403,) if open_ else (401, 403, 429)),
        },
    )
    async def metrics() -> Response:
        """How the server is doing, as Prometheus reads it."""
        return Response(await told(), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return routes
