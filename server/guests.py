"""Who may talk with us: whoever shows a token, where the settings ask for one."""

from hmac import compare_digest
from typing import Any

from fastapi import Depends, Request, Security
from fastapi.params import Depends as Dependency
from fastapi.security import HTTPBearer
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket

from server.access import Access, digest
from server.client_secrets import MARK, ClientSecrets
from server.config import Config
from server.errors import ClientError
from server.http_refusals import Refusal
from server.openapi import Described, failures
from server.session_config import UNNAMED, SessionConfig, check_size, updated

# Browsers can give a socket no header: the official clients write the key into a sub-protocol.
KEY_PROTOCOL = "openai-insecure-api-key."

AS_GUEST = HTTPBearer(
    scheme_name="guest",
    description="One of the talker_tokens of the settings, or the operator_token.",
    auto_error=False,
)


class Guests:
    """Tells whoever comes whether they may talk. Comparing takes the same time, right or wrong."""

    def __init__(self, config: Config, access: Access, secrets: ClientSecrets) -> None:
        self.asked = config.asks_for_tokens
        self._talkers = [digest(token.encode()) for token in config.talkers]
        self._access = access
        self._secrets = secrets
        self._most_bytes = config.limits.settings_bytes

    @property
    def required(self) -> list[Dependency]:
        """For routes that only holders of a token may use."""
        if not self.asked:
            return []
        return [Security(AS_GUEST), Depends(self.check)]

    @property
    def refusals(self) -> Described:
        return failures(401, 429) if self.asked else {}

    async def check(self, request: Request) -> None:
        """A dependency: nobody goes on without a token. A client secret opens other doors."""
        if not self._holds(_bearer(request)):
            raise self._refused(request)

    def admit(self, socket: WebSocket) -> dict[str, Any]:
        """What the session is to be by the secret shown, or a Refusal."""
        token = _bearer(socket) or _protocol_key(socket)
        if token.startswith(MARK):
            session = self._secrets.opened(token)
            if session is None:
                raise self._refused(socket)
            return _fit(session, self._most_bytes)
        if self.asked and not self._holds(token):
            raise self._refused(socket)
        return {}

    def _holds(self, token: str) -> bool:
        shown = token.encode("latin-1", "replace")  # the bytes that came
        hashed = digest(shown)
        known = [compare_digest(hashed, talker) for talker in self._talkers]  # all, always
        return self._access.is_operator(shown) or any(known)

    def _refused(self, connection: HTTPConnection) -> Refusal:
        self._access.failed(connection)
        return Refusal(
            401,
            "This server asks for a token: send one of its talkers' as a bearer token, or open "
            "/v1/realtime with a client secret that has not ended.",
            "invalid_api_key",
            headers={"WWW-Authenticate": 'Bearer realm="conversations"'},
        )


async def turn_away(socket: WebSocket, refusal: Refusal) -> None:
    """Answer a handshake as any request that is refused."""
    await socket.send_denial_response(refusal.answer())


def _bearer(connection: HTTPConnection) -> str:
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _protocol_key(socket: WebSocket) -> str:
    offered: list[str] = socket.scope.get("subprotocols", [])
    keys = [name.removeprefix(KEY_PROTOCOL) for name in offered if name.startswith(KEY_PROTOCOL)]
    return keys[0] if keys else ""


def _fit(session: dict[str, Any], most_bytes: int) -> dict[str, Any]:
    """The session, if this server still knows what it asks for: another version may have signed."""
    try:
        config = updated(SessionConfig(id="", model=UNNAMED), session, has_spoken=False)
        check_size(config, most_bytes, "session")
    except ClientError as error:
        raise Refusal(400, error.message, error.code, error.param) from None
    return session
