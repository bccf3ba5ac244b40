"""The scorer as a process of its own: one at a time, behind everybody who talks."""

import asyncio
import logging
import os
import shutil
import signal
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import orjson
from pydantic import AwareDatetime, BaseModel, Field

from server.report_digest import BrokenReport
from server.reports import SCORES_FILE

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "server.scoring")
ROOT = Path(__file__).parent.parent
NICE = 15
STOP_SEC = 3.0  # to end by itself when told to
REMEMBERED = 20  # runs
SHOWN = 300  # characters of what the scorer says
# Of the environment a scorer gets what programs need to run and to find their files, a judge's
# key if one is set, and nothing else that is secret.
PASSED = (
    "PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "VIRTUAL_ENV",
    "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "TORCH_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE", "GOOGLE_APPLICATION_CREDENTIALS",
    "ATTUNE_CACHE", "ATTUNE_JUDGE_KEY",
)  # fmt: skip
PASSED_FAMILIES = ("LC_", "PYTHON", "CUDA", "NVIDIA_", "HF_", "OMP_", "OPENBLAS_", "MKL_")
SECRET = ("TOKEN", "SECRET", "KEY", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH")

State = Literal["running", "finished", "failed", "stopped"]


class Progress(BaseModel):
    """How far a scoring is, or how it ended."""

    name: str
    state: State
    done: int = Field(0, description="Steps, as the scorer counts them.")
    total: int | None = Field(None, description="Null as long as it is not known.")
    doing: str = Field("", description="In the scorer's words.")
    problem: str | None = Field(None, description="Why it failed, in a sentence.")
    started: AwareDatetime
    ended: AwareDatetime | None = None


class Busy(Exception):
    """One is running already."""


class Scorer:
    def __init__(
        self,
        runs: str,
        shelf: Path,
        finished: Callable[[str], None],
        command: Sequence[str] = COMMAND,
        options: Sequence[str] = (),
    ) -> None:
        """`finished` is called, in a thread, with the name of every report that is whole."""
        self._runs = runs
        self._shelf = shelf
        self._finished = finished
        self._command = tuple(command)
        self._options = tuple(options)
        self._runs_known: OrderedDict[str, Progress] = OrderedDict()
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False

    @property
    def running(self) -> Progress | None:
        latest = next(reversed(self._runs_known.values()), None)
        return latest if latest and latest.state == "running" else None

    def progress(self, name: str) -> Progress | None:
        return self._runs_known.get(name)

    async def start(self, name: str) -> Progress:
        """Score everything recorded into a report of that name, which must be new."""
        if self.running or (self._task and not self._task.done()):
            raise Busy
        out = self._shelf / name
        out.mkdir(parents=True, mode=0o700)
        self._runs_known.pop(name, None)
        self._runs_known[name] = Progress(name=name, state="running", started=datetime.now(UTC))
        while len(self._runs_known) > REMEMBERED:
            self._runs_known.popitem(last=False)
        self._stopping = False
        self._task = asyncio.create_task(self._run(name, out))
        return self._runs_known[name]

    async def stop(self) -> None:
        """End the one that is running, and wait until it has."""
        self._stopping = True
        if self._process and self._process.returncode is None:
            _signal(self._process, signal.SIGTERM)
            try:
                async with asyncio.timeout(STOP_SEC):
                    await self._process.wait()
            except TimeoutError:
                _signal(self._process, getattr(signal, "SIGKILL", signal.SIGTERM))
        if self._task:
            # Something it started may have slipped away, and still hold its pipes.
            _, left = await asyncio.wait([self._task], timeout=STOP_SEC)
            if left and (running := self.running):
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
                await asyncio.to_thread(shutil.rmtree, self._shelf / running.name, True)
                self._tell(running.name, state="stopped", ended=datetime.now(UTC))

    async def _run(self, name: str, out: Path) -> None:
        try:
            problem = await self._score(name, out)
            if problem is None:
                await asyncio.to_thread(self._finished, name)
        except BrokenReport as error:
            problem = str(error)
        except Exception as error:
            log.error("scoring failed: %s", type(error).__name__)
            problem = "The scorer could not be run; the server's log says more."
        state: State = "stopped" if self._stopping else "failed" if problem else "finished"
        if state != "finished":  # also if it wrote scores: nobody has noted down about whom
            await asyncio.to_thread(shutil.rmtree, out, True)
        told = problem if state == "failed" else None
        self._tell(name, state=state, problem=told, ended=datetime.now(UTC))

    async def _score(self, name: str, out: Path) -> str | None:
        """Why it failed; None if it did not."""
        process = await asyncio.create_subprocess_exec(
            *self._command, self._runs, "--out", str(out), *self._options,
            cwd=ROOT, env=passed_on(os.environ), start_new_session=True,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self._process = process
        if self._stopping:  # while it was being started
            _signal(process, signal.SIGTERM)
        with suppress(AttributeError, OSError):  # ended already, or no such thing here
            os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
        assert process.stdout and process.stderr, "both are pipes"
        _, said = await asyncio.gather(
            self._follow(name, process.stdout), _last_line(process.stderr)
        )
        if await process.wait():
            return said or "The scorer ended without saying why."
        if not (out / SCORES_FILE).is_file():
            return f"The scorer wrote no {SCORES_FILE}."
        return None

    async def _follow(self, name: str, lines: asyncio.StreamReader) -> None:
        """Its steps, a JSON object in a line each; whatever else it says is passed over."""
        while line := await _line(lines):
            with suppress(ValueError, TypeError):
                step = orjson.loads(line)
                if isinstance(step, dict) and "done" in step:
                    total = step.get("total")
                    self._tell(
                        name,
                        done=int(step["done"]),
                        total=None if total is None else int(total),
                        doing=str(step.get("doing") or "")[:SHOWN],
                    )

    def _tell(self, name: str, **news: object) -> None:
        known = self._runs_known[name]
        self._runs_known[name] = known.model_copy(update=news)


def passed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """What of the environment the scorer gets."""
    return {name: value for name, value in environment.items() if _is_passed(name.upper())}


def _is_passed(name: str) -> bool:
    if name in PASSED:
        return True
    return name.startswith(PASSED_FAMILIES) and not any(word in name for word in SECRET)


async def _line(stream: asyncio.StreamReader) -> bytes:
    """The next one; one that is too long counts as an empty one."""
    try:
        return await stream.readline()
    except ValueError:
        return b"\n"


async def _last_line(stream: asyncio.StreamReader) -> str:
    last = ""
    while line := await _line(stream):
        last = line.decode(errors="replace").strip() or last
    return last[:SHOWN]


def _signal(process: asyncio.subprocess.Process, what: int) -> None:
    """To the scorer and whatever it started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, what)
        else:
            process.send_signal(what)
