"""What browsers are told about every answer: to guess nothing, frame nothing, leak nothing."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # an address may hold a ticket
    "X-Frame-Options": "SAMEORIGIN",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
NOTHING = "default-src 'none'; frame-ancestors 'none'"  # what is no page needs nothing
# Pages have a policy each; a worker would take its script's for its own.
SPEAK_FOR_THEMSELVES = ("text/html", "text/javascript", "application/javascript")
LASTING = "max-age=31536000"  # a year of TLS, once a browser has seen us with it
PERSONAL = ("/api/", "/v1/")


class SafeHeaders:
    """Sets each header that a route did not set itself; pages say by themselves what they need."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            send = careful(scope, send)
        await self._app(scope, receive, send)


def careful(scope: Scope, send: Send) -> Send:
    """Send on, with these headers."""

    async def told(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            headers = MutableHeaders(scope=message)
            for name, value in ALWAYS.items():
                headers.setdefault(name, value)
            if not headers.get("content-type", "").startswith(SPEAK_FOR_THEMSELVES):
                headers.setdefault("Content-Security-Policy", NOTHING)
            if scope["path"].startswith(PERSONAL):
                headers.setdefault("Cache-Control", "no-store")
            if scope["scheme"] in ("https", "wss"):
                headers.setdefault("Strict-Transport-Security", LASTING)
        await send(message)

    return told
