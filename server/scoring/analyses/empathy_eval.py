"""EmpathyEval's score: items judged as people judged them, and groups in which all were."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from server.scoring.drawing import Floats, drawn
from server.scoring.scored import Row, Scored
from server.scoring.statistics import PERCENTILES

METRIC = "empathy_choice"
SETTINGS = ("context", "tone")


class Standing(BaseModel):
    """Over some items; the interval is drawn over groups, since their items belong together."""

    model_config = ConfigDict(frozen=True)

    setting: str  # "all", "context", "tone"
    items: int
    correct: int
    groups: int  # whole ones
    groups_correct: int
    score: float
    low: float | None
    high: float | None
    incomplete: int  # groups with an item not played or not judged: they count by items alone


class EmpathyEval(BaseModel):
    model_config = ConfigDict(frozen=True)

    formula: str = "(correct items + groups fully correct) / (items + groups)"
    standings: list[Standing]
    by_kind: dict[str, Standing] = {}  # by corpus, where the data set names one


def analyse(scored: Scored) -> EmpathyEval | None:
    rows = [row for row in scored.rows if row.annotation.task == "empathy_choice"]
    if not any(METRIC in row.values for row in rows):
        return None
    told = [_standing("all", rows, scored)]
    for setting in SETTINGS:
        told.append(
            _standing(setting, [r for r in rows if r.annotation.setting == setting], scored)
        )
    kinds = sorted({row.annotation.topic for row in rows if row.annotation.topic})
    by_kind = {
        kind: _standing(kind, [r for r in rows if r.annotation.topic == kind], scored)
        for kind in kinds
    }
    return EmpathyEval(
        standings=[each for each in told if each], by_kind={k: s for k, s in by_kind.items() if s}
    )


def _standing(setting: str, rows: Sequence[Row], scored: Scored) -> Standing | None:
    groups = defaultdict(list)
    for row in rows:
        groups[_group(row)].append(row)
    # By group: items, correct ones, whether it is whole, whether all of it is correct.
    counts = np.array([_counted(key[1] is not None, found) for key, found in groups.items()])
    if not counts.size or not counts[:, 0].sum():
        return None
    items, correct, whole, fully = (int(each) for each in counts.sum(axis=0))
    named = sum(key[1] is not None for key in groups)
    low, high = _interval(counts.astype(np.float64), scored)
    return Standing(
        setting=setting,
        items=items,
        correct=correct,
        groups=whole,
        groups_correct=fully,
        score=(correct + fully) / (items + whole),
        low=low,
        high=high,
        incomplete=named - whole,
    )


def _group(row: Row) -> tuple[object, ...]:
    """Items belong together within one way of running them; an item without a group to itself."""
    truth = row.annotation
    run = (truth.condition, truth.cue_given, truth.prompt)
    alone = None if truth.group else (row.session_id, row.number)
    return (truth.benchmark, truth.group, run, alone)


def _counted(named: bool, rows: Sequence[Row]) -> tuple[int, int, int, int]:
    values = [row.values[METRIC] for row in rows if METRIC in row.values]
    correct = sum(value >= 50 for value in values)
    whole = named and len(values) == len(rows) and not _cut(rows)
    return len(values), correct, int(whole), int(whole and correct == len(values))


def _cut(rows: Sequence[Row]) -> bool:
    """Whether the data set has more items in the group than were played."""
    played = {row.annotation.item or (row.session_id, row.number) for row in rows}
    return len(played) < max(row.annotation.group_size or 0 for row in rows)


def _interval(counts: Floats, scored: Scored) -> tuple[float | None, float | None]:
    gained = counts[:, 1] + counts[:, 3]
    possible = counts[:, 0] + counts[:, 2]

    def score(times: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((times @ gained) / (times @ possible), np.float64)

    found = drawn(len(counts), len(counts), scored.draws, scored.seed, score)
    if found is None or not np.isfinite(found).any():
        return None, None
    low, high = np.nanpercentile(found, PERCENTILES)
    return float(low), float(high)
