"""What other speech does to the scores: people or machines speaking, noise, speed and codecs."""

import re
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from server.scoring.analyses.usual import clean
from server.scoring.arms import CLEAN, cluster
from server.scoring.scored import Row, Scored
from server.scoring.statistics import Difference, Estimate, mean_interval, paired

SYNTHETIC, HUMAN = "synthetic", "human"

Item = tuple[Hashable, ...]


class Condition(BaseModel):
    """One metric under one condition."""

    name: str  # as the run called it: "noise 10 dB"
    sweep: str  # what was varied: noise, speed, codec
    level: float | None = None  # how much of it, where that is a number
    scores: Estimate
    over_clean: Difference | None = None  # on the items that were also played clean


class ByCondition(BaseModel):
    metric: str
    title: str
    higher_is_better: bool | None
    clean: Estimate | None
    conditions: list[Condition]  # by sweep, then by level


class BySpeech(BaseModel):
    """People's recordings beside synthesised ones of the same benchmark."""

    metric: str
    title: str
    higher_is_better: bool | None
    human: Estimate
    synthetic: Estimate
    human_over_synthetic: Difference | None = None  # on the items that are there in both


class Robustness(BaseModel):
    conditions: list[ByCondition]
    speech: list[BySpeech]


@dataclass(frozen=True, slots=True)
class _Told:
    """The scores of one metric in one arm of the comparison."""

    pairs: Sequence[tuple[Row, float]]

    def estimate(self, scored: Scored) -> Estimate:
        values = [value for _, value in self.pairs]
        scripts = [cluster(row) for row, _ in self.pairs]
        return mean_interval(values, scripts, scored.draws, scored.seed)

    def by_item(self, apart: str) -> dict[Item, float]:
        """The mean over runs of the same item, in all but what is compared."""
        found: dict[Item, list[float]] = defaultdict(list)
        for row, value in self.pairs:
            if (item := _item(row, apart)) is not None:
                found[item].append(value)
        return {item: sum(values) / len(values) for item, values in found.items()}

    def scripts(self, apart: str) -> dict[Item | None, Hashable]:
        return {_item(row, apart): cluster(row) for row, _ in self.pairs}


def analyse(scored: Scored) -> Robustness | None:
    found = Robustness(conditions=_conditions(scored), speech=_speech(scored))
    return found if found.conditions or found.speech else None


def _conditions(scored: Scored) -> list[ByCondition]:
    told = []
    for name, measure in scored.measures.items():
        arms = _arms(scored, name, "condition")
        base = arms.pop(CLEAN, None)
        if not arms:
            continue
        told.append(
            ByCondition(
                metric=name,
                title=measure.title,
                higher_is_better=measure.higher_is_better,
                clean=base.estimate(scored) if base else None,
                conditions=[
                    Condition(
                        name=condition,
                        sweep=_sweep(condition),
                        level=_level(condition),
                        scores=arms[condition].estimate(scored),
                        over_clean=_over(base, arms[condition], "condition", scored),
                    )
                    for condition in sorted(arms, key=_place)
                ],
            )
        )
    return told


def _speech(scored: Scored) -> list[BySpeech]:
    told = []
    for name, measure in scored.measures.items():
        arms = _arms(scored, name, "speech")
        if HUMAN not in arms or SYNTHETIC not in arms:
            continue
        told.append(
            BySpeech(
                metric=name,
                title=measure.title,
                higher_is_better=measure.higher_is_better,
                human=arms[HUMAN].estimate(scored),
                synthetic=arms[SYNTHETIC].estimate(scored),
                human_over_synthetic=_over(arms[SYNTHETIC], arms[HUMAN], "speech", scored),
            )
        )
    return told


def _arms(scored: Scored, metric: str, by: str) -> dict[str, _Told]:
    """The scores by condition or by kind of speech. What is not said to be degraded is not."""
    found: dict[str, list[tuple[Row, float]]] = defaultdict(list)
    for row, value in scored.values(metric):
        about = row.annotation
        arm: str | None = about.speech
        if by == "condition":
            arm = about.condition or (CLEAN if about.item is not None else None)
        elif not clean(row):
            arm = None  # a sweep would weigh on one side only
        if arm is not None:
            found[arm].append((row, value))
    return {arm: _Told(pairs) for arm, pairs in found.items()}


def _over(base: _Told | None, other: _Told, apart: str, scored: Scored) -> Difference | None:
    if base is None:
        return None
    first, second = base.by_item(apart), other.by_item(apart)
    both = [item for item in second if item in first]
    if not both:
        return None
    scripts = other.scripts(apart)
    return paired(
        [first[item] for item in both],
        [second[item] for item in both],
        [scripts[item] for item in both],
        scored.draws,
        scored.seed,
    )


def _item(row: Row, apart: str) -> Item | None:
    """What must be the same for two scores to be a pair; None for what is no item."""
    about = row.annotation
    if about.item is None:
        return None
    same = (about.task, about.variant, about.context, about.cue_given, about.prompt)
    kept = about.speech if apart == "condition" else about.condition or CLEAN
    return (about.benchmark, about.item, *same, kept, row.attributes.get("responder"))


def _sweep(condition: str) -> str:
    return condition.split()[0].lower() if condition.split() else condition


def _level(condition: str) -> float | None:
    """The number after the sweep's name: of "noise 10 dB" it is 10."""
    found = re.match(r"\S+\s+(-?\d+(?:\.\d+)?)", condition)
    return float(found[1]) if found else None


def _place(condition: str) -> tuple[str, bool, float, str]:
    level = _level(condition)
    return _sweep(condition), level is None, level or 0.0, condition
