"""A server of several processes on a real port, for tests that end some of them."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil

from server.config import ROOT

START_SEC, WAIT_SEC = 120.0, 60.0
TOKEN = "the operator's own token"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
OPEN = re.compile(r"listens on (http://\S+)")


@dataclass
class Many:
    parent: psutil.Process
    url: str
    log: Path

    @property
    def wire(self) -> str:
        return self.url.replace("http", "ws", 1) + "/v1/realtime"

    async def get(self, path: str, **more: Any) -> httpx2.Response:
        """Over a connection of its own, which may land in any front."""
        return await self.ask("GET", path, **more)

    async def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        more = {"headers": OPERATOR, **more}
        async with httpx2.AsyncClient(timeout=WAIT_SEC, trust_env=False) as client:
            return await client.request(method, self.url + path, **more)

    async def system(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.get("/api/system")).json()
        return found

    def pids(self) -> dict[str, int]:
        """Of the processes by their names, as their log lines tell."""
        told = self.log.read_text()
        found = {
            name: int(pid) for name, pid in re.findall(r"(front \d+) serves.* (\d+)$", told, re.M)
        }
        (others,) = [{each.pid for each in self.parent.children()} - set(found.values())]
        return {**found, "models": max(others)} if others else found

    def home_of(self, session_id: str) -> str:
        """The process in which somebody talks."""
        (found,) = re.findall(rf"\[(front \d+)\].*{session_id} opened", self.log.read_text())
        return str(found)


@asynccontextmanager
async def many(
    folder: Path, *flags: str, processes: int = 2, **settings: str
) -> AsyncGenerator[Many, None]:
    log = folder / "log"
    environment = {
        **os.environ,
        "ATTUNE_RECORDING__RUNS": str(folder / "runs"),
        "ATTUNE_OPERATOR_TOKEN": TOKEN,
        **settings,
    }
    flags = ("--port", "0", "--processes", str(processes), *flags)
    with log.open("wb") as out:
        started = subprocess.Popen(  # noqa: ASYNC220 - it takes a moment
            [sys.executable, "-m", "server", *flags],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=out,
        )
    try:
        async with asyncio.timeout(START_SEC):
            while not (found := OPEN.search(log.read_text())):
                assert started.poll() is None, log.read_text()
                await asyncio.sleep(0.05)
        yield Many(psutil.Process(started.pid), found[1], log)
    finally:
        children = psutil.Process(started.pid).children() if started.poll() is None else []
        started.terminate()
        try:
            await asyncio.to_thread(started.wait, 30)
        finally:
            for each in (started, *children):
                with suppress(psutil.NoSuchProcess):
                    each.kill()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that tells nobody when it happens."""
    async with asyncio.timeout(WAIT_SEC):
        while not await condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.02)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
