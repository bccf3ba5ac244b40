"""Addresses that open one report for a while: a browser's own tab can show no token."""

import hmac
import time
from collections.abc import Callable
from hashlib import sha256
from secrets import token_bytes

VALID_SEC = 3600


class Tickets:
    """Those of this process; after a restart there are new ones."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._key = token_bytes(32)
        self._now = now

    def of(self, name: str) -> str:
        until = int(self._now()) + VALID_SEC
        return f"{until}-{self._sign(name, until)}"

    def holds(self, name: str, ticket: str) -> bool:
        until, _, signature = ticket.partition("-")
        if not (until.isascii() and until.isdigit() and len(until) < 16 and signature.isascii()):
            return False
        right = hmac.compare_digest(signature, self._sign(name, int(until)))
        return right and self._now() < int(until)

    def _sign(self, name: str, until: int) -> str:
        return hmac.new(self._key, f"{until} {name}".encode(), sha256).hexdigest()
