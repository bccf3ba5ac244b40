"""How long replies took: percentiles and histograms of each stage, and a mean waterfall."""

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel

from server.scoring.duplex.latency import STAGES
from server.scoring.scored import Scored
from server.sessions.exchanges import FIRST_SENT

BINS = 24
FEW = 20  # values below which they are told one by one, and nobody knows what 5 % of them do
RECORDED = "reply_latency_ms"


class Histogram(BaseModel):
    """`counts[i]` values lie from `edges[i]` to `edges[i + 1]`; what lies outside is apart."""

    edges: list[float]
    counts: list[int]
    below: int = 0
    above: int = 0


class Stage(BaseModel):
    """Milliseconds after the end of speech."""

    name: str
    about: str
    n: int
    mean: float
    p50: float
    p90: float
    p95: float | None  # of few values there is none
    p99: float | None
    least: float
    most: float
    histogram: Histogram
    values: list[float] = []  # where there are few


class Step(BaseModel):
    """What passed between one stage and the next, as means over the same replies."""

    name: str
    start_ms: float
    end_ms: float


class Waterfall(BaseModel):
    n: int  # replies that reached every stage shown
    steps: list[Step]  # up to the first sound that went out
    later: dict[str, float] = {}  # stages reached after that, which nobody waited for, and when


class Latencies(BaseModel):
    stages: list[Stage]  # in the order in which turns reach them; the recorded latency last
    waterfall: Waterfall | None


def analyse(scored: Scored) -> Latencies | None:
    columns = {
        stage: [float(row.stages_ms[stage]) for row in scored.rows if stage in row.stages_ms]
        for stage in STAGES
    }
    recorded = [value for _, value in scored.values(RECORDED)]
    stages = [_stage(name, STAGES[name], values) for name, values in columns.items() if values]
    if recorded:
        stages.append(_stage(RECORDED, "the reply could be heard in the recording", recorded))
    if not stages:
        return None
    told = [row.stages_ms for row in scored.rows if row.stages_ms]
    return Latencies(stages=stages, waterfall=_waterfall(told))


def _stage(name: str, about: str, values: Sequence[float]) -> Stage:
    p50, p90, p95, p99 = np.percentile(values, (50, 90, 95, 99)).tolist()
    return Stage(
        name=name,
        about=about,
        n=len(values),
        mean=float(np.mean(values)),
        p50=p50,
        p90=p90,
        p95=p95 if len(values) >= FEW else None,
        p99=p99 if len(values) >= FEW else None,
        least=min(values),
        most=max(values),
        histogram=_histogram(values),
        values=sorted(values) if len(values) < FEW else [],
    )


def _histogram(values: Sequence[float]) -> Histogram:
    """Over all but the furthest outliers: one reply that took a minute must not hide the rest."""
    low, quarter, three, high = np.percentile(values, (0, 25, 75, 100)).tolist()
    reach = 3 * (three - quarter)
    low, high = max(low, quarter - reach), min(high, three + reach)
    if high - low < 1e-6:
        low, high = low - 0.5, low + 0.5
    counts, edges = np.histogram(values, BINS, (low, high))
    return Histogram(
        edges=edges.tolist(),
        counts=counts.tolist(),
        below=sum(value < low for value in values),
        above=sum(value > high for value in values),
    )


def _waterfall(told: Sequence[Mapping[str, float]]) -> Waterfall | None:
    """Stages that at least half of the replies reach, over those replies that reach them all.

    It ends with the first sound: an opening may go out before the model's first token.
    """
    usual = [stage for stage in STAGES if 2 * sum(stage in each for each in told) >= len(told)]
    whole = [each for each in told if all(stage in each for stage in usual)]
    if not usual or not whole:
        return None
    means = {stage: float(np.mean([each[stage] for each in whole])) for stage in usual}
    ordered = sorted(means, key=lambda stage: means[stage])
    later = ordered[ordered.index(FIRST_SENT) + 1 :] if FIRST_SENT in means else []
    ordered = ordered[: len(ordered) - len(later)]
    starts = [min(0.0, means[ordered[0]]), *(means[stage] for stage in ordered)]
    return Waterfall(
        n=len(whole),
        steps=[
            Step(name=stage, start_ms=start, end_ms=means[stage])
            for stage, start in zip(ordered, starts, strict=False)
        ],
        later={stage: means[stage] for stage in later},
    )
