"""What remains of an event without its words: when it was, in what order, and of which kind.

`timing_form.toml` says of every type which fields that is. Only those pass.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any, Final

from models.percept import Affect, Conflict, Moment, Percept, Prosody
from models.perception.labels import BEYOND, DIMENSIONS

OWN_ID = re.compile(r"(event|item|resp|conv|sess)_[0-9a-f]{20}")
UNKNOWN = "unknown"
LARGEST = 2**53  # beyond it a number in JSON is no number to everyone

Rule = Callable[[Any], Any]  # what may stay of a value, or GONE
GONE: Final = object()

_TABLE = tomllib.loads(Path(__file__).with_name("timing_form.toml").read_text("utf-8"))

# Every name a percept is made of.
PERCEPT_NAMES = frozenset(
    [field.name for noun in (Percept, Affect, Moment, Prosody, Conflict) for field in fields(noun)]
    + [*DIMENSIONS, "vad", "voice_part", "derived", "not_heard"]
    + ["default", "research", "none", "given"]  # whose weights
    + [name for dimension in DIMENSIONS.values() for name in dimension.answers]
    + [name for names in BEYOND.values() for name in names]
)


def timing_form(event: dict[str, Any]) -> dict[str, Any]:
    """Nothing that anybody said, wrote or chose; of a type nobody knows, only that it came."""
    kind = event.get("type")
    rules = _EVENTS.get(kind) if isinstance(kind, str) else None
    if rules is None:
        return {"type": UNKNOWN}
    passed: dict[str, Any] = _shape(rules)(event)
    return {"type": kind, **passed}


def _number(value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if number and isfinite(value) and abs(value) <= LARGEST else GONE


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else GONE


def _span(value: Any) -> Any:
    two = isinstance(value, list) and len(value) == 2
    return list(value) if two and GONE not in map(_number, value) else GONE


def _id(value: Any) -> Any:
    return value if isinstance(value, str) and OWN_ID.fullmatch(value) else GONE


def _one_of(names: list[str]) -> Rule:
    allowed = frozenset(names)
    return lambda value: value if isinstance(value, str) and value in allowed else GONE


def _each(rule: Rule) -> Rule:
    def each(value: Any) -> Any:
        if not isinstance(value, list):
            return GONE
        return [passed for inner in value if (passed := rule(inner)) is not GONE]

    return each


def _shape(rules: dict[str, Rule]) -> Rule:
    def shape(value: Any) -> Any:
        if not isinstance(value, dict):
            return GONE
        tried = {key: rules[key](inner) for key, inner in value.items() if key in rules}
        return {key: passed for key, passed in tried.items() if passed is not GONE}

    return shape


def _percept(value: Any) -> Any:
    if isinstance(value, str):
        return value if value in PERCEPT_NAMES else GONE
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, list):
        return _percepts(value)
    if isinstance(value, dict):
        return _percept_shape(value)
    return _number(value)


_percepts = _each(_percept)
_percept_shape = _shape(dict.fromkeys(PERCEPT_NAMES, _percept))


def _compiled() -> dict[str, dict[str, Rule]]:
    named: dict[str, Rule] = {
        "number": _number,
        "flag": _flag,
        "span": _span,
        "id": _id,
        "percept": _percept,
    }

    def rule(written: Any) -> Rule:
        if isinstance(written, list):
            known = _each(rule(written[0]))
        elif isinstance(written, dict):
            known = _shape({key: rule(inner) for key, inner in written.items()})
        else:
            known = named[written]
        return lambda value: None if value is None else known(value)

    named |= {name: _one_of(names) for name, names in _TABLE["enumerations"].items()}
    for name, written in _TABLE["shapes"].items():  # one may use those before it
        named[name] = rule(written)
    events = _TABLE["client"] | _TABLE["recorder"]
    events |= {kind: {"event_id": "id", **written} for kind, written in _TABLE["server"].items()}
    return {
        kind: {key: rule(inner) for key, inner in written.items()}
        for kind, written in events.items()
    }


_EVENTS = _compiled()
