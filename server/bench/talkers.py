"""Many scripted talkers at once: what a conversation costs the server without its models.

The talkers live in processes of their own (`python -m server.bench.talkers`), so that the server
is what is measured. They take turns as people do; among their audio each sends a mistake now and
then, whose answer names it: the time between is what handling a frame takes.
"""

import asyncio
import random
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import cycle
from typing import Any

import numpy as np
import orjson
import psutil
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from models.audio import encode_pcm16
from models.types import WIRE_RATE
from server.bench.figures import Report, percentile, summary
from server.bench.microphone import ROOM
from server.bench.process import BenchError, Served
from server.config import ROOT
from server.consent import Consent

VOICE_SEC, PAUSE_SEC = 2.0, 3.6  # a turn, and time for its answer
VOICE_LEVEL = 0.1
PIECE_SEC = {"binary": 0.04, "json": 0.02}
PROBE_SEC = 1.0  # between mistakes of one talker
JOIN_SEC = 4.0  # over which the talkers arrive
SETTLE_SEC = 2.0  # from the last one's arrival to the first figure
WINDOW_SEC = 20.0
PER_PROCESS = 75
LAGGING_MS = 500.0  # behind by more than a few frames
LOADS = (("binary", 1), ("binary", 50), ("json", 50), ("binary", 150))


@dataclass(slots=True)
class Tally:
    """What one process of talkers saw."""

    frame_ms: list[float] = field(default_factory=list)
    lag_ms: list[float] = field(default_factory=list)  # the talkers' own lateness
    turns: int = 0
    answered: int = 0
    errors: list[str] = field(default_factory=list)
    measuring: bool = False


async def measure(
    server: Served, seconds: float, step: Callable[[str], None], consent: Consent | None = None
) -> Report:
    """The talkers section of the report."""
    report: Report = {}
    for mode, count in LOADS:
        step(f"{count} talkers, {mode}")
        window = seconds or WINDOW_SEC
        report[f"{mode}_{count}"] = await load(server, mode, count, window, consent)
    return report


async def load(
    server: Served, mode: str, count: int, seconds: float, consent: Consent | None
) -> Report:
    """So many at once, for so long: what it costs, and how soon a frame is handled."""
    shares = [count // n for n in [-(-count // PER_PROCESS)] for _ in range(n)]
    shares[0] += count - sum(shares)
    children = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server.bench.talkers"),
            *(server.url, mode, str(talkers), str(seconds), str(seed), _listed(consent)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        for seed, talkers in enumerate(shares)
    ]
    try:
        async with asyncio.timeout(JOIN_SEC + SETTLE_SEC + seconds + 30):
            for child in children:
                await _line(child)  # all have arrived
            cpu, busy, began = server.cpu_sec, _busy_sec(), time.monotonic()
            tallies = [orjson.loads(await _line(child)) for child in children]
            used, wall = server.cpu_sec - cpu, time.monotonic() - began
            others = _busy_sec() - busy - used - sum(tally["cpu_sec"] for tally in tallies)
    except TimeoutError:
        raise BenchError(f"{count} talkers did not finish in time") from None
    finally:
        for child in children:
            if child.returncode is None:
                child.kill()
            await child.wait()
    return {
        "talkers": count,
        "seconds": round(wall, 1),
        "piece_ms": PIECE_SEC[mode] * 1000,
        **costs(used / wall, max(0.0, others / wall), count, tallies),
    }


def costs(used: float, others: float, count: int, tallies: Sequence[Report]) -> Report:
    """The figures of a load, from the shares of a core the server and others than us took."""
    frame_ms = [each for tally in tallies for each in tally["frame_ms"]]
    errors = [each for tally in tallies for each in tally["errors"]]
    turns = sum(tally["turns"] for tally in tallies)
    answered = sum(tally["answered"] for tally in tallies)
    late = percentile(frame_ms, 99)
    # A server that lags behind has not done the work yet: its cost would look too small.
    kept_up = not errors and late is not None and late < LAGGING_MS
    return {
        "kept_up": kept_up,
        "cpu_percent": round(100 * used, 1),
        "cpu_percent_per_talker": round(100 * used / count, 3) if kept_up else None,
        "others_cpu_percent": round(100 * others, 1),
        "frame_ms": summary(frame_ms, 50, 99),
        "client_lag_ms": {
            "p99": max((tally["lag_p99_ms"] or 0.0 for tally in tallies), default=0.0)
        },
        "turns": turns,
        "answered": answered,
        "errors": {"n": len(errors), "kinds": sorted(set(errors))[:5]},
    }


def _listed(consent: Consent | None) -> str:
    """As a talkers' process is told it; empty where they are to say nothing of it."""
    return "" if consent is None else ",".join(consent.scopes) or "none"


def _busy_sec() -> float:
    """Processor time the whole machine has spent on anything."""
    times = psutil.cpu_times()
    return float(times.user + times.system)


async def _line(child: asyncio.subprocess.Process) -> bytes:
    assert child.stdout is not None, "its output is a pipe"
    if not (line := await child.stdout.readline()):
        raise BenchError("a process of talkers broke down")
    return line


# -- the talkers' own process ----------------------------------------------------------------


def script(mode: str) -> list[str | bytes]:
    """One cycle of a talker as messages: voice, then a pause."""
    size = round(PIECE_SEC[mode] * WIRE_RATE)
    seconds = np.arange(round((VOICE_SEC + PAUSE_SEC) * WIRE_RATE)) / WIRE_RATE
    # Noise, not a tone: like speech, it is unlike the stand-in voice, which is a tone.
    noise = np.random.default_rng(0).standard_normal(len(seconds))
    sound = noise * np.where(seconds < VOICE_SEC, VOICE_LEVEL, ROOM)
    pieces = [
        encode_pcm16(sound[begin : begin + size].astype(np.float32))
        for begin in range(0, len(sound) - size + 1, size)
    ]
    if mode == "binary":
        return list(pieces)
    return [
        orjson.dumps(
            {"type": "input_audio_buffer.append", "audio": b64encode(piece).decode()}
        ).decode()
        for piece in pieces
    ]


async def _come(
    url: str,
    mode: str,
    messages: list[str | bytes],
    tally: Tally,
    at: float,
    consent: Consent | None,
) -> None:
    """One talker, from its arrival until cancelled."""
    await asyncio.sleep(at)
    try:
        async with connect(url, max_size=None, compression=None) as socket:
            if mode == "binary":
                agreed = {"attune": {"events": True, "binary": True}}
                update = {"type": "session.update", "session": agreed}
                await socket.send(orjson.dumps(update).decode())
            if consent is not None:
                allowed = {"type": "attune.consent", **asdict(consent)}
                await socket.send(orjson.dumps(allowed).decode())
            sent: dict[str, float] = {}
            hearing = asyncio.create_task(_hear(socket, sent, tally))
            try:
                await _talk(socket, PIECE_SEC[mode], messages, sent, tally)
            finally:
                hearing.cancel()
                await asyncio.wait([hearing])
    except (OSError, InvalidHandshake, ConnectionClosed) as error:
        tally.errors.append(type(error).__name__)


async def _talk(
    socket: ClientConnection,
    piece_sec: float,
    messages: list[str | bytes],
    sent: dict[str, float],
    tally: Tally,
) -> None:
    """Say the script over and over, with a mistake now and then."""
    begin = time.monotonic()
    probe = begin + random.uniform(0, PROBE_SEC)
    for count, (place, message) in enumerate(cycle(enumerate(messages)), 1):
        due = begin + count * piece_sec
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        now = time.monotonic()
        if tally.measuring:
            tally.lag_ms.append((now - due) * 1e3)
            tally.turns += place == 0
        await socket.send(message)
        if now >= probe:
            probe += PROBE_SEC
            name = f"probe-{count}"
            sent[name] = time.monotonic()
            await socket.send(f'{{"type":"mistake","event_id":"{name}"}}')


async def _hear(socket: ClientConnection, sent: dict[str, float], tally: Tally) -> None:
    async for message in socket:
        now = time.monotonic()
        # Most messages are sound: look closely only at those that matter here.
        if isinstance(message, bytes) or '"response.output_audio.delta"' in message:
            continue
        if '"response.done"' in message:
            tally.answered += tally.measuring
        elif '"error"' in message:
            error: dict[str, Any] = orjson.loads(message)["error"]
            began = sent.pop(error.get("event_id") or "", None)
            if began is None:
                tally.errors.append(str(error.get("code") or error.get("type")))
            elif tally.measuring:
                tally.frame_ms.append((now - began) * 1e3)


async def talk(
    url: str, mode: str, count: int, seconds: float, seed: int, consent: Consent | None = None
) -> None:
    """Let the talkers arrive, say so, measure, and print what was seen as one line of JSON."""
    random.seed(seed)
    tally = Tally()
    messages = script(mode)
    # Arrivals are spread unevenly over the cycle, as people's are.
    tasks = [
        asyncio.create_task(_come(url, mode, messages, tally, random.uniform(0, JOIN_SEC), consent))
        for _ in range(count)
    ]
    await asyncio.sleep(JOIN_SEC + SETTLE_SEC)
    print("all here", flush=True)
    cpu = time.process_time()
    tally.measuring = True
    await asyncio.sleep(seconds)
    tally.measuring = False
    seen = {
        "frame_ms": [round(each, 2) for each in tally.frame_ms],
        "lag_p99_ms": percentile(tally.lag_ms, 99),
        "cpu_sec": time.process_time() - cpu,
        "turns": tally.turns,
        "answered": tally.answered,
        "errors": tally.errors,
    }
    print(orjson.dumps(seen).decode(), flush=True)
    for task in tasks:
        task.cancel()
    for problem in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(problem, Exception):
            print(f"talker: {problem!r}", file=sys.stderr)


def apart() -> tuple[list[int], list[int]] | None:
    """Cores for the server and for its talkers; None where there is no choice."""
    here = psutil.Process()
    if not hasattr(here, "cpu_affinity") or len(cores := here.cpu_affinity()) < 2:
        return None
    return cores[:1], cores[1:]


if __name__ == "__main__":
    from server.launch import uvloop_run

    if found := apart():
        psutil.Process().cpu_affinity(found[1])
    url, mode, count, seconds, seed, listed = sys.argv[1:]
    allowed = Consent.of(listed) if listed else None
    uvloop_run(talk(url, mode, int(count), float(seconds), int(seed), allowed))
