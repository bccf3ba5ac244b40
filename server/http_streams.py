"""Bodies that come and go in pieces."""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from server.http_refusals import Refusal, addresses
from server.private_log import where

log = logging.getLogger(__name__)


class Streamed(StreamingResponse):
    """An answer of which the first piece is there, so that it is known to be a good one.

    Its source is closed however it ends. If its source fails on the way, the connection is closed
    before the end is told, by which the client knows that something is missing. The line of a
    client that takes nothing is closed by whoever looks at lines, which ends the answer too.
    """

    def __init__(
        self,
        first: bytes,
        rest: AsyncGenerator[bytes, None],
        media_type: str,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(self._pieces(first, rest), status, headers, media_type)
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._rest):
            try:
                await super().__call__(scope, receive, send)
            except Exception as error:
                log.error("an answer broke off: %s%s", where(error), addresses(error))

    @staticmethod
    async def _pieces(
        first: bytes, rest: AsyncGenerator[bytes, None]
    ) -> AsyncGenerator[bytes, None]:
        yield first
        async for piece in rest:
            yield piece


async def limited(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    """The request's body, as long as it is no larger."""
    async for piece in request.stream():
        most -= len(piece)
        if most < 0:
            raise Refusal(413, "The request is too large.", "request_too_large")
        yield piece


async def whole(request: Request, most: int) -> bytes:
    return b"".join([piece async for piece in limited(request, most)])
