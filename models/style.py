"""How a reply shall sound: what a voice is told beside the words."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from models.percept import Affect

# The eleven a reply can have, after OSUM-EChat.
REPLY_EMOTIONS = (
    "neutral", "pleasant", "happy", "surprised", "comforting", "apologetic",
    "sad", "crying", "angry", "afraid", "disgusted",
)  # fmt: skip
MIDDLE = Affect(3.0, 3.0, 3.0)


@dataclass(frozen=True, slots=True)
class Style:
    """A manner of speaking, relative to the voice's own, which is what the defaults give.

    A voice that cannot do one of these leaves it out; one that takes instructions in words is
    told the emotion and what stands out.
    """

    emotion: str = "neutral"  # one of REPLY_EMOTIONS
    target: Affect = MIDDLE  # how it should strike the listener
    pace: float = 1.0  # times the voice's own speed
    pitch: float = 0.0  # semitones up
    range: float = 1.0  # times the melody's own
    slope: float = 0.0  # semitones per second, over a clause
    loudness: float = 0.0  # dB
    tilt: float = 0.0  # dB per octave above 500 Hz: brighter up, softer down
    breath: float = 0.0  # 0-1, how much of the voice is air
    onset: float = 0.0  # seconds of silence before the first word
    pause: float = 1.0  # times the pauses between clauses and sentences
    emphasis: float = 0.0  # 0-1, how much the stressed words stand out
    stress: tuple[str, ...] = ()  # the words to stress, in lower case, where they occur
    contour: Literal["own", "fall", "level", "rise"] = "own"  # of a statement's end

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


PLAIN = Style()
