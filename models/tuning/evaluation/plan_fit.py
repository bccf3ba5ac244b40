"""How well a plan, thought by a model or made by rules, fits the author's."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from models.corpus.exchange import Exchange, Variant, Way
from models.thinking.plan import Strategy
from models.tuning.evaluation.intervals import figure
from models.tuning.planned import planned


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to be done, and in which tone; nothing at all where no thought came."""

    strategies: Collection[Strategy] = ()
    emotion: str = ""


def shared(some: Collection[Strategy], others: Collection[Strategy]) -> float:
    """Strategies both have, of all that either has (Jaccard)."""
    return len({*some} & {*others}) / max(1, len({*some} | {*others}))


def fit(scripts: Sequence[Sequence[tuple[Planned, Variant]]], seed: int) -> dict[str, Any]:
    """Over all plans, those of one script together."""
    return {
        "strategies": figure(
            [[shared(p.strategies, v.strategies) for p, v in pairs] for pairs in scripts], seed
        ),
        "emotion": figure(
            [[float(p.emotion == v.emotion) for p, v in pairs] for pairs in scripts], seed
        ),
    }


def of_rules(exchanges: Iterable[Exchange], seed: int) -> dict[str, Any]:
    """What a thought has to be better than."""
    scripts, fixed = [], 0
    for each in exchanges:
        plans = {way: planned(each, way) for way in Way}
        scripts.append(
            [(Planned(p.strategies, p.emotion), each.variants[way]) for way, p in plans.items()]
        )
        fixed += sum(bool(plan.fixed) for plan in plans.values())
    return {**fit(scripts, seed), "fixed": fixed}  # the last: replies no model would be asked for
