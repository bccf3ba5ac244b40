"""The echo guard measured over rooms, levels and delays: `python -m tests.echo_grid` prints JSON.

Each case is a simulated room: the reply through a loudspeaker's colour and distortion, a path of
noise that decays as a room does, a microphone with its own noise and its own slightly wrong clock.
"""

import argparse
import asyncio
import itertools
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
import soundfile
import soxr

from models.asr_moonshine import Moonshine
from models.types import EAR_RATE, FRAME, AudioChunk, Samples
from models.vad_silero import SileroDetector
from server.echo import EchoGuard
from server.turns import SpeechStarted, TurnDetector, TurnOptions

LEVELS = (-6, -12, -18, -24, -30)  # dB, echo against the reply as sent
DELAYS = (0.02, 0.08, 0.15, 0.22, 0.30)  # seconds after the hint
ROOMS = (0.0, 0.3, 0.6)  # seconds of RT60; 0 is dry
SOFTER = (0.0, -10.0)  # dB, people speaking over the echo, against the usual
SPEECH = Path(__file__).parent / "data" / "speech"
START = EAR_RATE // 2  # where the reply begins, by its hint
USUAL = -26.0  # dBFS, a person speaking

SENTENCES = (
    "I hear you. That sounds like a long week, and it makes sense that you feel worn out. "
    "Would you like to tell me what happened on Tuesday, or shall we talk about something else?",
    "Well, there are three things you could try. First, write down what you want to say. "
    "Then read it aloud once or twice. And finally, ask a friend to listen.",
    "Oh, what wonderful news! You must be so proud of her. Tell me everything, from the "
    "beginning, and please do not leave out the part about the orchestra.",
    "The capital of Australia is Canberra. Many people think it is Sydney, because Sydney is "
    "larger and better known. The city was planned in nineteen thirteen.",
)


@dataclass(frozen=True, slots=True)
class Room:
    """One way from loudspeaker to microphone."""

    level: float
    delay: float
    rt60: float
    ppm: float = 50.0  # how much faster the microphone's clock runs than the loudspeaker's
    seed: int = 0


def db(value: float) -> float:
    """Decibels to a factor of amplitude."""
    return float(10 ** (value / 20))


def loudness(samples: Samples) -> float:
    """RMS of the parts that are not silence."""
    powers = np.square(samples[: len(samples) // 320 * 320].reshape(-1, 320)).mean(axis=1)
    return float(np.sqrt(powers[powers > powers.max() * 10**-3.5].mean()))


@cache
def reply(index: int) -> Samples:
    """One of our replies as sent, at EAR_RATE, opening without silence."""
    from hibari import Hibari

    voice = Hibari()
    spoken = np.asarray(voice(SENTENCES[index], seed=index), np.float32)
    samples: Samples = soxr.resample(spoken, voice.sample_rate, EAR_RATE).astype(np.float32)
    return samples[max(0, int(np.argmax(np.abs(samples) > 0.01)) - 160) :]


@cache
def clips() -> tuple[Samples, ...]:
    """People speaking, three seconds each, at the usual level, from their first sound on."""
    found = []
    for path in sorted(SPEECH.glob("*.ogg")):
        samples, rate = soundfile.read(path, dtype="float32")
        if rate != EAR_RATE:
            samples = soxr.resample(samples, rate, EAR_RATE)
        onset = max(0, int(np.argmax(np.abs(samples) > 0.02)) - 400)
        samples = samples[onset : onset + 3 * EAR_RATE].astype(np.float32)
        found.append(samples * np.float32(db(USUAL) / loudness(samples)))
    assert found, f"no speech in {SPEECH}"
    return tuple(found)


def echo(sent: Samples, room: Room) -> Samples:
    """What of `sent` comes back into the microphone, from the sample its hint names on."""
    size = 1 << (2 * len(sent)).bit_length()
    hertz = np.fft.rfftfreq(size, 1 / EAR_RATE)
    high = (hertz / 250) ** 2
    colour = high / (1 + high) / (1 + (hertz / 6500) ** 4)
    sound = np.tanh(1.5 * np.fft.irfft(np.fft.rfft(sent, size) * colour, size)[: len(sent)])
    path = np.zeros(max(64, int(room.rt60 * EAR_RATE)))
    if room.rt60:
        seconds = np.arange(len(path)) / EAR_RATE
        path = np.random.default_rng(room.seed).standard_normal(len(path))
        path *= 10 ** (-3 * seconds / room.rt60)
        path[:32] = 0  # nothing reflects sooner than 2 ms
        # The longer the room rings, the less of what arrives came straight: +3 dB, 0 dB.
        path *= np.sqrt(10 ** (room.rt60 - 0.6) / np.square(path).sum())
    path[0] = 1
    sound = np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(path, size), size)
    sound = sound[: len(sent) + len(path)]
    if room.ppm:
        sound = soxr.resample(sound, EAR_RATE, EAR_RATE * (1 + room.ppm * 1e-6), quality="VHQ")
    heard: Samples = np.pad(sound, (round(room.delay * EAR_RATE), 0)).astype(np.float32)
    return heard * np.float32(db(room.level) * loudness(sent) / loudness(heard))


def microphone(length: int, parts: Iterable[tuple[Samples, int]], seed: int = 0) -> Samples:
    """The parts, each at its place, over noise at -60 dBFS."""
    heard = (np.random.default_rng(1000 + seed).standard_normal(length) * db(-60)).astype(
        np.float32
    )
    for samples, at in parts:
        piece = samples[: max(0, length - at)]
        heard[at : at + len(piece)] += piece
    return heard


def frames(samples: Samples) -> Iterator[tuple[int, Samples]]:
    for at in range(0, len(samples) - FRAME + 1, FRAME):
        yield at, samples[at : at + FRAME]


def guarded(
    guard: EchoGuard, mic: Samples, sent: Sequence[tuple[Samples, int]], lead: int = 1600
) -> tuple[Samples, list[float]]:
    """What the ear hears behind the guard, and CPU seconds for each frame.

    Replies are sent in pieces of 40 ms, `lead` samples ahead of their hint.
    """
    chunks = [(s[i : i + 640], at + i) for s, at in sent for i in range(0, len(s), 640)]
    out, seconds, done = [], [], 0
    for at, frame in frames(mic):
        while done < len(chunks) and chunks[done][1] <= at + FRAME + lead:
            guard.sent(*chunks[done])
            done += 1
        start = time.thread_time()
        out.append(guard.hear(frame, at).frame)
        seconds.append(time.thread_time() - start)
    return np.concatenate(out), seconds


@cache
def detector() -> SileroDetector:
    return SileroDetector()


def fires(samples: Samples) -> list[int]:
    """Frames at which a hold would begin, by the turn detector's own rule."""
    turns, found = TurnDetector(detector().open(), TurnOptions(silence_ms=200)), []
    turns.alert = True
    for index, (_, frame) in enumerate(frames(samples)):
        if isinstance(turns.hear(frame), SpeechStarted):
            found.append(index)
    return found


@dataclass(frozen=True, slots=True)
class Interruption:
    """How a person speaking over the echo was noticed; late is None when not at all."""

    late: int | None  # frames later than without an echo
    after: Samples  # what the ear heard from their first word on
    alone: Samples  # the same without any echo or guard


def alone(room: Room, index: int) -> tuple[list[int], Samples]:
    """A reply nobody interrupts: where it would have been taken for a person, and what is left."""
    sent = reply(index)
    mic = microphone(START + len(sent) + EAR_RATE, [(echo(sent, room), START)], room.seed)
    out, _ = guarded(EchoGuard(), mic, [(sent, START)])
    return fires(out), out


def interrupted(
    room: Room | None, index: int, clip: Samples, at: int, guard: EchoGuard | None = None
) -> Interruption:
    """A person speaks over the reply from sample `at` on; without a room they wear a headset."""
    sent, length = reply(index), at + len(clip) + EAR_RATE // 2
    seed = room.seed if room else 0
    clean = microphone(length, [(clip, at)], seed)
    parts = [(clip, at)] + ([(echo(sent, room), START)] if room else [])
    out, _ = guarded(guard or EchoGuard(), microphone(length, parts, seed), [(sent, START)])
    first = at // FRAME
    due = next(i for i in fires(clean) if i >= first)
    noticed = next((i for i in fires(out) if first <= i <= due + 31), None)
    late = None if noticed is None else noticed - due
    return Interruption(late, out[at:], clean[at:])


def grid(
    levels: Sequence[int] = LEVELS,
    delays: Sequence[float] = DELAYS,
    rooms: Sequence[float] = ROOMS,
    replies: int = 2,
    early: bool = False,
    words: bool = False,
) -> dict[str, Any]:
    """False and miss rates, whole and for each level; with `words`, what would be transcribed.

    Interruptions begin 1 to 4 seconds into the echo or, if `early`, in its first second, when
    little of the path is known yet.
    """
    rng = np.random.default_rng(7)
    speech = clips()
    false = _by(levels)
    missed = {softer: _by(levels) for softer in SOFTER}
    late: dict[float, list[int]] = {softer: [] for softer in SOFTER}
    echoes: list[Samples] = []
    spoken: dict[float, list[Interruption]] = {softer: [] for softer in SOFTER}
    cases = itertools.product(levels, delays, rooms, range(replies))
    for seed, (level, delay, rt60, _) in enumerate(cases, start=1):
        room = Room(level, delay, rt60, ppm=(0.0, 50.0, 100.0)[seed % 3], seed=seed)
        found, left = alone(room, seed % len(SENTENCES))
        false[level].append(bool(found))
        echoes.append(left)
        span = (0.1, 1.0) if early else (1.0, 4.0)
        at = START + int((delay + rng.uniform(*span)) * EAR_RATE)
        for softer in SOFTER:
            clip = speech[seed % len(speech)] * np.float32(db(softer))
            noticed = interrupted(room, (seed + 1) % len(SENTENCES), clip, at)
            missed[softer][level].append(noticed.late is None)
            late[softer] += [] if noticed.late is None else [noticed.late]
            spoken[softer].append(noticed)
    report: dict[str, Any] = {"false": _rates(false)}
    for softer in SOFTER:
        quantiles = np.percentile(np.array(late[softer]) * 32, (50, 90, 95)) if late[softer] else ()
        report[f"interruption {softer:+.0f} dB"] = {
            "missed": _rates(missed[softer]),
            "late_ms": dict(zip(("p50", "p90", "p95"), map(float, quantiles), strict=False)),
        }
    if words:
        report["words"] = asyncio.run(_words(echoes, spoken))
    return report


def _by(levels: Sequence[int]) -> dict[int, list[bool]]:
    return {level: [] for level in levels}


def _rates(found: dict[int, list[bool]]) -> dict[str, Any]:
    every = [x for xs in found.values() for x in xs]
    return {
        "n": len(every),
        "rate": round(float(np.mean(every)), 4),
        **{f"{level} dB": round(float(np.mean(xs)), 4) for level, xs in found.items()},
    }


async def _words(
    echoes: Sequence[Samples], spoken: dict[float, list[Interruption]]
) -> dict[str, float]:
    """Share of replies whose echo has words left in it; word errors of people speaking over it."""
    ear = Moonshine()

    async def hear(samples: Samples) -> str:
        text = await ear.transcribe(AudioChunk(samples))
        return "".join(c for c in text.lower() if c.isalnum() or c.isspace()).strip()

    try:
        echoed = [bool(await hear(left)) for left in echoes]
        report = {"echoes with words": round(float(np.mean(echoed)), 4)}
        for softer, people in spoken.items():
            pairs = [(await hear(p.alone), await hear(p.after)) for p in people]
            known = [(truth, text) for truth, text in pairs if truth]
            errors = jiwer.wer([truth for truth, _ in known], [text for _, text in known])
            report[f"word errors {softer:+.0f} dB"] = round(float(errors), 4)
        return report
    finally:
        ear.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=2, help="replies in each condition")
    parser.add_argument("--early", action="store_true", help="interrupt in the first second")
    parser.add_argument("--words", action="store_true", help="also transcribe what is left")
    args = parser.parse_args()
    print(json.dumps(grid(replies=args.replies, early=args.early, words=args.words), indent=1))


if __name__ == "__main__":
    main()
