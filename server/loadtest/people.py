"""A process of talkers: `python -m server.loadtest.people`, told on stdin what to do.

The first line is the job as JSON. It says "here" once it is set up, begins at the next line it is
sent, and writes what its talkers saw into the file that the job names.
"""

import asyncio
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from server.bench.figures import percentile
from server.loadtest.script import Person
from server.loadtest.seen import Seen
from server.loadtest.speech import Repertoire
from server.loadtest.talker import Talker

BEAT_SEC = 0.05


@dataclass(frozen=True, slots=True)
class Job:
    """Some of the people, and where they talk."""

    url: str
    token: str | None  # never on a command line, where everybody could read it
    seconds: float
    speech: str
    out: str
    people: list[dict[str, Any]]

    def to_line(self) -> bytes:
        return orjson.dumps(asdict(self)) + b"\n"


async def talk(job: Job) -> dict[str, Any]:
    """Everything these people saw."""
    late: list[float] = []
    beating = asyncio.create_task(_beat(late))
    cpu, until = time.process_time(), time.monotonic() + job.seconds
    talkers = [
        Talker(person, job.url, job.token, Repertoire(Path(job.speech), person.number), until)
        for person in (Person(**each) for each in job.people)
    ]
    everybody = await asyncio.gather(*(talker.run() for talker in talkers))
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    return {
        "people": [_told(each) for each in everybody],
        "lag_p99_ms": percentile(late, 99),
        "cpu_sec": round(time.process_time() - cpu, 3),
    }


def _told(seen: Seen) -> dict[str, Any]:
    told = asdict(seen)
    told["ids"] = {"own": sorted(seen.ids.own), "strays": seen.ids.strays}
    return told


async def _beat(late: list[float]) -> None:
    """How late the talkers themselves are: their delay must not be taken for the server's."""
    while True:
        due = time.monotonic() + BEAT_SEC
        await asyncio.sleep(BEAT_SEC)
        late.append((time.monotonic() - due) * 1e3)


def main() -> None:
    from server.launch import uvloop_run

    job = Job(**orjson.loads(sys.stdin.buffer.readline()))
    print("here", flush=True)
    if not sys.stdin.buffer.readline():
        return  # nobody wants to know any more
    uvloop_run(_write_down(job))


async def _write_down(job: Job) -> None:
    told = orjson.dumps(await talk(job))
    await asyncio.to_thread(Path(job.out).write_bytes, told)


if __name__ == "__main__":
    main()
