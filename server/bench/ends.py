"""Where turns are taken to end in recordings of your own: `python -m server.bench.ends DIR`.

The real ear and its models, without a server and faster than life: how often somebody would have
been answered who was not done yet, and how long the others would have waited for the answer to
begin. Every recording is one turn. What a model's work adds to the wait is not in it.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from models import registry
from models.audio import resample
from models.complaints import in_a_line
from models.protocols import Models
from models.types import EAR_RATE, FRAME, WIRE_RATE, AudioChunk, Samples
from server.bench.figures import Report, share, summary
from server.bench.microphone import ROOM
from server.bench.sounds import files_in
from server.client import CallError, read_speech, voice_span
from server.config import PROFILES
from server.endings import Ending, ending
from server.floor import as_if_silent
from server.turns import SilenceGrew, SpeechEnded, SpeechPaused, TurnDetector, TurnOptions

AFTERWARDS_SEC = 5.0  # of a quiet room, in which the last end is found
LEAST_MS = 100.0  # by which the voice went on after an end that was none


@dataclass(frozen=True, slots=True)
class End:
    """Where a turn was taken to be over."""

    at_ms: float
    text: str
    ending: Ending
    finished: float  # the judge's probability


@dataclass(frozen=True, slots=True)
class Listening:
    """One recording, and where it was taken to end: more than once where somebody was cut off."""

    name: str
    spoken_ms: float  # where its voice ends
    ends: Sequence[End]

    @property
    def early(self) -> Sequence[End]:
        return [each for each in self.ends if each.at_ms < self.spoken_ms - LEAST_MS]

    @property
    def waited_ms(self) -> float | None:
        """From the end of the voice to the end of the turn; None if it was found in no other."""
        last = self.ends[-1].at_ms - self.spoken_ms if self.ends else -LEAST_MS
        return last if last > -LEAST_MS else None


async def listened(models: Models, samples: Samples, name: str, options: TurnOptions) -> Listening:
    """One recording in a quiet room, heard to its end and some seconds beyond."""
    _, spoken = voice_span(samples)
    quiet = np.random.default_rng(0).standard_normal(round(AFTERWARDS_SEC * WIRE_RATE)) * ROOM
    heard = resample(np.concatenate([samples, quiet.astype(np.float32)]), WIRE_RATE, EAR_RATE)
    turns = TurnDetector(models.voice_detector.open(), options)
    ends: list[End] = []
    text, finished = "", 0.0
    for begin in range(0, len(heard) - FRAME + 1, FRAME):
        happened = turns.hear(heard[begin : begin + FRAME])
        if isinstance(happened, SpeechPaused):
            text = await models.transcriber.transcribe(AudioChunk(turns.utterance, EAR_RATE))
        if isinstance(happened, SpeechPaused | SilenceGrew):
            silent = as_if_silent(turns.utterance, turns.silent_ms)
            finished = await models.turn_judge.finished(AudioChunk(silent, EAR_RATE))
            happened = turns.judged(finished, ending(text)) or happened
        if isinstance(happened, SpeechEnded):
            ends.append(
                End(turns.heard * 1e3 / EAR_RATE, text, ending(text), round(float(finished), 3))
            )
    return Listening(name, spoken * 1e3 / WIRE_RATE, ends)


def chosen(folder: Path, part: str) -> list[Path]:
    """Every so-manieth, so that rules can be made with one part and tried on another."""
    which, parts = (int(each) if each.isdecimal() else 0 for each in f"{part}/".split("/")[:2])
    if not 1 <= which <= parts:
        raise CallError(f"a part is named like 1/2, not {part!r}")
    return files_in(folder)[which - 1 :: parts]


def figures(found: Sequence[Listening]) -> Report:
    """Of those who were cut off, by whom and in which words; how long the others waited."""
    whole = [each for each in found if not each.early]
    return {
        "early": share([bool(each.early) for each in found]),
        "waited_ms": summary([each.waited_ms for each in whole], 50, 90, 95),
        "never": sorted(each.name for each in whole if each.waited_ms is None),
        "turns": [
            {
                **{"name": each.name, "early": bool(each.early)},
                **{"spoken_ms": round(each.spoken_ms), "waited_ms": each.waited_ms},
                "ends": [asdict(end) for end in each.ends],
            }
            for each in found
        ],
    }


async def measure(
    files: Sequence[Path], profile: str, options: TurnOptions, step: Callable[[], None]
) -> Report:
    found = []
    with closing(registry.load(registry.read(PROFILES / f"{profile}.toml"))) as models:
        for file in files:
            found.append(await listened(models, read_speech(file), file.name, options))
            step()
    return figures(found)


def main(
    folder: Annotated[Path, typer.Argument(help="Of recordings, each a turn.")],
    part: Annotated[str, typer.Option(help="I/N: the Ith of N parts of them.")] = "1/1",
    eagerness: Annotated[str, typer.Option(help="low, medium, auto or high.")] = "auto",
    models: Annotated[str, typer.Option(help="A profile.")] = "embedded",
    out: Annotated[Path | None, typer.Option(help="Write the JSON here as well.")] = None,
) -> None:
    """Find the ends of turns in recordings, and print what came of it as one JSON object."""
    console = Console(stderr=True)
    with in_a_line(console, CallError, ValueError):
        files = chosen(folder, part)
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task("recordings", total=len(files))
            options = TurnOptions(eagerness=eagerness)
            report = asyncio.run(measure(files, models, options, lambda: progress.advance(task)))
    shown = json.dumps(report, indent=1, ensure_ascii=False)
    if out:
        out.write_text(shown + "\n", encoding="utf-8")
    print(shown)


if __name__ == "__main__":
    typer.run(main)
