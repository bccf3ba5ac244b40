"""What the house notes of itself, for Prometheus: read when it is asked for, never kept twice."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

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

from models.registry import BACKENDS
from server.percentiles import Digest
from server.recording.paper import Reason
from server.recording.recorder import Why
from server.tally import Tally

# Fine where people begin to notice, coarse where they give up. What was ready ahead of time is
# in the first: Prometheus sums no negative figures.
BOUNDS_SEC = (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2, 3, 5, 10)

# Told as 0 before anything happens: to Prometheus a count that begins at 3 never rose, and an alert
# on its increase would sleep through the first failure, however many it hit at once.
WHYS: tuple[str, ...] = get_args(Why)
REASONS: tuple[str, ...] = get_args(Reason)
ROLES: tuple[str, ...] = tuple(BACKENDS)


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the figures come from."""

    info: Mapping[str, str]
    seats: int  # never more, however many processes there are
    sessions: Callable[[], int]  # going on in all processes
    restarts: Callable[[], Mapping[str, int]] = dict  # of the backends looked after, by name


class Figures(Collector):
    """One server's figures, of all its processes."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self.tally = Tally()

    def collect(self) -> Iterable[Metric]:
        tally = self.tally
        yield InfoMetricFamily("attune", "What is running.", dict(self._sources.info))
        left_out = "What is left out: 1 percepts, 2 partials, 3 speculation, 4 seats."
        room = min(self._sources.seats, tally.seats)
        for name, about, now in (
            ("sessions", "Conversations going on.", self._sources.sessions()),
            ("seats", "Conversations there is room for.", room),
            ("queue", "People who wait for a seat.", tally.waiting),
            ("pressure", left_out, tally.pressure),
            ("ready", "Whether a conversation could be held now.", not tally.not_ready),
            ("recordings", "Conversations being recorded.", tally.recording),
            ("longest_stall_seconds", "Of the event loop, ever.", tally.worst_stall_ms / 1000),
        ):
            yield GaugeMetricFamily(f"attune_{name}", about, now)
        for name, about, count in (
            ("sessions_opened", "Conversations begun.", tally.opened),
            ("sessions_refused", "Conversations refused for want of a seat.", tally.refused),
            ("sessions_queued", "People who had to wait for a seat.", tally.queued),
            ("recordings_begun", "Recordings begun.", tally.recordings_begun),
            ("turns", "Turns people took.", tally.turns),
            ("replies", "Replies that began to sound.", tally.replies),
            ("holds", "Replies silenced because somebody might interrupt.", tally.holds),
            ("interruptions", "Replies somebody did interrupt.", tally.interruptions),
            ("underruns", "Gaps in replies that nobody asked for.", tally.underruns),
            ("sessions_resumed", "Conversations lost clients came back to.", tally.resumed),
            ("resumes_failed", "Lost clients with nothing to come back to.", tally.resumes_failed),
            ("wrong_tokens", "Tokens that open nothing here.", tally.wrong_tokens),
            ("stalls", "How often the event loop stood for 20 ms or more.", tally.stalls),
        ):
            yield CounterMetricFamily(f"attune_{name}", about, count)
        able = GaugeMetricFamily("attune_role_able", "Whether a model works.", labels=["role"])
        for role, out_of_order in tally.unable.items():
            able.add_metric([role], not out_of_order)
        yield able
        yield _by("sessions_ended", "Conversations ended.", "why", tally.endings, WHYS)
        failed = "Replies failed, by whose model."
        yield _by("replies_failed", failed, "role", tally.failures, ROLES)
        stopped = "Recordings broken off."
        yield _by("recordings_broken_off", stopped, "reason", tally.stopped, REASONS)
        yield _by("refusals", "Refused for asking too much.", "limit", tally.refusals)
        opened = "How often a breaker opened."
        yield _by("breaker_openings", opened, "role", tally.openings)
        again = "Backends started again after they died or hung."
        yield _by("backend_restarts", again, "backend", self._sources.restarts())
        stages = HistogramMetricFamily(
            "attune_stage_seconds", "Stages of a turn after the end of speech.", labels=["stage"]
        )
        for name, stage in tally.stages.items():
            _fill(stages, [name], stage.ever)
        yield stages
        percepts = HistogramMetricFamily(
            "attune_percept_seconds", "From the end of a turn to how it sounded."
        )
        _fill(percepts, [], tally.percepts)
        yield percepts


def exposed(sources: Sources) -> Callable[[Tally], bytes]:
    """The figures, and those of the process that answers, in Prometheus' text form."""
    registry = CollectorRegistry(auto_describe=False)
    figures = Figures(sources)
    registry.register(figures)
    ProcessCollector(registry=registry)

    def told(tally: Tally) -> bytes:
        figures.tally = tally
        return generate_latest(registry)

    return told


def _by(
    name: str, about: str, label: str, counts: Mapping[str, int], known: Iterable[str] = ()
) -> CounterMetricFamily:
    """One count for each that was counted, and 0 for those known that were not."""
    family = CounterMetricFamily(f"attune_{name}", about, labels=[label])
    for value, count in sorted({**dict.fromkeys(known, 0), **counts}.items()):
        family.add_metric([value], count)
    return family


def _fill(family: HistogramMetricFamily, labels: list[str], digest: Digest) -> None:
    counts = digest.at_most([1000 * bound for bound in BOUNDS_SEC])
    buckets = [(str(float(bound)), float(n)) for bound, n in zip(BOUNDS_SEC, counts, strict=True)]
    buckets.append(("+Inf", float(digest.count)))
    family.add_metric(labels, buckets, sum_value=digest.total / 1000)
