"""A percept of what nobody said aloud: for training, and for reports."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from models.perceiver_off import unknown
from models.percept import Percept
from models.perception.labels import DIMENSIONS
from models.thinking.plan import Heard

SECONDS = 3.0  # that it pretends to have listened


def imagined(heard: Iterable[Heard]) -> Percept:
    """A percept in which only these things are known, as surely as they are said to be."""
    fields: dict[str, Any] = {}
    known = set()
    for each in heard:
        dimension = DIMENSIONS[each.dimension]
        fields.setdefault(dimension.field, {})[each.name] = each.confidence
        known.add(dimension.name)
    nothing = unknown(SECONDS)
    return replace(
        nothing, **fields, unknown=tuple(name for name in nothing.unknown if name not in known)
    )
