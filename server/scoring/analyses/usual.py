"""Which exchanges are what people get, and not what was tried for comparison."""

from server.scoring.arms import CLEAN
from server.scoring.scored import Row


def clean(row: Row) -> bool:
    """Neither noisy nor otherwise degraded by the run."""
    return row.annotation.condition in (None, CLEAN)


def usual(row: Row) -> bool:
    """As in any conversation: clean, and with the cue that was perceived."""
    return clean(row) and row.annotation.cue_given in (None, "perceived")
