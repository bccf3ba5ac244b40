"""On the road and on rails: engines, wheels and horns."""

import numpy as np

from models.perception.sounds.shaping import (
    Rng,
    Wave,
    band,
    buzz,
    chance,
    contour,
    decay,
    eased,
    even,
    hump,
    length,
    loudest,
    moving,
    noise,
    peaks,
    place,
    spread,
    struck,
    tilted,
    tone,
)
from models.types import EAR_RATE


def car(rng: Rng, seconds: float) -> Wave:
    """An engine that idles, pulls or revs, heard from within or from beside, and the road."""
    n = length(seconds)
    firing = spread(rng, 14, 130) * np.exp(rng.uniform(0.01, 0.15) * contour(rng, n, 0.7))
    if chance(rng, 0.25):  # a foot on the pedal
        firing = firing * np.exp(rng.uniform(0.2, 0.8) * eased(rng.uniform(0, 1, 5), n))
    out = _engine(rng, firing) * rng.uniform(0.3, 1.2)
    road = even(noise(rng, n, rng.uniform(-9, -3)))
    out += road * rng.uniform(0.1, 1.2) * (1 + 0.1 * contour(rng, n, 1))
    if chance(rng, 0.3):  # passed by another
        m = length(rng.uniform(1.5, 4))
        passing = even(band(noise(rng, m), 80, spread(rng, 800, 4000), 1)) * hump(m, 0.5, 3)
        place(out, passing * rng.uniform(0.3, 1.2), rng.uniform(-1, seconds))
    if chance(rng, 0.15):
        _tick(rng, out, seconds)
    return out


def _engine(rng: Rng, firing: Wave) -> Wave:
    """Pulses of unequal cylinders through pipes and panels, with the air they move."""
    n = len(firing)
    pulses = buzz(firing) + rng.uniform(0, 0.8) * buzz(firing / 2) + 0.3 * buzz(firing / 4)
    pulses = tilted(pulses, rng.uniform(-5, 0))
    # Rushing and clatter come with each stroke.
    stroke = 0.5 + 0.5 * tone(firing, n)
    clatter = even(band(noise(rng, n), spread(rng, 100, 800), spread(rng, 1500, 7000), 1))
    pulses = even(pulses) + clatter * (0.4 + stroke**3) * spread(rng, 0.05, 1.0)
    centres = [spread(rng, 40, 2500) for _ in range(6)]
    return even(peaks(pulses, centres, [c * rng.uniform(0.2, 0.8) for c in centres], 0.15))


def _tick(rng: Rng, track: Wave, seconds: float) -> None:
    """A turn signal."""
    period = rng.uniform(0.3, 0.45)
    tick = loudest(struck(rng, [spread(rng, 900, 3000), spread(rng, 3000, 6000)], 0.03, 0.004))
    for step in range(int(seconds / period)):
        place(track, tick * (1.5 if step % 2 else 1.0), step * period)


def subway(rng: Rng, seconds: float) -> Wave:
    """Rumbling, joints of the rails in pairs, motors that whine, wheels that squeal, a horn."""
    n = length(seconds)
    out = even(noise(rng, n, rng.uniform(-8, -3))) * rng.uniform(0.4, 1.2)
    out += even(band(noise(rng, n), 40, spread(rng, 120, 500), 2)) * rng.uniform(0.2, 1)
    if chance(rng, 0.8):
        out += _joints(rng, n, seconds) * spread(rng, 0.1, 1.2)
    if chance(rng, 0.45):
        whine = spread(rng, 150, 1500) * np.exp(rng.uniform(-0.6, 0.6) * np.linspace(0, 1, n))
        sung = tone(whine, n) + 0.4 * tone(2 * whine, n) + 0.3 * tone(1.5 * whine, n)
        out += sung * rng.uniform(0.03, 0.5)
    if chance(rng, 0.35):
        knots = max(3, int(2 * seconds))
        centres = spread(rng, 1500, 4500) * np.exp(0.02 * rng.standard_normal((knots, 1)))
        centres = centres * np.array([1, rng.uniform(1.2, 1.7)])
        squeal = even(moving(noise(rng, n), centres, np.array([30.0, 60]), 0.0))
        out += squeal * np.maximum(contour(rng, n, 2), 0) * rng.uniform(0.1, 0.7)
    if chance(rng, 0.3):
        blast = _chord(rng, rng.uniform(0.4, 1.8), spread(rng, 220, 420), int(rng.integers(2, 6)))
        place(out, loudest(blast) * rng.uniform(1, 5), rng.uniform(0, 0.8 * seconds))
    near = eased(rng.uniform(0.3, 1, 4), n)
    return np.asarray(out * near)


def _joints(rng: Rng, n: int, seconds: float) -> Wave:
    out = np.zeros(n)
    period = spread(rng, 0.25, 1.5)
    gap = rng.uniform(0.08, 0.3) * period
    body = [spread(rng, 60, 300), spread(rng, 300, 900), spread(rng, 900, 3000)]
    at = rng.uniform(0, period)
    while at < seconds:
        for late in (0.0, gap):
            hit = struck(rng, body, 0.25, rng.uniform(0.02, 0.06))
            m = len(hit)
            hit = loudest(hit) + 0.6 * band(noise(rng, m), 100, 3000, 1) * decay(m, 0.03)
            place(out, hit * rng.uniform(0.5, 1), at + late)
        at += period * rng.uniform(0.96, 1.04)
    return even(out)


def horn(rng: Rng, seconds: float) -> Wave:
    """Blasts of two reeds a third or so apart, a lorry's low pipes, or a small squeaky one."""
    track = np.zeros(length(seconds))
    low = spread(rng, 230, 650)
    voices = int(rng.choice([1, 2, 3], p=[0.3, 0.55, 0.15]))
    at = rng.uniform(0, 0.4 * seconds)
    ratios = [1.0, *rng.uniform(1.15, 1.55, 2)][:voices]
    tilt, bright = rng.uniform(-6, 0), spread(rng, 1200, 3500)
    while at < seconds - 0.1:
        for _ in range(int(rng.integers(1, 4))):
            n = length(min(spread(rng, 0.15, 4), max(0.1, seconds - at)))
            blast = _reeds(rng, n, [low * ratio for ratio in ratios], tilt, bright)
            place(track, loudest(blast) * rng.uniform(0.7, 1), at)
            at += n / EAR_RATE + rng.uniform(0.05, 0.3)
        at += rng.uniform(0.3, 2)
        if chance(rng, 0.5):
            break
    street = even(noise(rng, len(track), rng.uniform(-9, -4)))
    return track + street * spread(rng, 0.003, 0.4)


def _chord(rng: Rng, seconds: float, low: float, voices: int) -> Wave:
    ratios = [1.0, 1.19, 1.26, 1.5, 1.68][:voices]
    return _reeds(rng, length(seconds), [low * r for r in ratios], rng.uniform(-8, -3), 1500)


def _reeds(rng: Rng, n: int, pitches: list[float], tilt: float, bright: float) -> Wave:
    out = np.zeros(n)
    bend = 1 - rng.uniform(0, 0.06) * np.exp(-np.arange(n) / 600)
    if chance(rng, 0.2):  # driving past
        bend = bend * eased([1.03, 1.03, 0.95, 0.95], n)
    for pitch in pitches:
        out += tilted(buzz(pitch * bend * rng.uniform(0.995, 1.005)), tilt)
    out = peaks(out, [bright, bright * 1.8], [bright, bright], rng.uniform(0.1, 0.8))
    edge = np.minimum(np.arange(n), np.arange(n)[::-1]) / (rng.uniform(0.005, 0.05) * EAR_RATE)
    return np.asarray(out * np.minimum(edge, 1))
