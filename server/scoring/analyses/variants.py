"""The same script in several voices, or in several situations: whether the replies follow.

Tone variants and context variants are told apart, and so are metrics of words and of voice.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from server.scoring.analyses.strands import STRANDS, Strand, strand
from server.scoring.scored import Row, Scored
from server.scoring.statistics import Difference, Estimate, mean_interval, paired

STEERING = "steering_minilm"
VARIANTS = ("target", "neutral", "alternative")
ANY = "any"  # of items that are variants of each other without one of those names
SITUATIONS = 6  # more of them have no column each: every item has its own, as in EmpathyEval

Setting = Literal["tone", "context"]


class MetricByVariant(BaseModel):
    metric: str
    title: str
    variants: dict[str, Estimate]
    target_over_neutral: Difference | None = None  # within the same group
    target_over_alternative: Difference | None = None
    over_first: dict[str, Difference] = {}  # by situation: less the first one, same recordings


class Table(BaseModel):
    """The metrics of one strand in one setting."""

    setting: Setting
    strand: Strand
    metrics: list[MetricByVariant]


class Steering(BaseModel):
    """How much nearer replies are to the reference of their own cue than to the other's."""

    setting: Setting
    margins: dict[str, Estimate]  # by variant: the mean of the metric
    following: dict[str, Estimate]  # by variant: per cent of replies that are nearer to their own


class Groups(BaseModel):
    """Scripts of which at least two variants were answered."""

    setting: Setting
    groups: int  # scripts
    plays: int = 0  # as often as they were met so: by each system, with each cue and condition
    steered: Estimate  # per cent in which every reply is nearer to its own reference
    planned_apart: Estimate  # per cent in which target and alternative were planned differently


class Variants(BaseModel):
    tables: list[Table]
    steering: list[Steering]
    groups: list[Groups]


def analyse(scored: Scored) -> Variants | None:
    found: dict[Setting, list[Row]] = {"tone": [], "context": []}
    for row in scored.rows:
        if (setting := _setting(row)) is not None:
            found[setting].append(row)
    if not any(found.values()):
        return None
    told = [(setting, rows) for setting, rows in found.items() if rows]
    tables = [
        Table(setting=setting, strand=each, metrics=metrics)
        for setting, rows in told
        for each in STRANDS
        if (metrics := _metrics(each, rows, _columns(setting, rows), scored))
    ]
    return Variants(
        tables=tables,
        steering=[one for setting, rows in told if (one := _steering(setting, rows, scored))],
        groups=[each for setting, rows in told if (each := _groups(setting, rows, scored))],
    )


def _setting(row: Row) -> Setting | None:
    if row.annotation.setting is not None:
        return row.annotation.setting
    return "tone" if row.annotation.variant is not None else None


def _columns(setting: Setting, rows: Sequence[Row]) -> Sequence[str]:
    """The variants that have a column each: of tones their names, of contexts the situations."""
    if setting == "tone":
        return (*VARIANTS, ANY)
    situations = list(dict.fromkeys(row.annotation.context or ANY for row in rows))
    return situations if len(situations) <= SITUATIONS else (ANY,)


def _variant(row: Row, columns: Sequence[str]) -> str:
    about = row.annotation
    told = about.context if about.setting == "context" else about.variant
    return told if told in columns and told is not None else ANY


def _kind(row: Row) -> Hashable:
    """What makes it another rendering of the script than the next."""
    about = row.annotation
    named = about.variant, about.context
    return named if any(named) else about.item


def _group(row: Row) -> tuple[Hashable, ...]:
    """What belongs together: one script as one system met it, in one run."""
    about = row.annotation
    script = about.group or about.item or f"{row.session_id} {row.number}"
    run = (about.condition, about.speech, about.cue_given, about.prompt)
    recording = about.variant if about.setting == "context" else None
    return (about.benchmark, script, *run, recording, row.attributes.get("responder"))


def _script(row: Row) -> Hashable:
    return _group(row)[:2]


def _metrics(
    which: Strand, rows: Sequence[Row], columns: Sequence[str], scored: Scored
) -> list[MetricByVariant]:
    found = []
    for name, measure in scored.measures.items():
        if strand(measure) != which or name == STEERING:
            continue
        told = [(row, row.values[name]) for row in rows if name in row.values]
        variants = _by_variant(told, columns)
        if not variants:
            continue
        first, *others = columns
        found.append(
            MetricByVariant(
                metric=name,
                title=measure.title,
                variants=_estimates(variants, scored),
                target_over_neutral=_over("neutral", "target", variants, scored),
                target_over_alternative=_over("alternative", "target", variants, scored),
                over_first={
                    other: over
                    for other in others
                    if first != VARIANTS[0] and (over := _over(first, other, variants, scored))
                },
            )
        )
    return found


def _by_variant(
    values: Iterable[tuple[Row, float]], columns: Sequence[str]
) -> dict[str, list[tuple[Row, float]]]:
    found: dict[str, list[tuple[Row, float]]] = defaultdict(list)
    for row, value in values:
        found[_variant(row, columns)].append((row, value))
    return {name: found[name] for name in columns if name in found}


def _estimates(variants: dict[str, list[tuple[Row, float]]], scored: Scored) -> dict[str, Estimate]:
    return {
        name: mean_interval(
            [value for _, value in pairs],
            [_script(row) for row, _ in pairs],
            scored.draws,
            scored.seed,
        )
        for name, pairs in variants.items()
    }


def _over(
    less: str, variant: str, variants: dict[str, list[tuple[Row, float]]], scored: Scored
) -> Difference | None:
    """By how much a variant's score is above another's, within groups that have both."""
    base, target = (_means(variants.get(name, ())) for name in (less, variant))
    both = [group for group in target if group in base]
    if not both:
        return None
    return paired(
        [base[group] for group in both],
        [target[group] for group in both],
        [group[:2] for group in both],
        scored.draws,
        scored.seed,
    )


def _means(pairs: Iterable[tuple[Row, float]]) -> dict[tuple[Hashable, ...], float]:
    values: dict[tuple[Hashable, ...], list[float]] = defaultdict(list)
    for row, value in pairs:
        values[_group(row)].append(value)
    return {group: sum(told) / len(told) for group, told in values.items()}


def _steering(setting: Setting, rows: Sequence[Row], scored: Scored) -> Steering | None:
    pairs = [(row, row.values[STEERING]) for row in rows if STEERING in row.values]
    if not pairs:
        return None
    follows = [(row, 100.0 if value > 0 else 0.0) for row, value in pairs]
    columns = _columns(setting, rows)
    return Steering(
        setting=setting,
        margins=_estimates(_by_variant(pairs, columns), scored),
        following=_estimates(_by_variant(follows, columns), scored),
    )


def _groups(setting: Setting, rows: Sequence[Row], scored: Scored) -> Groups | None:
    found: dict[tuple[Hashable, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if row.reply_item is not None:
            found[_group(row)].append(row)
    several = {group: rows for group, rows in found.items() if len({*map(_kind, rows)}) > 1}
    if not several:
        return None
    return Groups(
        setting=setting,
        groups=len({group[:2] for group in several}),
        plays=len(several),
        steered=_share({group: _steered(rows) for group, rows in several.items()}, scored),
        planned_apart=_share({group: _apart(rows) for group, rows in several.items()}, scored),
    )


def _share(answers: dict[tuple[Hashable, ...], bool | None], scored: Scored) -> Estimate:
    told = {group: answer for group, answer in answers.items() if answer is not None}
    return mean_interval(
        [100.0 * answer for answer in told.values()],
        [group[:2] for group in told],
        scored.draws,
        scored.seed,
    )


def _steered(rows: Sequence[Row]) -> bool | None:
    """None unless two replies at least have two references to be compared with."""
    told = [row.values[STEERING] for row in rows if STEERING in row.values]
    return all(value > 0 for value in told) if len(told) > 1 else None


def _apart(rows: Sequence[Row]) -> bool | None:
    """Whether no two variants were planned alike; None where fewer than two plans are known."""
    plans: dict[Hashable, set[Hashable]] = defaultdict(set)
    for row in rows:
        if row.plan is not None and row.annotation.variant != "neutral":
            plans[_kind(row)].add(_planned(row.plan))
    if len(plans) < 2:
        return None
    return sum(map(len, plans.values())) == len(set().union(*plans.values()))


def _planned(plan: Mapping[str, Any]) -> Hashable:
    """What of a plan a listener could notice, but for its words."""
    heard = tuple(sorted(str(each.get("name")) for each in plan.get("heard") or ()))
    return plan.get("situation"), plan.get("emotion"), heard
