"""Many measurements as a few figures, and the figures beside what they should reach. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Report = dict[str, Any]
STEEPER = 1.25  # a curve at its upper end than on the whole: more is no straight line any more


def percentile(values: Sequence[float], q: float) -> float | None:
    """The value below which q percent lie, between neighbours; None of nothing."""
    return round(float(np.percentile(values, q)), 2) if values else None


def summary(values: Sequence[float | None], *qs: float) -> Report:
    """Percentiles (50 and 95 unless told) of what was measured, and how much that was."""
    known = [value for value in values if value is not None]
    return {**{f"p{q:g}": percentile(known, q) for q in qs or (50, 95)}, "n": len(known)}


def share(found: Sequence[bool]) -> Report:
    """How often something happened."""
    return {"rate": round(sum(found) / len(found), 4) if found else None, "n": len(found)}


@dataclass(frozen=True, slots=True)
class Target:
    """A figure by its place in the report, and the most it may be."""

    what: str
    place: str  # dotted
    most: float


_SPEED = "latency.all.eos_to_first_audio_ms"
_LOAD = "talkers.binary_150"
TARGETS = (
    Target("end of speech to first audible sample, ms, p50", f"{_SPEED}.p50", 550),
    Target("end of speech to first audible sample, ms, p95", f"{_SPEED}.p95", 900),
    Target("turns answered aloud before their end", "latency.all.early_answers.n", 0),
    Target("of the latency our own, ms, p95", "latency.all.overhead_ms.p95", 10),
    Target("work after the end of turn / bare models", "latency.all.after_eot_over_bare.all", 0.5),
    Target("user speech to silence, ms, p95", "barge_in.attune.barge_in_to_silence_ms.p95", 250),
    Target("user speech to decision, ms, p95", "barge_in.attune.barge_in_to_decision_ms.p95", 700),
    Target("percept of 10 s, CPU s per s", "perception.whole.10_sec.cpu_sec_per_sec", 0.03),
    Target("end of a 10 s turn to its percept, ms, p95", "perception.turn.final_ms.p95", 60),
    Target("cost of a talker at 150, % of a core", f"{_LOAD}.cpu_percent_per_talker", 0.6),
    Target("frame handling at 150 talkers, ms, p99", f"{_LOAD}.frame_ms.p99", 20),
    Target(
        "an added talker's cost at the end / on the whole",
        "capacity.cpu_percent_growth.steeper_at_the_end",
        STEEPER,
    ),
    Target("latency / Pipecat's on the same models, p50", "pipecat.ratio.latency_p50", 1),
    Target("latency / Pipecat's on the same models, p95", "pipecat.ratio.latency_p95", 1),
    Target("the same, every reply by the model, p50", "pipecat.ratio_asking.latency_p50", 1),
    Target("the same, every reply by the model, p95", "pipecat.ratio_asking.latency_p95", 1),
)


def judged(report: Mapping[str, Any], targets: Sequence[Target] = TARGETS) -> list[Report]:
    """Each target with what was reached; both null where nothing was measured."""
    found = []
    for target in targets:
        reached = _at(report, target.place)
        met = None if reached is None else reached <= target.most
        found.append({"what": target.what, "target": target.most, "reached": reached, "met": met})
    return found


def _at(report: Mapping[str, Any], place: str) -> float | None:
    value: Any = report
    for key in place.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int | float) else None
