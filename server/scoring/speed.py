"""python -m server.scoring.speed: how fast sessions are scored, and in how much memory.

It makes sessions, scores them as a command of their own, and prints what it measured as JSON.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import soundfile
import typer

from models.types import WIRE_RATE
from server import ids
from server.sessions.exchanges import TRANSCRIBED
from server.sessions.format import (
    AUDIO_FILE,
    EVENTS_FILE,
    SESSION_FILE,
    Audio,
    Consented,
    Ending,
    Line,
    ModelUsed,
    SessionFile,
    TurnSpan,
    folder_name,
)

CHEAP = "overlap,choices,perceived"  # words and percepts alone
HEAVY = "entrainment,dnsmos"  # these work the processor
ROOT = Path(__file__).parents[2]
STARTED = datetime(2026, 1, 1, tzinfo=UTC)
TURN, PAUSE = 2 * WIRE_RATE, WIRE_RATE // 2
SAID = "I have been waiting for the results since Monday and nobody calls me back."
GIVEN = "That sounds hard. Waiting without a word from anybody wears one out."

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def main(
    exchanges: Annotated[int, typer.Option(help="Scored by words, to see the memory.")] = 10_000,
    per_session: Annotated[int, typer.Option(help="Exchanges of each session.")] = 4,
    heavy: Annotated[int, typer.Option(help="Sessions scored by sound, to see workers.")] = 8,
    metrics: Annotated[str, typer.Option(help="Of the first part.")] = CHEAP,
    heavy_metrics: Annotated[str, typer.Option(help="Of the second part.")] = HEAVY,
    folder: Annotated[Path | None, typer.Option(help="Else one that is removed.")] = None,
) -> None:
    """Measure scoring on this machine."""
    with _folder(folder) as room:
        told: dict[str, Any] = {"cores": os.cpu_count()}
        many = room / "many"
        for nth in range(exchanges // per_session):
            made(many / "runs", nth, per_session)
            item(many, nth, per_session)
        first, again = (scored(many, many / "out", metrics) for _ in range(2))
        told["exchanges"] = {
            "count": exchanges,
            "sessions": exchanges // per_session,
            "metrics": metrics,
            "seconds": first.seconds,
            "per_sec": round(exchanges / first.seconds, 1),
            "peak_mb": first.peak_mb,
            "cached_seconds": again.seconds,
            "cached_peak_mb": again.peak_mb,
            "scores_mb": round((many / "out/scores.json").stat().st_size / 2**20, 1),
        }
        told["workers"] = _workers(room, heavy, heavy_metrics)
    print(json.dumps(told, indent=1))


def _workers(room: Path, sessions: int, metrics: str) -> dict[str, Any]:
    """The same sessions by one worker and by two; starting up is measured apart."""
    took: dict[str, float] = {}
    for count in (1, 2):
        for name, some in (("none", 1), ("all", sessions)):
            place = room / f"{name}{count}"
            for nth in range(some):
                made(place / "runs", nth, 4, sound=True)
            out = place / "runs/reports/speed"
            ran = scored(place / "runs", out, metrics, "--workers", str(count))
            took[f"{name}{count}"] = ran.seconds
    one, two = (took[f"all{count}"] - took[f"none{count}"] for count in (1, 2))
    return {
        "sessions": sessions,
        "metrics": metrics,
        "one_sec": took["all1"],
        "two_sec": took["all2"],
        "speed_up": round(took["all1"] / took["all2"], 2),
        "speed_up_without_start": round(one / two, 2) if two > 0 else None,
    }


@dataclass(frozen=True, slots=True)
class Ran:
    seconds: float
    peak_mb: float


# A program is told to have needed as much as whoever started it: so a small one starts it.
WATCH = """
import os, subprocess, sys
with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL) as process:
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
print(used.ru_maxrss)
sys.exit(process.returncode)
"""


def scored(path: Path, out: Path, metrics: str, *more: str) -> Ran:
    """As a command, whose memory is its own."""
    command = [
        sys.executable, "-c", WATCH, sys.executable, "-m", "server.scoring", str(path),
        "--out", str(out), "--metrics", metrics, "--no-report", *more,
    ]  # fmt: skip
    begun = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    if done.returncode:
        raise typer.Exit(done.returncode)
    return Ran(round(time.monotonic() - begun, 2), round(int(done.stdout) / 1024, 1))


# -- sessions


def made(runs: Path, nth: int, exchanges: int, *, sound: bool = False) -> str:
    """A session with so many exchanges in its own words; `sound`: tones that rise and fall."""
    session_id, started = _id(nth), STARTED + timedelta(minutes=nth)
    folder = runs / folder_name(session_id, started)
    folder.mkdir(parents=True, exist_ok=True)
    spans, events, at = [], [], PAUSE
    for number in range(exchanges):
        for role, text in (("user", SAID), ("assistant", GIVEN)):
            item = ids.new("item")
            span = {"item_id": item, "role": role, "start": at, "end": at + TURN}
            spans.append(TurnSpan.model_validate(span))
            events += [(at + TURN, event) for event in _events(item, role, f"{text} {number}")]
            at += TURN + PAUSE
    end = Ending(at=at, wall=started + timedelta(seconds=at / WIRE_RATE), why="hung_up")
    allowed = Consented(at=0, wall=started, transcript=True, audio=sound, research=True)
    file = SessionFile(
        id=session_id,
        state="finished",
        software="attune speed",
        started=started,
        ended=end,
        consent=[allowed],
        profile="embedded",
        models={"responder": ModelUsed(backend="one" if nth % 2 else "other")},
        audio=Audio(rate=WIRE_RATE, samples=at, recorded_from=0) if sound else None,
        turns=spans,
    )
    (folder / SESSION_FILE).write_text(file.model_dump_json(), "utf-8")
    (folder / EVENTS_FILE).write_text("".join(_lines(events, started)), "utf-8")
    if sound:
        pcm = np.zeros((at, 2), np.int16)
        for number, turn in enumerate(spans):
            pcm[turn.start : turn.end, number % 2] = _tone(number)
        soundfile.write(folder / AUDIO_FILE, pcm, WIRE_RATE, subtype="PCM_16")
    return session_id


def item(room: Path, nth: int, exchanges: int) -> None:
    """What the data set would know of it."""
    with (room / "items.jsonl").open("a", encoding="utf-8") as file:
        for number in range(exchanges):
            truth = {"text": SAID, "reference": GIVEN, "cue": "sad", "topic": f"topic {nth % 9}"}
            line = {"session_id": _id(nth), "number": number, "annotation": truth}
            file.write(json.dumps(line) + "\n")


def _id(nth: int) -> str:
    return f"sess_{nth:020x}"


def _events(item: str, role: str, text: str) -> Iterator[dict[str, Any]]:
    if role == "user":
        yield {"type": TRANSCRIBED, "item_id": item, "transcript": text}
        percept = {"emotion": {"sad": 0.8, "neutral": 0.2}, "age": {"adult": 1.0}, "unknown": []}
        yield {"type": "attune.percept", "item_id": item, "final": True, "percept": percept}
    else:
        content = [{"type": "output_audio", "transcript": text}]
        told = {"id": item, "type": "message", "role": role, "content": content}
        yield {"type": "conversation.item.done", "item": told}
        yield {"type": "response.output_audio_transcript.done", "item_id": item, "transcript": text}


def _lines(events: Sequence[tuple[int, dict[str, Any]]], started: datetime) -> Iterator[str]:
    for n, (at, event) in enumerate(events):
        wall = started + timedelta(seconds=at / WIRE_RATE)
        line = Line(n=n, at=at, wall=wall, source="server", event=event)
        yield line.model_dump_json(by_alias=True) + "\n"


def _tone(number: int) -> Any:
    moments = np.arange(TURN) / WIRE_RATE
    pitch = 120 + 15 * (number % 7) + 30 * np.sin(2 * np.pi * 1.5 * moments)
    phase = 2 * np.pi * np.cumsum(pitch) / WIRE_RATE
    voice = sum(np.sin(phase * k) / k for k in range(1, 12))
    syllables = np.clip(np.sin(2 * np.pi * 4 * moments) + 0.6, 0, 1)
    return np.round(voice * syllables * 5000).astype(np.int16)


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory() as room:
        yield Path(room)


if __name__ == "__main__":
    app()
