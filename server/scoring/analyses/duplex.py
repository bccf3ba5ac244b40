"""Taking turns and being talked over: Full-Duplex-Bench's tables, and HumDial's composite."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from server.scoring.analyses.humdial import HumDial, composite
from server.scoring.analyses.usual import usual
from server.scoring.arms import cluster
from server.scoring.scored import Row, Scored
from server.scoring.statistics import mean_interval, paired

OTHER = "conversation"  # talk that is no item of a task

V1 = {
    "pause": ("pause_take_over",),
    "backchannel": ("backchannel_take_over", "backchannel_freq", "backchannel_jsd"),
    "turn_taking": ("take_over", "turn_latency_sec"),
    "interruption": (
        "interruption_take_over",
        "interruption_rating",
        "interruption_latency_sec",
    ),
    OTHER: ("take_over", "turn_latency_sec", "pause_take_over"),
}
_OVERLAP = (
    "overlap_behaviour",
    "overlap_responds",
    "overlap_resumes",
    "overlap_is_uncertain",
    "overlap_is_unknown",
    "overlap_behaviour_timed",
    "stop_latency_sec",
    "response_latency_sec",
    "first_response_sec",
    "abrupt_cut",
)
V15 = dict.fromkeys(
    ("user_interruption", "user_backchannel", "talking_to_other", "background_speech", OTHER),
    _OVERLAP,
)
CHANGES = (
    "overlap_rate_change",
    "overlap_pitch_change_st",
    "overlap_pitch_spread_change_st",
    "overlap_intensity_change_db",
    "overlap_intensity_spread_change_db",
    "overlap_dnsmos_change",
    "overlap_distillmos_change",
    "overlap_utmos_change",
)


class Figure(BaseModel):
    metric: str
    n: int
    unscored: int
    mean: float | None
    low: float | None
    high: float | None


class Task(BaseModel):
    task: str
    n: int  # exchanges
    figures: list[Figure]


class Change(BaseModel):
    """After less before, in the same replies."""

    task: str
    metric: str
    unit: str
    n: int
    mean: float
    low: float | None  # of a paired bootstrap
    high: float | None
    p: float | None  # two-sided, by giving changes other signs; None for too few to tell
    t: float | None  # Student's, as the authors test; None for fewer than two or no spread


class Duplex(BaseModel):
    v1: list[Task]
    v15: list[Task]
    changes: list[Change]
    humdial: HumDial | None


def analyse(scored: Scored) -> Duplex | None:
    by_task = _by_task(scored.rows)
    v1, v15 = _tasks(V1, by_task, scored), _tasks(V15, by_task, scored)
    changes = list(_changes(by_task, scored))
    if not any(figure.n for task in (*v1, *v15) for figure in task.figures):
        return None
    return Duplex(v1=v1, v15=v15, changes=changes, humdial=composite(scored))


def _by_task(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """As people get it. What else happened in the recording of an item is no conversation."""
    items = {row.session_id for row in rows if _task(row) != OTHER}
    found: dict[str, list[Row]] = {}
    for row in rows:
        task = _task(row)
        if usual(row) and (task != OTHER or row.session_id not in items):
            found.setdefault(task, []).append(row)
    return found


def _task(row: Row) -> str:
    return row.annotation.task or OTHER


def _tasks(
    table: Mapping[str, Sequence[str]], by_task: Mapping[str, Sequence[Row]], scored: Scored
) -> list[Task]:
    return [
        Task(
            task=task,
            n=len(rows),
            figures=[_figure(metric, rows, scored) for metric in metrics],
        )
        for task, metrics in table.items()
        if (rows := by_task.get(task))
    ]


def _figure(metric: str, rows: Sequence[Row], scored: Scored) -> Figure:
    there = [row for row in rows if metric in row.values]
    scripts = [cluster(row) for row in there]
    found = mean_interval([row.values[metric] for row in there], scripts, scored.draws, scored.seed)
    return Figure(
        metric=metric,
        n=found.n,
        unscored=len(rows) - found.n,
        mean=found.mean,
        low=found.low,
        high=found.high,
    )


def _changes(by_task: Mapping[str, Sequence[Row]], scored: Scored) -> Iterable[Change]:
    for task in V15:
        for metric in CHANGES:
            there = [row for row in by_task.get(task, ()) if metric in row.values]
            if not there:
                continue
            values = np.array([row.values[metric] for row in there])
            scripts = [cluster(row) for row in there]
            found = paired(np.zeros(len(values)), values, scripts, scored.draws, scored.seed)
            measure = scored.measures.get(metric)
            yield Change(
                task=task,
                metric=metric,
                unit=measure.unit if measure else "",
                n=len(values),
                mean=float(values.mean()),
                low=found.low,
                high=found.high,
                p=found.p,
                t=student(values),
            )


def student(values: NDArray[np.float64]) -> float | None:
    """The paired t statistic of differences."""
    if len(values) < 2 or (spread := float(values.std(ddof=1))) <= 0:
        return None
    return float(values.mean()) / float(spread / len(values) ** 0.5)
