"""The cues of other people's data sets, by our names."""

import re

from models.perception.given import CUES, NEUTRAL, dimension
from server.sessions.export.spoken_info import PLACES, STRINGS

# Spellings that are neither ours nor EchoMind's long strings.
ALIASES = {
    "anger": "angry", "angered": "angry", "surprised": "surprise", "afraid": "fear",
    "fearful": "fear", "disgusted": "disgust", "happiness": "happy", "joy": "happy",
    "sadness": "sad", "sorrow": "sad", "calm": NEUTRAL, "none": NEUTRAL, "old": "elderly",
    "kid": "child", "man": "male", "woman": "female", "laugh": "laughter", "laughing": "laughter",
    "coughing": "cough", "cry": "sobbing", "crying": "sobbing", "sob": "sobbing",
    "screaming": "scream", "sighing": "sigh", "throat clearing": "throat", "sneezing": "sneeze",
    "yawning": "yawn", "moaning": "moan", "fatigue": "tired", "breathless": "breath",
    "gasping sound": "breath", "heavy breathing sound": "breath", "breathless sound": "breath",
    "shouting": "shout", "whispering": "whisper", "vehicle horn": "horn", "alarm clock": "alarm",
    "sound of children speaking": "children", "sound of children playing": "children",
    "driving a bus": "car", "sound of dogs barking": "dog", "sound of dog barking": "dog",
}  # fmt: skip
_TONED = re.compile(r"([a-z]+)-toned\b.*")
_MUSIC = re.compile(r"(sound of )?([a-z]+ )?music")
_KNOWN = {text.lower(): name for name, text in {**STRINGS, **PLACES}.items()} | ALIASES


def cue(told: str | None) -> str | None:
    """Our name for how something is said to sound; None where we have none."""
    plain = " ".join((told or "").strip(" <>[].\n").lower().replace("_", " ").split())
    if toned := _TONED.fullmatch(plain):
        plain = toned[1]
    if plain in CUES:
        return plain
    if plain in _KNOWN:
        return _KNOWN[plain]
    if _MUSIC.fullmatch(plain):
        return "music"
    return next((name for text, name in _KNOWN.items() if f"sound of {plain}" == text), None)


def fine(name: str | None) -> str | None:
    """The dimension of a cue; a voice in which nothing stands out has none."""
    return dimension(name).name if name and name != NEUTRAL else None


def coarse(name: str | None) -> str | None:
    """Speaker, paralinguistic or environment."""
    return dimension(name).group if name and name != NEUTRAL else None
