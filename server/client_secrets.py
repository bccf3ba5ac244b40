"""Keys that open a conversation for some minutes, for browsers to be trusted with.

A secret holds its own end and the session it opens, signed: any process with the same key can
read it, and none has to remember it.
"""

import hmac
import time
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from hashlib import sha256
from secrets import token_bytes, token_urlsafe
from typing import Any

import orjson

MARK = "ek_"  # as the official service begins them
LONGEST = 7_000  # characters: it travels in a header, and a line of those ends at 8,192


class TooLong(Exception):
    """The session does not fit into a secret."""


class ClientSecrets:
    """Makes them, and knows its own."""

    def __init__(self, key: str | None, now: Callable[[], float] = time.time) -> None:
        self._key = key.encode() if key else token_bytes(32)
        self._now = now

    def make(self, session: Mapping[str, Any], seconds: int) -> tuple[str, int]:
        """A secret that opens this session, and when it ends."""
        until = int(self._now()) + seconds
        # Two for the same session are two secrets.
        told = {"until": until, "nonce": token_urlsafe(8), "session": session}
        packed = _text(zlib.compress(orjson.dumps(told), 9))
        value = f"{MARK}{packed}.{self._sign(packed)}"
        if len(value) > LONGEST:
            raise TooLong
        return value, until

    def opened(self, value: str) -> dict[str, Any] | None:
        """The session it opens; None: it is not one of ours, or not any more."""
        if not value.startswith(MARK) or len(value) > LONGEST or not value.isascii():
            return None
        packed, _, signature = value.removeprefix(MARK).partition(".")
        if not hmac.compare_digest(signature, self._sign(packed)):
            return None
        # Nothing is unpacked that we did not pack.
        try:
            data = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
            told = orjson.loads(zlib.decompress(data))
            session, until = told["session"], told["until"]
        except (NotBase64, zlib.error, ValueError, KeyError):
            return None
        return dict(session) if self._now() < until else None

    def _sign(self, packed: str) -> str:
        return _text(hmac.new(self._key, f"client secret {packed}".encode(), sha256).digest())


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
