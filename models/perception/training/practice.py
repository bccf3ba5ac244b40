"""What the network practises on: recordings put into other rooms, with other sounds beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import IterableDataset

from models.perception import sounds as synthetic
from models.perception.labels import EMOTIONS
from models.perception.training.augment import (
    at_pace,
    coded,
    hiss,
    mixed,
    through_room_and_line,
)
from models.perception.training.clips import AGES, GENDERS, OTHER, SOUNDS, Clip
from models.perception.windows import activity, levelled, powers
from models.types import EAR_RATE, Samples

SECONDS = (1.5, 2.0, 2.5, 3.0)  # a batch has one length: few lengths keep torch's plans few
AUDIBLE, MASKED = 12.0, 20.0  # dB below speech: heard for sure down to here; nothing below that


@dataclass(frozen=True, slots=True)
class Recipe:
    """What practising is like; an ablation turns one of these."""

    augment: float = 0.75  # how often rooms, lines, codecs and paces change
    mix: float = 0.3  # how often another sound is put beside speech
    soft: float = 0.15  # how much of an emotion's label is what listeners took it for
    batch: int = 24
    sounds: int = 4  # of a batch: sounds without speech
    made: bool = True  # whether sounds we make are among them


@dataclass(frozen=True, slots=True)
class Example:
    sound: Samples
    emotion: NDArray[np.float32]  # chances; all zero where nobody knows
    gender: int  # an index, or -1
    age: int
    sounds: NDArray[np.float32]  # 1 heard, 0 not, -1 nobody knows


@dataclass(frozen=True, slots=True)
class Batch:
    sound: Tensor
    spans: Tensor
    emotion: Tensor
    gender: Tensor
    age: Tensor
    sounds: Tensor


class Practice(IterableDataset[Batch]):
    """Batches of one pass over the speech, the same for a given seed and pass."""

    def __init__(self, clips: Sequence[Clip], recipe: Recipe, seed: int) -> None:
        self.speech = [clip for clip in clips if clip.sound is None]
        self.turn = 0
        self._recipe = recipe
        self._seed = seed
        self._recorded: dict[str, list[Clip]] = {}
        for clip in clips:
            if clip.sound:
                self._recorded.setdefault(clip.sound, []).append(clip)
        made = synthetic.NAMES if recipe.made else ()
        # Any name is as likely as any other, but the nameless three times.
        self._names = sorted({*self._recorded, *made}) + [OTHER] * 2
        self.known = np.array([name in self._names for name in SOUNDS])

    def __len__(self) -> int:
        return -(-len(self.speech) // self._voices)

    def __iter__(self) -> Iterator[Batch]:
        rng = np.random.default_rng([self._seed, self.turn])
        chosen = self._shuffled(rng)
        for at in range(0, len(chosen), self._voices):
            size = int(rng.choice(SECONDS) * EAR_RATE)
            spoken = [self._spoken(c, size, rng) for c in chosen[at : at + self._voices]]
            yield together(spoken + [self._sounding(size, rng) for _ in range(self._recipe.sounds)])

    @property
    def _voices(self) -> int:
        return self._recipe.batch - self._recipe.sounds

    def _shuffled(self, rng: np.random.Generator) -> list[Clip]:
        return [self.speech[at] for at in rng.permutation(len(self.speech))]

    def _spoken(self, clip: Clip, size: int, rng: np.random.Generator) -> Example:
        augmented = rng.random() < self._recipe.augment
        samples = at_pace(clip.samples, rng.uniform(0.9, 1.1)) if augmented else clip.samples
        samples = window(samples, size, rng)
        heard = np.zeros(len(SOUNDS), np.float32)
        if rng.random() < self._recipe.mix:
            name, other = self._some_sound(size, rng)
            below = rng.uniform(-3, MASKED)
            samples = mixed(samples, other, below)
            heard[SOUNDS.index(name)] = 1 if below < AUDIBLE else -1
        return Example(
            finished(samples, augmented, rng),
            soft_emotion(clip, self._recipe.soft),
            GENDERS.index(clip.gender) if clip.gender else -1,
            AGES.index(clip.age) if clip.age else -1,
            np.where(self.known, heard, -1).astype(np.float32),
        )

    def _sounding(self, size: int, rng: np.random.Generator) -> Example:
        name, samples = self._some_sound(size, rng)
        heard = np.zeros(len(SOUNDS), np.float32)
        heard[SOUNDS.index(name)] = 1
        augmented = rng.random() < self._recipe.augment
        return Example(
            finished(samples, augmented, rng),
            np.zeros(len(EMOTIONS), np.float32),
            -1,
            -1,
            np.where(self.known, heard, -1).astype(np.float32),
        )

    def _some_sound(self, size: int, rng: np.random.Generator) -> tuple[str, Samples]:
        """A sound by name; one that is both recorded and made is mostly the recorded one."""
        name = self._names[rng.integers(len(self._names))]
        clips = self._recorded.get(name, ())
        can_make = self._recipe.made and name in synthetic.NAMES
        if clips and (not can_make or rng.random() < 0.7):
            samples = at_pace(clips[rng.integers(len(clips))].samples, rng.uniform(0.85, 1.15))
        else:
            samples = synthetic.make(name, rng, size / EAR_RATE)
        return name, window(samples, size, rng)


def finished(samples: Samples, augmented: bool, rng: np.random.Generator) -> Samples:
    if augmented:
        if rng.random() < 0.8:
            samples = through_room_and_line(samples, rng)
        if rng.random() < 0.5:
            samples = mixed(samples, hiss(rng, len(samples)), rng.uniform(5, 45))
        if rng.random() < 0.1:
            samples = coded(levelled(samples), rng)
        if rng.random() < 0.05:  # too close to the microphone
            samples = np.clip(samples, *np.quantile(samples, [0.005, 0.995]))
    return levelled(samples)


def soft_emotion(clip: Clip, soft: float) -> NDArray[np.float32]:
    """Mostly what was acted, partly what listeners took it for."""
    target = np.zeros(len(EMOTIONS), np.float32)
    if clip.emotion:
        target[EMOTIONS.index(clip.emotion)] = 1 - soft
        target[EMOTIONS.index(clip.vote or clip.emotion)] += soft
    return target


def window(samples: Samples, size: int, rng: np.random.Generator) -> Samples:
    """A piece of that length, from where something sounds; what is short gets silence around."""
    spare = size - len(samples)
    if spare >= 0:
        before = int(rng.integers(spare + 1))
        return np.pad(samples, (before, spare - before))
    starts = rng.integers(0, -spare + 1, 3)
    return max((samples[s : s + size] for s in starts), key=lambda s: float(np.abs(s).sum()))


def together(examples: Sequence[Example]) -> Batch:
    return Batch(
        torch.from_numpy(np.stack([e.sound for e in examples]).astype(np.float32)),
        torch.from_numpy(np.stack([activity(powers(e.sound)) for e in examples])[:, None]),
        torch.from_numpy(np.stack([e.emotion for e in examples])),
        torch.tensor([e.gender for e in examples]),
        torch.tensor([e.age for e in examples]),
        torch.from_numpy(np.stack([e.sounds for e in examples])),
    )
