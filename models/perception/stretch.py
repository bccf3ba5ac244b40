"""One stretch of sound, listened to as it grows: what is finished is never worked out again."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from models.perception.hearing import Heard, Window
from models.perception.prosody import Measuring, Voice
from models.perception.soundness import Soundness, check, examine
from models.perception.windows import (
    SHORTEST,
    STEP,
    WINDOW,
    Weights,
    activity,
    levelled,
    powers,
)
from models.protocols import VoiceActivity
from models.types import EAR_RATE, FRAME, Samples

BEHIND = EAR_RATE  # samples a rough answer may lag
SPEECH = 0.5  # the detector's chance from which a frame is speech
PIECE, HOP = EAR_RATE, EAR_RATE // 2  # a moment is looked for in pieces this long, this far apart
LOUDEST = 100.0  # full scale is 1; what is beyond is in some other unit


@dataclass(frozen=True, slots=True)
class Part:
    """A window of the stretch as the network is shown it, and where it lies in it."""

    start: int
    size: int  # samples of the stretch; a short window is shown with silence behind
    loudness: float  # how much sounds in it, against the other parts
    window: Window
    pieces: Sequence[int]  # where each span but the first begins, in the stretch


@dataclass(frozen=True, slots=True)
class Measured:
    voice: Voice
    soundness: Soundness


class Stretch:
    """Blocking work on a growing sound, for one thread at a time."""

    def __init__(self, detector: VoiceActivity | None = None) -> None:
        self._measuring = Measuring()
        self._followed = 0
        self._detector = detector
        self._detected = 0  # samples the detector has heard
        self._speech_frames = 0
        self._size = 0  # of the stretch `_measured` is of
        self._measured: Measured | None = None
        self._finished: list[Part] = []  # whole windows, from the beginning
        self._heard: dict[int, tuple[int, Heard]] = {}  # by a window's start; of which size

    def measure(self, samples: Samples, *, roughly: bool = False) -> Measured:
        """What is measured of all of it; only what is new is followed.

        Roughly, its soundness may be that of a while ago.

        Raises:
            ValueError: the samples are no sound; a sentence that says what is wrong.
        """
        if self._measured is None or len(samples) != self._size:
            check(samples)
            if np.abs(samples).max() > LOUDEST:
                raise ValueError("The sound is far louder than full scale, which is 1.")
            self._measuring.hear(samples[self._followed :])
            self._followed = len(samples)
            voice = self._measuring.voice()
            speech = self._detect(samples)
            if roughly and self._measured and len(samples) - self._size < BEHIND:
                return Measured(voice, self._measured.soundness)
            self._measured = Measured(voice, examine(samples, voice, speech))
            self._size = len(samples)
        return self._measured

    def _detect(self, samples: Samples) -> float | None:
        """Seconds of speech, by the voice detector."""
        if self._detector is None:
            return None
        while self._detected + FRAME <= len(samples):
            chance = self._detector(samples[self._detected : self._detected + FRAME])
            self._speech_frames += chance >= SPEECH
            self._detected += FRAME
        return self._speech_frames * FRAME / EAR_RATE

    def parts(self, samples: Samples, *, roughly: bool = False) -> list[Part]:
        """The stretch in windows, each whole but the last; a rest too short to judge is left.

        Roughly, the last one ends with a whole second, so that it is heard anew only every second.
        """
        if roughly and len(samples) > BEHIND:
            samples = samples[: len(samples) // BEHIND * BEHIND]
        whole = len(samples) // WINDOW
        for at in range(len(self._finished), whole):
            self._finished.append(cut(samples, at * WINDOW))
        parts, rest = self._finished[:whole], len(samples) - whole * WINDOW
        if rest >= SHORTEST or not parts:
            parts.append(cut(samples, whole * WINDOW))
        return parts

    def known(self, part: Part) -> Heard | None:
        size, heard = self._heard.get(part.start, (0, None))
        return heard if size == part.size else None

    def learn(self, part: Part, heard: Heard) -> None:
        """Keep what was heard; of a window that has grown since, only the newest."""
        self._heard[part.start] = part.size, heard


def cut(samples: Samples, start: int) -> Part:
    """One window, with its pieces as spans."""
    sound = samples[start : start + WINDOW]
    size = len(sound)
    sound = np.pad(sound, (0, max(0, SHORTEST - size)))
    power = powers(sound)
    spans: list[Weights] = [activity(power)]
    pieces = []
    for at in range(0, max(size - PIECE, 0) + 1, HOP):
        weights = np.zeros_like(spans[0])
        steps = slice(at // STEP, (at + PIECE) // STEP)
        weights[steps] = activity(power[steps])
        spans.append(weights)
        pieces.append(start + at)
    return Part(start, size, float(power.sum()), Window(levelled(sound), spans), pieces)
