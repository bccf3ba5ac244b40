"""A server in a process of its own, started to be measured and always stopped."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from server.config import ROOT

START_SEC, STOP_SEC = 90.0, 8.0
PROBLEM = re.compile(r" (?:WARNING|ERROR|CRITICAL) |^Traceback", re.MULTILINE)


class BenchError(Exception):
    """Something could not be measured: one sentence."""


@dataclass(frozen=True, slots=True)
class Served:
    """A running server."""

    url: str
    process: psutil.Process
    log: Path

    @property
    def cpu_sec(self) -> float:
        """Processor time used so far, all threads and its children's together."""
        spent = 0.0
        for process in (self.process, *self.process.children(recursive=True)):
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue  # a child has just ended
            spent += times.user + times.system
        return spent

    @property
    def problems(self) -> list[str]:
        """What the server complained of."""
        lines = self.log.read_text("utf-8", "replace").splitlines()
        return [line for line in lines if PROBLEM.search(line)]


@asynccontextmanager
async def served(
    *flags: str, cores: list[int] | None = None, runs: Path | None = None
) -> AsyncGenerator[Served, None]:
    """A server on a free port of the loopback, ready to talk; on these cores alone, if told.

    It records where the settings say, unless told otherwise.
    """
    port = _free_port()
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        flags = ("--host", "127.0.0.1", "--port", str(port), *flags)
        child = await asyncio.to_thread(_start, flags, log, runs)
        try:
            await _until_ready(child, port, log)
            process = psutil.Process(child.pid)
            for each in family(process) if cores else []:
                each.cpu_affinity(cores)
            yield Served(f"ws://127.0.0.1:{port}/v1/realtime", process, log)
        finally:
            await asyncio.to_thread(_stop, child)


def family(process: psutil.Process) -> list[psutil.Process]:
    """With ATTUNE_PROCESSES a server is several."""
    return [process, *process.children()]


def _start(flags: Sequence[str], log: Path, runs: Path | None) -> subprocess.Popen[bytes]:
    # What is to be measured is the machine, not what we leave out to spare it.
    settings = {"ATTUNE_ADMISSION__MEASURED": "false"}
    if runs:
        settings["ATTUNE_RECORDING__RUNS"] = str(runs)
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "server", *flags],
            cwd=ROOT,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,  # a group of its own, to be ended as one
        )


def _last_line(log: Path) -> str:
    return "".join(log.read_text("utf-8", "replace").strip().splitlines()[-1:])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def _until_ready(child: subprocess.Popen[bytes], port: int, log: Path) -> None:
    try:
        async with asyncio.timeout(START_SEC):
            while not await asyncio.to_thread(_ready, port):
                if child.poll() is not None:
                    raise BenchError(f"the server did not start: {_last_line(log)}")
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise BenchError(f"the server was not ready within {START_SEC:.0f} s") from None


def _ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _stop(child: subprocess.Popen[bytes]) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            os.killpg(child.pid, how)
        try:
            child.wait(STOP_SEC)
            return
        except subprocess.TimeoutExpired:
            continue
