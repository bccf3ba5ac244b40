"""How somebody really sounds, where that is known: what is given is taken for what was heard."""

from dataclasses import replace
from typing import Any

from models.perceiver_off import unknown
from models.percept import Percept
from models.perception.labels import BEYOND, DIMENSIONS, Dimension
from models.types import AudioChunk

NEUTRAL = "neutral"
WEIGHTS = "given"
_DIMENSIONS = {
    **{name: dimension for dimension in DIMENSIONS.values() for name in dimension.attributes},
    **dict.fromkeys(BEYOND["events"], DIMENSIONS["nonverbal"]),
    NEUTRAL: DIMENSIONS["emotion"],
}
CUES = tuple(_DIMENSIONS)


def dimension(cue: str) -> Dimension:
    """Where in the taxonomy a cue belongs."""
    return _DIMENSIONS[cue]


def given(cue: str, seconds: float) -> Percept:
    """The percept of someone who was told: sure of that, and of nothing else."""
    told = dimension(cue)
    chances = dict.fromkeys(told.answers if told.exclusive else (), 0.0) | {cue: 1.0}
    nothing = unknown(seconds)
    known: dict[str, Any] = {told.field: chances}
    left = tuple(name for name in nothing.unknown if name != told.name)
    return replace(nothing, **known, unknown=left, weights=WEIGHTS)


class Given:
    """An Attention that does not listen."""

    def __init__(self, cue: str) -> None:
        self._cue = cue

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self.perceive(audio)

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        return given(self._cue, audio.duration)
