"""Air and water out of doors: wind, rain, thunder and the sea, all of them noise that moves."""

import numpy as np

from models.perception.sounds.shaping import (
    Rng,
    Wave,
    band,
    chance,
    clock,
    contour,
    decay,
    eased,
    even,
    hump,
    length,
    loudest,
    moving,
    noise,
    place,
    scattered,
    spread,
    struck,
)
from models.types import EAR_RATE


def wind(rng: Rng, seconds: float) -> Wave:
    """Gusts: the stronger they blow, the higher the noise reaches; it may whistle or thump."""
    n = length(seconds)
    gusts = contour(rng, n, spread(rng, 0.3, 1.5)) + 0.3 * contour(rng, n, 4)
    strength = np.exp(rng.uniform(0.05, 0.5) * gusts)
    low = even(band(noise(rng, n, rng.uniform(-9, -3)), spread(rng, 30, 150), 7800, 1))
    high = even(band(noise(rng, n), 300, spread(rng, 600, 4000), 1)) * spread(rng, 0.01, 0.4)
    out = low * strength + high * strength**2
    if chance(rng, 0.5):
        knots = max(3, int(2 * seconds))
        howl = spread(rng, 250, 1200) * np.exp(0.15 * rng.standard_normal((knots, 1)))
        centres = howl * np.array([1.0, rng.uniform(1.5, 2.6)])
        widths = float(howl.mean()) * np.array([spread(rng, 0.05, 0.4)] * 2)
        out += even(moving(noise(rng, n), centres, widths, 0.0)) * strength * spread(rng, 0.03, 0.6)
    if chance(rng, 0.4):  # blown into the microphone
        thumps = np.maximum(contour(rng, n, spread(rng, 6, 20)) - 0.5, 0)
        out += even(band(noise(rng, n), 20, 150, 2)) * thumps * rng.uniform(0.5, 3)
    return np.asarray(out)


def rain(rng: Rng, seconds: float) -> Wave:
    """A hiss of countless drops, and single ones near by on leaves, panes or tin."""
    n = length(seconds)
    hiss = even(band(noise(rng, n, rng.uniform(-4, 3)), spread(rng, 80, 1200), 7800, 1))
    hiss *= 1 + 0.08 * contour(rng, n, 2)
    out = hiss * rng.uniform(0.3, 1.5)
    for _ in range(int(rng.integers(1, 4))):
        drop = _drop(rng)
        out += even(scattered(rng, n, spread(rng, 50, 3000), drop)) * rng.uniform(0.1, 0.8)
    if chance(rng, 0.4):  # heavy, on a roof
        out += even(noise(rng, n, -8)) * rng.uniform(0.1, 1)
    return out


def _drop(rng: Rng) -> Wave:
    n = length(rng.uniform(0.004, 0.03))
    body = spread(rng, 600, 6000)
    click = rng.standard_normal(n) * decay(n, rng.uniform(0.001, 0.005), 0.0003)
    ring = np.sin(2 * np.pi * body * clock(n)) * decay(n, rng.uniform(0.002, 0.008), 0.0005)
    return np.asarray(click + ring * rng.uniform(0, 2))


def thunderstorm(rng: Rng, seconds: float) -> Wave:
    """Cracks that roll away into rumbling, over rain or wind or nothing."""
    n = length(seconds)
    out = np.zeros(n)
    at = rng.uniform(-1.0, 0.5 * seconds)
    while at < seconds:
        clap = _thunder(rng, rng.uniform(2, 7))
        place(out, clap * rng.uniform(0.5, 1), at)
        at += rng.uniform(1.5, 6)
    out = even(out)
    if chance(rng, 0.75):
        out += even(rain(rng, seconds)) * spread(rng, 0.03, 0.6)
    if chance(rng, 0.3):
        out += even(wind(rng, seconds)) * spread(rng, 0.1, 0.5)
    return out


def _thunder(rng: Rng, seconds: float) -> Wave:
    n = length(seconds)
    near = rng.random()
    rolls = np.exp(rng.uniform(0.5, 1.2) * contour(rng, n, rng.uniform(2, 7)))
    dying = eased([0.1 + 0.9 * near, 1, 0.6, 0.35, 0.2, 0.1, 0.04, 0], n)
    rumble = band(noise(rng, n), 25, spread(rng, 70, 350), rng.uniform(1, 2)) * rolls * dying
    out = even(rumble)
    crackle = np.maximum(contour(rng, n, spread(rng, 15, 60)), 0) ** 2
    crack = band(noise(rng, n), 150, spread(rng, 800, 6000), 1) * decay(n, rng.uniform(0.1, 0.8))
    return out + even(crack * (0.3 + crackle)) * near * rng.uniform(0, 1.2)


def sea(rng: Rng, seconds: float) -> Wave:
    """Waves that rise, break and run out over several seconds, over a distant roar."""
    n = length(seconds)
    roar = even(band(noise(rng, n), spread(rng, 60, 300), spread(rng, 400, 2000), 1))
    out = roar * spread(rng, 0.05, 0.6) * (1 + 0.15 * contour(rng, n, 0.3))
    period = rng.uniform(3, 9)
    at = rng.uniform(-period, 0)
    while at < seconds:
        m = length(period * rng.uniform(0.8, 1.4))
        shape = hump(m, rng.uniform(0.25, 0.6), rng.uniform(1, 2.5))
        body = even(band(noise(rng, m), spread(rng, 80, 400), spread(rng, 500, 3000), 1)) * shape
        foam = even(band(noise(rng, m), spread(rng, 600, 2500), 7800, 1))
        late = hump(m, rng.uniform(0.4, 0.75), rng.uniform(1.5, 3))
        swell = body + foam * late * rng.uniform(0.05, 0.8)
        place(out, swell * rng.uniform(0.6, 1.4), at)
        at += period * rng.uniform(0.6, 1.3)
    if chance(rng, 0.25):
        gull = loudest(_gull(rng)) * rng.uniform(0.5, 1.5)
        place(out, gull, rng.uniform(0, seconds))
    if chance(rng, 0.3):
        lap = struck(rng, [spread(rng, 300, 900)], 0.05, 0.012)
        out += even(scattered(rng, n, spread(rng, 2, 20), lap)) * rng.uniform(0.1, 0.5)
    return out


def _gull(rng: Rng) -> Wave:
    n = length(rng.uniform(0.3, 0.8))
    pitch = spread(rng, 900, 1800) * eased([0.8, 1.2, 1, 0.7], n)
    phase = 2 * np.pi * np.cumsum(pitch) / EAR_RATE
    return np.asarray((np.sin(phase) + 0.6 * np.sin(2 * phase)) * hump(n))
