"""What knowing the cue is worth, and how much of that perceiving it brings.

The same items are answered three times: told the true cue, told none, and with what was perceived.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping

import numpy as np
from pydantic import BaseModel

from server.scoring.arms import cluster
from server.scoring.chance import SURE
from server.scoring.drawing import FEWEST, Floats, belonging, drawn
from server.scoring.score import Measure
from server.scoring.scored import Row, Scored
from server.scoring.statistics import Difference, Estimate, mean_interval, paired

TRUE, NONE, PERCEIVED = "true", "none", "perceived"
ASIDE = {"latency", "duplex", "perception", "sound"}  # what no cue is meant to better
AGREEMENT = "judge_self_agreement"  # says something of the judge, not of the reply
CHOICES = "choice_"  # of what is understood, only these depend on the cue

NO_GAP = f"the gap may be chance (p of {SURE} or more): there may be nothing to recover"
HARM = "the true cue makes it worse: there is nothing to recover"
TOO_FEW = f"fewer than {FEWEST} scripts: too few to tell the gap from chance"
NOT_PLAYED = "there is no run with the perceived cue"


class Share(BaseModel):
    """Of the gap between no cue and the true one; 1 is all of it."""

    share: float
    low: float | None = None
    high: float | None = None


class MetricGap(BaseModel):
    metric: str
    title: str
    unit: str
    higher_is_better: bool | None
    means: dict[str, Estimate]  # by what was told of the cue, over the same items
    gap: Difference  # true less none
    gained: Difference | None  # perceived less none
    recovered: Share | None
    undefined: str | None  # why there is no share


class CueGap(BaseModel):
    items: int  # that were played with the true cue and with none
    metrics: list[MetricGap]


def analyse(scored: Scored) -> CueGap | None:
    played: dict[str, dict[Hashable, Row]] = defaultdict(dict)
    for row in scored.rows:
        if row.annotation.cue_given is not None:
            played[row.annotation.cue_given][_item(row)] = row
    both = played[TRUE].keys() & played[NONE].keys()
    if not both:
        return None
    found = [
        gap
        for name, measure in scored.measures.items()
        if _follows(measure) and (gap := _metric(name, played, scored))
    ]
    return CueGap(items=len(both), metrics=found)


def _follows(measure: Measure) -> bool:
    """Whether knowing the cue could better it."""
    if measure.higher_is_better is None or measure.family in ASIDE:
        return False
    if measure.name.startswith(AGREEMENT):
        return False
    return measure.family != "understanding" or measure.name.startswith(CHOICES)


def _item(row: Row) -> Hashable:
    """What must be the same for two answers to differ by the cue alone."""
    told = row.annotation
    return (
        told.benchmark, told.item or (row.session_id, row.number), told.speech, told.task,
        told.variant, told.condition, told.context, told.prompt, row.attributes.get("responder"),
    )  # fmt: skip


def _metric(
    name: str, played: Mapping[str, Mapping[Hashable, Row]], scored: Scored
) -> MetricGap | None:
    valued = {
        cue: {item: row for item, row in played.get(cue, {}).items() if name in row.values}
        for cue in (TRUE, NONE, PERCEIVED)
    }
    same = valued[TRUE].keys() & valued[NONE].keys()
    perceived = bool(same & valued[PERCEIVED].keys())
    if perceived:
        same &= valued[PERCEIVED].keys()
    if not same:
        return None
    items = sorted(same, key=repr)
    cues = (TRUE, NONE, PERCEIVED) if perceived else (TRUE, NONE)
    values = {cue: np.array([valued[cue][item].values[name] for item in items]) for cue in cues}
    scripts = [cluster(valued[TRUE][item]) for item in items]
    how = scripts, scored.draws, scored.seed
    gap = paired(values[NONE], values[TRUE], *how)
    gained = paired(values[NONE], values[PERCEIVED], *how) if perceived else None
    measure = scored.measures[name]
    undefined = _undefined(gap, measure, perceived=perceived)
    return MetricGap(
        metric=name,
        title=measure.title,
        unit=measure.unit,
        higher_is_better=measure.higher_is_better,
        means={cue: mean_interval(values[cue], *how) for cue in cues},
        gap=gap,
        gained=gained,
        recovered=None if undefined else _share(values, scripts, scored),
        undefined=undefined,
    )


def _undefined(gap: Difference, measure: Measure, *, perceived: bool) -> str | None:
    if not perceived:
        return NOT_PLAYED
    if gap.p is None or not gap.mean:
        return TOO_FEW if gap.p is None else NO_GAP
    if gap.p >= SURE:
        return NO_GAP
    return None if (gap.mean > 0) == measure.higher_is_better else HARM


def _share(values: Mapping[str, Floats], scripts: list[Hashable], scored: Scored) -> Share:
    apart = values[TRUE] - values[NONE]
    gained = values[PERCEIVED] - values[NONE]
    belongs, count = belonging(scripts, len(scripts))

    def share(times: Floats) -> Floats:
        weights = times[:, belongs]
        over = weights @ apart
        defined = np.abs(over) > 1e-12
        undefined = np.full_like(over, np.nan)
        found: Floats = np.divide(weights @ gained, over, out=undefined, where=defined)
        return found

    whole = float(gained.sum() / apart.sum())
    draws = drawn(count, len(scripts), scored.draws, scored.seed, share)
    if draws is None:
        return Share(share=whole)
    low, high = np.percentile(draws, [2.5, 97.5])
    return Share(share=whole, low=float(low), high=float(high))
