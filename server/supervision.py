"""Backends started with the server, and again whenever they die or hang."""

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Literal

import httpx2

from models.backoff import Backoff
from models.peer import trusted
from server.config import PREFIX, ROOT, BackendProcess
from server.readiness import Backend

log = logging.getLogger(__name__)

KEEPER = Path(__file__).with_name("keeper.py")
STOP_SEC = 15.0  # for a keeper, which gives its command less
STARTING_SEC = 0.5  # between two looks at one that is not up yet
LOOK_SEC = 0.2
IN_VAIN = 3  # starts after which nobody waits for it any longer
STEADY_SEC = 60.0  # once it was up for so long, what happened before is forgotten
RESTARTS = Backoff(first_sec=1.0, longest_sec=60.0)

State = Literal["starting", "up", "waiting", "stopped"]


class Kept:
    """One backend: `run` starts it again and again; cancelling that ends it."""

    def __init__(
        self,
        name: str,
        process: BackendProcess,
        backoff: Backoff = RESTARTS,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.state: State = "stopped"
        self.restarts = 0
        self.seen_up = threading.Event()
        self._process = process
        self._backoff = backoff
        self._changed = changed

    async def run(self) -> None:
        failures = 0
        try:
            while True:
                self._become("starting")
                async with self._running() as keeper:
                    up_sec = await self._watch(keeper)
                failures = 1 if up_sec > STEADY_SEC else failures + 1
                self.restarts += 1
                self._become("waiting")
                wait = self._backoff.after(failures)
                log.warning("backend %s starts again in %.1f seconds", self.name, wait)
                await asyncio.sleep(wait)
        finally:
            self._become("stopped")

    def _become(self, state: State) -> None:
        self.state = state
        self._changed()

    @asynccontextmanager
    async def _running(self) -> AsyncGenerator[asyncio.subprocess.Process, None]:
        asked = self._process
        command = [sys.executable, "-I", "-S", str(KEEPER), str(asked.log_file(self.name))]
        keeper = await asyncio.create_subprocess_exec(
            *command,
            str(round(asked.log_mb * 1e6)),
            *asked.command,
            cwd=ROOT,
            env=_environment() | asked.env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # an interrupt at the terminal is ours to act on
        )
        log.info("backend %s started", self.name)
        try:
            yield keeper
        finally:
            await _ended(keeper)

    async def _watch(self, keeper: asyncio.subprocess.Process) -> float:
        """Until it dies or hangs; for how many seconds it was up."""
        dies = asyncio.create_task(keeper.wait())
        try:
            return await self._answering(dies)
        finally:
            dies.cancel()
            await asyncio.gather(dies, return_exceptions=True)

    async def _answering(self, dies: "asyncio.Task[int]") -> float:
        asked, began = self._process, time.monotonic()
        up_since: float | None = None
        missed = 0
        while True:
            if await _answers(asked.ready, asked.patience_sec):
                if up_since is None:
                    log.info("backend %s is up", self.name)
                    up_since = time.monotonic()
                    self._become("up")
                    self.seen_up.set()
                missed = 0
            elif up_since is not None:
                missed += 1
            now = time.monotonic()
            if missed >= asked.misses:
                log.error("backend %s hangs, and is ended", self.name)
                break
            if up_since is None and now - began > asked.start_sec:
                log.error("backend %s was not up within %g seconds", self.name, asked.start_sec)
                break
            pause = STARTING_SEC if up_since is None else asked.check_sec
            await asyncio.wait([dies], timeout=pause)
            if dies.done():
                log.error("backend %s ended with status %d", self.name, dies.result())
                break
        return time.monotonic() - up_since if up_since is not None else 0.0


def _environment() -> dict[str, str]:
    """Ours, without our own settings: some are secret."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}


async def _ended(keeper: asyncio.subprocess.Process) -> None:
    """Let the keeper end its command, and end the keeper if it does not."""
    if keeper.stdin:
        keeper.stdin.close()
    waiting = asyncio.ensure_future(keeper.wait())
    try:
        async with asyncio.timeout(STOP_SEC):
            await asyncio.shield(waiting)
    except (TimeoutError, asyncio.CancelledError):
        with suppress(ProcessLookupError):
            os.kill(keeper.pid, signal.SIGKILL)  # its command dies with it
        await waiting
        if (task := asyncio.current_task()) and task.cancelling():
            raise


async def _answers(url: str, patience_sec: float) -> bool:
    try:
        async with (
            asyncio.timeout(patience_sec),
            httpx2.AsyncClient(
                timeout=patience_sec, trust_env=False, verify=trusted(url)
            ) as client,
        ):
            return (await client.get(url)).status_code < 500
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, TimeoutError):
        return False


class Supervision:
    """All of them, in a thread and a loop of their own: models load, and people talk, meanwhile."""

    def __init__(
        self,
        processes: Mapping[str, BackendProcess],
        backoff: Backoff = RESTARTS,
        changed: Callable[[Sequence[Backend]], None] = lambda _: None,
    ) -> None:
        """Starts nothing yet; `changed` is told from the thread whenever one's state changes."""
        self.kept = [
            Kept(name, process, backoff, lambda: changed(self.backends))
            for name, process in processes.items()
        ]
        self._processes = processes
        self._loop = asyncio.new_event_loop()
        self._stopping: asyncio.Event | None = None
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._run, name="supervision", daemon=True)

    @property
    def backends(self) -> list[Backend]:
        return [
            Backend(name=each.name, state=each.state, restarts=each.restarts) for each in self.kept
        ]

    @contextmanager
    def at_work(self) -> Iterator["Supervision"]:
        if not self.kept:
            self._loop.close()
            yield self
            return
        self._thread.start()
        self._begun.wait()
        try:
            yield self
        finally:
            assert self._stopping is not None
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join()
            self._loop.close()

    def wait_until_up(self) -> None:
        """For models that ask their server when they are built; not for ever."""
        began = time.monotonic()
        for each in self.kept:
            until = began + self._processes[each.name].start_sec
            while not each.seen_up.wait(LOOK_SEC):
                if each.restarts >= IN_VAIN or time.monotonic() > until:
                    log.warning("backend %s is not up; the server starts without", each.name)
                    break

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._keep())

    async def _keep(self) -> None:
        self._stopping = asyncio.Event()
        tasks = [asyncio.create_task(each.run()) for each in self.kept]
        self._begun.set()
        await self._stopping.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
