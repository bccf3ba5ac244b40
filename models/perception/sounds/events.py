"""Sounds of one person that are not words: laughing, coughing, sighing, crying..."""

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
    noise,
    peaks,
    place,
    spread,
)
from models.perception.sounds.voice import Person, exhaled, somebody, utter
from models.types import EAR_RATE


def laughter(rng: Rng, seconds: float) -> Wave:
    """Bouts of voiced bursts, three to six a second, each lower and softer; sometimes a few laugh.

    Between the bouts air is drawn in, often with a wheeze.
    """
    track = np.zeros(length(seconds))
    for _ in range(int(rng.choice([1, 2, 3], p=[0.7, 0.2, 0.1]))):
        person = somebody(rng, child=chance(rng, 0.15))
        at = rng.uniform(0, 0.3 * seconds)
        while at < seconds - 0.3:
            bout = _bout(rng, person, min(seconds - at, rng.uniform(0.7, 3.0)))
            place(track, bout * rng.uniform(0.5, 1), at)
            at += len(bout) / EAR_RATE + rng.uniform(0.05, 0.2)
            drawn = length(rng.uniform(0.2, 0.5))
            if chance(rng, 0.7):
                place(track, 0.3 * loudest(_inhaled(rng, person, drawn)), at)
            at += drawn / EAR_RATE + rng.exponential(0.3)
            if chance(rng, 0.2):
                break
    return track


def _bout(rng: Rng, person: Person, seconds: float) -> Wave:
    n = length(seconds)
    beat = rng.uniform(3.2, 6.0) * (1 - 0.12 * np.linspace(0, 1, n))
    phase = np.cumsum(beat) / EAR_RATE
    along = phase % 1
    index = np.minimum(phase.astype(np.intp), 60)
    share = rng.uniform(0.35, 0.75)  # of each beat that is voiced
    opening = np.where(along < share, np.sin(np.pi * np.minimum(along / share, 1)), 0.0)
    each = rng.uniform(0.6, 1, 64)[index]
    fading = np.linspace(1, rng.uniform(0.2, 1), n)
    top = person.pitch * rng.uniform(1.2, 2.6)
    fall = rng.uniform(0.6, 1.0) ** np.linspace(0, 1, n)
    pitch = top * fall * (1 + 0.06 * rng.standard_normal(64)[index]) * (1 - 0.25 * along)
    voiced = opening ** rng.uniform(0.7, 3) * each * fading
    voiced = voiced * (0.0 if chance(rng, 0.15) else 1.0)  # some laugh with air alone
    # Each beat starts with an h, and between two there is next to nothing.
    rush = np.exp(-along / rng.uniform(0.03, 0.15))
    air = spread(rng, 0.03, 0.4) if voiced.any() else 1.0
    breath = air * (rush * rng.uniform(0, 1) + opening) * each * fading
    vowel = str(rng.choice(["a", "a uh", "e", "uh", "i", "o", "a e"]))
    return loudest(utter(rng, person, vowel, pitch, voiced, breath, rng.uniform(0, 0.3)))


def cough(rng: Rng, seconds: float) -> Wave:
    """An explosion of air, a rushing middle and often a voiced end, one to a few in a row."""
    track = np.zeros(length(seconds))
    person = somebody(rng, child=chance(rng, 0.15))
    wet = rng.uniform(0, 0.8) * chance(rng, 0.5)
    at = rng.uniform(0.02, max(0.03, 0.4 * seconds))
    while at < seconds - 0.1:
        for _ in range(int(rng.integers(1, 5))):
            one = _cough(rng, person, rng.uniform(0.2, 0.5), wet)
            place(track, one * rng.uniform(0.5, 1), at)
            at += len(one) / EAR_RATE * rng.uniform(0.7, 1.0) + rng.exponential(0.08)
        at += rng.uniform(0.2, 2.5)
        if chance(rng, 0.3):
            break
    return track


def _cough(rng: Rng, person: Person, seconds: float, wet: float) -> Wave:
    n = length(seconds)
    burst = decay(n, rng.uniform(0.02, 0.07), spread(rng, 0.004, 0.03))
    middle = eased([0, 1, 0.5, 0.15, 0.03, 0], n) * rng.uniform(0.1, 0.5)
    rattle = 1 + wet * np.sign(contour(rng, n, spread(rng, 40, 120)))
    air = (burst + middle * rattle) * 1.5
    voiced = eased([0, 0, 0.2, 0.5, 0.2, 0], n) * rng.uniform(0, 1.2) + 0.7 * burst
    pitch = person.pitch * rng.uniform(1.0, 2.0) * np.linspace(1, rng.uniform(0.5, 0.9), n)
    vowels = str(rng.choice(["a uh", "uh", "a o", "uh e", "o uh"]))
    return loudest(utter(rng, person, vowels, pitch, voiced, air, rng.uniform(0.2, 0.9)))


def sneeze(rng: Rng, seconds: float) -> Wave:
    """Air drawn in, once or in steps, and thrown out through the teeth."""
    track = np.zeros(length(seconds))
    person = somebody(rng, child=chance(rng, 0.1))
    at = rng.uniform(0, max(0.02, 0.3 * seconds))
    while at < seconds - 0.15:
        for _ in range(int(rng.integers(0, 4))):
            n = length(rng.uniform(0.15, 0.5))
            rise = np.linspace(0.9, rng.uniform(1.1, 1.8), n) * person.pitch * 1.2
            strength = hump(n, 0.8)
            voiced = strength * rng.uniform(0, 0.6) * chance(rng, 0.6)
            gasp = utter(rng, person, "uh a", rise, voiced, 0.4 * strength)
            place(track, loudest(gasp) * spread(rng, 0.01, 0.3), at)
            at += n / EAR_RATE + rng.exponential(0.1)
        place(track, _thrown(rng, person), at)
        at += rng.uniform(0.8, 2.5)
        if chance(rng, 0.6):
            break
    return track


def _thrown(rng: Rng, person: Person) -> Wave:
    n = length(rng.uniform(0.25, 0.8))
    call = eased([0, 1, 0.5, 0.15, 0], n) * rng.uniform(0.2, 1.5)
    pitch = person.pitch * rng.uniform(1.3, 3) * np.linspace(1, rng.uniform(0.5, 0.9), n)
    vowels = str(rng.choice(["a i u", "a u", "e i", "i u", "a i"]))
    voiced = utter(rng, person, vowels, pitch, call, 0.3 * call, rng.uniform(0, 0.6))
    hiss = noise(rng, n, rng.uniform(-3, 3))
    hiss = band(hiss, spread(rng, 500, 4000), spread(rng, 4000, 8000), 2)
    hiss = even(hiss) * eased([0, 0.4, 1, 0.6, 0.3, 0.1, 0], n)
    return loudest(even(voiced) * spread(rng, 0.1, 2) + hiss)


def throat(rng: Rng, seconds: float) -> Wave:
    """Low and creaking: air forced through a throat that is nearly shut, then a hum."""
    track = np.zeros(length(seconds))
    person = somebody(rng)
    at = rng.uniform(0, max(0.02, 0.3 * seconds))
    while at < seconds - 0.15:
        for _ in range(int(rng.integers(1, 4))):
            n = length(rng.uniform(0.1, 0.4))
            creak = person.pitch * rng.uniform(0.6, 1.7) * eased(rng.uniform(0.8, 1.2, 4), n)
            strength = eased([0, *rng.uniform(0.4, 1, 3), 0], n)
            flutter = 1 + 0.8 * np.sign(contour(rng, n, spread(rng, 30, 90)))
            air = strength * flutter * spread(rng, 0.03, 0.4)
            vowels = str(rng.choice(["uh m", "m", "uh", "uh o m", "m uh m", "e m"]))
            one = utter(rng, person, vowels, creak, strength, air, rng.uniform(0.2, 1.0))
            place(track, loudest(one) * rng.uniform(0.4, 1), at)
            at += n / EAR_RATE * rng.uniform(0.9, 1.3)
        at += rng.uniform(0.5, 2)
        if chance(rng, 0.6):
            break
    return track


def sigh(rng: Rng, seconds: float) -> Wave:
    """A breath let go: long, airy, falling; often drawn in audibly before."""
    track = np.zeros(length(seconds))
    person = somebody(rng)
    at = rng.uniform(0, max(0.02, 0.25 * seconds))
    if chance(rng, 0.6):
        n = length(min(rng.uniform(0.3, 1.2), 0.4 * seconds))
        place(track, loudest(_inhaled(rng, person, n)) * spread(rng, 0.02, 0.7), at)
        at += n / EAR_RATE + rng.uniform(0, 0.3)
    n = length(min(spread(rng, 0.5, 2.2), max(0.1, seconds - at)))
    letting_go = hump(n, rng.uniform(0.05, 0.35), rng.uniform(1.5, 5))
    fall = np.linspace(1, rng.uniform(0.55, 0.9), n)
    voiced = letting_go * fall * rng.uniform(0.05, 0.5) * chance(rng, 0.45)
    vowels = str(rng.choice(["a uh", "uh", "a o", "uh u", "e uh", "a m", "o u"]))
    pitch = person.pitch * rng.uniform(1, 1.5) * fall
    place(track, loudest(utter(rng, person, vowels, pitch, voiced, letting_go)), at)
    return track


def yawn(rng: Rng, seconds: float) -> Wave:
    """A mouth that opens wide and shuts over seconds: air drawn in, then a falling breathy ah."""
    track = np.zeros(length(seconds))
    person = somebody(rng)
    whole = min(rng.uniform(1.8, 5.0), seconds)
    drawn = length(whole * rng.uniform(0.25, 0.5))
    at = rng.uniform(0, seconds - whole) if seconds > whole else 0.0
    air = hump(drawn, rng.uniform(0.5, 0.9), 1.3)
    taken = exhaled(rng, person, str(rng.choice(["m uh a", "e a", "u o a"])), air)
    place(track, loudest(taken) * rng.uniform(0.1, 0.6), at)
    n = length(whole) - drawn
    open_ = hump(n, rng.uniform(0.15, 0.4), rng.uniform(1, 3))
    line = eased([1.0, rng.uniform(1.1, 1.7), rng.uniform(0.9, 1.2), rng.uniform(0.5, 0.8)], n)
    voiced = open_ * rng.uniform(0.1, 1.0) * chance(rng, 0.65)
    vowels = str(rng.choice(["a a o m", "a a uh", "a o u", "uh a a e", "a a o o"]))
    pitch = person.pitch * rng.uniform(0.9, 1.6) * line
    given = utter(rng, person, vowels, pitch, voiced, open_ * spread(rng, 0.1, 1))
    place(track, loudest(given), at + drawn / EAR_RATE)
    return track


def moan(rng: Rng, seconds: float) -> Wave:
    """Voice without words, drawn out and sliding, with the mouth half shut."""
    track = np.zeros(length(seconds))
    person = somebody(rng)
    at = rng.uniform(0, max(0.02, 0.2 * seconds))
    while at < seconds - 0.2:
        n = length(min(rng.uniform(0.5, 2.5), seconds - at))
        line = eased([rng.uniform(0.9, 1.2), rng.uniform(1, 1.5), 1, rng.uniform(0.6, 1)], n)
        strength = hump(n, rng.uniform(0.2, 0.6), rng.uniform(0.6, 1.5))
        tremor = 1 + 0.03 * contour(rng, n, spread(rng, 4, 12))
        vowels = str(rng.choice(["m", "o m", "u", "uh m", "o u", "m uh m", "o", "e m", "a o"]))
        pitch = person.pitch * rng.uniform(0.9, 1.6) * line * tremor
        air = strength * spread(rng, 0.03, 0.3)
        one = utter(rng, person, vowels, pitch, strength, air, rng.uniform(0, 0.5))
        place(track, loudest(one) * rng.uniform(0.5, 1), at)
        at += n / EAR_RATE + rng.uniform(0.1, 0.8)
        if chance(rng, 0.3):
            break
    return track


def scream(rng: Rng, seconds: float) -> Wave:
    """High, loud, rough and long: more than 400 Hz, with nearly all its strength up high."""
    track = np.zeros(length(seconds))
    calm = somebody(rng, child=chance(rng, 0.25))
    person = Person(calm.pitch, calm.mouth, rng.uniform(-9, -2), calm.sharpness)
    high = spread(rng, 480, 1400)
    at = rng.uniform(0, max(0.02, 0.3 * seconds))
    while at < seconds - 0.2:
        n = length(min(rng.uniform(0.5, 2.5), seconds - at))
        line = eased([rng.uniform(0.8, 1), *rng.uniform(0.95, 1.15, 3), rng.uniform(0.7, 1)], n)
        pitch = np.maximum(high * line * (1 + 0.01 * contour(rng, n, 12)), 410)
        strength = eased([0, *rng.uniform(0.8, 1, 6), 0], n)
        vowels = str(rng.choice(["a", "a e", "e", "i", "a i", "uh a"]))
        air = strength * spread(rng, 0.005, 0.2)
        one = utter(rng, person, vowels, pitch, strength, air, spread(rng, 0.02, 0.7))
        # Loud voices flatten in the throat and in the microphone.
        place(track, loudest(np.tanh(spread(rng, 0.3, 3) * loudest(one))), at)
        at += n / EAR_RATE + rng.uniform(0.1, 1)
        if chance(rng, 0.5):
            break
    return track


def sobbing(rng: Rng, seconds: float) -> Wave:
    """Shaking cries that fall, gasps drawn in by steps, and sniffs."""
    track = np.zeros(length(seconds))
    person = somebody(rng, child=chance(rng, 0.15))
    loud = rng.uniform(0.3, 1)
    at = rng.uniform(0, 0.4)
    while at < seconds - 0.15:
        kind = rng.choice(["cry", "gasps", "sniff"], p=[0.65, 0.2, 0.15])
        if kind == "cry":
            piece = loudest(_cry(rng, person, min(rng.uniform(0.3, 1.8), seconds - at))) * loud
        elif kind == "gasps":
            piece = loudest(_gasps(rng, person)) * rng.uniform(0.2, 0.6)
        else:
            n = length(rng.uniform(0.1, 0.45))
            wet = 1 + 0.6 * np.sign(contour(rng, n, 60))
            air = band(noise(rng, n), spread(rng, 800, 2500), spread(rng, 3500, 8000), 2)
            piece = loudest(air * hump(n, 0.7) * wet) * rng.uniform(0.1, 0.6)
        place(track, piece, at)
        at += len(piece) / EAR_RATE + rng.exponential(0.2)
    return track


def _cry(rng: Rng, person: Person, seconds: float) -> Wave:
    n = length(seconds)
    time = clock(n)
    shake = rng.uniform(4, 10) * time + 0.3 * contour(rng, n, 4)
    depth = rng.uniform(0.1, 0.95)
    wave = 0.5 + 0.5 * np.cos(2 * np.pi * shake)
    strength = hump(n, rng.uniform(0.1, 0.4), 0.8) * (1 - depth * wave)
    fall = eased([rng.uniform(1.0, 1.3), rng.uniform(1, 1.3), 1, rng.uniform(0.6, 0.9)], n)
    trembling = 1 + rng.uniform(0.01, 0.08) * np.cos(2 * np.pi * shake)
    pitch = person.pitch * rng.uniform(1.2, 2.4) * fall * trembling
    vowels = str(rng.choice(["uh", "a uh", "i", "u", "e uh", "m", "m uh m", "o m"]))
    air = strength * spread(rng, 0.01, 0.4)
    return utter(rng, person, vowels, pitch, strength, air, spread(rng, 0.02, 0.5))


def _gasps(rng: Rng, person: Person) -> Wave:
    steps = int(rng.integers(1, 5))
    n = length(steps * rng.uniform(0.1, 0.25))
    strength = np.abs(np.sin(np.pi * steps * np.linspace(0, 1, n)))
    voiced = strength * rng.uniform(0, 0.4) * chance(rng, 0.4)
    rise = person.pitch * np.linspace(1.5, rng.uniform(1.6, 2.6), n)
    return utter(rng, person, "uh e", rise, voiced, strength)


def breath(rng: Rng, seconds: float) -> Wave:
    """In and out, in and out: heavy and slow, or panting up to four times a second."""
    n = length(seconds)
    person = somebody(rng)
    pace = spread(rng, 0.35, 3.5) * np.exp(0.1 * contour(rng, n, 1))
    phase = np.cumsum(pace) / EAR_RATE + rng.random()
    along = phase % 1
    share = rng.uniform(0.35, 0.6)
    width = rng.uniform(0.6, 1)
    both = []
    for begin, end in ((0.0, share), (share, 1.0)):
        part = np.clip((along - begin) / ((end - begin) * width), 0, 1)
        both.append(np.sin(np.pi * part) ** rng.uniform(0.7, 3) * spread(rng, 0.2, 1))
    each = 1 + 0.2 * contour(rng, n, 2)
    inward = exhaled(rng, person, str(rng.choice(["i", "e", "uh", "u"])), both[0] * each)
    inward = band(inward, spread(rng, 150, 900), 7500, 1)
    pitch = np.full(n, person.pitch * rng.uniform(1, 1.6)) * (1 + 0.03 * contour(rng, n, 3))
    voiced = both[1] * rng.uniform(0, 0.4) * chance(rng, 0.25)
    outward = utter(rng, person, str(rng.choice(["a", "uh", "o", "e"])), pitch, voiced, both[1])
    return inward + outward


def _inhaled(rng: Rng, person: Person, n: int) -> Wave:
    """Air drawn in: thinner than what goes out, and loudest late."""
    air = band(noise(rng, n), spread(rng, 200, 1000), spread(rng, 3000, 8000), 1.5)
    centres = person.mouthing("uh")[0]
    return peaks(air, list(centres), list(person.widths * 2), 0.15) * hump(n, 0.65, 1.2)
