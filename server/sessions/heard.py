"""What a recorded percept says, and what of it one may rely on."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from models.percept import Affect, Conflict, Moment, Percept, Prosody
from models.perception.labels import DIMENSIONS
from models.thinking.noticing import notice
from models.thinking.plan import Heard

T = TypeVar("T")


def percept(told: Mapping[str, Any]) -> Percept:
    """The noun behind the JSON of `attune.percept`; keys of another version are passed over."""
    affect = told.get("vad") or {}
    chances = {
        name: dict(told.get(name) or {})
        for name in dict.fromkeys(dimension.field for dimension in DIMENSIONS.values())
    }
    return Percept(
        **chances,
        expressed=_made(Affect, affect.get("expressed")),
        perceived=_made(Affect, affect.get("perceived")),
        prosody=_made(Prosody, told.get("prosody")) or Prosody(),
        unknown=tuple(told.get("unknown", ())),
        moments=tuple(filter(None, (_made(Moment, each) for each in told.get("moments", ())))),
        conflict=_made(Conflict, told.get("conflict")),
        seconds=told.get("seconds", 0.0),
        weights=told.get("weights", ""),
    )


def noticed(told: Mapping[str, Any] | None) -> tuple[Heard, ...]:
    """What stands out, the surest first."""
    return notice(percept(told)) if told else ()


def known(told: Mapping[str, Any] | None, field: str) -> tuple[str, float] | None:
    """The likeliest answer of a dimension with its chance; None where it is in doubt."""
    chances = (told or {}).get(field)
    if not told or not chances or field in told.get("unknown", ()):
        return None
    name = max(chances, key=lambda each: chances[each])
    return str(name), float(chances[name])


def in_words(told: Mapping[str, Any] | None) -> str:
    """One line: what stood out, what is only likely marked as such."""
    found = [each.name if each.sure else f"perhaps {each.name}" for each in noticed(told)]
    return ", ".join(found) or ("nothing unusual" if told else "")


def _made(kind: type[T], told: Mapping[str, Any] | None) -> T | None:
    if not told:
        return None
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: value for name, value in told.items() if name in names})
