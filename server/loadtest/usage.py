"""What the server takes of its machine, as far as one can look: its processes, or what it tells."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import Request, urlopen

import orjson
import psutil

from server.bench.figures import Report

EVERY_SEC = 0.5
LOOPBACK = ("127.0.0.1", "localhost", "::1")
MB = 1 << 20
ASK_SEC = 5.0


class Unseen(Exception):
    """The server's use of its machine cannot be seen from here: one sentence."""


@dataclass(frozen=True, slots=True)
class Glance:
    """At one moment; processor time is of all processes together, since any beginning."""

    cpu_sec: float
    memory_mb: float
    processes: int | None


@dataclass(slots=True)
class Processes:
    """Those that listen on a port of this machine, with their children."""

    port: int
    spent: dict[int, float] = field(default_factory=dict)  # CPU seconds, also of those that ended

    def glance(self) -> Glance:
        found = self._found()
        if not found:
            raise Unseen(f"no process that may be looked at listens on port {self.port} here")
        memory = 0
        for process in found:
            try:
                times = process.cpu_times()
                self.spent[process.pid] = times.user + times.system
                memory += process.memory_info().rss
            except psutil.Error:
                continue  # it has just ended
        return Glance(sum(self.spent.values()), memory / MB, len(found))

    def _found(self) -> set[psutil.Process]:
        try:
            connections = psutil.net_connections("tcp")
        except psutil.Error:
            return set()
        pids = {
            each.pid
            for each in connections
            if each.status == psutil.CONN_LISTEN and each.laddr.port == self.port and each.pid
        }
        found: set[psutil.Process] = set()
        for pid in pids:
            try:
                process = psutil.Process(pid)
                found |= {process, *process.children(recursive=True)}
            except psutil.Error:
                continue
        return found


@dataclass(slots=True)
class Told:
    """As the server's own /api/system tells its operator; CPU is summed up from its shares."""

    url: str
    token: str
    spent: float = 0.0
    last: float | None = None

    def glance(self) -> Glance:
        request = Request(
            f"{self.url}/api/system", headers={"Authorization": f"Bearer {self.token}"}
        )
        try:
            with urlopen(request, timeout=ASK_SEC) as answer:
                machine: dict[str, Any] = orjson.loads(answer.read())["machine"]
        except HTTPError as error:
            raise Unseen(f"the server answered {error.code} to its operator's question") from None
        except (URLError, OSError, ValueError, KeyError):
            raise Unseen("the server does not tell of its machine") from None
        now = time.monotonic()
        self.spent += machine["process_cpu"] / 100 * (now - (self.last or now))
        self.last = now
        return Glance(self.spent, machine["memory_mb"], None)


def glancing(url: str, token: str | None) -> Callable[[], Glance]:
    """How to look at the server of a WebSocket's URL."""
    place = urlsplit(url)
    if place.hostname in LOOPBACK:
        port = place.port or (443 if place.scheme == "wss" else 80)
        return Processes(port).glance
    if token:
        return Told(over_http(place), token).glance

    def nothing() -> Glance:
        raise Unseen("the server is on another machine, and no --token was given to ask it")

    return nothing


def over_http(place: SplitResult) -> str:
    """The same server's address for a browser."""
    return f"{'https' if place.scheme == 'wss' else 'http'}://{place.netloc}"


class Watch:
    """Looks at the server now and then."""

    def __init__(self, glance: Callable[[], Glance]) -> None:
        self._glance = glance
        self._seen: list[tuple[float, Glance]] = []
        self._why: str | None = None

    async def look(self) -> None:
        """Until cancelled, or nothing can be seen."""
        while self._why is None:
            try:
                found = await asyncio.to_thread(self._glance)
                self._seen.append((time.monotonic(), found))
            except Unseen as error:
                self._why = str(error)
            await asyncio.sleep(EVERY_SEC)

    def report(self) -> Report:
        """Null where nothing was seen, with why."""
        if len(self._seen) < 2:
            why = self._why or "it was too short to look twice"
            return {"cpu_percent": None, "cpu_sec": None, "memory_mb": None, "why": why}
        seen, pairs = self._seen, zip(self._seen, self._seen[1:], strict=False)
        (began, first), (ended, last) = seen[0], seen[-1]
        used = last.cpu_sec - first.cpu_sec
        peaks = [(b.cpu_sec - a.cpu_sec) / max(t2 - t1, 1e-9) for (t1, a), (t2, b) in pairs]
        memory = [each.memory_mb for _, each in seen]
        return {
            "cpu_percent": round(100 * used / (ended - began), 1),
            "cpu_percent_most": round(100 * max(peaks), 1),
            "cpu_sec": round(used, 2),
            "seconds": round(ended - began, 1),
            "memory_mb": {
                "first": round(memory[0], 1),
                "last": round(memory[-1], 1),
                "most": round(max(memory), 1),
            },
            "processes": last.processes,
            "why": self._why,
        }
