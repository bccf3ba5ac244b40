"""Sound and words that can be told from all others, wherever they turn up again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.types import WIRE_RATE
from server.consent import Consent

HUSH, VOICE = 300, 8 * 300  # int16: below and above what the stand-in ear takes for a voice
RUN = 8  # samples that are never the same twice by chance
STRIDE = 240  # 10 ms: any stretch longer than this and a run is found
FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], np.uint64)
FILTER_BITS = 26
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst")

Pcm = NDArray[np.int16]
Span = tuple[int, int]
Prints = NDArray[np.uint64]


def word(seed: int, count: int) -> str:
    """One that nobody else says, in letters alone: no id and no number looks like it."""
    return "zq" + sha256(f"{seed}/{count}".encode()).hexdigest()[:14].translate(LETTERS)


class Words:
    """What was said and allowed, in order: which words may be kept, that tells."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._said: list[tuple[str, Literal["said", "set", "never"]] | Consent] = []

    def new(self, how: Literal["said", "set", "never"] = "said") -> str:
        """A word said now; `set` holds until the next that is, `never` may never be kept."""
        said = word(self._seed, len(self._said) + 1)
        self._said.append((said, how))
        return said

    def consent(self, given: Consent) -> None:
        self._said.append(given)

    def sorted(self, consents: int) -> tuple[set[str], set[str]]:
        """Those that may be kept and those that may not, had only so many consents been heard."""
        allowed: set[str] = set()
        forbidden: set[str] = set()
        in_force, transcript = "", False
        for each in self._said:
            if isinstance(each, Consent):
                consents -= 1
                if consents < 0:
                    continue
                if transcript and not each.transcript:
                    forbidden |= allowed
                    allowed.clear()
                elif each.transcript and not transcript and in_force:
                    forbidden.discard(in_force)
                    allowed.add(in_force)
                transcript = each.transcript
                continue
            said, how = each
            (allowed if transcript and how != "never" else forbidden).add(said)
            in_force = said if how == "set" else in_force
        return allowed, forbidden


class Track:
    """What a person's microphone captures: noise of their own, louder where they speak."""

    def __init__(self, seed: int, seconds: float) -> None:
        self._noise = np.random.default_rng(seed).integers(
            -HUSH, HUSH + 1, round(seconds * WIRE_RATE), np.int16
        )

    def take(self, begin: int, end: int, loud: bool) -> Pcm:
        samples = self._noise[begin:end]
        return samples * np.int16(VOICE // HUSH) if loud else samples

    def whole(self, end: int, loud: Iterable[Span]) -> Pcm:
        """All that was captured up to a position."""
        track = self._noise[:end].copy()
        for begin, stop in loud:
            track[begin:stop] *= VOICE // HUSH
        return track


def prints(samples: Pcm, stride: int = STRIDE) -> Prints:
    """Fingerprints of runs in a stretch, one every so many samples."""
    count = (len(samples) - RUN) // stride + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    starts = np.arange(count) * stride
    runs = samples[starts[:, None] + np.arange(RUN)]
    return _hashed(np.ascontiguousarray(runs).view(np.uint64))


def _hashed(pairs: NDArray[np.uint64]) -> Prints:
    """Of two 64-bit words each; wraps round on purpose."""
    mixed: Prints = pairs[..., 0] * FACTORS[0] + pairs[..., 1] * FACTORS[1]
    return mixed ^ (mixed >> np.uint64(29))


@dataclass(frozen=True, slots=True)
class Sought:
    """Sound that must not be found anywhere."""

    known: Prints  # sorted
    likely: NDArray[np.bool_]  # by a print's last bits: most of what is not sought ends here

    @classmethod
    def of(cls, stretches: Sequence[Prints]) -> "Sought":
        known = np.unique(np.concatenate([np.empty(0, np.uint64), *stretches]))
        likely = np.zeros(1 << FILTER_BITS, np.bool_)
        likely[known & np.uint64((1 << FILTER_BITS) - 1)] = True
        return cls(known, likely)

    def found_in(self, data: bytes) -> int:
        """How many runs of it the bytes hold, at whatever offset."""
        return sum(self._aligned(data[offset:]) for offset in range(8))

    def found_in_samples(self, samples: Pcm) -> int:
        """The same in sound: it can only lie at whole samples."""
        data = samples.astype("<i2").tobytes()
        return sum(self._aligned(data[offset:]) for offset in range(0, 8, 2))

    def _aligned(self, data: bytes) -> int:
        words = np.frombuffer(data, np.uint64, len(data) // 8)
        if len(words) < 2:
            return 0
        here = _hashed(np.lib.stride_tricks.sliding_window_view(words, 2))
        here = here[self.likely[here & np.uint64((1 << FILTER_BITS) - 1)]]
        if not len(self.known):
            return 0
        places = np.minimum(np.searchsorted(self.known, here), len(self.known) - 1)
        return int((self.known[places] == here).sum())
