"""Speaks the prepared recordings anew: `python -m ui.make_demo`; `--report` tells what we hear."""

import asyncio
import sys
import tomllib
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import soundfile
import typer
from rich.console import Console

from models.asr_moonshine import Moonshine
from models.audio import resample
from models.perception import sounds
from models.perception.perceiver import AttunePerceiver
from models.speaker_hibari import Hibari
from models.style import Style
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples
from ui.demo_clips import LIST, OURS

ROOM = 10 ** (-66 / 20)  # a quiet room's noise: digital silence is no room
STEP = 2**-11  # finer than that noise nothing is kept, so that the files are small
EDGE_SEC, BREAK_SEC = 0.1, 0.04  # of silence around it, and between words and a sound
AUDIBLE = 0.004
MAX_BYTES = 80_000


@dataclass(frozen=True, slots=True)
class Sound:
    """Something without words."""

    name: str  # of models.perception.sounds
    seed: int
    seconds: float
    level: float  # of its peak

    def made(self) -> Samples:
        rng = np.random.default_rng(self.seed)
        samples = resample(sounds.make(self.name, rng, self.seconds), EAR_RATE, WIRE_RATE)
        return samples * np.float32(self.level / np.abs(samples).max())


@dataclass(frozen=True, slots=True)
class Prepared:
    """What to say, and how."""

    id: str
    file: Path
    words: tuple[str, ...]
    style: Style
    throat: float  # times the speed at which the voice is played
    sound: Sound | None  # between the words; before them it would not be part of the turn

    @classmethod
    def of(cls, entry: dict[str, Any], folder: Path) -> Self:
        given, throat = dict(entry["style"]), entry["throat"]
        given["pace"] = given.get("pace", 1.0) / throat  # so that it is the pace in the end
        given["stress"] = tuple(given.get("stress", ()))
        sound = Sound(**entry["sound"]) if "sound" in entry else None
        file = folder / entry["file"]
        return cls(entry["id"], file, tuple(entry["words"]), Style(**given), throat, sound)


def prepared(folder: Path = OURS) -> list[Prepared]:
    """All that the list names."""
    listed = tomllib.loads((folder / LIST).read_text("utf-8"))["clip"]
    return [Prepared.of(entry, folder) for entry in listed]


async def spoken(voice: Hibari, clip: Prepared) -> Samples:
    """The recording, at WIRE_RATE."""
    parts = [await _words(voice, words, clip) for words in clip.words]
    if clip.sound:
        parts[1:1] = [_silence(BREAK_SEC), clip.sound.made(), _silence(BREAK_SEC)]
    whole = np.concatenate([_silence(EDGE_SEC), *parts, _silence(EDGE_SEC)])
    noise = np.random.default_rng(0).standard_normal(len(whole), np.float32)
    noisy = np.round((whole + np.float32(ROOM) * noise) / STEP) * STEP
    recorded: Samples = np.clip(noisy, -1, 1 - STEP).astype(np.float32)
    return recorded


async def _words(voice: Hibari, words: str, clip: Prepared) -> Samples:
    async with aclosing(voice.speak(words, clip.style)) as chunks:
        said = [chunk.audio.samples async for chunk in chunks]
    samples = resample(np.concatenate(said), round(WIRE_RATE * clip.throat), WIRE_RATE)
    audible = np.flatnonzero(np.abs(samples) > AUDIBLE)
    return samples[audible[0] : audible[-1] + 1]


def _silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * WIRE_RATE), np.float32)


async def make(clips: list[Prepared], console: Console) -> None:
    voice = Hibari()
    try:
        for clip in clips:
            samples = await spoken(voice, clip)
            soundfile.write(clip.file, samples, WIRE_RATE, subtype="PCM_16", compression_level=1.0)
            size = clip.file.stat().st_size
            console.print(f"{clip.file.name}: {len(samples) / WIRE_RATE:.1f} s, {size:,} bytes")
            if size > MAX_BYTES:
                sys.exit(f"{clip.file.name} is larger than {MAX_BYTES:,} bytes: use fewer words.")
    finally:
        voice.close()


async def report(clips: list[Prepared], console: Console) -> None:
    """What our own ears make of them."""
    transcriber, perceiver = Moonshine(), AttunePerceiver()
    try:
        for clip in clips:
            samples, rate = soundfile.read(clip.file, dtype="float32")
            heard = resample(samples, rate, EAR_RATE)
            words = await transcriber.transcribe(AudioChunk(heard, EAR_RATE))
            percept = perceiver.percept_of(heard, words).to_json()
            console.print(f"[b]{clip.id}[/b], {len(samples) / rate:.1f} s: {words}")
            for name in ("emotion", "events", "physiological", "speed", "volume", "gender", "age"):
                likeliest = sorted(percept[name].items(), key=lambda one: -one[1])[:3]
                told = ", ".join(f"{label} {chance:.2f}" for label, chance in likeliest)
                console.print(f"  {name}: {told}")
            console.print(f"  {percept['vad']['expressed']}, unknown: {percept['unknown']}")
    finally:
        transcriber.close()
        perceiver.close()


def main(
    hear: Annotated[bool, typer.Option("--report", help="Only tell what we hear in them.")] = False,
) -> None:
    clips, console = prepared(), Console(highlight=False)
    asyncio.run(report(clips, console) if hear else make(clips, console))


if __name__ == "__main__":
    typer.run(main)
