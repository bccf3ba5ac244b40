"""The other fronts, and how one is asked: HTTP over sockets that only our own user can reach."""

import asyncio
import logging
import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx2
import orjson

PRIVATE = "/within"  # answered to neighbours only
PATIENCE_SEC = 15.0  # longer than a neighbour waits for its disk


def path_of(folder: Path, front: int) -> Path:
    return folder / f"front-{front}"


def inner_door(folder: Path, front: int) -> socket.socket:
    """Where neighbours knock; the one that a killed front left is replaced."""
    path = path_of(folder, front)
    path.unlink(missing_ok=True)
    door = socket.socket(socket.AF_UNIX)
    door.bind(str(path))
    os.chmod(path, 0o600)
    return door


class Neighbours:
    def __init__(self, folder: Path, number: int, count: int) -> None:
        self.number = number
        self.others = [each for each in range(count) if each != number]
        self.own_door = str(path_of(folder, number))
        self._folder = folder
        self._clients: dict[int, httpx2.AsyncClient] = {}
        # It would tell of every request, and some addresses open something.
        logging.getLogger("httpx2").setLevel(logging.WARNING)

    def door(self, front: int) -> Path:
        return path_of(self._folder, front)

    def client(self, front: int) -> httpx2.AsyncClient:
        if front not in self._clients:
            transport = httpx2.AsyncHTTPTransport(
                uds=str(path_of(self._folder, front)),
                verify=False,  # there is nothing to verify, and preparing for it holds everybody up
                limits=httpx2.Limits(max_connections=None),  # slow strangers hold up nobody else
            )
            # Streams of answers may pause for as long as their makers like.
            patience = httpx2.Timeout(None, connect=PATIENCE_SEC)
            self._clients[front] = httpx2.AsyncClient(
                transport=transport,
                base_url="http://neighbour",
                timeout=patience,
                trust_env=False,
                verify=False,
            )
        return self._clients[front]

    async def ask(
        self, front: int, what: str, patience_sec: float = PATIENCE_SEC, **told: Any
    ) -> dict[str, Any] | None:
        """What it answers; None if it is not there just now."""
        try:
            async with asyncio.timeout(patience_sec):
                answer = await self.client(front).post(
                    f"{PRIVATE}/{what}", content=orjson.dumps(told)
                )
            found = orjson.loads(answer.content) if answer.status_code == 200 else None
        except (httpx2.HTTPError, OSError, TimeoutError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    async def ask_all(self, what: str, **told: Any) -> Iterable[dict[str, Any]]:
        """The answers of those who are there."""
        asked = (self.ask(front, what, **told) for front in self.others)
        return [each for each in await asyncio.gather(*asked) if each is not None]

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()
