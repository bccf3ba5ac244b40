"""HumDial's composite of its full-duplex track: answering, not being put off, and delay. Pure."""

from collections.abc import Mapping, Sequence
from math import log
from typing import Literal

import numpy as np
from pydantic import BaseModel

from server.scoring.analyses.usual import usual
from server.scoring.scored import Scored

# L = 100 - 50 ln(delay / least) / ln(baseline / least). Its two constants are not told with it.
# The track's published results pair delays with scores: the fastest, 0.624 s, got 100, and this
# baseline gives all the others to within 0.1.
LEAST_SEC, BASELINE_SEC = 0.624, 3.592
SHARES = {"respond": 0.4, "resume": 0.4, "delay_score": 0.2}
JUDGED, TIMED = "overlap_behaviour", "overlap_behaviour_timed"
INTERRUPTED = ("user_interruption",)
DISTRACTED = ("user_backchannel", "talking_to_other", "background_speech")
DELAYS = {
    "stop_latency_sec": INTERRUPTED,  # elsewhere the reply should not stop at all
    "response_latency_sec": INTERRUPTED,
    "first_response_sec": (*INTERRUPTED, *DISTRACTED),
}


class HumDial(BaseModel):
    """Of answering and going on by a judge where one was asked, else by the recording alone.

    Everything is None where a part of it could not be scored; `missing` says which.

    Each kind of overlap counts the same, however many items it has.
    """

    behaviour: Literal["judged", "timed"] = "judged"

    respond: float | None = None  # % of interruptions that were answered
    resume: float | None = None  # % of all else after which the reply went on
    delays_sec: dict[str, float] = {}  # means of the three
    delay_sec: float | None = None  # their mean
    delay_score: float | None = None
    final: float | None = None
    n: dict[str, int] = {}
    missing: list[str] = []
    least_sec: float = LEAST_SEC
    baseline_sec: float = BASELINE_SEC
    note: str = (
        "The constants of the delay score are not published with its formula: 0.624 s for 100 "
        "points and 3.592 s for 50 give the track's published pairs of delay and score."
    )


def composite(scored: Scored) -> HumDial | None:
    """None where no item of the track's kind was run."""
    tasks = {row.annotation.task for row in scored.rows if usual(row)}
    if not tasks & {*INTERRUPTED, *DISTRACTED}:
        return None
    least, baseline = scored.humdial_delays or (LEAST_SEC, BASELINE_SEC)
    judged = bool(_values(scored, JUDGED, (*INTERRUPTED, *DISTRACTED)))
    shown = JUDGED if judged else TIMED
    respond, resume = (_values(scored, shown, among) for among in (INTERRUPTED, DISTRACTED))
    delays = {name: _values(scored, name, among) for name, among in DELAYS.items()}
    parts = {"respond": respond, "resume": resume, **delays}
    means = {name: mean for name, by_task in delays.items() if (mean := _mean(by_task)) is not None}
    whole = sum(means.values()) / len(means) if len(means) == len(DELAYS) else None
    told = {
        "respond": _mean(respond),
        "resume": _mean(resume),
        "delay_score": None if whole is None else delay_score(whole, least, baseline),
    }
    final = None
    if all(value is not None for value in told.values()):
        final = sum(SHARES[name] * value for name, value in told.items() if value is not None)
    plain = HumDial.model_fields["note"].default if scored.humdial_delays is None else ""
    return HumDial(
        behaviour="judged" if judged else "timed",
        **told,
        delays_sec=means,
        delay_sec=whole,
        final=final,
        n={name: sum(map(len, by_task.values())) for name, by_task in parts.items()},
        missing=[name for name, by_task in parts.items() if not by_task],
        least_sec=least,
        baseline_sec=baseline,
        note=plain,
    )


def delay_score(
    delay_sec: float, least: float = LEAST_SEC, baseline: float = BASELINE_SEC
) -> float:
    """From 0 to 100, however fast or slow."""
    if delay_sec <= least:
        return 100.0
    return max(0.0, 100 - 50 * log(delay_sec / least) / log(baseline / least))


def _values(scored: Scored, metric: str, tasks: tuple[str, ...]) -> dict[str, list[float]]:
    """By task, as people get it."""
    found: dict[str, list[float]] = {}
    for row, value in scored.values(metric):
        if (task := row.annotation.task) is not None and task in tasks and usual(row):
            found.setdefault(task, []).append(value)
    return found


def _mean(by_task: Mapping[str, Sequence[float]]) -> float | None:
    """Of the tasks' means."""
    return float(np.mean([np.mean(values) for values in by_task.values()])) if by_task else None
