"""Who may do what with recorded sessions: the operator with all, a talker with their own.

Both show it with a bearer token: the operator the one in the settings, a talker the secret that
the server sent them when their session began.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from fastapi import Request
from fastapi.security import HTTPBearer
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection

from server.budgets import subscriber
from server.http_refusals import Refusal
from server.vitals import Vitals

WRONG, WITHIN_SEC = 20, 60.0  # so many wrong tokens an address may show in that time
ADDRESSES = 4096  # remembered
FROM_ELSEWHERE = (
    "This server answers its own pages, those in origins, and programs that send no Origin; on "
    "loopback, call it localhost or 127.0.0.1."
)

AS_OPERATOR = HTTPBearer(
    scheme_name="operator", description="The operator_token of the settings.", auto_error=False
)
AS_TALKER = HTTPBearer(
    scheme_name="talker",
    description="The secret of the session, from its attune.session event.",
    auto_error=False,
)


class Role(Enum):
    OPERATOR = "operator"
    TALKER = "talker"


@dataclass(slots=True)
class _Wrong:
    count: int
    since: float


class Attempts:
    """How often each address was wrong lately."""

    def __init__(
        self, now: Callable[[], float] = time.monotonic, vitals: Vitals | None = None
    ) -> None:
        self.vitals = vitals or Vitals()
        self._now = now
        self._wrong: OrderedDict[str, _Wrong] = OrderedDict()

    def check(self, address: str) -> None:
        wrong = self._wrong.get(address)
        if wrong is None or wrong.count < WRONG:
            return
        left = wrong.since + WITHIN_SEC - self._now()
        if left <= 0:
            del self._wrong[address]
            return
        self.vitals.limited("wrong_tokens")
        raise Refusal(
            429,
            "Too many wrong tokens from this address; please try again in a minute.",
            "rate_limit_exceeded",
            kind="rate_limit_error",
            headers={"Retry-After": str(int(left) + 1)},
        )

    def failed(self, address: str) -> None:
        wrong = self._wrong.get(address)
        if wrong is None or self._now() >= wrong.since + WITHIN_SEC:
            self._wrong[address] = _Wrong(1, self._now())
            self._wrong.move_to_end(address)
        else:
            wrong.count += 1
        if len(self._wrong) > ADDRESSES:
            self._wrong.popitem(last=False)


class Access:
    """Tells by the token who asks. Every comparison takes the same time, right or wrong."""

    def __init__(self, operator_token: str | None, attempts: Attempts | None = None) -> None:
        self._operator = digest(operator_token.encode()) if operator_token else None
        self._attempts = attempts or Attempts()

    async def operator(self, request: Request) -> None:
        """Nobody but the operator goes on."""
        if self._operator is None:
            message = (
                "Set operator_token (ATTUNE_OPERATOR_TOKEN), 16 characters or more, to use this."
            )
            raise Refusal(403, message, "no_operator_token")
        if not self.is_operator(self.token(request)):
            self.failed(request)
            raise _unknown("This is not the operator's token.")

    def token(self, request: Request) -> bytes:
        """What is shown, right or wrong."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            raise _unknown("Send the operator's token, or the session's secret, as a bearer token.")
        return token.encode("latin-1")  # the bytes that came

    def is_operator(self, token: bytes) -> bool:
        return self._operator is not None and compare_digest(digest(token), self._operator)

    def is_talker(self, token: bytes, secret_sha256: str | None) -> bool:
        return secret_sha256 is not None and compare_digest(digest(token), secret_sha256.encode())

    def failed(self, request: HTTPConnection) -> None:
        """Only who is wrong is ever held up: nobody can lock others out who share an address."""
        self._attempts.vitals.wrong_tokens += 1
        address = _whose(request)
        self._attempts.check(address)
        self._attempts.failed(address)


def admitted(admits: Callable[[Headers], bool]) -> Callable[[Request], Coroutine[Any, Any, None]]:
    """A dependency: only our own pages, those allowed, and programs go on."""

    async def check(request: Request) -> None:
        if not admits(request.headers):
            raise Refusal(403, FROM_ELSEWHERE, "origin_not_allowed")

    return check


def digest(token: bytes) -> bytes:
    return sha256(token).hexdigest().encode()


def _unknown(message: str) -> Refusal:
    headers = {"WWW-Authenticate": 'Bearer realm="recorded sessions"'}
    return Refusal(401, message, "invalid_token", kind="authentication_error", headers=headers)


def _whose(request: HTTPConnection) -> str:
    """Of an IPv6 subscriber all addresses together; here this machine's own are counted, too."""
    host = request.client.host if request.client else ""
    return subscriber(host) or host
