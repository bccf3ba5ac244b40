"""Perception against the truth: whether the cue that was really there was named."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.perception.labels import BEYOND, DIMENSIONS, Dimension
from server.scoring.exchange import Exchange
from server.scoring.score import JudgeNamed, Measure, Score, Unscored
from server.scoring.settings import Settings

NEUTRAL = "neutral"
GIVEN = "given"  # the weights of a percept that was not heard but told
NAMED = 0.5  # chance from which what may stand beside others is named


def _measure(name: str, title: str, about: str, better: bool | None, caveat: str = "") -> Measure:
    return Measure(name, title, "perception", about, caveat, "%", better, 0, 100)


MEASURES = (
    _measure(
        "cue_recall",
        "Cue named",
        "How often the cue that was really there was named.",
        True,
        "Named: the likeliest where one answer excludes the others, a chance of one half where "
        "they may come together, and not declared unsure. Neutral is right where nothing is named "
        "of how it was said, or of what was heard beside it.",
    ),
    _measure("cue_chance", "Chance given to the cue", "How likely the true cue was held.", True),
    _measure("cue_unsure", "Not sure of the cue", "How often perception said: not sure.", None),
)


@dataclass(frozen=True, slots=True)
class Perceived:
    key: str = "perceived 1"
    judge: JudgeNamed | None = None

    def measure(self, exchange: Exchange) -> Mapping[str, Score]:
        cue, percept = exchange.cue(), exchange.percept()
        if percept.get("weights") == GIVEN or exchange.annotation.cue_given == "true":
            raise Unscored("the cue was given, not heard")
        dimension = DIMENSIONS["emotion"] if cue == NEUTRAL else _dimension(cue)
        chance = (percept.get(dimension.field) or {}).get(cue)
        unsure = dimension.name in percept.get("unknown", ())
        found = named(percept)
        if cue == NEUTRAL:
            right = not found
        elif dimension.exclusive:
            right = not unsure and _likeliest(percept, dimension) == cue
        else:  # several can be there at once
            right = not unsure and chance is not None and chance >= NAMED
        told = ", ".join(f"{name} ({where})" for where, name in found.items()) or "nothing"
        deaf = "" if chance is not None else f"; these weights cannot hear {cue}"
        why = f"named {told}{deaf}"
        return {
            "cue_recall": Score(100.0 if right else 0.0, why),
            "cue_chance": Score(100.0 * (chance or 0.0), why),
            "cue_unsure": Score(100.0 if unsure else 0.0),
        }


def build(settings: Settings) -> Perceived:
    return Perceived()


def named(percept: Mapping[str, Any]) -> dict[str, str]:
    """What a percept says surely of how something was said, by dimension; not of who said it."""
    found = {}
    for dimension in DIMENSIONS.values():
        if dimension.group == "speaker" or dimension.name in percept.get("unknown", ()):
            continue
        if (name := _likeliest(percept, dimension)) is not None and name != dimension.rest:
            found[dimension.name] = name
    return found


def _likeliest(percept: Mapping[str, Any], dimension: Dimension) -> str | None:
    chances = _chances(percept, dimension)
    if not chances:
        return None
    name = max(chances, key=chances.__getitem__)
    return name if dimension.exclusive or chances[name] >= NAMED else None


def _chances(percept: Mapping[str, Any], dimension: Dimension) -> dict[str, float]:
    field = percept.get(dimension.field) or {}
    return {name: field[name] for name in dimension.answers if name in field}


def _dimension(cue: str) -> Dimension:
    for dimension in DIMENSIONS.values():
        if cue in dimension.answers or cue in BEYOND.get(dimension.field, ()):
            return dimension
    raise Unscored("perception has no such cue")
