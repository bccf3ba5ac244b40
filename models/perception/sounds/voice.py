"""A made-up human voice: pulses and breath, shaped by a throat and a mouth."""

from dataclasses import dataclass

import numpy as np

from models.perception.sounds.shaping import (
    Rng,
    Wave,
    band,
    buzz,
    contour,
    eased,
    even,
    length,
    moving,
    noise,
    spread,
    tilted,
)
from models.types import EAR_RATE

# The first three formants of a man's vowels, in Hz, rounded from what any phonetics text gives.
VOWELS = {
    "a": (730, 1100, 2450),
    "e": (530, 1840, 2480),
    "i": (280, 2250, 2900),
    "o": (550, 850, 2400),
    "u": (310, 870, 2250),
    "uh": (600, 1200, 2400),
    "m": (250, 1000, 2200),
}
_HIGHER = (3500.0, 4500.0, 5500.0, 6500.0)


@dataclass(frozen=True, slots=True)
class Person:
    """Who makes the sound: what stays the same from one of their sounds to the next."""

    pitch: float  # Hz, when at ease
    mouth: float  # how much higher the formants lie than a long-throated man's
    tilt: float  # dB an octave of the pulses: the more negative, the softer the voice
    sharpness: float  # widths of the formants: below 1 ringing, above 1 dull

    def mouthing(self, vowels: str) -> Wave:
        """Formants for vowels like "a o m", one row each."""
        rows = [(*VOWELS[vowel], *_HIGHER) for vowel in vowels.split()]
        return np.array(rows) * self.mouth

    @property
    def widths(self) -> Wave:
        return np.array([90.0, 110, 170, 250, 300, 350, 400]) * self.sharpness


def somebody(rng: Rng, child: bool = False) -> Person:
    """Anybody at all: man or woman in equal parts, or a child."""
    if child:
        pitch, mouth = spread(rng, 230, 420), rng.uniform(1.25, 1.6)
    elif rng.random() < 0.5:
        pitch, mouth = spread(rng, 80, 160), rng.uniform(0.92, 1.08)
    else:
        pitch, mouth = spread(rng, 160, 270), rng.uniform(1.08, 1.28)
    return Person(pitch, mouth, rng.uniform(-13, -5), spread(rng, 0.8, 2.5))


def utter(
    rng: Rng,
    person: Person,
    vowels: str,
    pitch: Wave,
    voiced: Wave,
    breath: Wave,
    rough: float = 0.0,
) -> Wave:
    """A sound of the throat.

    Args:
        rng: Where chance comes from.
        person: Whose throat.
        vowels: What the mouth passes through, evenly spread over the whole.
        pitch: Hz, sample by sample.
        voiced: How strong the pulses are, sample by sample.
        breath: How strong the rush of air is, sample by sample.
        rough: 0 for a clear voice, 1 for one that breaks at every other pulse.
    """
    n = len(pitch)
    unsteady = 0.004 + 0.03 * rough
    pitch = pitch * (1 + unsteady * contour(rng, n, 60))
    pulses = tilted(buzz(pitch, rng.random()), person.tilt)
    if rough:
        halves = np.sin(np.pi * np.cumsum(pitch) / EAR_RATE)
        grain = 0.6 * halves + 0.5 * contour(rng, n, spread(rng, 40, 160))
        pulses *= 1 + rough * grain
    pulses *= 1 + 0.1 * contour(rng, n, 50)
    # Air rushes here and there in the throat, so that it is now darker and now brighter.
    air = np.zeros(n)
    for tilt in (rng.uniform(-12, -5), rng.uniform(-7, 1)):
        gusts = rng.uniform(0.2, 1.2) * contour(rng, n, spread(rng, 4, 25))
        air += noise(rng, n, tilt) * np.exp(gusts) * rng.uniform(0.2, 1)
    source = voiced * pulses + breath * air
    formants = np.repeat(person.mouthing(vowels), 3, axis=0)
    formants *= rng.uniform(0.93, 1.07, 7) * rng.uniform(0.92, 1.08, formants.shape)
    heard = moving(source, formants, person.widths, spread(rng, 0.003, 0.05))
    return heard + _blown(rng, breath) if rng.random() < 0.5 else heard


def _blown(rng: Rng, breath: Wave) -> Wave:
    """What breath does to a microphone close by: no sound, but a rumble in it."""
    rumble = even(band(noise(rng, len(breath)), 20, spread(rng, 60, 350), 2))
    puffs = np.maximum(contour(rng, len(breath), spread(rng, 3, 12)), 0)
    return rumble * puffs * breath * spread(rng, 0.01, 0.8)


def exhaled(rng: Rng, person: Person, vowels: str, breath: Wave) -> Wave:
    """Air alone."""
    silent = np.zeros(len(breath))
    return utter(rng, person, vowels, silent + 100.0, silent, breath)


def babble(rng: Rng, person: Person, seconds: float, lively: float = 1.0) -> Wave:
    """Speech without words: syllables with hissed and stopped beginnings, phrases and pauses."""
    n = length(seconds)
    pace = rng.uniform(3.5, 6.5)
    syllables = max(2, int(seconds * pace))
    # Speaking in phrases: some syllables in a row, then a breath.
    speaking = contour(rng, syllables, 0.25 * EAR_RATE) > -0.5
    strength = np.repeat(speaking * rng.uniform(0.3, 1, syllables), 2)
    strength[1::2] *= rng.uniform(0.0, 0.4, syllables)
    voiced = eased(strength, n)
    hisses = np.zeros(2 * syllables)
    hisses[1::2] = speaking * rng.exponential(0.15, syllables)
    breath = eased(hisses, n) + 0.03 * voiced
    melody = contour(rng, n, pace) * 0.08 * lively + contour(rng, n, 0.7) * 0.12 * lively
    vowels = " ".join(rng.choice(list(VOWELS), 2 * syllables))
    return utter(rng, person, vowels, person.pitch * np.exp(melody), voiced, breath)
