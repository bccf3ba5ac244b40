"""What is said to the server while it is measured: people, a voice, and noises that say nothing."""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from models.protocols import Speaker
from models.style import PLAIN, Style
from models.types import WIRE_RATE, AudioChunk, Samples
from server.client import VOICE_FRAME, CallError, read_speech, voice_span, voiced_frames
from server.config import ROOT

SPEECH = ROOT / "tests" / "data" / "speech"
CUT_SEC = 6.0  # longer recordings were cut here
TURNS = (
    "Hi there, how are you doing today?",
    "What should I cook for dinner tonight?",
    "I finally got the job I applied for!",
    "My sister is coming to visit this weekend, and I have not cleaned the house.",
    "Can you tell me something interesting about the ocean?",
    "I slept badly last night, so I am a bit tired.",
    "Do you think it will rain tomorrow?",
    "We went to the beach yesterday, it was lovely.",
    "How do I stop worrying about my exam?",
    "My dog ran away this morning.",
    "Well, I was thinking, maybe we could talk about music.",
    "What is the capital of Australia?",
    "I burned the cake, but everybody ate it anyway.",
    "Thank you, that was really helpful.",
)
ASIDES = ("Mm-hm.", "Yeah.", "Okay.", "Right.", "Uh-huh.", "I see.")
ASIDE_SPEEDS = (1.0, 0.85)

ENDINGS = (".wav", ".flac", ".ogg")  # of files of one's own

Kind = Literal["recorded", "synthesised", "noise", "backchannel"]


@dataclass(frozen=True, slots=True)
class Sound:
    """Something to say, with where its voice begins and ends, in samples at WIRE_RATE."""

    name: str
    kind: Kind
    samples: Samples
    start: int
    end: int

    @property
    def longest_pause_ms(self) -> int:
        """The longest silence within: where an impatient listener might answer."""
        silences = np.diff(voiced_frames(self.samples)) - 1
        return int(silences.max(initial=0)) * VOICE_FRAME * 1000 // WIRE_RATE


def sound(name: str, kind: Kind, samples: Samples) -> Sound:
    return Sound(name, kind, samples, *voice_span(samples))


def files_in(folder: Path) -> list[Path]:
    """Its sounds, and those of the folders in it."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in ENDINGS)
    if not files:
        raise CallError(f"no {', '.join(ENDINGS)} file in {folder}")
    return files


def recorded() -> list[Sound]:
    """People reading aloud."""
    return [sound(file, "recorded", read_speech(SPEECH / file)) for file in _transcripts()]


def recorded_turns() -> list[Sound]:
    """Those who come to an end: a sentence broken off is no turn, and has no answer to time."""
    texts = _transcripts()
    return [each for each in recorded() if _whole(texts[each.name], each)]


def _transcripts() -> dict[str, str]:
    with (SPEECH / "transcripts.tsv").open(encoding="utf-8") as table:
        rows = csv.DictReader(table, delimiter="\t")
        return dict(sorted((row["file"], row["text"]) for row in rows))


def _whole(text: str, spoken: Sound) -> bool:
    cut = len(spoken.samples) >= CUT_SEC * WIRE_RATE and spoken.end >= (CUT_SEC - 0.1) * WIRE_RATE
    return text.endswith((".", "?", "!")) and not cut


async def synthesised(speaker: Speaker) -> list[Sound]:
    """Everyday turns, some with a pause at a comma."""
    return [sound(text, "synthesised", await voiced(speaker, text)) for text in TURNS]


async def voiced(speaker: Speaker, text: str, style: Style = PLAIN) -> Samples:
    spoken = AudioChunk.join([chunk.audio async for chunk in speaker.speak(text, style)])
    return spoken.samples


async def not_interruptions(speaker: Speaker) -> list[Sound]:
    """What people do while they listen: hum along, cough, knock, type, breathe."""
    said = [
        sound(f"{text} at {speed:g}", "backchannel", await voiced(speaker, text, Style(pace=speed)))
        for text in ASIDES
        for speed in ASIDE_SPEEDS
    ]
    noises = [sound(name, "noise", samples) for name, samples in noise()]
    return [each for pair in zip(said, noises, strict=True) for each in pair]


def noise() -> Iterator[tuple[str, Samples]]:
    """Twelve noises, made of filtered noise under envelopes; two of each sort."""
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        # A cough is an explosive onset, a hiss through an open throat, often twice.
        yield f"cough {seed}", _bursts(rng, (0.0, 0.38), 0.28, (350, 2600), 0.25)
        yield f"single cough {seed}", _bursts(rng, (0.0,), 0.35, (250, 1800), 0.3)
        yield f"knock {seed}", _bursts(rng, (0.0, 0.22, 0.44), 0.06, (80, 900), 0.3)
        yield f"keys {seed}", _bursts(rng, (0.0, 0.13, 0.21, 0.39, 0.5), 0.02, (1500, 7000), 0.08)
        yield f"breath {seed}", _bursts(rng, (0.0,), 0.7, (600, 5000), 0.03, attack_sec=0.2)
        yield f"rustle {seed}", _bursts(rng, (0.0, 0.15, 0.33), 0.18, (1200, 9000), 0.06, 0.04)


def _bursts(
    rng: np.random.Generator,
    starts: Sequence[float],
    decay_sec: float,
    band: tuple[int, int],
    level: float,
    attack_sec: float = 0.008,
) -> Samples:
    """Bursts of noise within a band, each rising and dying away; the level is the peak's."""
    out = np.zeros(round((starts[-1] + 2.5 * decay_sec + attack_sec) * WIRE_RATE), np.float32)
    hertz = np.fft.rfftfreq(len(out), 1 / WIRE_RATE)
    low, high = band
    shape = 1 / (1 + (low / np.maximum(hertz, 1)) ** 4) / (1 + (hertz / high) ** 4)
    hiss = np.fft.irfft(np.fft.rfft(rng.standard_normal(len(out))) * shape, len(out))
    seconds = np.arange(len(out)) / WIRE_RATE
    envelope = np.zeros(len(out))
    for start in starts:
        since = seconds - start
        rise = np.clip(since / attack_sec, 0, 1)
        fall = np.exp(-np.maximum(since - attack_sec, 0) * 3 / decay_sec)
        envelope = np.maximum(envelope, rise * fall * rng.uniform(0.7, 1))
    out[:] = hiss * envelope
    scaled: Samples = out * np.float32(level / np.abs(out).max())
    return scaled
