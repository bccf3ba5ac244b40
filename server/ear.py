"""The ear: wire audio in, turn events out, with our own voice taken out in between."""

from collections.abc import Iterator

import numpy as np

from models.ear_rate import EarResampler
from models.protocols import VoiceActivity
from models.types import EAR_RATE, FRAME, WIRE_RATE, Samples
from models.vad_batch import Joinable
from server.echo import EchoGuard, Heard
from server.turns import TurnDetector, TurnEvent, TurnOptions


class Ear:
    """One conversation's hearing. Positions are samples of session time at WIRE_RATE."""

    def __init__(self, vad: VoiceActivity, options: TurnOptions) -> None:
        self.turns = TurnDetector(vad, options)
        # The voice detector, where it can be asked together with other conversations.
        self.joined = vad if isinstance(vad, Joinable) else None
        self.echo = EchoGuard()
        self._resampler = EarResampler()
        self._reply_resampler = EarResampler()
        self._pending: Samples = np.empty(0, np.float32)
        self._repaid = 0  # samples heard that session time does not count: see Timeline

    def hear(self, audio: Samples, repaid: int = 0) -> Iterator[TurnEvent | None]:
        """One item for every frame the audio completes: what happened in it, if anything."""
        for clean in self.frames(audio, repaid):
            yield self.turns.hear(clean.frame, clean.kept)

    def frames(self, audio: Samples, repaid: int = 0) -> Iterator[Heard]:
        """The frames the audio completes, without our own voice; `turns` is to hear each first."""
        self._repaid += repaid
        heard = self._resampler.push(audio)
        if len(self._pending):
            heard = np.concatenate([self._pending, heard])
        whole = len(heard) // FRAME * FRAME
        self._pending = heard[whole:]
        for begin in range(0, whole, FRAME):
            yield self.echo.hear(heard[begin : begin + FRAME], self.turns.heard)

    def skip(self, count: int) -> None:
        """Session time passed in which there was nothing to hear, nor anything to hear it."""
        self._repaid -= count

    def sounds(self, audio: Samples, at: int) -> None:
        """Our voice will sound at this position: know it again when it comes back."""
        resampled = self._reply_resampler.push(audio)
        self.echo.sent(resampled, self._ear_sample(at))

    def silenced(self, at: int) -> None:
        """What we sent to sound from this position on will not be played."""
        self.echo.dropped(self._ear_sample(at))

    def position(self, ear_sample: int) -> int:
        """Session time of a sample the ear counted."""
        return max(0, ear_sample * WIRE_RATE // EAR_RATE - self._repaid)

    def _ear_sample(self, position: int) -> int:
        return (position + self._repaid) * EAR_RATE // WIRE_RATE
