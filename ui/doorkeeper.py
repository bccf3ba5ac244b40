"""Of everything Gradio would answer, only what our pages need: no uploads, no proxies, no calls."""

import re

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.safe_headers import careful

# Gradio's own scripts stand in the page; nothing comes from elsewhere, and nobody frames us.
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "font-src 'self' data:; worker-src 'self' blob:; connect-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
OURS = re.compile(r"/(v1|api|page|static|health|ready|metrics|openapi\.json)(/|$)")
NEEDED = re.compile(
    r"/(config/?|theme\.css|assets/.*|favicon\.ico|robots\.txt|gradio_api/(startup-events|info)/?)?"
)


class Doorkeeper:
    """Gradio's own routes change from release to release: what is not known here is not there."""

    def __init__(self, app: ASGIApp, pages: tuple[str, ...]) -> None:
        self._app = app
        self._pages = {path.rstrip("/") for path in pages}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif self._may_pass(scope["method"], scope["path"]):
            await self._app(scope, receive, _with_policy(send))
        else:
            nothing = PlainTextResponse("There is nothing here.\n", 404)
            await nothing(scope, receive, careful(scope, send))

    def _may_pass(self, method: str, path: str) -> bool:
        if OURS.match(path):
            return True
        page = path.rstrip("/").removesuffix("/config")
        return method in ("GET", "HEAD") and (
            page in self._pages or NEEDED.fullmatch(path) is not None
        )


def _with_policy(send: Send) -> Send:
    """Tell browsers what a page may do, unless it says so itself."""

    async def told(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if headers.get("content-type", "").startswith("text/html"):
                headers.setdefault("Content-Security-Policy", POLICY)
        await send(message)

    return told
