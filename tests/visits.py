"""python -m tests.visits: thousands of conversations one after another, some at a time.

Each comes, has a turn answered, and leaves; every other is recorded. They talk to a real server
with stand-in models on the samples clock. What one leaves behind, however little, adds up.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from server.bench.process import served
from tests.soak import FLAGS
from tests.talker import play_until, talking

WARM = 0.5  # of the visits, in which caches fill and the allocator finds its size
STRETCHES = 3  # into which the rest is cut
# kB by which memory may seem to grow with each visit. It was seen to by 0.7 at most; a short
# history that stays behind adds twice as much.
EACH_KB = 4.0


@dataclass(slots=True)
class Visits:
    """What was seen."""

    wanted: int
    memory: list[tuple[int, float]] = field(default_factory=list)  # visits so far, MB
    answered: int = 0
    wall_sec: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def each_kb(self) -> float:
        """By which memory grew with a visit, in the middle one of some stretches after warming up.

        What stays behind does so in every stretch; the allocator takes a few megabytes once.
        """
        warm = np.array([each for each in self.memory if each[0] >= WARM * self.wanted])
        stretches = np.array_split(warm, max(1, min(STRETCHES, len(warm) // 2)))
        slopes = [np.polyfit(each[:, 0], each[:, 1], 1)[0] for each in stretches]
        return float(np.median(slopes)) * 1e3

    def report(self) -> dict[str, Any]:
        sizes = [size for _, size in self.memory]
        return {
            "visits": self.wanted,
            "answered": self.answered,
            "wall seconds": round(self.wall_sec, 1),
            "memory MB first": round(sizes[0], 1),
            "memory MB last": round(sizes[-1], 1),
            "memory MB most": round(max(sizes), 1),
            "growth kB per visit": round(self.each_kb, 2),
            "problems": self.problems,
        }


async def visited(wanted: int, at_once: int, runs: Path, every: int = 20) -> Visits:
    """Let them come and go, and look at the server's memory every so many visits."""
    seen, numbers = Visits(wanted), iter(range(wanted))
    began = time.monotonic()
    async with served(*FLAGS, runs=runs) as server:

        def left(number: int) -> None:
            if number % every == 0:
                seen.memory.append((number, server.process.memory_info().rss / 1e6))

        await asyncio.gather(*(guests(server.url, numbers, seen, left) for _ in range(at_once)))
        seen.problems = server.problems
    seen.wall_sec = time.monotonic() - began
    return seen


async def guests(url: str, numbers: Iterator[int], seen: Visits, left: Any) -> None:
    """One guest after another, as long as there are any."""
    for number in numbers:
        async with talking(url, "?attune=1") as talker:
            if number % 2:
                await talker.send("attune.consent", transcript=True, audio=True, research=True)
                await talker.until("attune.recording")
            await talker.ask()
            done = await play_until(talker, "response.done")
            seen.answered += done["response"]["status"] == "completed"
        left(number)


def main(
    visits: Annotated[int, typer.Option(min=100, help="In all.")] = 3000,
    at_once: Annotated[int, typer.Option(min=1, help="At the same time.")] = 8,
    out: Annotated[Path | None, typer.Option(help="Write what was seen here, as JSON.")] = None,
) -> None:
    """Have many conversations, print what was seen, and fail if memory grew with them."""
    with tempfile.TemporaryDirectory() as runs:
        seen = asyncio.run(visited(visits, at_once, Path(runs)))
    report = seen.report()
    if out:
        out.write_text(json.dumps({**report, "memory": seen.memory}, indent=1) + "\n", "utf-8")
    print(json.dumps(report, indent=1))
    raise typer.Exit(1 if seen.problems or seen.each_kb > EACH_KB else 0)


if __name__ == "__main__":
    typer.run(main)
