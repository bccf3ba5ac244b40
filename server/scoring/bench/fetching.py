"""A session that was recorded by the server, fetched whole with its secret."""

import asyncio
import time
from urllib.parse import SplitResult, urlsplit, urlunsplit

import httpx2
import orjson
from pydantic import ValidationError

from server.scoring.bench.errors import BenchmarkError, ItemError
from server.sessions.format import (
    AUDIO_FILE,
    EVENTS_FILE,
    SESSION_FILE,
    SessionFile,
    folder_name,
)
from server.sessions.place import Place

REALTIME = "/v1/realtime"
SCHEMES = {"ws": "http", "wss": "https"}
FINISHED_SEC, AGAIN_SEC = 60.0, 0.2
TIMEOUT_SEC = 60.0


def http_url(url: str) -> str:
    """Where the same server answers HTTP."""
    parts = _parsed(url)
    if parts is None or parts.scheme not in SCHEMES:
        raise BenchmarkError(
            "What --url says is no address of a server: one is like ws://127.0.0.1:7860/v1/realtime."
        )
    root = parts.path.rstrip("/").removesuffix(REALTIME)
    return urlunsplit((SCHEMES[parts.scheme], parts.netloc, root, "", ""))


def public(url: str) -> str:
    """An address without login and query, where secrets are; nothing where it is none."""
    parts = _parsed(url)
    if parts is None:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _parsed(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:  # a port beyond all ports, half a bracket
        return None


class Fetcher:
    """Brings sessions home into a folder of runs."""

    def __init__(self, url: str, runs: Place, token: str | None = None) -> None:
        self._root = http_url(url)
        self._shown = public(self._root)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise BenchmarkError("The operator's token has characters that no token has.")
        self._runs = runs
        self._token = token  # the operator's, in place of each session's own secret
        # No proxy of the environment: the talk itself takes none either.
        self._client = httpx2.AsyncClient(timeout=TIMEOUT_SEC, trust_env=False)

    async def close(self) -> None:
        await self._client.aclose()

    async def ready(self) -> None:
        """One sentence if there is no server."""
        try:
            answer = await self._client.get(f"{self._root}/ready")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise BenchmarkError(
                f"No server answers at {self._shown} ({type(error).__name__}); start one with "
                "python -m server."
            ) from None
        if answer.status_code != 200:
            raise BenchmarkError(f"The server at {self._shown} is not ready yet.")

    async def fetch(self, session_id: str, secret: str) -> SessionFile:
        """Write the whole session folder; returns what its `session.json` says."""
        session = await self._finished(session_id, secret)
        files = {EVENTS_FILE: await self._get(f"{session_id}/events", secret)}
        if session.audio is not None:
            files[AUDIO_FILE] = await self._get(f"{session_id}/audio", secret)
        folder = folder_name(session.id, session.started)
        # The description last: a folder without it is none.
        files[SESSION_FILE] = session.model_dump_json(indent=2).encode() + b"\n"
        for name, data in files.items():
            await asyncio.to_thread(self._runs.write, f"{folder}/{name}", data)
        return session

    async def _finished(self, session_id: str, secret: str) -> SessionFile:
        """Its description, once it is written to its end."""
        until = time.monotonic() + FINISHED_SEC
        while True:
            answer = await self._get(session_id, secret, until)
            try:
                session = SessionFile.model_validate(orjson.loads(answer)["session"])
            except (ValidationError, orjson.JSONDecodeError, KeyError, TypeError):
                raise ItemError("the server tells its sessions in another form") from None
            if session.id != session_id:
                raise ItemError("the server tells of another session")
            if session.state != "recording":
                return session
            if time.monotonic() > until:
                raise ItemError("its session was not finished in time")
            await asyncio.sleep(AGAIN_SEC)

    async def _get(self, path: str, secret: str, until: float = 0.0) -> bytes:
        """What is not there yet may be there soon, until then."""
        headers = {"Authorization": f"Bearer {self._token or secret}"}
        while True:
            try:
                answer = await self._client.get(
                    f"{self._root}/api/sessions/{path}", headers=headers
                )
            except httpx2.HTTPError as error:
                raise ItemError(f"its session was not fetched: {type(error).__name__}") from None
            if answer.status_code == 200:
                content: bytes = answer.content
                return content
            if answer.status_code not in (404, 429, 503) or time.monotonic() > until:
                raise ItemError(f"its session was not fetched: HTTP {answer.status_code}")
            await asyncio.sleep(AGAIN_SEC)
