"""The paralinguistic half: what of a percept a reply may take into account, and how surely."""

from collections.abc import Collection, Mapping

from models.percept import Percept
from models.perception.labels import DIMENSIONS, EVENTS
from models.thinking.plan import Heard

# From so likely on something is allowed for, and from so likely on it may be spoken of. Guesses at
# someone's age offend: they need more. Gender is heard, and never taken into account.
FAINT, CLEAR = 0.45, 0.7
AGE_FAINT, AGE_CLEAR = 0.7, 0.85
PLACE_FAINT, PLACE_CLEAR = 0.5, 0.7
NOISY_DB = 12.0  # speech above its background: below this it must be hard to hear a reply, too
UNREMARKABLE = {"neutral", "adult", "normal"}
LEFT_OUT = {"gender"}


def notice(percept: Percept | None) -> tuple[Heard, ...]:
    """What stands out, the surest first within what is of the speaker, then the place."""
    if percept is None:
        return ()
    speaker: list[Heard] = []
    place: list[Heard] = []
    for dimension in DIMENSIONS.values():
        if dimension.name in percept.unknown or dimension.name in LEFT_OUT:
            continue
        chances: Mapping[str, float] = getattr(percept, dimension.field)
        names = EVENTS if dimension.name == "nonverbal" else dimension.answers
        told = [name for name in names if name in chances]
        if not told:
            continue
        name = max(told, key=lambda each: chances[each])
        faint, clear = _limits(dimension.name, dimension.group)
        if name in UNREMARKABLE or chances[name] < faint:
            continue
        found = Heard(dimension.name, name, chances[name], chances[name] >= clear)
        (place if dimension.group == "environment" else speaker).append(found)
    snr = percept.prosody.snr
    if snr is not None and snr < NOISY_DB and not place:
        place.append(Heard("place", "noise", 0.6, False))
    return (*sorted(speaker, key=_surest), *sorted(place, key=_surest))


def is_child(age: Mapping[str, float], unknown: Collection[str]) -> bool:
    """As surely as a reply would allow for it; of a percept, its age and what it does not know."""
    return "age" not in unknown and age.get("child", 0.0) >= AGE_FAINT


def _limits(dimension: str, group: str) -> tuple[float, float]:
    if dimension == "age":
        return AGE_FAINT, AGE_CLEAR
    return (PLACE_FAINT, PLACE_CLEAR) if group == "environment" else (FAINT, CLEAR)


def _surest(heard: Heard) -> float:
    return -heard.confidence
