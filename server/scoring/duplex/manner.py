"""How a stretch of the reply is spoken, and whether it is cut off. Pure."""

from dataclasses import dataclass

import numpy as np

from models.audio import resample
from models.perception.prosody import steadied
from models.perception.tracks import track
from models.types import EAR_RATE, AudioChunk, Samples

LEAST_SEC = 0.5  # of speech, before anything is said of it
_VOICED, _LEAST_VOICED = 0.5, 15  # periodicity of a voiced frame; frames of 10 ms
_SPEECH_DB = 30.0  # below the loudest: what is quieter is no speech
_SILENCE_DB = -60.0  # of full scale; quieter is as good as digital silence

CUT_FRAME_SEC, CUT_DB = 0.03, -18.0


@dataclass(frozen=True, slots=True)
class Manner:
    """Pitch is None where too little is voiced."""

    pitch_hz: float | None
    pitch_spread_st: float | None  # standard deviation
    level_db: float
    level_spread_db: float


def manner(sound: AudioChunk) -> Manner | None:
    """None for too little speech to tell."""
    if sound.duration < LEAST_SEC:
        return None
    tracks = track(resample(sound.samples, sound.rate, EAR_RATE))
    spoken = tracks.level > max(_SILENCE_DB, float(tracks.level.max(initial=-120)) - _SPEECH_DB)
    if not spoken.any():
        return None
    pitch, strength = steadied(tracks)
    voiced = pitch[spoken & (strength > _VOICED) & (pitch > 0)]
    level = tracks.level[spoken]
    loudness = 10 * np.log10(np.mean(10 ** (level / 10)))
    if len(voiced) < _LEAST_VOICED:
        return Manner(None, None, float(loudness), float(level.std()))
    semitones = 12 * np.log2(voiced)
    return Manner(float(voiced.mean()), float(semitones.std()), float(loudness), float(level.std()))


def cutoffs(sound: AudioChunk) -> list[float]:
    """Seconds at which the level falls by 18 dB or more from one frame of 30 ms to the next."""
    levels = _levels(sound.samples, round(CUT_FRAME_SEC * sound.rate))
    falls = np.flatnonzero(np.diff(levels) <= CUT_DB) + 1
    return [float(number) * CUT_FRAME_SEC for number in falls]


def _levels(samples: Samples, size: int) -> Samples:
    count = len(samples) // size
    power = np.square(samples[: count * size]).reshape(count, size).mean(axis=1)
    levels: Samples = np.maximum(10 * np.log10(power + 1e-12), _SILENCE_DB)
    return levels
