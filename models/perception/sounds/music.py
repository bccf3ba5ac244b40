"""Made-up music: chords, a tune, a bass and drums, for instruments that nobody has built."""

from dataclasses import dataclass

import numpy as np

from models.perception.sounds.shaping import (
    Rng,
    Wave,
    band,
    buzz,
    chance,
    clock,
    contour,
    decay,
    even,
    in_a_room,
    length,
    loudest,
    noise,
    peaks,
    place,
    spread,
    tilted,
    tone,
)
from models.perception.sounds.voice import somebody, utter

_SCALES = ([0, 2, 4, 5, 7, 9, 11], [0, 2, 3, 5, 7, 8, 10], [0, 2, 4, 7, 9], [0, 3, 5, 6, 7, 10])


@dataclass(frozen=True, slots=True)
class Instrument:
    """How a note begins, goes on and is coloured."""

    tilt: float
    body: tuple[float, ...]
    plucked: bool
    ring: float
    vibrato: float
    detuned: float

    def play(self, rng: Rng, pitch: float, seconds: float) -> Wave:
        n = length(seconds)
        wobble = 1 + self.vibrato * np.sin(2 * np.pi * (rng.uniform(4, 7) * clock(n)))
        note = buzz(pitch * wobble, rng.random())
        if self.detuned:
            note = note + buzz(pitch * (1 + self.detuned) * wobble, rng.random())
        if self.plucked:
            strength = decay(n, self.ring, 0.004)
        else:
            edge = np.minimum(np.arange(n), np.arange(n)[::-1]) / length(0.04)
            strength = np.minimum(edge, 1)
        return np.asarray(note * strength)

    def colour(self, notes: Wave) -> Wave:
        return peaks(tilted(notes, self.tilt), self.body, [f * 0.6 for f in self.body], 0.3)


def instrument(rng: Rng) -> Instrument:
    return Instrument(
        tilt=rng.uniform(-12, -2),
        body=tuple(spread(rng, 150, 4000) for _ in range(4)),
        plucked=chance(rng, 0.5),
        ring=spread(rng, 0.08, 1.0),
        vibrato=rng.uniform(0, 0.012) * chance(rng, 0.5),
        detuned=rng.uniform(0.002, 0.012) * chance(rng, 0.4),
    )


def music(rng: Rng, seconds: float) -> Wave:
    """Some of: chords, melody, bass, drums, a singer; in one key and at one tempo."""
    n = length(seconds)
    key, scale = spread(rng, 60, 160), _SCALES[int(rng.integers(len(_SCALES)))]
    beat = 60 / rng.uniform(60, 180)
    out = np.zeros(n)
    parts = rng.random(5) < (0.6, 0.65, 0.4, 0.5, 0.35)
    if not parts[:2].any():
        parts[int(rng.integers(2))] = True
    if parts[0]:
        out += even(_chords(rng, n, seconds, key, scale, beat)) * rng.uniform(0.3, 1)
    if parts[1]:
        out += even(_melody(rng, n, seconds, key, scale, beat)) * rng.uniform(0.3, 1)
    if parts[2]:
        out += even(_bass(rng, n, seconds, key, scale, beat)) * rng.uniform(0.3, 1)
    if parts[3]:
        out += even(_drums(rng, n, seconds, beat)) * rng.uniform(0.2, 1)
    if parts[4]:
        out += even(_singer(rng, n, seconds, key, scale, beat)) * rng.uniform(0.3, 1)
    out += even(noise(rng, n, rng.uniform(-9, -3))) * spread(rng, 0.003, 0.6)  # where it is played
    return in_a_room(rng, out, spread(rng, 0.2, 2), rng.uniform(0, 0.8))


def _hertz(key: float, scale: list[int], degree: int) -> float:
    octave, step = divmod(degree, len(scale))
    return key * 2 ** (octave + scale[step] / 12)


def _chords(rng: Rng, n: int, seconds: float, key: float, scale: list[int], beat: float) -> Wave:
    played, out = instrument(rng), np.zeros(n)
    every = beat * rng.choice([0.5, 1, 2, 4])
    roots = rng.integers(0, len(scale), 4)
    octave = len(scale) * int(rng.integers(1, 3))
    count = min(int(seconds / every) + 1, 16)
    for step in range(count):
        root = int(roots[int(step * every / (4 * beat)) % 4])
        for third in (0, 2, 4):
            pitch = _hertz(key, scale, octave + root + third)
            place(out, played.play(rng, pitch, min(every * 1.2, 2.5)), step * every)
    return played.colour(out)


def _melody(rng: Rng, n: int, seconds: float, key: float, scale: list[int], beat: float) -> Wave:
    played, out = instrument(rng), np.zeros(n)
    degree, at = int(rng.integers(2, 4)) * len(scale), 0.0
    while at < seconds:
        lasts = beat * float(rng.choice([0.25, 0.5, 0.5, 1, 2]))
        if chance(rng, 0.85):
            pitch = _hertz(key, scale, degree)
            place(out, played.play(rng, pitch, lasts * rng.uniform(0.7, 1.3)), at)
        degree = int(np.clip(degree + rng.integers(-3, 4), len(scale), 5 * len(scale)))
        at += lasts
    return played.colour(out)


def _bass(rng: Rng, n: int, seconds: float, key: float, scale: list[int], beat: float) -> Wave:
    played, out = instrument(rng), np.zeros(n)
    pattern = rng.integers(0, len(scale), 8)
    for step in range(int(seconds / beat) + 1):
        pitch = _hertz(key, scale, int(pattern[step % 8]))
        place(out, played.play(rng, pitch, beat * 0.95), step * beat)
    return band(played.colour(out), 30, 800, 1)


def _drums(rng: Rng, n: int, seconds: float, beat: float) -> Wave:
    m = length(0.3)
    drop = spread(rng, 40, 90) * (1 + 3 * np.exp(-clock(m) / 0.02))
    kick = tone(drop, m) * decay(m, rng.uniform(0.05, 0.15))
    shell = tone(spread(rng, 150, 300), m)
    snare = (even(band(noise(rng, m), 500, 7500, 1)) + shell) * decay(m, rng.uniform(0.03, 0.12))
    hat = band(noise(rng, m), 5000, 8000, 3) * decay(m, rng.uniform(0.01, 0.06))
    out = np.zeros(n)
    for piece, odds in ((kick, (0.9, 0.1, 0.4, 0.1)), (snare, (0.05, 0.1, 0.9, 0.15))):
        pattern = rng.random(8) < np.tile(odds, 2)
        for step in range(int(2 * seconds / beat) + 1):
            if pattern[step % 8]:
                place(out, loudest(piece) * rng.uniform(0.8, 1), step * beat / 2)
    fine = float(rng.choice([2, 4]))
    for step in range(int(fine * seconds / beat) + 1):
        place(out, loudest(hat) * rng.uniform(0.1, 0.5), step * beat / fine)
    return out


def _singer(rng: Rng, n: int, seconds: float, key: float, scale: list[int], beat: float) -> Wave:
    person = somebody(rng)
    notes = max(2, int(seconds / beat))
    degrees = np.cumsum(rng.integers(-2, 3, notes)) % (2 * len(scale))
    pitches = np.array([_hertz(key * 2, scale, int(degree)) for degree in degrees])
    index = np.minimum((clock(n) / beat).astype(np.intp), notes - 1)
    vibrato = 1 + 0.015 * np.sin(2 * np.pi * rng.uniform(4.5, 6.5) * clock(n))
    strength = np.clip(0.7 + 0.6 * contour(rng, n, 1.5), 0, 1.2)
    vowels = " ".join(rng.choice(["a", "e", "i", "o", "u"], notes))
    return utter(rng, person, vowels, pitches[index] * vibrato, strength, 0.03 * strength)
