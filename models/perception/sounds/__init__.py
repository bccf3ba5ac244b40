"""Sounds made from nothing but arithmetic, to train on where no recording may be used.

Every call draws new values from wide ranges, for a network learns a kind of sound from its spread
rather than from one good likeness. Voices are pulses and breath through formants, weather is noise
that moves, crowds are many voices, bells and balls are struck bodies. Nothing here is recorded. The
ranges were chosen by ear of a small classifier: trained on these sounds alone, and tried on real
recordings of the research collections (their train part only).
"""

from collections.abc import Callable

import numpy as np

from models.perception.sounds.alarms import alarm, ringtone
from models.perception.sounds.animals import dog
from models.perception.sounds.crowds import applause, chatter, cheering, children
from models.perception.sounds.events import (
    breath,
    cough,
    laughter,
    moan,
    scream,
    sigh,
    sneeze,
    sobbing,
    throat,
    yawn,
)
from models.perception.sounds.music import music
from models.perception.sounds.other import other
from models.perception.sounds.shaping import (
    Rng,
    Wave,
    band,
    chance,
    even,
    in_a_room,
    length,
    loudest,
    noise,
    spread,
    tilted,
)
from models.perception.sounds.sports import basketball
from models.perception.sounds.vehicles import car, horn, subway
from models.perception.sounds.weather import rain, sea, thunderstorm, wind
from models.types import Samples

Maker = Callable[[Rng, float], Wave]

NAMES: dict[str, Maker] = {
    "laughter": laughter,
    "cough": cough,
    "sigh": sigh,
    "yawn": yawn,
    "moan": moan,
    "sneeze": sneeze,
    "throat": throat,
    "scream": scream,
    "sobbing": sobbing,
    "breath": breath,
    "wind": wind,
    "thunderstorm": thunderstorm,
    "rain": rain,
    "car": car,
    "subway": subway,
    "sea": sea,
    "basketball": basketball,
    "applause": applause,
    "cheering": cheering,
    "chatter": chatter,
    "children": children,
    "alarm": alarm,
    "ringtone": ringtone,
    "horn": horn,
    "music": music,
    "dog": dog,
    "other": other,
}


_SHORTEST = 2.0  # seconds a sound is given to happen in; less is cut out of that


def make(name: str, rng: Rng, seconds: float) -> Samples:
    """A new sound of that name, at EAR_RATE, its peak at most 1."""
    if name not in NAMES:
        raise ValueError(f"no sound called {name!r}; there are {', '.join(NAMES)}")
    wave = _recorded(rng, NAMES[name](rng, max(seconds, _SHORTEST)))
    wave = _loudest_part(wave, length(seconds))
    return (loudest(wave) * spread(rng, 0.2, 1)).astype(np.float32)


def _loudest_part(wave: Wave, n: int) -> Wave:
    power = np.concatenate([[0.0], np.cumsum(wave * wave)])
    start = int(np.argmax(power[n:] - power[: len(power) - n]))
    return wave[start : start + n]


def _recorded(rng: Rng, wave: Wave) -> Wave:
    """As some microphone somewhere hears it: the same for every name, so that it tells nothing."""
    if chance(rng, 0.5):
        wave = in_a_room(rng, wave, spread(rng, 0.1, 0.6), spread(rng, 0.03, 0.5))
    wave = tilted(wave, rng.uniform(-6, 2))
    wave = band(wave, spread(rng, 15, 120), spread(rng, 3000, 12_000), rng.uniform(1, 4))
    if chance(rng, 0.7):
        hush = even(noise(rng, len(wave), rng.uniform(-8, 0)))
        wave = loudest(wave) + hush * spread(rng, 0.0003, 0.03)
    return wave
