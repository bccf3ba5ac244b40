"""Client secrets over HTTP, as the official service makes them: a token for a short-lived key."""

from collections.abc import Callable
from typing import Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field
from starlette.datastructures import Headers

from server import ids
from server.access import admitted
from server.client_secrets import ClientSecrets, TooLong
from server.errors import ClientError
from server.guests import Guests
from server.http_refusals import Refusal, Route
from server.http_streams import whole
from server.openapi import asks, failures
from server.session_config import UNNAMED, Part, SessionConfig, updated

MOST_JSON = 128 * 1024  # bytes


class ExpiresAfter(Part):
    anchor: Literal["created_at"] = "created_at"
    seconds: int = Field(600, ge=10, le=7200)


class SecretRequest(Part):
    expires_after: ExpiresAfter | None = None
    session: dict[str, Any] | None = None  # as session.update takes it


class SecretMade(BaseModel):
    value: str
    expires_at: int  # seconds since 1970
    session: dict[str, Any]  # as session.created will show it, under an id of its own


def router(secrets: ClientSecrets, guests: Guests, admits: Callable[[Headers], bool]) -> APIRouter:
    """The route, for requests whose headers are admitted and who hold a token."""
    routes = APIRouter(
        prefix="/v1/realtime",
        route_class=Route,
        dependencies=[Depends(admitted(admits)), *guests.required],
        responses={**failures(400, 403, 413), **guests.refusals},
    )

    @routes.post("/client_secrets", openapi_extra=_asked())
    async def make_client_secret(request: Request) -> SecretMade:
        """A key for a browser: it opens conversations of this kind, until it ends."""
        wanted = SecretRequest.model_validate_json(await whole(request, MOST_JSON))
        session = wanted.session or {}
        try:
            blank = SessionConfig(id=ids.new("sess"), model=UNNAMED)
            shown = updated(blank, session, has_spoken=False)
            seconds = (wanted.expires_after or ExpiresAfter()).seconds
            value, until = secrets.make(session, seconds)
        except ClientError as error:
            raise Refusal(400, error.message, error.code, error.param) from None
        except TooLong:
            message = (
                "The session is too long to travel in a secret; leave it out, and let the client "
                "send it as session.update."
            )
            raise Refusal(400, message, "session_too_long", "session") from None
        return SecretMade(value=value, expires_at=until, session=shown.payload())

    return routes


def _asked() -> dict[str, Any]:
    described = asks(SecretRequest)
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    inner = ExpiresAfter.model_json_schema()
    schema["properties"]["expires_after"] = {"anyOf": [inner, {"type": "null"}]}
    return described
