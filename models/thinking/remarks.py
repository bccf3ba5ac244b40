"""What was heard beside the words, as a sentence."""

from collections.abc import Iterable, Mapping

from models.thinking.plan import Heard

# By dimension. Someone's gender is never remarked on.
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
    "place": {"noise": "it is loud where the user is"},
}
MOST = 3  # things worth a remark: more only confuse

_OF = {
    name: ("user" if table is OF_THE_USER else "place", phrase)
    for table in (OF_THE_USER, OF_THE_PLACE)
    for phrases in table.values()
    for name, phrase in phrases.items()
}


def remark(heard: Iterable[Heard]) -> str:
    """One sentence on what stands out, what is unsure marked as such; empty where nothing does."""
    told = [(*_OF[each.name], each.sure) for each in heard if each.name in _OF][:MOST]
    user = [phrase if sure else f"perhaps {phrase}" for of, phrase, sure in told if of == "user"]
    place = [phrase if sure else f"perhaps {phrase}" for of, phrase, sure in told if of == "place"]
    parts = [f"the user {_listed(user)}"] if user else []
    parts += [_listed(place)] if place else []
    said = ", and ".join(parts)
    return f"{said[0].upper()}{said[1:]}." if said else ""


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
