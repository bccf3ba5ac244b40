"""EchoMind's own words for what was heard, and how its files are named."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from server.sessions.heard import known, noticed

# Its strings by our names. Music has none: it names a mood, which is not perceived.
STRINGS: Mapping[str, str] = {
    "child": "child",
    "elderly": "elderly",
    "hoarse": "Hoarse voice",
    "tired": "vocal fatigue",
    "breath": "breathless sound / gasping sound / heavy breathing sound",
    "sobbing": "sobbing sound",
    "happy": "happy-toned expressive voice",
    "sad": "sad-toned expressive voice",
    "surprise": "surprise-toned expressive voice",
    "angry": "angry-toned expressive voice",
    "fear": "fear-toned expressive voice",
    "disgust": "disgust-toned expressive voice",
    "shout": "shout",
    "whisper": "whisper",
    "fast": "fast speaking pace",
    "slow": "slow speaking pace",
    "cough": "cough voice",
    "sigh": "sigh sound",
    "laughter": "laughter sound",
    "yawn": "yawn sound",
    "moan": "moan sound",
}
PLACES: Mapping[str, str] = {
    "wind": "sound of wind blowing",
    "thunderstorm": "sound of thunderstorm and thunder",
    "rain": "sound of raining",
    "car": "sound of driving a car",
    "subway": "sound of subway",
    "sea": "sound of sea waves",
    "basketball": "sound of playing basketball",
    "applause": "sound of applause from a crowd",
    "cheering": "sound of crowd cheering",
    "chatter": "sound of crowd's chatter",
    "children": "sound of children playing",
    "dog": "sound of dog(s) barking",
    "alarm": "sound of alarm clock ringing",
    "ringtone": "sound of ringtone",
    "horn": "sound of vehicle honking",
}


@dataclass(frozen=True, slots=True)
class SpokenInfo:
    text: str  # EchoMind's string; "neutral" where nothing stood out, "unknown" in doubt
    short: str  # in file names
    folder: str
    chance: float | None = None


NEUTRAL = SpokenInfo("neutral", "neutral", "neutral")
UNKNOWN = SpokenInfo("unknown", "unknown", "unknown")


def spoken_info(percept: Mapping[str, Any] | None) -> SpokenInfo:
    """The one cue EchoMind asks for: the surest thing heard, if it may be relied on at all.

    A gender is no cue here: everybody has one, and no reply follows from it.
    """
    for heard in noticed(percept):
        if heard.sure and heard.name in STRINGS:
            return SpokenInfo(STRINGS[heard.name], heard.name, heard.name, heard.confidence)
        if heard.sure and heard.name in PLACES:
            return SpokenInfo(PLACES[heard.name], heard.name, "all_env", heard.confidence)
    emotion = known(percept, "emotion")
    return NEUTRAL if emotion and emotion[0] == "neutral" else UNKNOWN
