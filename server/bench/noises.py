"""What sounds of your own do to a reply that they sound over: `python -m server.bench.noises DIR`.

None of them should be words: sneezes, laughs, doors, a dog. Each may hold the reply for a moment;
none should make it be given up. Sounds are told of by the folder they lie in.
"""

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from models.complaints import in_a_line
from models.types import WIRE_RATE
from server.bench.barge import Attempt, attempt, rounded
from server.bench.figures import Report, share
from server.bench.process import BenchError, served
from server.bench.sounds import Sound, files_in, sound
from server.client import CallError, read_speech

LONGEST_SEC = 4


def chosen(folder: Path, most: int, seed: int) -> list[Path]:
    """At most so many of every kind, in no order."""
    kinds = defaultdict(list)
    for file in files_in(folder):
        kinds[file.parent].append(file)
    by_chance = random.Random(seed)
    found = []
    for files in kinds.values():
        by_chance.shuffle(files)
        found += files[: most or None]
    by_chance.shuffle(found)
    return found


def read(file: Path) -> Sound:
    return sound(file.name, "noise", read_speech(file)[: LONGEST_SEC * WIRE_RATE])


def figures(found: Sequence[tuple[str, Attempt | None]]) -> Report:
    """Over all of them and by kind; None are those that fell into a gap of the reply."""
    kinds: dict[str, list[Attempt]] = {"all": []}
    for kind, each in found:
        if each:
            kinds["all"].append(each)
            kinds.setdefault(kind, []).append(each)
    return {
        "void": sum(each is None for _, each in found),
        "kinds": {kind: _shares(some) for kind, some in kinds.items()},
        "attempts": [
            {
                **{"kind": kind, "name": each.name, "held": each.held},
                **{"given_up": each.cancelled, "heard": each.heard},
                "silence_ms": rounded(each.silence_ms),
            }
            for kind, each in found
            if each
        ],
    }


def _shares(some: Sequence[Attempt]) -> Mapping[str, Report]:
    return {
        "held": share([each.held for each in some]),
        "given_up": share([each.cancelled for each in some]),
    }


async def measure(files: Sequence[Path], models: str, step: Callable[[], None]) -> Report:
    found = []
    async with served("--models", models) as server:
        for place, file in enumerate(files):
            said = await attempt(server.url, "attune", read(file), place, False, lambda _: None)
            found.append((file.parent.name, said))
            step()
    return figures(found)


def main(
    folder: Annotated[Path, typer.Argument(help="Of sounds, in a folder for each kind.")],
    most: Annotated[int, typer.Option(min=0, help="Of each kind; 0: all.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the choice.")] = 7,
    models: Annotated[str, typer.Option(help="A profile.")] = "embedded",
    out: Annotated[Path | None, typer.Option(help="Write the JSON here as well.")] = None,
) -> None:
    """Let sounds fall into replies, and print what came of it as one JSON object."""
    console = Console(stderr=True)
    with in_a_line(console, BenchError, CallError):
        files = chosen(folder, most, seed)
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("sounds", total=len(files))
            report = asyncio.run(measure(files, models, lambda: progress.advance(task)))
    shown = json.dumps(report, indent=1, ensure_ascii=False)
    if out:
        out.write_text(shown + "\n", encoding="utf-8")
    print(shown)


if __name__ == "__main__":
    typer.run(main)
