"""Perception switched off."""

from models.percept import Percept, Prosody
from models.perception.labels import DIMENSIONS
from models.protocols import Attention
from models.types import AudioChunk


def unknown(seconds: float) -> Percept:
    """The percept of someone who does not know."""
    return Percept(
        emotion={},
        gender={},
        age={},
        events={},
        environment={},
        physiological={},
        volume={},
        speed={},
        expressed=None,
        perceived=None,
        prosody=Prosody(),
        unknown=tuple(DIMENSIONS),
        seconds=seconds,
        weights="none",
    )


class Off:
    """A Perceiver that listens to nothing: every dimension is unknown."""

    def attend(self) -> Attention:
        return self

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self.perceive(audio)

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        return unknown(audio.duration)
