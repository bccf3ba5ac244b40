"""What the talkers say, made once and laid into a folder that their processes read."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Literal

import numpy as np
import orjson

from models import registry
from models.protocols import Speaker
from models.style import Style
from models.types import WIRE_RATE
from server.bench.sounds import ASIDES, Sound, files_in, recorded_turns, sound, synthesised, voiced
from server.bench.talkers import VOICE_LEVEL
from server.client import read_speech
from server.config import PROFILES
from server.loadtest.marks import mark, sentences

INDEX = "speech.json"
NOISES = 12
NOISE_SEC = (1.2, 3.0)
PACES = (0.9, 1.12)  # of the voice's own: its variants
PITCHES = (-2.0, 0.5)  # semitones; higher ones are heard badly

Use = Literal["marked", "plain", "backchannel"]


@dataclass(frozen=True, slots=True)
class Saying:
    """A sound, and what it is said for."""

    use: Use
    sound: Sound
    talker: int | None = None  # whose alone it is


async def spoken(talkers: int, more: Path | None, seed: int) -> list[Saying]:
    """For models that understand: marked sentences in variants of our voice, and people's turns."""
    brought = own(more) if more else []  # first: what is wrong with it is told at once
    speaker: Speaker
    choice = registry.read(PROFILES / "embedded.toml")["speaker"]
    with closing(registry.build("speaker", choice)) as speaker:
        plain = [*recorded_turns(), *await synthesised(speaker), *brought]
        said = [Saying("plain", each) for each in plain]
        for text in ASIDES:
            aside = sound(text, "backchannel", await voiced(speaker, text))
            said.append(Saying("backchannel", aside))
        for talker in range(talkers):
            random = Random(f"{seed}/{talker}/voice")
            manner = Style(pace=random.uniform(*PACES), pitch=random.uniform(*PITCHES))
            for text in sentences(mark(talker)):
                samples = await voiced(speaker, text, manner)
                said.append(Saying("marked", sound(text, "synthesised", samples), talker))
    return said


def noises(seed: int) -> list[Saying]:
    """For stand-ins, who take anything loud for a voice and any pause for the end of a turn."""
    random = np.random.default_rng(seed)
    said = []
    for number in range(NOISES):
        length = round(random.uniform(*NOISE_SEC) * WIRE_RATE)
        samples = (VOICE_LEVEL * random.standard_normal(length)).astype(np.float32)
        said.append(Saying("plain", Sound(f"noise {number}", "noise", samples, 0, length)))
    return said


def own(folder: Path) -> list[Sound]:
    """The recordings of a folder: each one a whole turn."""
    return [
        sound(str(file.relative_to(folder)), "recorded", read_speech(file))
        for file in files_in(folder)
    ]


def keep(said: Sequence[Saying], folder: Path) -> None:
    index = []
    for number, each in enumerate(said):
        np.save(folder / f"{number}.npy", each.sound.samples)
        spoken = each.sound
        index.append(
            {
                "use": each.use,
                "talker": each.talker,
                "name": spoken.name,
                "kind": spoken.kind,
                "start": spoken.start,
                "end": spoken.end,
            }
        )
    (folder / INDEX).write_bytes(orjson.dumps(index))


class Repertoire:
    """What one talker can say, from the folder."""

    def __init__(self, folder: Path, talker: int) -> None:
        self._said = list(_kept(folder, talker))

    def pick(self, use: Use, place: int) -> Sound:
        some = [each.sound for each in self._said if each.use == use]
        return _read(some[place % len(some)])


def _kept(folder: Path, talker: int) -> Iterator[Saying]:
    """Without the samples, which are read from the file when they are said."""
    for number, each in enumerate(orjson.loads((folder / INDEX).read_bytes())):
        use, whose = each.pop("use"), each.pop("talker")
        if whose in (None, talker):
            samples = np.load(folder / f"{number}.npy", mmap_mode="r")
            yield Saying(use, Sound(samples=samples, **each), whose)


def _read(kept: Sound) -> Sound:
    return replace(kept, samples=np.array(kept.samples))
