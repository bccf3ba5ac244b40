"""python -m server.bench: latency, interruption, perception, load, capacity and more, as JSON."""

import asyncio
import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from models import registry
from models.protocols import Models
from models.warm import warm
from server.bench import barge, capacity, latency, perception, recording, talkers
from server.bench.figures import Report, judged
from server.bench.peer import compare
from server.bench.process import BenchError, served
from server.client import CONSENT, CallError, consented
from server.config import PROFILES, ROOT
from server.consent import Consent

SECTIONS = (
    "latency", "barge", "pipecat", "capacity", "perception", "talkers", "recording", "echo",
)  # fmt: skip
PACKAGES = ("hibari-tts", "numpy", "onnxruntime", "uvicorn", "uvloop", "websockets", "xllamacpp")
SEATS = 200
ECHO_SEC = 240.0
# Run as a program of its own: the server's code knows nothing of the tests.
ECHO = (
    "import json; from tests.echo_grid import grid; "
    "print(json.dumps(grid(levels=(-6, -18, -30), delays=(0.02, 0.15, 0.30), rooms=(0.0, 0.6), "
    "replies=1)))"
)

Step = Callable[[str], None]


def machine() -> Report:
    """What the figures were measured on."""
    names = [
        line.split(":", 1)[1].strip()
        for line in (_read("/proc/cpuinfo") or "").splitlines()
        if line.startswith("model name")
    ]
    return {
        "cores": os.cpu_count(),
        "cpu": names[0] if names else platform.processor() or platform.machine(),
        "load_before": [round(load, 2) for load in os.getloadavg()],
        "python_ms": _python_ms(),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
    }


def _python_ms() -> float:
    """A million steps of plain Python: by this, figures of two machines may be held together."""

    def once() -> float:
        begun, total = time.perf_counter(), 0
        for number in range(1_000_000):
            total += number
        return (time.perf_counter() - begun) * 1000

    return round(min(once() for _ in range(5)), 1)


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text("utf-8")
    except OSError:
        return None


def _commit() -> str | None:
    """The checkout's commit, with a + if it has been changed since."""

    def git(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


async def conversations(
    only: set[str], turns: int, consent: Consent | None, step: Step, report: Report
) -> None:
    """The sections that need the models: one server, with the embedded ones."""
    step("loading the models")
    models: Models = registry.load(registry.read(PROFILES / "embedded.toml"))
    try:
        await warm(models)
        async with served("--models", "embedded") as server:
            if "latency" in only:
                report["latency"] = await _section(
                    lambda: latency.measure(server, models, turns, step, consent)
                )
            if "barge" in only:
                report["barge_in"] = await _section(
                    lambda: barge.measure(server, models, turns, step, consent)
                )
            if "pipecat" in only:
                report["pipecat"] = await _section(
                    lambda: compare.measure(server, models, turns, step)
                )
            report["server_problems"] = server.problems[:20]
    finally:
        models.close()


async def many(seconds: float, step: Step) -> Report:
    """More and more talkers on the real models, with no other load of ours on the machine."""
    async with served("--models", "embedded", "--seats", str(capacity.SEATS)) as server:
        found = await capacity.measure(server, seconds, step)
        return {**found, "server_problems": server.problems[:20]}


async def hearing(count: int, step: Step) -> Report:
    """Perception beside transcription, and nothing else in this process."""
    choices = registry.read(PROFILES / "embedded.toml")
    with (
        closing(registry.build("perceiver", choices["perceiver"])) as perceiver,
        closing(registry.build("transcriber", choices["transcriber"])) as transcriber,
    ):
        return await perception.measure(perceiver, transcriber, count, step)


async def load(seconds: float, consent: Consent | None, step: Step) -> Report:
    apart = talkers.apart()
    cores = apart[0] if apart else None
    async with served("--models", "standin", "--seats", str(SEATS), cores=cores) as server:
        found = await talkers.measure(server, seconds, step, consent)
        return {**found, "server_problems": server.problems[:20]}


async def written_down(seconds: float, step: Step) -> Report:
    """Recorded into a folder that goes again."""
    apart = talkers.apart()
    cores = apart[0] if apart else None
    with TemporaryDirectory() as runs:
        flags = ("--models", "standin", "--seats", str(SEATS))
        async with served(*flags, cores=cores, runs=Path(runs)) as server:
            found = await recording.measure(server, seconds, step)
            return {**found, "server_problems": server.problems[:20]}


async def echo(step: Step) -> Report:
    """Both rates of the echo guard over a slice of its grid of rooms."""
    step("echoes in rooms")
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ECHO),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(ECHO_SEC):
            out, problem = await child.communicate()
    except TimeoutError:
        raise BenchError(f"the echo grid took longer than {ECHO_SEC:.0f} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise BenchError(f"the echo grid failed: {problem.decode().strip().splitlines()[-1:]}")
    found: Report = json.loads(out)
    return found


async def _section(measure: Callable[[], Awaitable[Report]]) -> Report:
    """A part of the report, or why there is none: the other parts are still worth having."""
    try:
        return await measure()
    except (BenchError, CallError) as error:
        return {"failed": str(error)}


async def bench(
    only: set[str], turns: int, seconds: float, consent: Consent | None, step: Step
) -> Report:
    report: Report = {"machine": machine(), "consent": consent and consent.scopes}
    if only & {"latency", "barge", "pipecat"}:
        await conversations(only, turns, consent, step, report)
    if "capacity" in only:
        report["capacity"] = await _section(lambda: many(seconds, step))
    if "perception" in only:
        report["perception"] = await _section(lambda: hearing(turns, step))
    if "talkers" in only:
        report["talkers"] = await _section(lambda: load(seconds, consent, step))
    if "recording" in only:
        report["recording"] = await _section(lambda: written_down(seconds, step))
    if "echo" in only:
        report["echo"] = await _section(lambda: echo(step))
    report["n"] = {
        "turns": report.get("latency", {}).get("n"),
        "interruptions": report.get("barge_in", {}).get("attune", {}).get("n"),
        "not_interruptions": report.get("barge_in", {}).get("not_interruptions", {}).get("n"),
    }
    report["targets"] = judged(report)
    return report


def main(
    out: Annotated[Path | None, typer.Option(help="Write the JSON here as well.")] = None,
    only: Annotated[str, typer.Option(help=f"Some of: {','.join(SECTIONS)}.")] = ",".join(SECTIONS),
    turns: Annotated[
        int, typer.Option(min=0, help="Turns and interruptions to measure; 0: all there are.")
    ] = 0,
    seconds: Annotated[
        float, typer.Option(min=0, help="Of each load of talkers; 0: the usual.")
    ] = 0,
    consent: Annotated[
        str | None, typer.Option(metavar="SCOPES", help=f"{CONSENT} Without it, nothing is.")
    ] = None,
) -> None:
    """Measure, and print one JSON object; what is under way shows on stderr."""
    chosen = {name.strip() for name in only.split(",") if name.strip()}
    if unknown := chosen - set(SECTIONS):
        print(f"attune: unknown section {', '.join(sorted(unknown))}; choose from: "
              f"{', '.join(SECTIONS)}", file=sys.stderr)  # fmt: skip
        raise typer.Exit(2)
    allowed = consented(consent)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # also then, stop what we started
    columns = (SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        doing = progress.add_task("starting", total=None)

        def step(what: str) -> None:
            progress.update(doing, description=what)

        report = asyncio.run(bench(chosen, turns, seconds, allowed, step))
    shown = json.dumps(report, indent=1, ensure_ascii=False)
    if out:
        out.write_text(shown + "\n", encoding="utf-8")
    print(shown)
    if failed := [name for name, part in report.items() if _failed(part)]:
        print(f"attune: not measured: {', '.join(failed)}", file=sys.stderr)
        raise typer.Exit(1)


def _failed(part: Any) -> bool:
    return isinstance(part, dict) and "failed" in part


if __name__ == "__main__":
    typer.run(main)
