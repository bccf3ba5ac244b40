"""Dogs, and the birds and insects that are taken for other things."""

import numpy as np

from models.perception.sounds.shaping import (
    Rng,
    Wave,
    buzz,
    chance,
    contour,
    eased,
    even,
    hump,
    length,
    loudest,
    moving,
    noise,
    place,
    spread,
    tilted,
    tone,
)
from models.types import EAR_RATE


def dog(rng: Rng, seconds: float) -> Wave:
    """Barks, yaps and now and then a growl or whine, of a dog of any size."""
    track = np.zeros(length(seconds))
    size = rng.random()  # 0 small, 1 large
    base = 1300 * 0.3**size * spread(rng, 0.8, 1.25)
    mouth = 1.9 * 0.45**size
    at = rng.uniform(0, 0.3 * seconds)
    while at < seconds - 0.05:
        kind = rng.choice(["bark", "growl", "whine"], p=[0.9, 0.05, 0.05])
        for _ in range(int(rng.integers(1, 5)) if kind == "bark" else 1):
            piece = _voice(rng, base, mouth, str(kind))
            place(track, loudest(piece) * rng.uniform(0.5, 1), at)
            at += len(piece) / EAR_RATE + rng.uniform(0.05, 0.4)
        at += rng.exponential(0.6)
        if chance(rng, 0.15):
            break
    street = even(noise(rng, len(track), rng.uniform(-9, -4)))
    return track + street * spread(rng, 0.0003, 0.15)


def _voice(rng: Rng, base: float, mouth: float, kind: str) -> Wave:
    if kind == "bark":
        n = length(rng.uniform(0.08, 0.3))
        strength = hump(n, rng.uniform(0.1, 0.4), rng.uniform(0.7, 1.5))
        pitch = base * eased([rng.uniform(0.6, 0.9), 1, rng.uniform(0.5, 0.9)], n)
        rough, air = rng.uniform(0, 0.7), spread(rng, 0.02, 0.6)
    elif kind == "growl":
        n = length(rng.uniform(0.5, 1.5))
        strength = hump(n, 0.4)
        pitch = np.full(n, spread(rng, 50, 120)) * (1 + 0.1 * contour(rng, n, 5))
        rough, air = 1.2, 0.5
    else:
        n = length(rng.uniform(0.3, 1.2))
        strength = hump(n, 0.4)
        pitch = base * 1.5 * eased(rng.uniform(0.7, 1.3, 4), n)
        rough, air = 0.1, 0.05
    pulses = tilted(buzz(pitch, rng.random()), rng.uniform(-10, -3))
    pulses *= 1 + rough * contour(rng, n, spread(rng, 60, 250))
    source = strength * (pulses + air * noise(rng, n, -5))
    shut, wide = [520.0, 1100, 2300, 3600], [900.0, 1500, 2700, 4000]
    widths = np.array([200.0, 250, 400, 600])
    return moving(
        source, np.array([shut, wide, shut]) * mouth * rng.uniform(0.85, 1.15, 4), widths, 0.08
    )


def birds(rng: Rng, seconds: float) -> Wave:
    """Chirps and whistled phrases, each bird with its own."""
    track = np.zeros(length(seconds))
    for _ in range(int(rng.integers(1, 4))):
        n = length(rng.uniform(0.04, 0.3))
        pitch = spread(rng, 1500, 6000) * eased(rng.uniform(0.75, 1.25, 4), n)
        call = tone(pitch, n) * hump(n, 0.4, 0.8)
        at = rng.uniform(0, 1)
        while at < seconds:
            for _ in range(int(rng.integers(1, 8))):
                place(track, call * rng.uniform(0.3, 1), at)
                at += n / EAR_RATE * rng.uniform(1.1, 2)
            at += rng.exponential(0.7)
    return track


def crickets(rng: Rng, seconds: float) -> Wave:
    """One high tone, chopped fast and then slowly."""
    n = length(seconds)
    fast = np.maximum(tone(spread(rng, 15, 60), n), 0)
    slow = np.clip(1 + 2 * tone(spread(rng, 0.5, 4), n), 0, 1)
    chirr = tone(spread(rng, 2500, 6500) * (1 + 0.002 * contour(rng, n, 20)), n)
    return np.asarray(chirr * fast * slow + even(noise(rng, n, -4)) * 0.01)


def calls(rng: Rng, seconds: float) -> Wave:
    """Beasts of no kind in particular: bleats, caws, lows and mews."""
    track = np.zeros(length(seconds))
    base, mouth = spread(rng, 80, 900), spread(rng, 0.5, 2)
    at = rng.uniform(0, 0.5)
    while at < seconds - 0.1:
        n = length(rng.uniform(0.3, 1.6))
        shake = 1 + rng.uniform(0, 0.08) * tone(rng.uniform(5, 12), n)
        pitch = base * eased(rng.uniform(0.75, 1.3, 4), n) * shake
        source = tilted(buzz(pitch, rng.random()), rng.uniform(-7, -2)) * hump(n, 0.3, 0.6)
        source *= 1 + rng.uniform(0, 0.6) * contour(rng, n, 80)
        centres = rng.uniform(0.8, 1.25, (3, 4)) * np.array([600, 1300, 2500, 3700]) * mouth
        place(track, loudest(moving(source, centres, np.array([150.0, 200, 350, 500]), 0.06)), at)
        at += n / EAR_RATE + rng.uniform(0.2, 1.2)
    return track
