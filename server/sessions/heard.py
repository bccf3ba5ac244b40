"""What a recorded percept says, and what of it one may rely on; a log may hold any JSON there."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from models.percept import Affect, Conflict, Moment, Percept, Prosody
from models.perception.labels import DIMENSIONS
from models.thinking.noticing import notice
from models.thinking.plan import Heard

T = TypeVar("T")

CHANCES = TypeAdapter(dict[str, FiniteFloat])
NAMES = TypeAdapter(tuple[str, ...])
NAME, SECONDS = TypeAdapter(str), TypeAdapter(FiniteFloat)
AFFECT, PROSODY = TypeAdapter(Affect), TypeAdapter(Prosody)
MOMENT, CONFLICT = TypeAdapter(Moment), TypeAdapter(Conflict)


def percept(told: Mapping[str, Any]) -> Percept:
    """The noun behind the JSON of `attune.percept`; keys of another version are passed over."""
    affect, moments = told.get("vad"), told.get("moments")
    affect = affect if isinstance(affect, Mapping) else {}
    moments = moments if isinstance(moments, list | tuple) else ()
    fields = dict.fromkeys(dimension.field for dimension in DIMENSIONS.values())
    return Percept(
        **{name: chances(told, name) for name in fields},
        expressed=_read(AFFECT, affect.get("expressed")),
        perceived=_read(AFFECT, affect.get("perceived")),
        prosody=_read(PROSODY, told.get("prosody")) or Prosody(),
        unknown=_unknown(told),
        moments=tuple(made for each in moments if (made := _read(MOMENT, each))),
        conflict=_read(CONFLICT, told.get("conflict")),
        seconds=_read(SECONDS, told.get("seconds")) or 0.0,
        weights=_read(NAME, told.get("weights")) or "",
    )


def chances(told: Mapping[str, Any] | None, field: str) -> dict[str, float]:
    """How likely each answer of a dimension is; nothing where no one said."""
    return _read(CHANCES, told.get(field)) or {} if isinstance(told, Mapping) else {}


def noticed(told: Mapping[str, Any] | None) -> tuple[Heard, ...]:
    """What stands out, the surest first."""
    return notice(percept(told)) if isinstance(told, Mapping) else ()


def known(told: Mapping[str, Any] | None, field: str) -> tuple[str, float] | None:
    """The likeliest answer of a dimension with its chance; None where it is in doubt."""
    found = chances(told, field)
    if not told or not found or field in _unknown(told):
        return None
    name = max(found, key=lambda each: found[each])
    return name, found[name]


def in_words(told: Mapping[str, Any] | None) -> str:
    """One line: what stood out, what is only likely marked as such."""
    found = [each.name if each.sure else f"perhaps {each.name}" for each in noticed(told)]
    return ", ".join(found) or ("nothing unusual" if told else "")


def _unknown(told: Mapping[str, Any]) -> tuple[str, ...]:
    return _read(NAMES, told.get("unknown")) or ()


def _read(form: TypeAdapter[T], told: Any) -> T | None:
    try:
        return form.validate_python(told)
    except ValidationError:
        return None
