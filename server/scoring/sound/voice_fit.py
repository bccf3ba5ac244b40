"""Which emotions in a reply's voice fit what was heard in the user's.

VocalBench publishes how fitting each is for four emotions; all the rest is our own reading.
"""

from collections.abc import Mapping
from typing import Final

Suitability = Mapping[str, float]  # by emotion, from 1 (out of place) to 5

FIVE: Final = ("angry", "happy", "neutral", "sad", "surprise")


def _row(*values: float) -> Suitability:
    return dict(zip(FIVE, values, strict=True))


# The most frequent row of VocalBench's items for each true emotion.
VOCALBENCH: Final[Mapping[str, Suitability]] = {
    "angry": _row(5, 1, 2, 4, 3),
    "happy": _row(1, 5, 3, 2, 4),
    "sad": _row(1, 2, 3, 5, 2),
    "surprise": _row(1, 4, 3, 2, 5),
}
# For what is only perceived, rows of our own for the emotions that VocalBench has none for.
PERCEIVED: Final[Mapping[str, Suitability]] = {
    **VOCALBENCH,
    "neutral": _row(1, 4, 5, 2, 3),
    "fear": _row(1, 2, 4, 5, 2),
    "disgust": _row(3, 1, 4, 4, 3),
}

_GLAD: Final = ("happy", "surprise")
_CONCERNED: Final = ("sad", "neutral")  # gentle and calm: no classifier has a name for care
_FRIENDLY: Final = ("neutral", "happy")

# What a right reply to a cue may sound like. A plain voice does not answer sorrow or joy.
FITTING: Final[Mapping[str, tuple[str, ...]]] = {
    "neutral": _FRIENDLY,
    "happy": _GLAD,
    "laughter": _GLAD,
    "surprise": _GLAD,
    "sad": ("sad",),
    "sobbing": ("sad",),
    "angry": _CONCERNED,
    "shout": _CONCERNED,
    "fear": _CONCERNED,
    "scream": _CONCERNED,
    "disgust": ("disgust", *_CONCERNED),
    **dict.fromkeys(("hoarse", "breath", "tired", "whisper"), _CONCERNED),
    **dict.fromkeys(("cough", "sigh", "yawn", "moan", "sneeze", "throat"), _CONCERNED),
    **dict.fromkeys(("thunderstorm", "alarm", "horn"), _CONCERNED),
    **dict.fromkeys(("male", "female", "child", "elderly", "fast", "slow"), _FRIENDLY),
    **dict.fromkeys(("wind", "rain", "car", "subway", "sea", "ringtone"), _FRIENDLY),
    **dict.fromkeys(("chatter", "children", "dog", "music"), _FRIENDLY),
    **dict.fromkeys(("basketball", "applause", "cheering"), ("neutral", *_GLAD)),
}
