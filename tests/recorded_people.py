"""python -m tests.recorded_people: many people with consents of every kind, and a server that dies.

They talk to a real server with stand-in models, twenty times as fast as people do. It is killed and
started again while they talk. Afterwards the disk alone must tell that every sample that was
allowed is kept, and not one byte that was not.
"""

import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from models.types import WIRE_RATE
from server.bench.process import Served, served
from server.recording.repair import left_behind
from tests.recorded_checks import GRACE_SEC, Findings
from tests.recorded_disk import check, seen_by_the_scan
from tests.simulated_person import Person, Plan, Truth, planned

AT_ONCE = 6
LEFT_TALKING = 3  # when the server is stopped for good
REPAIR_SEC = 120.0
FLAGS = ("--models", "standin", "--clock", "samples", "--seats", "64")
SETTING = "ATTUNE_RECORDING__RUNS"

Step = Callable[[str], None]


@dataclass(slots=True)
class Crowd:
    """People who come one after another, some at a time."""

    waiting: list[Plan]
    truths: list[Truth] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)  # of every server
    problems: list[str] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def talk(self, server: Served, until: int, signal: Literal["kill", "terminate"]) -> None:
        """Go on until so many have talked; then the server is ended under the rest."""
        before, ending = len(self.truths), asyncio.Event()
        people = [asyncio.create_task(self._come(server.url, ending)) for _ in range(AT_ONCE)]
        async with self.news:
            await self.news.wait_for(
                lambda: len(self.truths) >= until or all(task.done() for task in people)
            )
        ending.set()
        ended_at = time.monotonic()
        getattr(server.process, signal)()
        await asyncio.gather(*people)
        for truth in self.truths[before:]:
            if signal == "kill" and truth.ended_at > ended_at - GRACE_SEC:
                truth.killed_at = ended_at
        self.logs.append(server.log.read_text("utf-8", "replace"))
        self.problems += server.problems

    async def _come(self, url: str, ending: asyncio.Event) -> None:
        while self.waiting and not ending.is_set():
            plan = self.waiting.pop(0)
            truth = await Person(plan).live(url)
            if truth.session_id:
                self.truths.append(truth)
            else:  # the server died before a word was said
                self.waiting.append(plan)
            async with self.news:
                self.news.notify_all()


async def live(plans: Sequence[Plan], runs: Path, kills: int, step: Step) -> Crowd:
    """Let everybody talk, kill the server so many times meanwhile, and repair what is left."""
    crowd, dice = Crowd(list(plans)), random.Random(len(plans))
    share = len(plans) / (kills + 1)
    for number in range(kills):
        step(f"{len(crowd.truths)} of {len(plans)} have talked")
        async with served(*FLAGS) as server:
            await crowd.talk(server, round(share * (number + dice.uniform(0.6, 1.2))), "kill")
    left = LEFT_TALKING
    while crowd.waiting:  # again, should the end have come before somebody's first word
        step(f"{len(crowd.truths)} of {len(plans)} have talked")
        async with served(*FLAGS) as server:
            await crowd.talk(server, len(plans) - left, "terminate")
        left = 0
    step("repairing")
    async with served(*FLAGS), asyncio.timeout(REPAIR_SEC):
        while any(left_behind(runs)):  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.2)
    return crowd


def report(crowd: Crowd, findings: Findings, kills: int, wall_sec: float) -> dict[str, Any]:
    talked = sum(truth.captured for truth in crowd.truths) / WIRE_RATE
    return {
        "people": len(crowd.truths),
        "kills": kills,
        "hours of session time": round(talked / 3600, 3),
        "wall seconds": round(wall_sec, 1),
        "times real time": round(talked / wall_sec, 1),
        "barge-ins": sum(truth.barge_ins for truth in crowd.truths),
        "replies heard out": sum(truth.replies for truth in crowd.truths),
        "most seconds lost to a kill": round(max(findings.lost_sec, default=0.0), 3),
        **dict(sorted(findings.counts.items())),
        "server problems": len(crowd.problems),
        "failures": len(findings.failures),
        "failed": findings.failures[:50],
        "problems": crowd.problems[:10],
    }


def simulate(
    sessions: int, kills: int, shortest: float, longest: float, scratch: Path, step: Step
) -> dict[str, Any]:
    """The whole of it, in a folder that is empty."""
    runs = scratch / "runs"
    plans = [planned(number, shortest, longest) for number in range(sessions)]
    begun = time.monotonic()
    with _recording_to(runs):
        crowd = asyncio.run(live(plans, runs, kills, step))
    wall_sec = time.monotonic() - begun
    step("reading the disk")
    findings = check(runs, crowd.truths, crowd.logs, scratch)
    findings.expect(len(crowd.truths) == sessions, f"only {len(crowd.truths)} people talked")
    findings.expect(seen_by_the_scan(crowd.truths[0]), "the scan is blind")
    return report(crowd, findings, kills, wall_sec)


@contextmanager
def _recording_to(runs: Path) -> Iterator[None]:
    """Servers started meanwhile keep their sessions there."""
    before = os.environ.get(SETTING)
    os.environ[SETTING] = str(runs)
    try:
        yield
    finally:
        if before is None:
            del os.environ[SETTING]
        else:
            os.environ[SETTING] = before


def main(
    sessions: Annotated[int, typer.Option(min=8, help="How many people.")] = 200,
    kills: Annotated[int, typer.Option(min=0, help="How often the server is killed.")] = 8,
    shortest: Annotated[float, typer.Option(help="Seconds of session time, at least.")] = 60,
    longest: Annotated[float, typer.Option(help="Seconds of session time, at most.")] = 180,
    out: Annotated[Path | None, typer.Option(help="Write the report here, as JSON.")] = None,
    keep: Annotated[Path | None, typer.Option(help="Leave the recordings in this folder.")] = None,
) -> None:
    """Simulate, check the disk, and print what was found; fails if anything did."""
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as passing, console.status("starting") as status:
        scratch = keep or Path(passing)
        found = simulate(sessions, kills, shortest, longest, scratch, status.update)
    table = Table("what", "found")
    for name, value in found.items():
        if not isinstance(value, list):
            table.add_row(name, f"{value:,}" if isinstance(value, int) else str(value))
    Console().print(table)
    for failure in found["failed"]:
        print(f"FAILED {failure}", file=sys.stderr)
    if out:
        out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    raise typer.Exit(1 if found["failures"] else 0)


if __name__ == "__main__":
    typer.run(main)
