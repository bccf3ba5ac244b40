"""What the rules plan for a script of the corpus, as they would had it been heard."""

from collections.abc import Sequence

from models.corpus.exchange import Cue, Exchange, Way
from models.percept import Percept
from models.thinking import distress, rules
from models.thinking.imagined import imagined
from models.thinking.plan import ReplyPlan
from models.types import Turn


def planned(exchange: Exchange, way: Way) -> ReplyPlan:
    *before, last = exchange.lines
    turns = [Turn(line.role, line.text, _percept_of(line.cues)) for line in before]
    heard = imagined(cue.heard for cue in exchange.variants[way].cues)
    return plan_of([*turns, Turn("user", last.text, heard)])


def plan_of(turns: Sequence[Turn]) -> ReplyPlan:
    return rules.plan(turns, distress.load())


def _percept_of(cues: Sequence[Cue]) -> Percept | None:
    return imagined(cue.heard for cue in cues) if cues else None
