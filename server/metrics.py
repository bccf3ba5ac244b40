"""What the house notes of itself, for Prometheus: read when it is asked for, never kept twice."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from server.percentiles import Digest
from server.vitals import Vitals

# Fine where people begin to notice, coarse where they give up. What was ready ahead of time is
# in the first: Prometheus sums no negative figures.
BOUNDS_SEC = (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2, 3, 5, 10)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the figures come from."""

    vitals: Vitals
    info: Mapping[str, str]
    gauges: Mapping[str, tuple[str, Callable[[], float]]]  # by name: what it is, and how much now
    able: Callable[[], Mapping[str, bool]] = dict  # by role: whether its model does its work


class Figures(Collector):
    """One house's figures."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def collect(self) -> Iterable[Metric]:
        vitals = self._sources.vitals
        yield InfoMetricFamily("attune", "What is running.", dict(self._sources.info))
        for name, (about, read) in self._sources.gauges.items():
            yield GaugeMetricFamily(f"attune_{name}", about, read())
        for name, about, count in (
            ("sessions_opened", "Conversations begun.", vitals.opened),
            ("sessions_refused", "Conversations refused for want of a seat.", vitals.refused),
            ("sessions_queued", "People who had to wait for a seat.", vitals.queued),
            ("turns", "Turns people took.", vitals.turns),
            ("replies", "Replies that began to sound.", vitals.replies),
            ("holds", "Replies silenced because somebody might interrupt.", vitals.holds),
            ("interruptions", "Replies somebody did interrupt.", vitals.interruptions),
            ("underruns", "Gaps in replies that nobody asked for.", vitals.underruns),
        ):
            yield CounterMetricFamily(f"attune_{name}", about, count)
        able = GaugeMetricFamily("attune_role_able", "Whether a model works.", labels=["role"])
        for role, is_able in self._sources.able().items():
            able.add_metric([role], is_able)
        yield able
        yield _by("sessions_ended", "Conversations ended.", "why", vitals.endings)
        yield _by("replies_failed", "Replies failed, by whose model.", "role", vitals.failures)
        stopped = "Recordings broken off."
        yield _by("recordings_broken_off", stopped, "reason", vitals.stopped)
        stages = HistogramMetricFamily(
            "attune_stage_seconds", "Stages of a turn after the end of speech.", labels=["stage"]
        )
        for name, stage in vitals.stages.items():
            _fill(stages, [name], stage.ever)
        yield stages
        percepts = HistogramMetricFamily(
            "attune_percept_seconds", "From the end of a turn to how it sounded."
        )
        _fill(percepts, [], vitals.percepts)
        yield percepts


def exposed(sources: Sources) -> Callable[[], bytes]:
    """The figures, and those of the process, in Prometheus' text form."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures(sources))
    ProcessCollector(registry=registry)
    return lambda: generate_latest(registry)


def _by(name: str, about: str, label: str, counts: Mapping[str, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"attune_{name}", about, labels=[label])
    for value, count in sorted(counts.items()):
        family.add_metric([value], count)
    return family


def _fill(family: HistogramMetricFamily, labels: list[str], digest: Digest) -> None:
    counts = digest.at_most([1000 * bound for bound in BOUNDS_SEC])
    buckets = [(str(float(bound)), float(n)) for bound, n in zip(BOUNDS_SEC, counts, strict=True)]
    buckets.append(("+Inf", float(digest.count)))
    family.add_metric(labels, buckets, sum_value=digest.total / 1000)
