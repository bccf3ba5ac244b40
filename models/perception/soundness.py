"""What a sound allows to be said of it, before anybody guesses."""

import math
from dataclasses import dataclass

import numpy as np

from models.perception.labels import DIMENSIONS
from models.perception.overlap import second_voice
from models.perception.prosody import Measuring, Voice
from models.types import EAR_RATE, Samples

_SILENT = 10 ** (-60 / 20)  # full scale is 1; below, nothing can be made out
_FULL_SCALE = 0.99
_CLIPPED = 0.01  # share of cut samples from which the voice's colour is the cut's
_RUINED = 0.1  # and from which there is no telling whose voice it is, or how it feels
_SHORT = 0.5  # seconds; less says nothing of a speaker
_WORDLESS = 1.0  # syllables a second; even slow speech has more
_TELLING = 1.5  # seconds of sound before a lack of syllables means anything
_TWO_VOICES = 0.18  # share of frames with two pitches; one voice alone rarely has as many
_DROWNED = 6.0  # dB SNR as measured, which runs a few dB high in loud noise

_OF_THE_SPEAKER = ("gender", "age", "physiological", "emotion", "volume", "speed")


@dataclass(frozen=True, slots=True)
class Soundness:
    """A sound's fitness to be judged."""

    seconds: float
    speech_seconds: float  # what sounds like a voice, by its level and pitch
    silent: bool
    clipped: float  # share of samples cut off, 0-1
    wordless: bool  # a sound without syllables: music, a tone, a steady noise
    crowded: bool  # two voices at once are suspected
    snr: float | None

    @property
    def short(self) -> bool:
        return self.speech_seconds < _SHORT

    def unknown(self) -> tuple[str, ...]:
        """The dimensions nobody should judge from this sound, in the order of the table."""
        if self.silent or self.seconds < _SHORT:
            return tuple(DIMENSIONS)
        lost: set[str] = set()
        if self.wordless or self.short or self.crowded or self.clipped > _RUINED:
            lost.update(_OF_THE_SPEAKER)
        if self.clipped > _CLIPPED:
            lost.update(("volume", "physiological"))
        if self.snr is not None and self.snr < _DROWNED:
            lost.update(("volume", "physiological", "speed"))
        return tuple(name for name in DIMENSIONS if name in lost)


def examine(
    samples: Samples, voice: Voice | None = None, speech_seconds: float | None = None
) -> Soundness:
    """How far the sound (mono, 16 kHz) can be trusted; `voice` if it has been measured already.

    `speech_seconds` is a voice detector's word, if there was one: it is not fooled by music.

    Raises:
        ValueError: the samples are no sound at all.
    """
    check(samples)
    if voice is None:
        measuring = Measuring()
        measuring.hear(samples)
        voice = measuring.voice()
    measured = voice.prosody
    seconds = len(samples) / EAR_RATE
    rate = measured.speaking_rate or 0.0
    share = second_voice(samples) if measured.speech_seconds >= _TELLING else None
    return Soundness(
        seconds=seconds,
        speech_seconds=min(
            measured.speech_seconds, math.inf if speech_seconds is None else speech_seconds
        ),
        silent=bool(np.abs(samples).max() < _SILENT),
        clipped=_clipped(samples),
        wordless=seconds >= _TELLING and rate < _WORDLESS,
        crowded=share is not None and share > _TWO_VOICES,
        snr=measured.snr,
    )


def check(samples: Samples) -> None:
    """Refuse what is not mono float32 sound.

    Raises:
        ValueError: a sentence that says what is wrong.
    """
    if samples.ndim != 1:
        raise ValueError(f"The sound must be mono, one row of samples, not {samples.ndim} axes.")
    if samples.dtype != np.float32:
        raise ValueError(f"The sound must be float32 between -1 and 1, not {samples.dtype}.")
    if not len(samples):
        raise ValueError("The sound is empty.")
    if not np.isfinite(samples).all():
        raise ValueError("The sound holds samples that are not numbers (NaN or infinite).")


def _clipped(samples: Samples) -> float:
    """Samples at full scale, or standing still at the sound's own top: cut and then turned down."""
    size = np.abs(samples)
    top = size.max()
    if top < _SILENT:
        return 0.0
    still = np.diff(samples, prepend=np.float32(2)) == 0
    return float(np.mean((size >= _FULL_SCALE) | (still & (size >= np.float32(0.98) * top))))
