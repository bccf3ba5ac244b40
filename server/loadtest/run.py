"""A load test: speech is made, people are sent out, the server is watched, and all is told."""

import asyncio
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import orjson

from server.bench.figures import Report
from server.bench.process import BenchError
from server.client import CallError
from server.config import ROOT
from server.loadtest import speech
from server.loadtest.ids import Ids
from server.loadtest.people import Job
from server.loadtest.report import report
from server.loadtest.script import JOIN_SEC, Person, people
from server.loadtest.seen import Seen
from server.loadtest.turn import Interruption, TurnSeen
from server.loadtest.usage import Watch, glancing, over_http

PER_PROCESS = 25
START_SEC = 60.0
LATE_SEC = 60.0  # after which a process that has not told its story never will
ASK_SEC = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Who talks to whom, and for how long."""

    url: str
    talkers: int
    minutes: float
    seed: int = 0
    speech: Path | None = None  # recordings of one's own, beside ours
    slow_share: float = 0.1  # of the talkers leave their sockets unread now and then
    token: str | None = None

    @property
    def seconds(self) -> float:
        return 60 * self.minutes + JOIN_SEC


async def run(plan: Plan) -> Report:
    """The report; a BenchError or CallError where there can be none."""
    profile = await asyncio.to_thread(profile_of, plan.url)
    standin = profile == "standin"
    if standin and plan.speech:
        raise CallError(
            "--speech cannot be used here: the server runs stand-ins, to whom people speak noise."
            " Leave it out, or let the server run other models"
        )
    everybody = people(plan.talkers, plan.seed, plan.slow_share, standin)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        said = (
            speech.noises(plan.seed)
            if standin
            else await speech.spoken(plan.talkers, plan.speech, plan.seed)
        )
        speech.keep(said, place)
        jobs = [
            Job(plan.url, plan.token, plan.seconds, folder, str(place / f"seen-{number}"), some)
            for number, some in enumerate(_shared_out(everybody))
        ]
        watch = Watch(glancing(plan.url, plan.token))
        began = datetime.now(UTC)
        await _sent_out(jobs, plan.seconds, watch)
        told = [_read_back(job) for job in jobs]
    seen = [read(each) for part in told for each in part["people"]]
    about = {
        "url": plan.url,
        "profile": profile,
        "talkers": plan.talkers,
        "minutes": plan.minutes,
        "seed": plan.seed,
        "date": began.isoformat(timespec="seconds"),
        "speech": _counted(said),
        "server": watch.report(),
        "client": {
            "processes": len(jobs),
            "cpu_sec": round(sum(part["cpu_sec"] for part in told), 2),
            "lag_p99_ms": max((part["lag_p99_ms"] or 0.0 for part in told), default=0.0),
        },
    }
    return report(seen, standin, about)


def _read_back(job: Job) -> dict[str, Any]:
    told: dict[str, Any] = orjson.loads(Path(job.out).read_bytes())
    return told


def profile_of(url: str) -> str | None:
    """Which models the server runs, as it tells; None where it does not."""
    try:
        with urlopen(f"{over_http(urlsplit(url))}/ready", timeout=ASK_SEC) as answer:
            told = orjson.loads(answer.read())
    except (URLError, OSError, ValueError):
        return None
    profile = told.get("profile") if isinstance(told, dict) else None
    return profile if isinstance(profile, str) else None


def _shared_out(everybody: Sequence[Person]) -> list[list[dict[str, Any]]]:
    """Among as few processes as will do, evenly."""
    count = math.ceil(len(everybody) / PER_PROCESS)
    return [[asdict(person) for person in everybody[first::count]] for first in range(count)]


async def _sent_out(jobs: Sequence[Job], seconds: float, watch: Watch) -> None:
    """Let all begin together, and wait until all have told."""
    children: list[asyncio.subprocess.Process] = []
    watching: asyncio.Task[None] | None = None
    try:
        for job in jobs:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "server.loadtest.people"),
                cwd=ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            children.append(child)
            await _tell(child, job.to_line())
        async with asyncio.timeout(START_SEC):
            for child in children:
                assert child.stdout is not None, "its output is a pipe"
                if not await child.stdout.readline():
                    raise BenchError("a process of talkers did not start")
        watching = asyncio.create_task(watch.look())
        for child in children:
            await _tell(child, b"go\n")
        async with asyncio.timeout(seconds + LATE_SEC):
            for child in children:
                if await child.wait():
                    raise BenchError("a process of talkers broke down")
    except TimeoutError:
        raise BenchError("the talkers did not finish in time") from None
    finally:
        if watching:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
        for child in children:
            if child.returncode is None:
                child.kill()
                await child.wait()


async def _tell(child: asyncio.subprocess.Process, line: bytes) -> None:
    assert child.stdin is not None, "its input is a pipe"
    try:
        child.stdin.write(line)
        await child.stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        raise BenchError("a process of talkers did not start") from None


def read(told: dict[str, Any]) -> Seen:
    """What a talker saw, as its process wrote it down."""
    ids, turns = told.pop("ids"), told.pop("turns")
    for turn in turns:
        if turn["interruption"]:
            turn["interruption"] = Interruption(**turn["interruption"])
    return Seen(
        **told,
        ids=Ids(set(ids["own"]), ids["strays"]),
        turns=[TurnSeen(**turn) for turn in turns],
    )


def _counted(said: Sequence[speech.Saying]) -> dict[str, int]:
    kinds = [f"{each.use}, {each.sound.kind}" for each in said]
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
