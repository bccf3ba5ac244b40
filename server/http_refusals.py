"""What goes wrong over HTTP, answered in OpenAI's form."""

import logging
import re
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from models.errors import BackendError
from server.private_log import where

log = logging.getLogger(__name__)

NOT_BUILT_IN = 501  # no failure: it is how this server was set up
METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")

# Where a model is served is for the log alone. A word before it goes too: "at http://...".
_ADDRESS = re.compile(
    r"""(?:\s+(?:at|from|to|on|of|by|with|for|is))?\s*['"(<]*
    (\b[a-z][a-z+.-]*://[^\s'"<>),]*[^\s'"<>),.;:!?]|\b(?:\d{1,3}\.){3}\d{1,3}\b(?::\d+)?
     |\b[\w.-]+:\d{2,5}\b)['")>]*""",
    re.IGNORECASE | re.VERBOSE,
)


def addresses(error: BaseException) -> str:
    """For the log, what a client is not told of a model's failure."""
    found = _ADDRESS.findall(str(error)) if isinstance(error, BackendError) else []
    return f" ({', '.join(found)})" if found else ""


class Refusal(Exception):
    """An answer other than the one asked for."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        param: str | None = None,
        kind: str = "invalid_request_error",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.error = {"message": message, "type": kind, "param": param, "code": code}

    def answer(self) -> JSONResponse:
        return JSONResponse({"error": self.error}, self.status, self.headers)

    @classmethod
    def of(cls, error: Exception) -> "Refusal":
        """Any error as something to answer; what is only ours to know is left out."""
        match error:
            case Refusal():
                return error
            case BackendError():
                sentence = _ADDRESS.sub("", str(error)).strip()
                return cls(503, sentence, "model_error", kind="server_error")
            case ValidationError():
                first = error.errors(include_url=False)[0]
                param = ".".join(str(part) for part in first["loc"][:1]) or None
                return cls._unfit(param, first["msg"])
            case RequestValidationError():  # its place begins with query, path, header or body
                first = error.errors()[0]
                return cls._unfit(".".join(str(part) for part in first["loc"][1:2]), first["msg"])
            case HTTPException():
                return cls(error.status_code, error.detail, headers=error.headers)
            case _:
                message = "Something went wrong on our side."
                return cls(500, message, "internal_error", kind="server_error")

    @classmethod
    def _unfit(cls, param: str | None, why: str) -> "Refusal":
        message = f"{param or 'The request'} will not do: {why}."
        return cls(400, message, "invalid_value", param or None)


class Route(APIRoute):
    """A route that answers every failure, and every other method, with a Refusal."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handle(request)
            except ClientDisconnect:  # also where we hung up, as on a body that stopped coming
                log.debug("%s: who asked has gone", request.url.path)
                return Response()  # for nobody
            except Exception as error:
                refusal = Refusal.of(error)
                if refusal.status >= 500 and refusal.status != NOT_BUILT_IN:
                    path = request.url.path
                    log.error("%s failed: %s%s", path, where(error), addresses(error))
                return refusal.answer()

        return answered

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in (self.methods or set()):
            await super().handle(scope, receive, send)
            return
        allowed = ", ".join(_answered(scope))
        message = f"Only {allowed} is answered here."
        refusal = Refusal(405, message, "method_not_allowed", headers={"Allow": allowed})
        await refusal.answer()(scope, receive, send)


def _answered(scope: Scope) -> list[str]:
    """The methods under this path; each may have a route of its own."""
    return [
        method
        for method in METHODS
        if any(
            route.matches({**scope, "method": method})[0] is Match.FULL
            for route in scope["app"].routes
        )
    ]


class Places:
    """Room for so many at once; whoever comes when it is full is asked to come again."""

    def __init__(self, count: int) -> None:
        self._free = count

    @contextmanager
    def taken(self) -> Generator[None, None, None]:
        if not self._free:
            message = "Too many requests at once; please try again soon."
            raise Refusal(429, message, "rate_limit_exceeded", kind="rate_limit_error")
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1
