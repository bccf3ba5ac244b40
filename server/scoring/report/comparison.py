"""What one run does better than another, exchange by exchange where they are the same ones."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Literal

from pydantic import BaseModel

from server.reports import Metric
from server.scoring import instruments
from server.scoring.chance import SURE
from server.scoring.report.sides import Answered, Key, Side
from server.scoring.statistics import Difference, holm, paired, unpaired

DRAWS = 10_000  # more than for means: corrected over many metrics, a coarse p is none

Verdict = Literal["a", "b", "differs", "none", "too few", "not comparable"]


class Compared(BaseModel):
    """One metric. The difference is b less a."""

    metric: str
    title: str
    family: str
    unit: str
    higher_is_better: bool | None
    smallest: float | None
    largest: float | None
    mean_a: float | None
    mean_b: float | None
    n_a: int
    n_b: int
    paired: bool
    n: int  # pairs; where nothing pairs, exchanges of both
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    corrected: float | None = None  # by Holm, over all metrics that are compared
    verdict: Verdict
    why_not: str = ""  # it is not comparable


class Told(BaseModel):
    """What a run was."""

    name: str
    made: str
    software: str
    sessions: int
    exchanges: int
    judges: list[str]


class Comparison(BaseModel):
    a: Told
    b: Told
    pairs: int  # exchanges that are the same in both
    by_item: int  # of them: items of a data set; the others are the same recorded talk
    draws: int
    seed: int
    metrics: list[Compared]
    only_a: list[str]  # metrics that have values in one of them
    only_b: list[str]


def compare(a: Side, b: Side, draws: int = DRAWS, seed: int = 7) -> Comparison:
    first, second = _named(a.exchanges, b.exchanges)
    both = [key for key in first if key in second]
    known_a, known_b = _valued(a), _valued(b)
    makers = _makers(a, b)
    found = [
        _compared(name, a, b, first, second, both, makers.get(name), draws, seed)
        for name in known_a
        if name in known_b
    ]
    return Comparison(
        a=_told(a),
        b=_told(b),
        pairs=len(both),
        by_item=sum(key[0] == "item" for key in both),
        draws=draws,
        seed=seed,
        metrics=_corrected(found),
        only_a=[name for name in known_a if name not in known_b],
        only_b=[name for name in known_b if name not in known_a],
    )


class _Mean:
    """The mean of what stands under one name: an item may have been played twice."""

    __slots__ = ("cluster", "counts", "sums")

    def __init__(self, cluster: Hashable) -> None:
        self.cluster = cluster
        self.sums: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    def add(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
            self.counts[name] = self.counts.get(name, 0) + 1

    def value(self, metric: str) -> float | None:
        return self.sums[metric] / self.counts[metric] if metric in self.sums else None


Exchanges = dict[Key, _Mean]


def _named(a: list[Answered], b: list[Answered]) -> tuple[Exchanges, Exchanges]:
    """Under the item alone, if that is enough: how it was run may be what is compared.

    Where a run holds an item several times, as in an ablation, they are told apart by how it was
    run, unless that leaves nothing to compare.
    """
    plain = _under(a, run=False), _under(b, run=False)
    if len(plain[0]) == len(a) and len(plain[1]) == len(b):
        return plain
    apart = _under(a, run=True), _under(b, run=True)
    return apart if apart[0].keys() & apart[1].keys() else plain


def _under(exchanges: Iterable[Answered], *, run: bool) -> Exchanges:
    found: Exchanges = {}
    for each in exchanges:
        key = (*each.item, *each.run) if run else each.item
        found.setdefault(key, _Mean(each.cluster)).add(each.values)
    return found


def _valued(side: Side) -> list[str]:
    return [each.name for each in side.head.metrics if each.mean is not None]


def _compared(
    name: str,
    a: Side,
    b: Side,
    first: Exchanges,
    second: Exchanges,
    both: list[Key],
    maker: str | None,
    draws: int,
    seed: int,
) -> Compared:
    told_a, told_b = a.metrics[name], b.metrics[name]
    pairs = [
        (first[key].cluster, one, other)
        for key in both
        if (one := first[key].value(name)) is not None
        and (other := second[key].value(name)) is not None
    ]
    why_not = _why_not(told_a, told_b, a, b, maker)
    found = Difference(None, None, None, None, len(pairs))
    if not why_not and pairs:
        clusters, ones, others = zip(*pairs, strict=True)
        found = paired(ones, others, clusters, draws, seed)
    elif not why_not:
        found = _apart(name, a, b, draws, seed)
    return Compared(
        metric=name,
        title=told_b.title,
        family=told_b.family,
        unit=told_b.unit,
        higher_is_better=told_b.higher_is_better,
        smallest=told_b.smallest,
        largest=told_b.largest,
        mean_a=sum(one for _, one, _ in pairs) / len(pairs) if pairs else told_a.mean,
        mean_b=sum(other for *_, other in pairs) / len(pairs) if pairs else told_b.mean,
        n_a=told_a.n,
        n_b=told_b.n,
        paired=bool(pairs),
        n=found.n,
        difference=found.mean,
        low=found.low,
        high=found.high,
        p=found.p,
        verdict="not comparable" if why_not else "too few" if found.p is None else "none",
        why_not=why_not,
    )


def _apart(name: str, a: Side, b: Side, draws: int, seed: int) -> Difference:
    sides = [
        [(each.cluster, each.values[name]) for each in side.exchanges if name in each.values]
        for side in (a, b)
    ]
    values = [[value for _, value in told] for told in sides]
    clusters = [[cluster for cluster, _ in told] for told in sides]
    return unpaired(values[0], values[1], clusters[0], clusters[1], draws, seed)


def _why_not(told_a: Metric, told_b: Metric, a: Side, b: Side, maker: str | None) -> str:
    judges = [
        side.judges.get(told.judge, told.judge) if told.judge else None
        for side, told in ((a, told_a), (b, told_b))
    ]
    if judges[0] != judges[1]:
        return f"judged by {judges[0] or 'nobody'} and by {judges[1] or 'nobody'}"
    keys = [_key(side, maker) for side in (a, b)]
    if maker and keys[0] and keys[1] and keys[0] != keys[1]:
        return f"measured by another {maker}: version, models or settings differ"
    return ""


def _key(side: Side, maker: str | None) -> str | None:
    run = side.head.run
    return run.instruments.get(maker) if run is not None and maker else None


def _makers(a: Side, b: Side) -> dict[str, str]:
    """Which instrument gave a metric, of those that both runs name."""
    found: dict[str, str] = {}
    for side in (a, b):
        for instrument in side.head.run.instruments if side.head.run is not None else ():
            try:
                given = instruments.measures(instrument)
            except (KeyError, ImportError):  # of another version than this
                continue
            found |= {each.name: instrument for each in given}
    return found


def _corrected(found: list[Compared]) -> list[Compared]:
    told = [each for each in found if each.p is not None]
    corrected = dict(
        zip(
            (each.metric for each in told),
            holm([each.p for each in told if each.p is not None]),
            strict=True,
        )
    )
    return [
        each.model_copy(
            update={
                "corrected": corrected[each.metric],
                "verdict": _verdict(each, corrected[each.metric]),
            }
        )
        if each.metric in corrected
        else each
        for each in found
    ]


def _verdict(each: Compared, corrected: float) -> Verdict:
    if corrected >= SURE or not each.difference:
        return "none"
    if each.higher_is_better is None:
        return "differs"
    return "b" if (each.difference > 0) == each.higher_is_better else "a"


def _told(side: Side) -> Told:
    head = side.head
    return Told(
        name=side.name,
        made=head.made.isoformat(timespec="seconds"),
        software=head.software,
        sessions=len(head.sessions),
        exchanges=len(side.exchanges),
        judges=list(side.judges.values()),
    )
