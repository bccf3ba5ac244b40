"""What a report shows of a run's scores; the rest is counted in passing and let go."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappush, heappushpop
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from server.reports import Group, Metric
from server.scoring.arms import CLEAN, WANT_REPLY
from server.scoring.report.reading import BrokenScores, pieces
from server.scoring.results import Results, ToldExchange

SHOWN = 6  # of the worst exchanges, and of the best
# By what exchanges are ranked: the first of these that there are values of.
RANKING = (
    "speech_rel", "ves", "aeq_supportiveness", "humdial_congruence", "ctx_fit", "vstyle",
    "echat_multi", "echat_emotion", "vocalbench_acoustic", "steering_minilm", "vocal_fit",
    "similarity", "similarity_minilm", "bertscore_minilm", "rouge_l", "cue_chance", "dnsmos_ovrl",
    "reply_latency_ms",
)  # fmt: skip
# What tells which part of which data set an exchange is, and how it was played.
TOLD_APART = ("benchmark", "task", "variant", "cue_given", "prompt", "speech", "setting")


class Way(NamedTuple):
    """How items were played that may stand in one cell beside a published figure."""

    benchmark: str | None
    cue_given: str | None
    prompt: str | None
    speech: str | None
    task: str | None


@dataclass(slots=True)
class Tally:
    total: float = 0.0
    n: int = 0

    def add(self, value: float) -> None:
        self.total += value
        self.n += 1

    @property
    def mean(self) -> float | None:
        return self.total / self.n if self.n else None


@dataclass(frozen=True)
class Ranked:
    """The two ends of a ranking."""

    metric: Metric | None
    worst: tuple[ToldExchange, ...] = ()
    best: tuple[ToldExchange, ...] = ()


@dataclass(frozen=True)
class Material:
    head: Results  # without its exchanges
    exchanges: int
    apart: Mapping[str, Counter[str]]  # by attribute of TOLD_APART
    tallies: Mapping[Way, Mapping[str, Tally]]  # of clean plays, by metric
    answered: Mapping[Way, Tally]  # of those that want a reply: 1 for each that got one
    ranked: Ranked

    @cached_property
    def metrics(self) -> dict[str, Metric]:
        return {each.name: each for each in self.head.metrics}

    def groups(self, by: str) -> dict[str, dict[str, Group]]:
        """Figures by value of an attribute, then by metric."""
        found: dict[str, dict[str, Group]] = {}
        for breakdown in self.head.breakdowns:
            if breakdown.by == by:
                for group in breakdown.groups:
                    found.setdefault(group.value, {})[group.metric] = group
        return found

    def scored(self, names: Iterable[str]) -> list[Metric]:
        """Those of these metrics that have values."""
        return [self.metrics[name] for name in names if name in self.metrics and self._has(name)]

    def _has(self, name: str) -> bool:
        return self.metrics[name].mean is not None


def read(path: Path) -> Material:
    """Read a report's scores once, from the beginning to the end."""
    head: dict[str, Any] = {}
    passing = _Passing()
    try:
        for name, value in pieces(path):
            if name == "exchanges":
                passing.see(value)
            else:
                head[name] = value
        results = Results.model_validate({**head, "exchanges": []})
        ranked = passing.ranked({each.name: each for each in results.metrics})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BrokenScores(f"{path.name} is no report: {place}: {first['msg']}.") from None
    except (KeyError, TypeError, AttributeError):
        raise BrokenScores(f"{path.name} is no report: an exchange is not in its form.") from None
    return Material(
        results, passing.exchanges, passing.apart, passing.tallies, passing.answered, ranked
    )


@dataclass(slots=True)
class _Ends:
    """The lowest and the highest of all that came by."""

    low: list[tuple[Any, ...]] = field(default_factory=list)
    high: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, key: tuple[float, ...], turn: int, exchange: dict[str, Any]) -> None:
        _keep(self.high, (key, -turn, exchange))
        _keep(self.low, (tuple(-each for each in key), -turn, exchange))


def _keep(heap: list[tuple[Any, ...]], entry: tuple[Any, ...]) -> None:
    if len(heap) < 2 * SHOWN:
        heappush(heap, entry)
    else:
        heappushpop(heap, entry)


class _Passing:
    """Sees every exchange once."""

    def __init__(self) -> None:
        self.apart: dict[str, Counter[str]] = {name: Counter() for name in TOLD_APART}
        self.tallies: dict[Way, dict[str, Tally]] = {}
        self.answered: dict[Way, Tally] = {}
        self._ends: dict[tuple[bool, str], _Ends] = {}
        self._turns = count()
        self.exchanges = 0

    def see(self, exchange: dict[str, Any]) -> None:
        self.exchanges += 1
        told = exchange.get("attributes", {})
        truth = exchange.get("annotation") or {}
        for name, counter in self.apart.items():
            if value := told.get(name) or truth.get(name):
                counter[str(value)] += 1
        values = {
            name: float(score["value"])
            for name, score in exchange.get("scores", {}).items()
            if score.get("value") is not None
        }
        clean = truth.get("condition") in (None, CLEAN)
        if clean:
            way = Way(*(truth.get(name) for name in Way._fields))
            tallies = self.tallies.setdefault(way, {})
            for name, value in values.items():
                tallies.setdefault(name, Tally()).add(value)
            if way.task in WANT_REPLY and exchange.get("user_item"):
                got = float(exchange.get("reply_item") is not None)
                self.answered.setdefault(way, Tally()).add(got)
        plain = clean and truth.get("cue_given") in (None, "perceived")
        turn = next(self._turns)
        order = [name for name in RANKING if name in values]
        for name in order:
            # Those that are equal are told apart by the other metrics.
            key = (values[name], *(values.get(other, 0.0) for other in RANKING[:-1]))
            self._ends.setdefault((plain, name), _Ends()).add(key, turn, exchange)

    def ranked(self, metrics: Mapping[str, Metric]) -> Ranked:
        """Of what people get; only where there is none of that, of what was tried."""
        known = [
            (plain, name)
            for plain in (True, False)
            for name in RANKING
            if (plain, name) in self._ends and name in metrics
        ]
        if not known:
            return Ranked(None)
        ends, name = self._ends[known[0]], known[0][1]
        low = [each[2] for each in sorted(ends.low, key=lambda each: each[:2], reverse=True)]
        high = [each[2] for each in sorted(ends.high, key=lambda each: each[:2], reverse=True)]
        metric = metrics[name]
        worst, best = (low, high) if metric.higher_is_better is not False else (high, low)
        return Ranked(metric, *(tuple(map(_told, part)) for part in _halves(worst, best)))


def _halves(
    worst: list[dict[str, Any]], best: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nobody is among the best and the worst at once; of few exchanges the worst matter more."""
    if len(worst) < 2 * SHOWN:  # these are all there are
        few = min(SHOWN, len(best) // 2)
        return worst[: len(worst) - few][:SHOWN], best[:few]
    return worst[:SHOWN], best[:SHOWN]


def _told(exchange: dict[str, Any]) -> ToldExchange:
    return ToldExchange.model_validate(exchange)
