"""One instrument laid on one exchange: whatever it does, there is a score or a reason."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from server.scoring.exchange import Exchange
from server.scoring.score import Instrument, Score, Unscored

NOT_MEASURED = "not measured"


def measured(instrument: Instrument, names: Sequence[str], exchange: Exchange) -> dict[str, Score]:
    """A score for each of these measures."""
    given: Mapping[str, Score] = {}
    missing = Score.none(NOT_MEASURED)
    try:
        given = instrument.measure(exchange)
    except Unscored as error:
        missing = Score.none(error)
    except Exception as error:  # one that fails never stops the others; its words may quote speech
        missing = Score.none(f"failed: {type(error).__name__}", passing=True)
    told = exchange.consent.transcript
    return {name: _sound(given.get(name) or missing, told) for name in names}


def _sound(score: Score, words_allowed: bool) -> Score:
    """A number or a reason, and no word of anybody where none is allowed."""
    if score.value is not None:
        value = float(score.value)
        score = (
            replace(score, value=value, unscored=None)
            if math.isfinite(value)
            else Score.none("failed: not a number", score.raw, passing=True)
        )
    elif not score.unscored:
        score = replace(score, unscored=NOT_MEASURED)
    return score if words_allowed else replace(score, why="", raw="")
