"""What the rules plan for a script of the corpus, as they would had it been heard."""

from collections.abc import Sequence

from models.corpus.exchange import Cue, Exchange, Way
from models.percept import Percept
from models.thinking import distress, rules
from models.thinking.imagined import imagined
from models.thinking.plan import ReplyPlan
from models.types import Turn


def planned(exchange: Exchange, way: Way) -> ReplyPlan:
    return plan_of(heard(exchange, way))


def heard(exchange: Exchange, way: Way) -> list[Turn]:
    """The script as a dialogue, its last words said in that way."""
    *before, last = exchange.lines
    turns = [Turn(line.role, line.text, _percept_of(line.cues)) for line in before]
    return [*turns, Turn("user", last.text, imagined(c.heard for c in exchange.variants[way].cues))]


def plan_of(turns: Sequence[Turn]) -> ReplyPlan:
    return rules.plan(turns, distress.load())


def _percept_of(cues: Sequence[Cue]) -> Percept | None:
    return imagined(cue.heard for cue in cues) if cues else None
