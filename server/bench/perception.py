"""What hearing how someone speaks costs, beside what their words cost, and how late it comes."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np

from models.audio import resample
from models.protocols import Perceiver, Transcriber
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples
from server.bench.figures import Report, summary
from server.bench.sounds import recorded
from server.percepts import FOLLOW_SEC

LENGTHS = (3, 10, 30)  # seconds of speech
TURN = 10
TOGETHER = 8  # conversations
ROUNDS = 3  # over which what is done together is averaged


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of the processor, all threads together, and of the clock on the wall."""

    cpu: float = 0.0
    wall: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.cpu + other.cpu, self.wall + other.wall)


class Watch:
    """Times what is done within it."""

    def __enter__(self) -> "Watch":
        self.spent = Spent()
        self._began = process_time(), perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        cpu, wall = self._began
        self.spent = Spent(process_time() - cpu, perf_counter() - wall)


@dataclass(frozen=True, slots=True)
class Followed:
    """A turn that was followed while it was spoken."""

    running: Spent  # all percepts before its end
    voice: Spent  # the percept of the whole, at its end
    joined: Spent  # the same once more, when its words are known


async def measure(
    perceiver: Perceiver, transcriber: Transcriber, count: int, step: Callable[[str], None]
) -> Report:
    """The perception section of the report; `count` 0 takes every stretch of speech there is."""
    spoken = speech()
    step("perception: getting warm")
    await whole(perceiver, transcriber, stretches(spoken, LENGTHS[0], 1))
    at_once = {}
    for seconds in LENGTHS:
        step(f"perception: {seconds} s at once")
        some = stretches(spoken, seconds, count)
        at_once[f"{seconds}_sec"] = await whole(perceiver, transcriber, some)
    step(f"perception: turns of {TURN} s")
    turns = []
    for stretch in stretches(spoken, TURN, count):
        words = await transcriber.transcribe(AudioChunk(stretch))
        turns.append(await follow(perceiver, stretch, words))
    step(f"perception: {TOGETHER} at once")
    return {
        "whole": at_once,
        "turn": figures(turns),
        "together": await together(perceiver, stretches(spoken, LENGTHS[0], TOGETHER)),
    }


def speech() -> Samples:
    """The recorded people, one after the other, as the ear hears them."""
    parts = [resample(each.samples, WIRE_RATE, EAR_RATE) for each in recorded()]
    return np.concatenate(parts)


def stretches(spoken: Samples, seconds: float, count: int = 0) -> list[Samples]:
    """Pieces of that length, none overlapping another; at most so many unless that is 0."""
    size = round(seconds * EAR_RATE)
    pieces = [spoken[at : at + size] for at in range(0, len(spoken) - size + 1, size)]
    return pieces[: count or None]


async def whole(perceiver: Perceiver, transcriber: Transcriber, some: Sequence[Samples]) -> Report:
    """Each stretch heard once, all of it, with its words; and what finding these takes."""
    words_cost, percept_cost, seconds = Spent(), Spent(), 0.0
    for stretch in some:
        audio = AudioChunk(stretch)
        with Watch() as transcribing:
            words = await transcriber.transcribe(audio)
        with Watch() as perceiving:
            await perceiver.attend().perceive(audio, words)
        words_cost += transcribing.spent
        percept_cost += perceiving.spent
        seconds += audio.duration
    return {
        "n": len(some),
        "cpu_sec_per_sec": round(percept_cost.cpu / seconds, 4),
        "transcriber_cpu_sec_per_sec": round(words_cost.cpu / seconds, 4),
        "over_transcriber": _ratio(percept_cost.cpu, words_cost.cpu),
    }


async def follow(perceiver: Perceiver, spoken: Samples, words: str) -> Followed:
    """One turn as a conversation hears it: while it grows, at its end, and with its words."""
    attention = perceiver.attend()
    step = round(FOLLOW_SEC * EAR_RATE)
    with Watch() as running:
        for end in range(step, len(spoken), step):
            await attention.glance(AudioChunk(spoken[:end]))
    with Watch() as voice:
        await attention.perceive(AudioChunk(spoken))
    with Watch() as joined:
        await attention.perceive(AudioChunk(spoken), words)
    return Followed(running.spent, voice.spent, joined.spent)


def figures(turns: Sequence[Followed]) -> Report:
    """What following a turn costs, and how late its percept comes once it is over."""
    running = [turn.running.cpu / TURN for turn in turns]
    return {
        "final_ms": summary([(turn.voice + turn.joined).wall * 1e3 for turn in turns]),
        "of_it_voice_ms": summary([turn.voice.wall * 1e3 for turn in turns]),
        "of_it_words_ms": summary([turn.joined.wall * 1e3 for turn in turns]),
        # The same where nothing else is running.
        "final_cpu_ms": summary([(turn.voice + turn.joined).cpu * 1e3 for turn in turns]),
        "running_cpu_sec_per_sec": round(float(np.mean(running)), 4) if running else None,
    }


async def together(perceiver: Perceiver, some: Sequence[Samples]) -> Report:
    """The same stretches one after the other, and all in the same moment, each on its own."""

    async def hear(stretch: Samples) -> None:
        await perceiver.attend().perceive(AudioChunk(stretch))

    alone, batched = Spent(), Spent()
    for _ in range(ROUNDS):
        with Watch() as watch:
            for stretch in some:
                await hear(stretch)
        alone += watch.spent
        with Watch() as watch:
            await asyncio.gather(*map(hear, some))
        batched += watch.spent
    percepts = ROUNDS * len(some)
    return {
        "conversations": len(some),
        "alone_cpu_ms": round(alone.cpu / percepts * 1e3, 2),
        "batched_cpu_ms": round(batched.cpu / percepts * 1e3, 2),
        "batched_over_alone": _ratio(batched.cpu, alone.cpu),
        "all_done_ms": round(batched.wall / ROUNDS * 1e3, 1),
    }


def _ratio(part: float, of: float) -> float | None:
    return round(part / of, 3) if of else None
