"""Who judged: what was asked and what it cost, how far it agrees with itself, what it declined."""

from collections import Counter, defaultdict

from pydantic import BaseModel, ConfigDict

from server.scoring.arms import cluster
from server.scoring.judging.sitting import AGREEMENT, ASKED_ONCE
from server.scoring.scored import Scored
from server.scoring.statistics import mean_interval

# How reasons begin that lie with the judge, and not with what is judged.
WITH_THE_JUDGE = ("the judge", "no judge", "no consent to research, and the judge")


class Asked(BaseModel):
    """In this run: what an earlier one knew already cost nothing and is not counted."""

    model_config = ConfigDict(frozen=True)

    judge: str
    host: str | None  # None: beside the scorer
    calls: int
    retries: int
    tokens_in: int
    tokens_out: int
    cost: float | None


class SelfAgreement(BaseModel):
    """How often, in a hundred, two answers to one question are equal."""

    model_config = ConfigDict(frozen=True)

    instrument: str
    mean: float
    low: float | None
    high: float | None
    n: int


class Judges(BaseModel):
    model_config = ConfigDict(frozen=True)

    asked: list[Asked]  # empty where everything was known from an earlier run
    judged: dict[str, int]  # exchanges by instrument, from this run or an earlier one
    self_agreement: list[SelfAgreement]  # empty where each was asked once
    declined: dict[str, dict[str, int]]  # by metric: reasons that lie with the judge, how often


def analyse(scored: Scored) -> Judges | None:
    told = Judges(
        asked=_asked(scored),
        judged=_judged(scored),
        self_agreement=_agreement(scored),
        declined=_declined(scored),
    )
    return told if told.asked or told.judged or told.declined else None


def _asked(scored: Scored) -> list[Asked]:
    hosts = {judge.name: judge.host for judge in scored.judges}
    return [
        Asked(
            judge=used.judge,
            host=hosts.get(used.judge),
            calls=used.calls,
            retries=used.retries,
            tokens_in=used.tokens_in,
            tokens_out=used.tokens_out,
            cost=used.cost,
        )
        for used in scored.usage
    ]


def _judged(scored: Scored) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in scored.rows:
        for name in scored.measures:
            if not name.startswith(AGREEMENT):
                continue
            if name in row.values or row.unscored.get(name) == ASKED_ONCE:
                counts[name.removeprefix(AGREEMENT)] += 1
    return dict(counts)


def _agreement(scored: Scored) -> list[SelfAgreement]:
    found = []
    for name in scored.measures:
        if not name.startswith(AGREEMENT):
            continue
        told = list(scored.values(name))
        scripts = [cluster(row) for row, _ in told]
        values = [value for _, value in told]
        estimate = mean_interval(values, scripts, scored.draws, scored.seed)
        if estimate.mean is not None:
            found.append(
                SelfAgreement(
                    instrument=name.removeprefix(AGREEMENT),
                    mean=estimate.mean,
                    low=estimate.low,
                    high=estimate.high,
                    n=estimate.n,
                )
            )
    return found


def _declined(scored: Scored) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in scored.rows:
        for metric, reason in row.unscored.items():
            if reason.startswith(WITH_THE_JUDGE) and not metric.startswith(AGREEMENT):
                counts[metric][reason] += 1
    return {metric: dict(reasons) for metric, reasons in counts.items()}
