"""The nouns of the dialogue: everything that flows between the parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models.percept import Percept

WIRE_RATE = 24_000  # Hz; what clients send and hear, and the rate of the session's clock
EAR_RATE = 16_000  # Hz; what the ear (VAD, end of turn, words, perception) listens at
FRAME = 512  # samples; Silero's window at 16 kHz, 32 ms

Samples = NDArray[np.float32]
Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """Mono float32 audio in [-1, 1], with its rate."""

    samples: Samples
    rate: int = EAR_RATE

    @property
    def duration(self) -> float:
        """Seconds."""
        return len(self.samples) / self.rate

    @staticmethod
    def join(chunks: Sequence["AudioChunk"]) -> "AudioChunk":
        assert chunks, "nothing to join"
        return AudioChunk(np.concatenate([c.samples for c in chunks]), chunks[0].rate)


@dataclass(frozen=True, slots=True)
class Turn:
    """One contribution to the dialogue, as the reply model reads it."""

    role: Role
    text: str
    percept: Percept | None = None  # how it was said, where that is known
    audio: "AudioChunk | None" = None  # what was heard, for models with ears


class Token(str):
    """A piece of a reply's text whose engine tells how likely it was; others give a plain str."""

    __slots__ = ("logprob",)
    logprob: float

    def __new__(cls, text: str, logprob: float) -> "Token":
        token = super().__new__(cls, text)
        token.logprob = logprob
        return token

    def __getnewargs__(self) -> tuple[str, float]:  # type: ignore[override]
        return str(self), self.logprob


@dataclass(frozen=True, slots=True)
class SpokenChunk:
    """Reply audio at WIRE_RATE, with the words it pronounces."""

    audio: AudioChunk
    text: str
