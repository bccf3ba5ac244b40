"""Sounds made to be noticed: alarm clocks and telephones."""

import numpy as np

from models.perception.sounds.shaping import (
    Rng,
    Wave,
    chance,
    clock,
    contour,
    decay,
    even,
    length,
    loudest,
    noise,
    place,
    spread,
    tone,
)
from models.types import EAR_RATE


def alarm(rng: Rng, seconds: float) -> Wave:
    """Beeps in groups, a hammered bell, or a buzzer; the same again and again."""
    n = length(seconds)
    kind = rng.choice(["beeps", "bell", "buzzer", "warble"], p=[0.55, 0.25, 0.1, 0.1])
    if kind == "bell":
        out = _bell(rng, n, spread(rng, 9, 30)) * _on_and_off(rng, n, spread(rng, 1, 6), 0.9)
    elif kind == "buzzer":
        rough = np.sign(tone(spread(rng, 50, 300), n)) * (1 + 0.3 * contour(rng, n, 30))
        out = rough * _on_and_off(rng, n, spread(rng, 0.3, 1.5), rng.uniform(0.4, 0.9))
    elif kind == "warble":
        swing = np.sign(tone(spread(rng, 1, 12), n))
        out = _beep(rng, spread(rng, 500, 2500) * (1 + rng.uniform(0.05, 0.25) * swing))
    else:
        out = _groups(rng, n, seconds)
    out = loudest(out)
    if chance(rng, 0.3):  # the clock itself
        tick = loudest(noise(rng, 200) * decay(200, 0.002)) * rng.uniform(0.05, 0.3)
        for second in range(int(2 * seconds)):
            place(out, tick, second / 2)
    return out


def _groups(rng: Rng, n: int, seconds: float) -> Wave:
    out = np.zeros(n)
    pitch = spread(rng, 600, 4200)
    count, on = int(rng.integers(1, 6)), spread(rng, 0.04, 0.5)
    gap, rest = on * rng.uniform(0.3, 1.2), rng.uniform(0.2, 1.0)
    one = _beep(rng, np.full(length(on), pitch))
    edge = np.minimum(np.arange(len(one)), np.arange(len(one))[::-1])
    one = loudest(one) * np.minimum(edge / (rng.uniform(0.001, 0.02) * EAR_RATE), 1)
    if chance(rng, 0.2):
        one = one * decay(len(one), on / 3)
    at = rng.uniform(0, 0.6)
    while at < seconds:
        for _ in range(count):
            place(out, one, at)
            at += on + gap
        at += rest
    return out


def _beep(rng: Rng, pitch: Wave) -> Wave:
    """A tone with as many overtones as a cheap sounder has."""
    n = len(pitch)
    out = tone(pitch, n)
    for overtone in (2, 3, 4, 5, 7):
        audible = pitch * overtone < 0.47 * EAR_RATE
        out = out + tone(pitch * overtone, n) * audible * rng.uniform(0, 1.2) / overtone
    return out


def _bell(rng: Rng, n: int, strikes: float) -> Wave:
    """A small bell under a hammer."""
    base = spread(rng, 900, 3000)
    time = clock(n)
    since = time % (1 / strikes)
    out = np.zeros(n)
    for ratio in (1, 1.5, 2.1, 2.8, 3.6):
        partial = base * ratio * rng.uniform(0.95, 1.05)
        if partial < 0.47 * EAR_RATE:
            ringing = 0.4 + np.exp(-since / rng.uniform(0.01, 0.1))
            out += tone(partial, n, rng.random()) * ringing * rng.uniform(0.2, 1)
    knock = noise(rng, n) * np.exp(-since / 0.002) * rng.uniform(0.1, 1.5)
    return out + knock


def _on_and_off(rng: Rng, n: int, period: float, share: float) -> Wave:
    phase = (clock(n) / period + rng.random()) % 1
    rise = np.minimum(phase, share - phase) * period / 0.01
    return np.asarray(np.clip(rise, 0, 1))


def ringtone(rng: Rng, seconds: float) -> Wave:
    """A telephone: two bells and a pause, a trill, a tune over and over, or a buzz on a table."""
    n = length(seconds)
    kind = rng.choice(["tune", "trill", "bells", "buzz"], p=[0.5, 0.25, 0.15, 0.1])
    rests = _on_and_off(rng, n, rng.uniform(1.5, 6), rng.uniform(0.4, 0.7))
    if kind == "tune":
        return _tune(rng, n, seconds)
    if kind == "trill":
        low, ratio = spread(rng, 400, 1800), rng.uniform(1.1, 1.5)
        swing = tone(spread(rng, 8, 28), n) > 0
        return _beep(rng, np.where(swing, low, low * ratio)) * rests
    if kind == "bells":
        return (_bell(rng, n, rng.uniform(18, 26)) + _bell(rng, n, rng.uniform(18, 26))) * rests
    shaking = _beep(rng, np.full(n, spread(rng, 120, 250))) * (1 + 0.5 * contour(rng, n, 40))
    return even(shaking) * _on_and_off(rng, n, rng.uniform(0.8, 2.5), rng.uniform(0.3, 0.7))


def _tune(rng: Rng, n: int, seconds: float) -> Wave:
    out = np.zeros(n)
    steps = np.array([0, 2, 4, 5, 7, 9, 11, 12, 14, 16])
    notes = rng.choice(steps, int(rng.integers(3, 10)))
    base, beat = spread(rng, 350, 1400), spread(rng, 0.07, 0.25)
    lengths = rng.choice([1, 1, 1, 2, 3], len(notes))
    ring = spread(rng, 0.03, 0.6)
    at = rng.uniform(0, 0.5)
    seed = int(rng.integers(1 << 31))
    while at < seconds:
        for note, beats in zip(notes, lengths, strict=True):
            m = length(min(beat * beats + ring, 1.0))
            same = np.random.default_rng(seed)  # one instrument plays the whole tune
            played = _beep(same, np.full(m, base * 2 ** (note / 12)))
            place(out, played * decay(m, ring + 0.05), at)
            at += beat * beats
        at += rng.choice([0, beat, 4 * beat, 1.0])
    return out
