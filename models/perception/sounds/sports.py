"""A ball on a wooden floor."""

import numpy as np

from models.perception.sounds.shaping import (
    Rng,
    Wave,
    band,
    chance,
    decay,
    eased,
    even,
    hump,
    in_a_room,
    length,
    loudest,
    noise,
    place,
    spread,
    struck,
    tone,
)
from models.perception.sounds.voice import babble, somebody


def basketball(rng: Rng, seconds: float) -> Wave:
    """Dribbling and balls left to bounce, shoes that squeak, the rim, calls in an echoing hall."""
    track = np.zeros(length(seconds))
    for _ in range(int(rng.integers(1, 4))):
        _bounces(rng, track, seconds)
    for _ in range(rng.poisson(0.5 * seconds)):
        place(track, _squeak(rng) * rng.uniform(0.05, 0.5), rng.uniform(0, seconds))
    if chance(rng, 0.3):
        rim = struck(rng, [spread(rng, 150, 400) * r for r in (1, 2.3, 3.9, 6.1)], 0.8, 0.15)
        place(track, loudest(rim) * rng.uniform(0.2, 0.8), rng.uniform(0, seconds))
    if chance(rng, 0.4):
        talk = loudest(babble(rng, somebody(rng, child=chance(rng, 0.4)), seconds, 2))
        track += talk * rng.uniform(0.05, 0.4)
    track += even(noise(rng, len(track), -6)) * spread(rng, 0.001, 0.03)
    return in_a_room(rng, track, spread(rng, 0.3, 3), rng.uniform(0.1, 1.2))


def _bounces(rng: Rng, track: Wave, seconds: float) -> None:
    modes = [spread(rng, 60, 140), spread(rng, 140, 350), spread(rng, 500, 1100)]
    ring, loud = rng.uniform(0.02, 0.06), rng.uniform(0.3, 1)
    at = rng.uniform(0, 0.5 * seconds)
    gap = rng.uniform(0.35, 0.9)
    left_alone = rng.uniform(0.75, 0.92) if chance(rng, 0.4) else 1.0
    while at < seconds and gap > 0.04:
        thud = loudest(struck(rng, modes, 0.25, ring))
        slap = band(noise(rng, len(thud)), 300, spread(rng, 1500, 5000), 1)
        thud += loudest(slap * decay(len(thud), rng.uniform(0.004, 0.012))) * rng.uniform(0.2, 0.9)
        place(track, thud * loud * rng.uniform(0.8, 1), at)
        gap *= left_alone if left_alone < 1 else rng.uniform(0.9, 1.1)
        loud *= left_alone
        at += gap


def _squeak(rng: Rng) -> Wave:
    n = length(rng.uniform(0.04, 0.25))
    pitch = spread(rng, 1400, 4500) * eased(rng.uniform(0.85, 1.2, 3), n)
    return np.asarray((tone(pitch, n) + 0.4 * tone(2 * pitch, n)) * hump(n, 0.4, 0.7))
