"""The same turns said to our server and to a Pipecat pipeline on the same models, in one run."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from models import weights
from models.protocols import Models
from models.responder_llamacpp import CONTEXT, SAMPLING
from models.thinking.tuned import TunedThinker
from server.bench.figures import Report, summary
from server.bench.latency import (
    REPLY_TOKENS,
    SESSION_TURNS,
    SETTLE_SEC,
    Answered,
    conversation,
    turns_to_take,
)
from server.bench.process import BenchError, Served
from server.bench.sounds import Sound
from server.client import AUDIBLE
from server.config import ROOT

PYTHON = ROOT / ".venv-bench" / "bin" / "python"
SCRIPT = ROOT / "server" / "bench" / "peer" / "pipecat_turns.py"
MISSING = "there is no .venv-bench: make .venv-bench brings Pipecat"
MOONSHINE = ("moonshine-encoder", "moonshine-decoder", "moonshine-tokenizer")
TURN_SEC, START_SEC = 25.0, 120.0  # at the most
LINE = 1 << 22  # bytes it may tell of one conversation
TEMPERATURE, SEED = 0.2, 7  # as our own reply model's defaults
# Who sets us a part has the reply model word every reply, as the peer's does; otherwise it is asked
# what is of fact alone.
PART = "You are a patient listener."


@dataclass(slots=True)
class Side:
    """What became of the turns on one side of ours, and what they cost."""

    turns: list[Answered] = field(default_factory=list)
    cpu_sec: float = 0.0


async def measure(
    server: Served, models: Models, count: int, step: Callable[[str], None]
) -> Report:
    """The pipecat section of the report; skipped where Pipecat is not installed."""
    if not PYTHON.exists():
        return {"skipped": MISSING}
    sounds = await turns_to_take(models, count)
    ours, asked, theirs = Side(), Side(), list[Report]()
    async with _pipecat() as peer:
        # By turns, conversation by conversation: the machine may not stay as quiet as it is.
        for first in range(0, len(sounds), SESSION_TURNS):
            part = sounds[first : first + SESSION_TURNS]
            for side, instructions in ((ours, ""), (asked, PART)):
                cpu = server.cpu_sec
                side.turns += await conversation(server.url, part, step, None, instructions)
                side.cpu_sec += server.cpu_sec - cpu
            step(f"Pipecat: {len(part)} turns")
            theirs.append(await peer.converse(part))
    turns = [turn for told in theirs for turn in told["turns"]]
    return compared(ours, asked, {"versions": theirs[0]["versions"], "turns": turns})


def compared(ours: Side, asked: Side, told: Report) -> Report:
    """All sides' figures, and ours over theirs: below 1 is better."""
    theirs = told["turns"]
    attune, asking = _told_of(ours), _told_of(asked)
    pipecat: Report = {
        "eos_to_first_audio_ms": summary([turn["eos_to_first_audio_ms"] for turn in theirs]),
        "eos_to_first_frame_ms": summary([turn["eos_to_first_frame_ms"] for turn in theirs]),
        "cpu_sec_per_turn": round(sum(t["cpu_sec"] for t in theirs) / max(len(theirs), 1), 3),
        "early": sum(turn["early"] for turn in theirs),
        "taken_for_several": sum(turn["turns"] > 1 for turn in theirs),
        "unanswered": sum(turn["eos_to_first_audio_ms"] is None for turn in theirs),
        "stages_ms": {
            name: summary([turn["stages_ms"].get(name) for turn in theirs])
            for name in dict.fromkeys(name for turn in theirs for name in turn["stages_ms"])
        },
        "versions": told["versions"],
    }
    return {
        "n": len(ours.turns),
        "attune": attune,
        "attune_asking": asking,
        "pipecat": pipecat,
        "ratio": _ratios(attune, pipecat),
        "ratio_asking": _ratios(asking, pipecat),
        "turns": [
            {
                "name": turn.name,
                "kind": turn.kind,
                "attune_ms": _rounded(turn.eos_to_first_audio_ms),
                "pipecat_ms": _rounded(other_turn["eos_to_first_audio_ms"]),
            }
            for turn, other_turn in zip(ours.turns, theirs, strict=True)
        ],
    }


def _told_of(side: Side) -> Report:
    turns = side.turns
    return {
        "eos_to_first_audio_ms": summary([turn.eos_to_first_audio_ms for turn in turns]),
        "cpu_sec_per_turn": round(side.cpu_sec / max(len(turns), 1), 3),
        "early": sum(turn.early for turn in turns),
        "taken_for_several": sum(turn.commits > 1 for turn in turns),
        "unanswered": sum(turn.eos_to_first_audio_ms is None for turn in turns),
    }


def _ratios(ours: Report, theirs: Report) -> Report:
    mine, other = ours["eos_to_first_audio_ms"], theirs["eos_to_first_audio_ms"]
    return {
        "latency_p50": _ratio(mine["p50"], other["p50"]),
        "latency_p95": _ratio(mine["p95"], other["p95"]),
        "cpu": _ratio(ours["cpu_sec_per_turn"], theirs["cpu_sec_per_turn"]),
    }


class Pipecat:
    """A Pipecat pipeline in a process of its own, which is told what to hear."""

    def __init__(self, child: asyncio.subprocess.Process, folder: Path) -> None:
        self._child = child
        self._folder = folder

    async def tell(self, what: Any) -> None:
        assert self._child.stdin is not None, "its input is a pipe"
        try:
            self._child.stdin.write(json.dumps(what).encode() + b"\n")
            await self._child.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise await self._broken() from None

    async def converse(self, sounds: Sequence[Sound]) -> Report:
        """Say these one after the other in a new conversation."""
        await self.tell([self._laid_down(number, each) for number, each in enumerate(sounds)])
        told: Report = json.loads(await self.hear(TURN_SEC * (len(sounds) + 1)))
        return told

    async def hear(self, seconds: float) -> bytes:
        """What it says next, within so many seconds."""
        assert self._child.stdout is not None, "its output is a pipe"
        try:
            async with asyncio.timeout(seconds):
                line = await self._child.stdout.readline()
        except TimeoutError:
            raise BenchError("Pipecat did not finish in time") from None
        if not line:
            raise await self._broken()
        return line

    def _laid_down(self, number: int, each: Sound) -> dict[str, Any]:
        file = self._folder / f"{number}.npy"
        np.save(file, each.samples)
        return {"name": each.name, "kind": each.kind, "file": str(file), "end": each.end}

    async def _broken(self) -> BenchError:
        assert self._child.stderr is not None, "its complaints are a pipe"
        said = (await self._child.stderr.read()).decode(errors="replace").strip()
        return BenchError(f"Pipecat broke down: {''.join(said.splitlines()[-1:])}")


@asynccontextmanager
async def _pipecat() -> AsyncGenerator[Pipecat, None]:
    with TemporaryDirectory() as folder:
        child = await asyncio.create_subprocess_exec(
            *(str(PYTHON), str(SCRIPT)),
            cwd=folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LINE,
        )
        try:
            peer = Pipecat(child, Path(folder))
            await peer.tell(_setting())
            await peer.hear(START_SEC)  # its models are loaded: that is no part of ours
            yield peer
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()


def _setting() -> dict[str, Any]:
    """The same models, prompt and sampling as ours."""
    return {
        "weights": {name: str(weights.path(name)) for name in (*MOONSHINE, "attune-reply")},
        "moonshine": MOONSHINE,
        "context": CONTEXT,
        "prompt": [{"role": t.role, "content": t.text} for t in TunedThinker().prompt("", [])],
        "sampling": {**SAMPLING, "temperature": TEMPERATURE, "seed": SEED},
        "reply_tokens": REPLY_TOKENS,
        "settle_sec": SETTLE_SEC,
        "audible": AUDIBLE,
    }


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return round(ours / theirs, 3) if ours and theirs else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
