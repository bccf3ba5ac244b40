"""The same turns said to our server and to a Pipecat pipeline on the same models, in one run."""

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from models import prompt, weights
from models.protocols import Models
from models.responder_llamacpp import CONTEXT, SAMPLING
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
TEMPERATURE, SEED = 0.2, 7  # as our own reply model's defaults


async def measure(
    server: Served, models: Models, count: int, step: Callable[[str], None]
) -> Report:
    """The pipecat section of the report; skipped where Pipecat is not installed."""
    if not PYTHON.exists():
        return {"skipped": MISSING}
    sounds = await turns_to_take(models, count)
    cpu, ours = server.cpu_sec, list[Answered]()
    for first in range(0, len(sounds), SESSION_TURNS):
        part = sounds[first : first + SESSION_TURNS]
        ours += await conversation(server.url, part, step, None)
    used = server.cpu_sec - cpu
    step(f"Pipecat: {len(sounds)} turns")
    theirs = await _peer(sounds)
    return compared(ours, used, theirs)


def compared(ours: Sequence[Answered], cpu_sec: float, told: Report) -> Report:
    """Both sides' figures, and ours over theirs: below 1 is better."""
    theirs = told["turns"]
    attune: Report = {
        "eos_to_first_audio_ms": summary([turn.eos_to_first_audio_ms for turn in ours]),
        "cpu_sec_per_turn": round(cpu_sec / max(len(ours), 1), 3),
        "early": sum(turn.early for turn in ours),
        "taken_for_several": sum(turn.commits > 1 for turn in ours),
        "unanswered": sum(turn.eos_to_first_audio_ms is None for turn in ours),
    }
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
    mine, other = attune["eos_to_first_audio_ms"], pipecat["eos_to_first_audio_ms"]
    return {
        "n": len(ours),
        "attune": attune,
        "pipecat": pipecat,
        "ratio": {
            "latency_p50": _ratio(mine["p50"], other["p50"]),
            "latency_p95": _ratio(mine["p95"], other["p95"]),
            "cpu": _ratio(attune["cpu_sec_per_turn"], pipecat["cpu_sec_per_turn"]),
        },
        "turns": [
            {
                "name": turn.name,
                "kind": turn.kind,
                "attune_ms": _rounded(turn.eos_to_first_audio_ms),
                "pipecat_ms": _rounded(other_turn["eos_to_first_audio_ms"]),
            }
            for turn, other_turn in zip(ours, theirs, strict=True)
        ],
    }


async def _peer(sounds: Sequence[Sound]) -> Report:
    with TemporaryDirectory() as folder:
        job = json.dumps(_job(sounds, Path(folder))).encode()
        child = await asyncio.create_subprocess_exec(
            *(str(PYTHON), str(SCRIPT)),
            cwd=folder,
            env={**os.environ, "ATTUNE_CACHE": str(weights.path("smollm2").parent)},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(START_SEC + TURN_SEC * (len(sounds) + 1)):
                out, problem = await child.communicate(job)
        except TimeoutError:
            raise BenchError("Pipecat did not finish in time") from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
    if child.returncode:
        raise BenchError(f"Pipecat broke down: {problem.decode().strip().splitlines()[-1:]}")
    told: Report = json.loads(out)
    return told


def _job(sounds: Sequence[Sound], folder: Path) -> dict[str, Any]:
    turns = []
    for number, each in enumerate(sounds):
        file = folder / f"{number}.npy"
        np.save(file, each.samples)
        turns.append({"name": each.name, "kind": each.kind, "file": str(file), "end": each.end})
    return {
        "turns": turns,
        "weights": {name: str(weights.path(name)) for name in (*MOONSHINE, "smollm2")},
        "moonshine": MOONSHINE,
        "context": CONTEXT,
        "prompt": [{"role": t.role, "content": t.text} for t in prompt.messages("", [])],
        "sampling": {**SAMPLING, "temperature": TEMPERATURE, "seed": SEED},
        "reply_tokens": REPLY_TOKENS,
        "settle_sec": SETTLE_SEC,
        "session_turns": SESSION_TURNS,
        "audible": AUDIBLE,
    }


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return round(ours / theirs, 3) if ours and theirs else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
