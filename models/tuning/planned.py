"""What the rules plan for a script of the corpus, as they would had it been heard."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from models.corpus.exchange import Cue, Exchange, Way
from models.perceiver_off import unknown
from models.percept import Percept
from models.perception.labels import DIMENSIONS
from models.thinking import distress, rules
from models.thinking.plan import Heard, ReplyPlan
from models.types import Turn

SECONDS = 3.0  # that a percept of a cue pretends to have listened


def planned(exchange: Exchange, way: Way) -> ReplyPlan:
    *before, last = exchange.lines
    turns = [Turn(line.role, line.text, _percept_of(line.cues)) for line in before]
    heard = percept(cue.heard for cue in exchange.variants[way].cues)
    return rules.plan([*turns, Turn("user", last.text, heard)], distress.load())


def percept(heard: Iterable[Heard]) -> Percept:
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


def _percept_of(cues: Sequence[Cue]) -> Percept | None:
    return percept(cue.heard for cue in cues) if cues else None
