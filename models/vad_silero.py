"""Silero as voice activity: one shared network, one small state per conversation."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models import weights
from models.inference import session
from models.types import EAR_RATE, FRAME, Samples
from models.vad_batch import Batch

_CONTEXT = 64  # samples of the frame before, which the network wants in front of each frame


class SileroVoice:
    """What the network remembers of one conversation; called with its frames in order."""

    __slots__ = ("_detector", "state", "window")

    def __init__(self, detector: "SileroDetector") -> None:
        self._detector = detector
        self.state = np.zeros((2, 1, 128), np.float32)
        self.window = np.zeros(_CONTEXT + FRAME, np.float32)

    def __call__(self, frame: Samples) -> float:
        return float(self._detector.hear([self], [frame])[0])

    def soon(self, frame: Samples) -> asyncio.Future[float]:
        """The same, together with the frames of other conversations."""
        return self._detector.batch.ask(self, frame)


class SileroDetector:
    """The network itself. Safe to share: all that changes is in the SileroVoice."""

    def __init__(self, path: Path | None = None) -> None:
        # A frame is a tenth of a millisecond's work: more threads would only cost.
        self._session = session(path or weights.path("silero-vad"), threads=1)
        self._rate = np.array(EAR_RATE, np.int64)
        self.batch: Batch[SileroVoice] = Batch(self.hear)

    def open(self) -> SileroVoice:
        return SileroVoice(self)

    def hear(self, voices: Sequence[SileroVoice], frames: Sequence[Samples]) -> NDArray[np.float32]:
        """One frame of each voice in a single call: less than half the cost of one by one."""
        for voice, frame in zip(voices, frames, strict=True):
            assert len(frame) == FRAME, f"a frame is {FRAME} samples, not {len(frame)}"
            voice.window[:_CONTEXT] = voice.window[-_CONTEXT:]
            voice.window[_CONTEXT:] = frame
        probabilities, states = self._session.run(
            None,
            {
                "input": np.stack([voice.window for voice in voices]),
                "state": np.concatenate([voice.state for voice in voices], axis=1),
                "sr": self._rate,
            },
        )
        for i, voice in enumerate(voices):
            voice.state = states[:, i : i + 1]
        flat: NDArray[np.float32] = probabilities[:, 0]
        return flat
