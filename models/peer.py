"""What servers we ask over HTTP have in common: an address, a key, and errors in words."""

import ssl
from functools import cache

import httpx2
import orjson

from models.errors import BackendError

LAST_PORT = 65_535
SHOWN = 200  # characters of what a server itself says


def checked(role: str, name: str, url: str) -> httpx2.URL:
    """The address of a role's server, which a user knows by the name.

    Raises:
        BackendError: nothing can be asked there. What cannot work is told before the first turn.
    """
    try:
        address = httpx2.URL(url)
    except httpx2.InvalidURL:
        address = httpx2.URL()
    if address.scheme not in ("http", "https") or not address.host:
        like = "http://127.0.0.1:8000/v1"
        raise BackendError(role, f"The {name}'s URL is {url!r}, and not one like {like}.")
    if address.port is not None and not 0 < address.port <= LAST_PORT:
        raise BackendError(
            role, f"The {name}'s URL is {url!r}, and ports are numbers from 1 to {LAST_PORT}."
        )
    return address


def trusted(url: str | httpx2.URL) -> ssl.SSLContext | bool:
    """What a client is to verify this server with: nothing where it does not speak TLS.

    Made once, and only where it is needed: it takes longer than a connection, and nobody else in
    the process does anything meanwhile.
    """
    return _authorities() if httpx2.URL(url).scheme == "https" else False


@cache
def _authorities() -> ssl.SSLContext:
    return ssl.create_default_context()


def authorization(role: str, name: str, api_key: str | None) -> dict[str, str]:
    """The header that shows the key, where there is one.

    Raises:
        BackendError: no header can hold it. It is secret, so the sentence does not.
    """
    if not api_key:
        return {}
    if not (api_key.isascii() and api_key.isprintable() and api_key == api_key.strip()):
        sentence = f"The {name}'s api_key holds characters that cannot be in a key."
        raise BackendError(role, sentence)
    return {"Authorization": f"Bearer {api_key}"}


def reason(body: bytes) -> str:
    """The message of an error in one of the forms in use, as one line; empty if there is none."""
    try:
        said = orjson.loads(body)
    except ValueError:
        return ""
    for key in ("error", "message", "detail"):
        if isinstance(said, dict):
            said = said.get(key) or said
    return " ".join(said.split())[:SHOWN].rstrip(".") if isinstance(said, str) else ""
