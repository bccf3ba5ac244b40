"""Whether the models are there: those in this process are, servers are asked."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

import httpx2

from models.peer import trusted
from models.registry import Choice
from server.neighbours import address, is_this_machine

FRESH_SEC = 10.0
PATIENCE_SEC = 2.0
VERSION = re.compile(r"v\d+\w*")  # the end of an OpenAI-like address

REFUSED = (401, 403, 404)  # it is there, but whether it would do its work for us is not known

State = Literal["ok", "off", "refusing", "failing", "unreachable"]
Where = Literal["process", "machine", "remote"]


@dataclass(frozen=True, slots=True)
class Check:
    """One role's model."""

    role: str
    backend: str
    where: Where
    state: State
    host: str | None = None  # of a server, without how to use it
    ms: float | None = None  # it took to answer


Ask = Callable[[str], Awaitable[int]]


async def status_of(url: str) -> int:
    """What a server answers to a plain question; it need not know us for that."""
    async with httpx2.AsyncClient(
        timeout=PATIENCE_SEC, trust_env=False, verify=trusted(url)
    ) as client:
        return (await client.get(url)).status_code


class Health:
    """What is told is at most some seconds old; only the first to ask waits for it."""

    def __init__(
        self,
        chosen: Mapping[str, Choice],
        ask: Ask = status_of,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chosen = chosen
        self._ask = ask
        self._now = now
        self._told: list[Check] | None = None
        self._looked = float("-inf")
        self._looking: asyncio.Task[list[Check]] | None = None

    async def checks(self) -> list[Check]:
        if self._looking is None and self._now() - self._looked >= FRESH_SEC:
            self._looked = self._now()
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(self._seen)
        if self._told is not None:
            return self._told
        assert self._looking is not None, "nothing was told, so somebody looks"
        return await asyncio.shield(self._looking)

    async def close(self) -> None:
        if self._looking:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def _seen(self, looking: asyncio.Task[list[Check]]) -> None:
        self._looking = None
        if not looking.cancelled():
            self._told = looking.result()

    async def _look(self) -> list[Check]:
        return list(await asyncio.gather(*(self._check(*each) for each in self._chosen.items())))

    async def _check(self, role: str, choice: Choice) -> Check:
        url = address(role, choice)
        host = urlsplit(url).hostname if url else None
        if not url or not host:
            state: State = "off" if choice.backend == "off" else "ok"
            return Check(role, choice.backend, "process", state)
        where: Where = "machine" if is_this_machine(host) else "remote"
        began = self._now()
        try:
            async with asyncio.timeout(PATIENCE_SEC):
                status = await self._ask(_question(url))
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError):
            return Check(role, choice.backend, where, "unreachable", host)
        ms = round((self._now() - began) * 1000, 1)
        return Check(role, choice.backend, where, _meant(status), host, ms)


def _meant(status: int) -> State:
    if status >= 500:
        return "failing"
    return "refusing" if status in REFUSED else "ok"


def _question(url: str) -> str:
    """What every server of the kind answers cheaply: its models, or how it is."""
    base = url.rstrip("/")
    version = urlsplit(base).path.rsplit("/", 1)[-1]
    return f"{base}/models" if VERSION.fullmatch(version) else f"{base}/health"
