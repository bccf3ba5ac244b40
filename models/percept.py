"""What a voice says beside its words: the noun that perception hands to everyone else."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from models.perception.labels import BEYOND, DIMENSIONS, EMOTIONS

Chances = Mapping[str, float]  # a name and how likely it is, 0-1


@dataclass(frozen=True, slots=True)
class Affect:
    """Valence, arousal and dominance, each from 1 to 5; 3 is the middle."""

    valence: float
    arousal: float
    dominance: float


@dataclass(frozen=True, slots=True)
class Moment:
    """Something other than words that was heard, in seconds from the stretch's beginning."""

    name: str
    start: float
    end: float
    probability: float


@dataclass(frozen=True, slots=True)
class Prosody:
    """How the voice was used, as measured; None where there was too little to measure."""

    f0_mean: float | None = None  # Hz
    f0_range: float | None = None  # semitones between the 5th and the 95th percentile
    f0_slope: float | None = None  # semitones per second
    loudness: float | None = None  # dBFS of the active speech: not comparable across microphones
    speaking_rate: float | None = None  # syllables per second, pauses not counted
    pause_ratio: float | None = None  # silence between words over the whole, 0-1
    jitter: float | None = None  # cycle-to-cycle change of the period, as a fraction
    shimmer: float | None = None  # cycle-to-cycle change of the amplitude, as a fraction
    hnr: float | None = None  # harmonics to noise, dB
    snr: float | None = None  # speech to background, dB
    speech_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Conflict:
    """Words that say one thing and a voice that says another."""

    words: str  # the emotion of each
    voice: str
    strength: float  # 0-1


@dataclass(frozen=True, slots=True)
class Percept:
    """What is known of one stretch of speech, and how surely.

    `emotion`, `gender`, `age`, `volume` and `speed` add up to 1. In the others each chance stands
    alone. A name that is missing cannot be heard by the weights in use. `unknown` lists the
    dimensions (labels.toml) nobody should rely on here, whatever their chances say.
    """

    emotion: Chances
    gender: Chances
    age: Chances
    events: Chances
    environment: Chances
    physiological: Chances
    volume: Chances
    speed: Chances
    expressed: Affect | None  # by the speaker
    perceived: Affect | None  # as it would strike a listener
    prosody: Prosody
    unknown: tuple[str, ...]
    moments: tuple[Moment, ...] = ()
    conflict: Conflict | None = None
    seconds: float = 0.0  # how much sound it rests on
    weights: str = "default"

    @property
    def not_heard(self) -> list[str]:
        """The names of the taxonomy that the weights in use cannot hear."""
        asked = [(d.field, name) for d in DIMENSIONS.values() for name in d.attributes]
        asked += [(field, name) for field, names in BEYOND.items() for name in names]
        return [name for field, name in asked if name not in getattr(self, field)]

    def to_json(self) -> dict[str, Any]:
        """The form everyone outside reads: rounded, under the published keys."""
        plain = asdict(self)
        plain["vad"] = {
            "expressed": plain.pop("expressed"),
            "perceived": plain.pop("perceived"),
            "voice_part": "derived",  # no voice data is labelled so: from emotion and prosody
        }
        if self.emotion:  # all seven are always there; what cannot be heard has no chance
            plain["emotion"] = {name: self.emotion.get(name, 0.0) for name in EMOTIONS}
        plain["not_heard"] = self.not_heard
        rounded: dict[str, Any] = _rounded(plain)
        return rounded


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, Mapping):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
