"""What was heard beside the words, as a remark a reply model can read."""

from collections.abc import Mapping, Sequence

from models.percept import Conflict, Percept
from models.perception.labels import DIMENSIONS

LIKELY = 0.6  # below this it is left unsaid
SURE = 0.85  # to be wrong about someone's age offends: it is said only then
MOST = 3  # things worth a remark: more only confuse a small model

# By dimension, the most telling first. Someone's gender is never remarked on.
OF_THE_USER: Mapping[str, Mapping[str, str]] = {
    "emotion": {
        "happy": "sounds happy",
        "sad": "sounds sad",
        "angry": "sounds angry",
        "fear": "sounds afraid",
        "disgust": "sounds disgusted",
        "surprise": "sounds surprised",
    },
    "physiological": {
        "sobbing": "is crying",
        "breath": "is out of breath",
        "tired": "sounds tired",
        "hoarse": "sounds hoarse",
    },
    "nonverbal": {
        "laughter": "laughs",
        "sigh": "sighs",
        "cough": "coughs",
        "yawn": "yawns",
        "moan": "moans",
        "scream": "screams",
        "sneeze": "sneezes",
        "throat": "clears their throat",
    },
    "volume": {"shout": "is shouting", "whisper": "is whispering"},
    "speed": {"fast": "speaks fast", "slow": "speaks slowly"},
    "age": {"child": "sounds like a child", "elderly": "sounds elderly"},
}
OF_THE_PLACE: Mapping[str, Mapping[str, str]] = {
    "sudden_events": {
        "alarm": "an alarm goes off",
        "ringtone": "a phone rings",
        "horn": "a horn sounds",
    },
    "weather": {
        "thunderstorm": "there is a thunderstorm",
        "rain": "it is raining",
        "wind": "it is windy",
    },
    "location": {
        "car": "a car can be heard",
        "subway": "a train can be heard",
        "sea": "the sea can be heard",
        "basketball": "people play basketball",
    },
    "human_sounds": {
        "applause": "people applaud",
        "cheering": "people cheer",
        "chatter": "people talk nearby",
        "children": "children play nearby",
    },
    "other": {"music": "music plays", "dog": "a dog barks"},
}
ADJECTIVES = {
    "fear": "fearful",
    "disgust": "disgusted",
    "surprise": "surprised",
    "neutral": "calm",
}


def cue(percept: Percept) -> str:
    """One remark on what stands out, in brackets; empty where nothing does.

    Square ones, and no sentence of the user's: round ones or stars a small model imitates.
    """
    user = _remarks(percept, OF_THE_USER)
    conflict = percept.conflict
    if conflict and conflict.strength >= LIKELY and "emotion" not in percept.unknown:
        user = {"emotion": _at_odds(conflict)} | {k: v for k, v in user.items() if k != "emotion"}
    of_user = list(user.values())[:MOST]
    of_place = list(_remarks(percept, OF_THE_PLACE).values())[: MOST - len(of_user)]
    parts = [f"the user {_listed(of_user)}"] if of_user else []
    parts += [_listed(of_place)] if of_place else []
    said = ", and ".join(parts)
    return f"[{said[0].upper()}{said[1:]}]" if said else ""


def _remarks(percept: Percept, table: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """What is likely, by dimension: of each the likeliest."""
    found: dict[str, str] = {}
    for dimension, remarks in table.items():
        chances: Mapping[str, float] = getattr(percept, DIMENSIONS[dimension].field)
        known = [name for name in remarks if name in chances]
        if dimension in percept.unknown or not known:
            continue
        best = max(known, key=lambda name: chances[name])
        if chances[best] >= (SURE if dimension == "age" else LIKELY):
            found[dimension] = remarks[best]
    return found


def _at_odds(conflict: Conflict) -> str:
    words, voice = (ADJECTIVES.get(name, name) for name in (conflict.words, conflict.voice))
    return f"uses {words} words but sounds {voice}"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
