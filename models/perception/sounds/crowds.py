"""Many people at once: clapping, cheering, talking, and children at play."""

import numpy as np

from models.perception.sounds.shaping import (
    Rng,
    Wave,
    band,
    chance,
    contour,
    convolved,
    decay,
    eased,
    even,
    hump,
    in_a_room,
    length,
    level,
    loudest,
    noise,
    place,
    scattered,
    spread,
    struck,
    tone,
)
from models.perception.sounds.voice import Person, babble, somebody, utter
from models.types import EAR_RATE


def applause(rng: Rng, seconds: float) -> Wave:
    """From one pair of hands to a hall: each person has a rhythm and a way to hold the palms."""
    n = length(seconds)
    people = int(spread(rng, 1, 120))
    kinds = min(people, 6)
    together = chance(rng, 0.15)  # in time with each other
    shared = rng.uniform(2, 4.5)
    out = np.zeros(n)
    for kind in range(kinds):
        hits = np.zeros(n)
        for _ in range(people // kinds + (kind < people % kinds)):
            pace = shared if together else rng.uniform(2.2, 5.5)
            count = int(seconds * pace) + 1
            gaps = 1 / pace * (1 + rng.uniform(0.01, 0.12) * rng.standard_normal(count))
            at = np.cumsum(gaps) + rng.uniform(-1, 0) / pace
            at = at[(at >= 0) & (at < seconds)]
            where = np.minimum((at * EAR_RATE).astype(np.intp), n - 1)
            np.add.at(hits, where, spread(rng, 0.2, 1) * rng.uniform(0.6, 1.2, len(where)))
        out += convolved(hits, _clap(rng))
    if people > 8:
        out += even(band(noise(rng, n), 500, 5000, 1)) * level(out) * rng.uniform(0, 0.5)
    out *= np.exp(0.3 * contour(rng, n, 0.5))
    if people > 5 and chance(rng, 0.3):
        calls = _cries(rng, seconds, int(rng.integers(1, 4)))
        out = even(out) + even(calls) * rng.uniform(0.1, 0.7)
    return in_a_room(rng, out, spread(rng, 0.2, 2), rng.uniform(0, 1))


def _clap(rng: Rng) -> Wave:
    """Palms on palms ring low and hollow, fingers on palms high and short."""
    n = length(0.06)
    centre = spread(rng, 500, 2800)
    snap = noise(rng, n) * decay(n, rng.uniform(0.001, 0.004), 0.0004)
    body = even(band(noise(rng, n), centre * 0.6, centre * 1.6, 2))
    body *= decay(n, rng.uniform(0.004, 0.015), 0.001)
    return loudest(band(snap, 400, 7800, 1) * rng.uniform(0.2, 1) + body)


def cheering(rng: Rng, seconds: float) -> Wave:
    """A roar of open voices that swells, with whoops, whistles and some clapping on top."""
    n = length(seconds)
    roar = _crowd(_cries(rng, seconds, 4), rng, int(rng.integers(4, 10)))
    hall = band(noise(rng, n, -3), 300, spread(rng, 1500, 4000), 1)
    out = even(roar) + even(hall) * spread(rng, 0.03, 0.6)
    out *= np.exp(0.4 * contour(rng, n, rng.uniform(0.3, 1)))
    out += even(_cries(rng, seconds, int(rng.integers(1, 4)))) * rng.uniform(0, 0.8)
    for _ in range(rng.poisson(0.3 * seconds)):
        place(out, _whistle(rng) * rng.uniform(0.3, 2), rng.uniform(0, seconds))
    if chance(rng, 0.5):
        out += even(applause(rng, seconds)) * rng.uniform(0.1, 0.9)
    return in_a_room(rng, out, spread(rng, 0.3, 2.5), rng.uniform(0.1, 1))


def _cries(rng: Rng, seconds: float, count: int) -> Wave:
    """Single voices that call out, long and open."""
    track = np.zeros(length(seconds))
    for _ in range(count):
        person = somebody(rng, child=chance(rng, 0.15))
        loud = Person(person.pitch, person.mouth, rng.uniform(-5, -1), person.sharpness)
        n = length(min(rng.uniform(0.5, 3), seconds))
        line = eased([0.8, rng.uniform(1, 1.5), rng.uniform(0.9, 1.4), rng.uniform(0.6, 1)], n)
        strength = hump(n, rng.uniform(0.1, 0.5), 0.6)
        vowels = str(rng.choice(["u", "e a", "a", "o", "u o", "e", "i e a"]))
        pitch = loud.pitch * rng.uniform(1.5, 3) * line
        cry = utter(rng, loud, vowels, pitch, strength, 0.1 * strength, rng.uniform(0, 0.5))
        place(track, loudest(cry), rng.uniform(-0.3, max(0.1, seconds - n / EAR_RATE)))
    return track


def _whistle(rng: Rng) -> Wave:
    n = length(rng.uniform(0.2, 0.9))
    pitch = spread(rng, 1200, 3500) * eased([0.8, 1.2, rng.uniform(0.7, 1.5)], n)
    return np.asarray(tone(pitch, n) * hump(n, 0.3, 0.6))


def _crowd(voices: Wave, rng: Rng, copies: int) -> Wave:
    """The voices again as others would have them: later, higher or lower, nearer or further."""
    n = len(voices)
    out = voices.copy()
    for _ in range(copies):
        # The nearest sample will do: these are the voices further off.
        where = (np.arange(n) * rng.uniform(0.8, 1.25) + rng.integers(n)).astype(np.intp) % n
        out += voices[where] * rng.uniform(0.3, 1)
    return out


def chatter(rng: Rng, seconds: float) -> Wave:
    """A room full of talk, in which no word can be made out; now and then a cup."""
    n = length(seconds)
    voices = np.zeros(n)
    for _ in range(3):
        voices += even(babble(rng, somebody(rng), seconds)) * rng.uniform(0.4, 1)
    out = even(_crowd(voices, rng, int(rng.integers(2, 12))))
    if chance(rng, 0.4):
        cup = struck(rng, [spread(rng, 1500, 3000), spread(rng, 3000, 6500)], 0.15, 0.03)
        out += even(scattered(rng, n, spread(rng, 0.5, 4), cup)) * rng.uniform(0.05, 0.3)
    out += even(noise(rng, n, -6)) * rng.uniform(0.02, 0.3)
    return in_a_room(rng, out, spread(rng, 0.3, 1.5), rng.uniform(0.3, 1.2))


def children(rng: Rng, seconds: float) -> Wave:
    """High voices that talk, call and squeal across each other, out of doors or in a hall."""
    n = length(seconds)
    track = np.zeros(n)
    for _ in range(int(rng.integers(0, 3))):
        child = somebody(rng, child=True)
        talk = even(babble(rng, child, seconds, lively=2))
        place(track, talk * rng.uniform(0.2, 1), 0)
    for _ in range(1 + rng.poisson(0.8 * seconds)):
        place(track, loudest(_call(rng)) * rng.uniform(0.3, 3), rng.uniform(-0.2, seconds))
    if chance(rng, 0.6):
        track = _crowd(track, rng, int(rng.integers(1, 7)))
    track = even(track) + even(noise(rng, n, rng.uniform(-9, -3))) * spread(rng, 0.1, 1.2)
    return in_a_room(rng, track, spread(rng, 0.2, 2), rng.uniform(0, 1))


def _call(rng: Rng) -> Wave:
    child = somebody(rng, child=True)
    n = length(rng.uniform(0.2, 1.2))
    line = eased([1, rng.uniform(1, 1.6), rng.uniform(0.8, 1.4), rng.uniform(0.6, 1.2)], n)
    strength = hump(n, rng.uniform(0.1, 0.6), 0.7)
    vowels = str(rng.choice(["e", "a i", "i", "o", "uh e i", "a", "u a"]))
    pitch = child.pitch * rng.uniform(1.3, 3.5) * line
    return utter(rng, child, vowels, pitch, strength, 0.1 * strength, rng.uniform(0, 0.4))
