"""Multiple choice by kind of question, and how much of it chance would have got right."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import BaseModel

from server.scoring.arms import cluster
from server.scoring.drawing import Floats, belonging, drawn
from server.scoring.scored import Row, Scored
from server.scoring.statistics import Estimate, mean_interval

# EchoMind's kinds of question as its site names them, in its order.
KINDS: Mapping[str, tuple[str, ...]] = {
    "understanding": (
        "coarse-grained", "gender recognition", "age-group classification",
        "voice-style detection", "speech emotion recognition", "speaking-pace classification",
        "NVE recognition", "background-sound detection",
    ),
    "reasoning": (
        "multiple-people detection", "laughter-sentiment detection",
        "shouting-sentiment detection", "audio–text sentiment consistency",
        "response-style matching", "personalized-recommendation matching",
        "contextual-suggestion generation", "preceding-event inference",
        "speaker-intent recognition", "empathy-aware response selection",
    ),
}  # fmt: skip
UNNAMED = "of no kind"


class Kind(BaseModel):
    kind: str
    accuracy: Estimate  # per cent
    chance: float  # what guessing gets right, per cent, by the number of options


class Level(BaseModel):
    level: str
    micro: Estimate  # over questions, per cent
    macro: Estimate  # the mean of the kinds' accuracies; n counts kinds
    chance: float
    kinds: list[Kind]
    missing: list[str]  # of EchoMind's kinds: those of which there was no question


class Asked(BaseModel):
    """All questions of one run: they are not mixed over what was told of the cue."""

    cue_given: str | None
    condition: str | None
    levels: list[Level]


class Choices(BaseModel):
    asked: list[Asked]


def analyse(scored: Scored) -> Choices | None:
    runs: dict[tuple[str | None, str | None], list[Row]] = defaultdict(list)
    for row in scored.rows:
        if row.annotation.level and _score(row) is not None:
            runs[row.annotation.cue_given, row.annotation.condition].append(row)
    if not runs:
        return None
    return Choices(
        asked=[
            Asked(cue_given=cue, condition=condition, levels=_levels(rows, scored))
            for (cue, condition), rows in runs.items()
        ]
    )


def canonical(kind: str | None) -> str:
    """EchoMind's name for a kind of question, if it is one of its kinds."""
    plain = _plain(kind or "")
    for names in KINDS.values():
        for name in names:
            if plain == _plain(name):
                return name
    return kind or UNNAMED


def _plain(kind: str) -> str:
    letters = re.sub(r"[^a-z]", "", kind.lower().replace("–", ""))
    letters = letters.removeprefix("finegrained")
    return letters.replace("nonverbalexpression", "nve").replace("agegroup", "age")


def _levels(rows: Sequence[Row], scored: Scored) -> list[Level]:
    found = []
    for level, names in KINDS.items():
        ours = [row for row in rows if row.annotation.level == level]
        if not ours:
            continue
        kinds: dict[str, list[Row]] = defaultdict(list)
        for row in ours:
            kinds[canonical(row.annotation.kind)].append(row)
        ordered = sorted(kinds, key=lambda kind: names.index(kind) if kind in names else len(names))
        found.append(
            Level(
                level=level,
                micro=_estimate(ours, scored),
                macro=_macro(ours, scored),
                chance=_chance(ours),
                kinds=[
                    Kind(
                        kind=kind,
                        accuracy=_estimate(kinds[kind], scored),
                        chance=_chance(kinds[kind]),
                    )
                    for kind in ordered
                ],
                missing=[name for name in names if name not in kinds],
            )
        )
    return found


def _score(row: Row) -> float | None:
    return row.values.get(f"choice_{row.annotation.level}")


def _values(rows: Sequence[Row]) -> Floats:
    return np.array([_score(row) for row in rows], np.float64)


def _estimate(rows: Sequence[Row], scored: Scored) -> Estimate:
    return mean_interval(_values(rows), [cluster(row) for row in rows], scored.draws, scored.seed)


def _chance(rows: Sequence[Row]) -> float:
    return float(np.mean([100 / max(len(row.annotation.options), 1) for row in rows]))


def _macro(rows: Sequence[Row], scored: Scored) -> Estimate:
    """Every kind counts the same; a draw in which one has no question leaves it out."""
    values = _values(rows)
    kinds, count = belonging([canonical(row.annotation.kind) for row in rows], len(rows))
    scripts, clusters = belonging([cluster(row) for row in rows], len(rows))
    member = np.zeros((len(rows), count))
    member[np.arange(len(rows)), kinds] = 1

    def mean(times: Floats) -> Floats:
        weights = times[:, scripts]
        asked = weights @ member
        right = (weights * values) @ member
        there = asked > 0
        shares = np.divide(right, asked, out=np.zeros_like(right), where=there)
        found: Floats = shares.sum(axis=1) / there.sum(axis=1)
        return found

    whole = float(mean(np.ones((1, clusters)))[0])
    draws = drawn(clusters, len(rows), scored.draws, scored.seed, mean)
    if draws is None:
        return Estimate(whole, None, None, count)
    low, high = np.percentile(draws, [2.5, 97.5])
    return Estimate(whole, float(low), float(high), count)
