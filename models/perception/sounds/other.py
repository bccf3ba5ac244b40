"""Sounds that are none of the named ones, so that what resembles a name is not taken for it."""

from collections.abc import Callable

import numpy as np

from models.perception.sounds.animals import birds, calls, crickets
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
    noise,
    peaks,
    place,
    scattered,
    spread,
    struck,
    tilted,
    tone,
)
from models.types import EAR_RATE


def other(rng: Rng, seconds: float) -> Wave:
    """One of the grab-bag, or two together."""
    out = loudest(_pick(rng)(rng, seconds))
    if chance(rng, 0.25):
        out = out + loudest(_pick(rng)(rng, seconds)) * rng.uniform(0.1, 1)
    return out


def _pick(rng: Rng) -> Callable[[Rng, float], Wave]:
    return _BAG[int(rng.integers(len(_BAG)))]


def _clicks(rng: Rng, seconds: float) -> Wave:
    """A keyboard, a mouse, teeth, a clock: dry and small."""
    n = length(seconds)
    out = np.zeros(n)
    regular = chance(rng, 0.4)
    pace = spread(rng, 0.8, 12)
    at = rng.uniform(0, 1 / pace)
    body = [spread(rng, 200, 2500), spread(rng, 1500, 4000), spread(rng, 3000, 7000)]
    while at < seconds:
        hit = struck(rng, body, 0.06, spread(rng, 0.002, 0.012))
        hit = loudest(hit) + loudest(noise(rng, len(hit)) * decay(len(hit), 0.002)) * rng.random()
        place(out, hit * rng.uniform(0.3, 1), at)
        at += 1 / pace if regular else rng.exponential(1 / pace) + 0.03
    return out


def _knocks(rng: Rng, seconds: float) -> Wave:
    """Knuckles on wood, steps on a floor."""
    out = np.zeros(length(seconds))
    pace = rng.uniform(1.2, 6)
    body = [spread(rng, 70, 400), spread(rng, 300, 900), spread(rng, 900, 2500)]
    at = rng.uniform(0, 0.5)
    while at < seconds:
        hit = loudest(struck(rng, body, 0.2, spread(rng, 0.008, 0.04)))
        scrape = band(noise(rng, len(hit)), 500, 6000, 1) * hump(len(hit), 0.3)
        place(out, hit * rng.uniform(0.6, 1) + scrape * 0.05 * rng.random(), at)
        at += rng.uniform(0.85, 1.15) / pace + rng.exponential(1) * chance(rng, 0.15)
    return out


def _bangs(rng: Rng, seconds: float) -> Wave:
    """Shots, fireworks, a slammed door."""
    out = np.zeros(length(seconds))
    at = rng.uniform(0, 0.5 * seconds)
    while at < seconds:
        n = length(rng.uniform(0.3, 1.5))
        blast = band(noise(rng, n), spread(rng, 30, 300), spread(rng, 1000, 7500), 1)
        place(out, loudest(blast * decay(n, spread(rng, 0.02, 0.25), 0.001)), at)
        at += rng.exponential(0.8) + 0.08
    return out


def _hiss(rng: Rng, seconds: float) -> Wave:
    """A fan, a hall, a tape: noise of one colour that does not change."""
    n = length(seconds)
    out = even(noise(rng, n, rng.uniform(-10, 4)))
    return out + even(band(noise(rng, n), spread(rng, 50, 800), spread(rng, 900, 7000), 2))


def _hum(rng: Rng, seconds: float) -> Wave:
    """The mains, a refrigerator, a vacuum cleaner: steady tones in steady noise."""
    n = length(seconds)
    steady = np.full(n, spread(rng, 45, 420)) * (1 + 0.002 * contour(rng, n, 3))
    tones = even(tilted(buzz(steady, rng.random()), rng.uniform(-18, -3)))
    return tones + even(noise(rng, n, rng.uniform(-8, 1))) * spread(rng, 0.1, 4)


def _machine(rng: Rng, seconds: float) -> Wave:
    """Drills, saws and hammers: a motor under load, or blows many times a second."""
    n = length(seconds)
    load = np.exp(0.15 * contour(rng, n, 1.5)) * spread(rng, 60, 400)
    motor = even(tilted(buzz(load, rng.random()), rng.uniform(-4, 1)))
    blows = np.maximum(tone(np.full(n, spread(rng, 5, 40)), n), 0) ** rng.uniform(1, 4)
    grit = even(band(noise(rng, n), spread(rng, 300, 2500), 7800, 1))
    working = np.clip(0.7 + contour(rng, n, 0.8), 0.05, 1)
    mixed = motor * rng.uniform(0, 1) + grit * (blows if chance(rng, 0.5) else 1.0)
    return np.asarray(peaks(mixed, [spread(rng, 500, 5000)], [600], 0.4) * working)


def _saw(rng: Rng, seconds: float) -> Wave:
    """Back and forth: sawing, brushing, scraping, wiping."""
    n = length(seconds)
    pace = np.full(n, spread(rng, 1.5, 6)) * np.exp(0.05 * contour(rng, n, 1))
    stroke = np.abs(tone(pace / 2, n)) ** rng.uniform(0.5, 2)
    teeth = 1 + 0.5 * tone(spread(rng, 30, 200), n)
    grain = band(noise(rng, n), spread(rng, 600, 3000), spread(rng, 3500, 8000), 2)
    return np.asarray(grain * stroke * teeth)


def _bells(rng: Rng, seconds: float) -> Wave:
    """Church bells and glasses: struck metal that rings on."""
    out = np.zeros(length(seconds))
    base = spread(rng, 150, 2500)
    at = rng.uniform(0, 0.5)
    while at < seconds:
        pitch = base * float(rng.choice([1, 1, 1.125, 1.26, 1.5]))
        partials = [pitch * r for r in (0.5, 1, 1.19, 1.5, 2, 2.67, 4.1)]
        place(out, loudest(struck(rng, partials, 3, spread(rng, 0.2, 1.5))), at)
        at += rng.uniform(0.3, 2.0)
    return out


def _pouring(rng: Rng, seconds: float) -> Wave:
    """Bubbles: each a short tone that rises, in their thousands or one by one."""
    n = length(seconds)
    out = even(noise(rng, n, -3)) * rng.uniform(0, 0.3)
    for _ in range(5):
        m = length(rng.uniform(0.01, 0.05))
        pitch = spread(rng, 300, 3000) * np.linspace(1, rng.uniform(1.05, 1.5), m)
        bubble = tone(pitch, m) * decay(m, rng.uniform(0.003, 0.015), 0.001)
        out += even(scattered(rng, n, spread(rng, 1, 120), bubble)) * rng.random()
    return out


def _crackle(rng: Rng, seconds: float) -> Wave:
    """Fire, paper, gravel."""
    n = length(seconds)
    snap = noise(rng, 160) * decay(160, rng.uniform(0.0005, 0.003), 0.0003)
    out = even(scattered(rng, n, spread(rng, 5, 150), snap))
    return out + even(noise(rng, n, -6)) * rng.uniform(0.02, 0.5)


def _snore(rng: Rng, seconds: float) -> Wave:
    """Slow and fluttering: asleep, which is not breathless."""
    n = length(seconds)
    phase = (np.arange(n) / EAR_RATE * rng.uniform(0.2, 0.5) + rng.random()) % 1
    drawn = np.where(phase < 0.45, np.sin(np.pi * np.minimum(phase / 0.45, 1)), 0.0)
    flutter = buzz(np.full(n, spread(rng, 25, 90)) * (1 + 0.1 * contour(rng, n, 8)))
    source = tilted(flutter, -4) + 0.5 * noise(rng, n, -3)
    return peaks(source * drawn, [300, 1200, 2500], [300, 500, 800], 0.1)


def _chop(rng: Rng, seconds: float) -> Wave:
    """Rotors and propellers."""
    n = length(seconds)
    blades = spread(rng, 9, 30)
    beat = np.maximum(tone(blades, n), 0) ** rng.uniform(1, 4)
    wash = even(noise(rng, n, rng.uniform(-8, -3)))
    drone = even(tilted(buzz(np.full(n, blades * rng.uniform(3, 7))), -6)) * rng.uniform(0, 0.6)
    near = eased(rng.uniform(0.3, 1, 4), n)
    return np.asarray((wash * (rng.uniform(0.1, 0.8) + beat) + drone) * near)


_BAG = (
    _clicks,
    _knocks,
    _bangs,
    _hiss,
    _hum,
    _machine,
    _saw,
    _bells,
    _pouring,
    _crackle,
    _snore,
    _chop,
    birds,
    crickets,
    calls,
)
