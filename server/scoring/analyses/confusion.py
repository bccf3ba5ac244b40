"""What was perceived, by what was really there."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from models.perception.labels import DIMENSIONS, EVENTS, Dimension
from server.scoring.analyses.usual import clean
from server.scoring.arms import cluster
from server.scoring.scored import Row, Scored
from server.scoring.statistics import Estimate, mean_interval

NEUTRAL = "neutral"
NOT_SURE, NOTHING = "not sure", "nothing"
LIKELY = 0.5  # from here on something counts as perceived where several things may be true at once
OVERALL = "overall"
GIVEN = "given"  # the weights of a percept that was not perceived


class Matrix(BaseModel):
    """How often `true[i]` was perceived as `perceived[j]`."""

    dimension: str
    true: list[str]
    perceived: list[str]
    counts: list[list[int]]
    n: int
    accuracy: Estimate  # per cent; "not sure" is not right
    balanced: float | None  # the mean of the cues' own accuracies, per cent
    unsure: int


class Confusion(BaseModel):
    overall: Matrix
    dimensions: list[Matrix]
    no_percept: int  # exchanges with a true cue of which nothing was perceived
    given: int  # those in which the cue was told, and perceiving it is no merit
    again: int = 0  # further plays of a clip, with another question: it is counted once


def analyse(scored: Scored) -> Confusion | None:
    seen: dict[str, list[tuple[str, str, Row]]] = defaultdict(list)
    missing = given = again = 0
    clips: set[Hashable] = set()
    for row in scored.rows:
        if row.annotation.cue is None or (dimension := dimension_of(row)) is None:
            continue
        if not clean(row):  # what noise does is told by the sweeps
            continue
        if row.annotation.cue_given == "true" or (row.percept or {}).get("weights") == GIVEN:
            given += 1
        elif row.percept is None:
            missing += 1
        elif (clip := _clip(row)) in clips:
            again += 1
        else:
            clips.add(clip)
            true = _nothing(dimension) if row.annotation.cue == NEUTRAL else row.annotation.cue
            seen[dimension.name].append((true, perceived(row.percept, dimension), row))
    if not seen and not missing and not given:
        return None
    every = [
        (_plain(name, true), _plain(name, found), row)
        for name, pairs in seen.items()
        for true, found, row in pairs
    ]
    return Confusion(
        overall=_matrix(OVERALL, every, scored),
        dimensions=[_matrix(name, seen[name], scored) for name in DIMENSIONS if name in seen],
        no_percept=missing,
        given=given,
        again=again,
    )


def _clip(row: Row) -> Hashable:
    """The recording that was played: an item, or that of a script many questions are asked of."""
    about = row.annotation
    named = (about.group if about.task == "mcq" else None) or about.item
    if named is None:
        return row.session_id, row.number
    responder = row.attributes.get("responder")
    return about.benchmark, named, about.variant, about.speech, about.cue, responder


def dimension_of(row: Row) -> Dimension | None:
    """Of the true cue; a neutral rendering of a script is looked at in its script's dimension."""
    cue, named = row.annotation.cue, row.annotation.dimension
    if named in DIMENSIONS and (cue == NEUTRAL or cue in answers(DIMENSIONS[named])):
        return DIMENSIONS[named]
    if cue == NEUTRAL:
        return DIMENSIONS["emotion"]
    plain = (each for each in DIMENSIONS.values() if cue in answers(each) and cue != each.rest)
    return next(plain, None)


def answers(dimension: Dimension) -> tuple[str, ...]:
    """What may be perceived in a dimension: of a person's sounds more than EchoMind counts."""
    return EVENTS if dimension.name == "nonverbal" else dimension.answers


def perceived(percept: Mapping[str, Any], dimension: Dimension) -> str:
    """The likeliest of a dimension, or that there is nothing, or that nobody can be sure."""
    if dimension.name in (percept.get("unknown") or ()):
        return NOT_SURE
    told = percept.get(dimension.field) or {}
    chances = {name: told[name] for name in answers(dimension) if name in told}
    if not chances:
        return NOT_SURE
    likeliest = max(chances, key=lambda name: chances[name])
    if not dimension.exclusive and chances[likeliest] < LIKELY:
        return NOTHING
    return likeliest


def _nothing(dimension: Dimension) -> str:
    return dimension.rest or NOTHING


def _plain(dimension: str, label: str) -> str:
    """A normal pace, a normal volume and no sound at all are one and the same over all cues."""
    return NOTHING if label == DIMENSIONS[dimension].rest else label


def _matrix(name: str, pairs: Sequence[tuple[str, str, Row]], scored: Scored) -> Matrix:
    counts = Counter((true, found) for true, found, _ in pairs)
    order = [*answers(DIMENSIONS[name]), NOTHING] if name in DIMENSIONS else _all_names()
    true = [label for label in order if any(row == label for row, _ in counts)]
    columns = [
        label for label in (*order, NOT_SURE) if label in true or any(c == label for _, c in counts)
    ]
    right = [100.0 if truth == found else 0.0 for truth, found, _ in pairs]
    own = [
        100 * counts[label, label] / sum(counts[label, column] for column in columns)
        for label in true
    ]
    clusters = [cluster(row) for _, _, row in pairs]
    return Matrix(
        dimension=name,
        true=true,
        perceived=columns,
        counts=[[counts[label, column] for column in columns] for label in true],
        n=len(pairs),
        accuracy=mean_interval(right, clusters, scored.draws, scored.seed),
        balanced=sum(own) / len(own) if own else None,
        unsure=sum(found == NOT_SURE for _, found, _ in pairs),
    )


def _all_names() -> list[str]:
    names = (name for each in DIMENSIONS.values() for name in answers(each) if name != each.rest)
    return [*names, NOTHING]
