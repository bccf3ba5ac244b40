"""python -m tests.soak: an hour of conversation with ten talkers, as fast as the machine can.

What it does by the wall clock, such as collecting garbage, it does seldom then: `--pace` holds
them back.

They talk to a real server with stand-in models on the samples clock, and are recorded. Its memory
must stay flat once it is warm, both recorded channels must lie where they were heard to the sample,
and every folder must be whole.
"""

import asyncio
import json
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import soundfile
import typer

from models.types import WIRE_RATE
from server.bench.process import Served, served
from server.recording.verify import verify
from server.sessions.format import AUDIO_FILE, SESSION_FILE, SessionFile
from tests.talker import Talker, talking
from tests.test_hour import EVERY, Loudspeaker, spoken

WARM = 0.3  # of the time, in which caches fill and the allocator finds its size
# MB by which memory may seem to grow after that, over the whole of it: the allocator's own noise.
# Of an hour with ten talkers it is a 70th of the sound that went through.
GROWTH_MB = 24.0
STEP = WIRE_RATE // 2  # samples sent at once
REMEMBERED = 6  # items a talker leaves in the history; by design it may hold 32 MB of sound
FINISH_SEC = 600.0
FLAGS = ("--models", "standin", "--clock", "samples", "--seats", "64")


@dataclass(slots=True)
class Soak:
    """What was seen."""

    talkers: int
    seconds: int
    memory: list[tuple[float, float]] = field(default_factory=list)  # session seconds, MB
    replies: int = 0
    wall_sec: float = 0.0
    faults: list[str] = field(default_factory=list)

    @property
    def growth_mb(self) -> float:
        """By which memory grew in an hour of session time, by regression after warming up."""
        warm = [each for each in self.memory if each[0] >= WARM * self.seconds]
        times, sizes = np.array(warm).T
        return float(np.polyfit(times / 3600, sizes, 1)[0])

    def report(self) -> dict[str, Any]:
        sizes = [size for _, size in self.memory]
        return {
            "talkers": self.talkers,
            "session hours each": round(self.seconds / 3600, 3),
            "wall seconds": round(self.wall_sec, 1),
            "times real time": round(self.seconds / self.wall_sec, 1),
            "replies": self.replies,
            "memory MB first": round(sizes[0], 1),
            "memory MB last": round(sizes[-1], 1),
            "memory MB most": round(max(sizes), 1),
            "growth MB per hour": round(self.growth_mb, 2),
            "faults": self.faults,
        }


class Pace:
    """Keeps talkers within a second of each other, so that one sample of memory is of one time."""

    def __init__(self, talkers: int, times_life: float, reached: Callable[[int], None]) -> None:
        """Takes how many times as fast as life they may go at most; 0: as they can."""
        self._barrier = asyncio.Barrier(talkers)
        self._seconds = 1 / times_life if times_life else 0.0
        self._began = time.monotonic()
        self._reached = reached

    async def second(self, number: int) -> None:
        if await self._barrier.wait() == 0:
            self._reached(number)
        due = self._began + number * self._seconds
        await asyncio.sleep(max(0.0, due - time.monotonic()))


async def _talk(talker: Talker, number: int, soak: Soak, pace: Pace) -> Loudspeaker:
    loudspeaker = Loudspeaker(soak.seconds * WIRE_RATE)
    captured = sequence = 0
    items: deque[str] = deque()
    for second in range(soak.seconds):
        pcm = spoken(second + number).tobytes()
        for begin in range(0, len(pcm), 2 * STEP):
            await talker.socket.send(pcm[begin : begin + 2 * STEP])
            captured += STEP
            for event in await talker.settle():
                if event["type"] == "response.created":
                    sequence = event["response"]["attune"]["sequence"]
                if event["type"] == "response.output_item.added":
                    loudspeaker.begins(sequence, event["response_id"], event["item"]["id"])
                if event["type"] == "conversation.item.added":
                    items.append(event["item"]["id"])
                if event["type"] == "response.done":
                    soak.replies += event["response"]["status"] == "completed"
            for frame in talker.audio:
                loudspeaker.take(frame, captured)
            talker.audio.clear()
            if report := loudspeaker.play(captured):
                await talker.send("attune.playback", **report)
        while len(items) > REMEMBERED:
            await talker.send("conversation.item.delete", item_id=items.popleft())
        talker.events.clear()
        await pace.second(second)
    await talker.settle()
    return loudspeaker


async def _live(url: str, number: int, soak: Soak, pace: Pace) -> tuple[str, int, Loudspeaker]:
    async with talking(url, "?attune=1") as talker:
        await talker.update(attune={"binary": True})
        await talker.send("attune.consent", transcript=True, audio=True, research=True)
        told = await talker.until("attune.recording")
        return told["session_id"], number, await _talk(talker, number, soak, pace)


def _drift(folder: Path, number: int, seconds: int, loudspeaker: Loudspeaker) -> str | None:
    """Which of the channels does not lie where it was heard, if one does not."""
    with soundfile.SoundFile(str(folder / AUDIO_FILE)) as stored:
        if stored.frames != seconds * WIRE_RATE:
            return f"{stored.frames - seconds * WIRE_RATE} samples too many"
        for second in range(seconds):
            both = stored.read(WIRE_RATE, "int16")
            heard = loudspeaker.sounded[second * WIRE_RATE : (second + 1) * WIRE_RATE]
            if not np.array_equal(both[:, 0], spoken(second + number)):
                return f"the user's channel has drifted in second {second}"
            if not np.array_equal(both[:, 1], heard):
                return f"the reply's channel has drifted in second {second}"
    return None


def _check(runs: Path, lived: Sequence[tuple[str, int, Loudspeaker]], soak: Soak) -> None:
    for session_id, number, loudspeaker in lived:
        (folder,) = runs.glob(f"*/{session_id}")
        deadline = time.monotonic() + FINISH_SEC
        while _state(folder) != "finished" and time.monotonic() < deadline:
            time.sleep(0.1)
        soak.faults += [f"{session_id}: {problem}" for problem in verify(folder)]
        if drift := _drift(folder, number, soak.seconds, loudspeaker):
            soak.faults.append(f"{session_id}: {drift}")
    least = soak.talkers * (soak.seconds // EVERY - 1)
    if soak.replies < least:
        soak.faults.append(f"{soak.replies} replies, where {least} were due")
    if (grown := soak.growth_mb * (1 - WARM) * soak.seconds / 3600) > GROWTH_MB:
        soak.faults.append(f"memory grew by {grown:.1f} MB")


def _state(folder: Path) -> str:
    return SessionFile.model_validate_json((folder / SESSION_FILE).read_bytes()).state


async def soaked(
    talkers: int, seconds: int, runs: Path, times_life: float = 0.0, every: int = 5
) -> Soak:
    """Let them talk, look at the server's memory every so many seconds, and check the disk."""
    soak = Soak(talkers, seconds)
    began = time.monotonic()
    async with served(*FLAGS, runs=runs) as server:

        def reached(second: int) -> None:
            if second % every == 0:
                soak.memory.append((second, _memory_mb(server)))

        pace = Pace(talkers, times_life, reached)
        lived = await asyncio.gather(
            *(_live(server.url, number, soak, pace) for number in range(talkers))
        )
        soak.wall_sec = time.monotonic() - began
        await asyncio.to_thread(_check, runs, lived, soak)
        soak.faults += server.problems
    return soak


def _memory_mb(server: Served) -> float:
    return float(server.process.memory_info().rss) / 1e6


def main(
    talkers: Annotated[int, typer.Option(min=1, help="At once.")] = 10,
    minutes: Annotated[float, typer.Option(min=0.5, help="Of session time.")] = 60,
    pace: Annotated[
        float, typer.Option(min=0, help="Times as fast as life, at most; 0: as it can.")
    ] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Write what was seen here, as JSON.")] = None,
) -> None:
    """Soak the server, print what was seen, and fail if anything is wrong."""
    with tempfile.TemporaryDirectory() as runs:
        soak = asyncio.run(soaked(talkers, round(60 * minutes), Path(runs), pace))
    found = json.dumps({**soak.report(), "memory": soak.memory if out else None}, indent=1)
    if out:
        out.write_text(found + "\n", "utf-8")
    print(json.dumps(soak.report(), indent=1))
    raise typer.Exit(1 if soak.faults else 0)


if __name__ == "__main__":
    typer.run(main)
