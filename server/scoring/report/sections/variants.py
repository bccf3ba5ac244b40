"""The same script in other voices or situations; words and voice in tables of their own."""

from server.scoring.analyses.variants import ANY, Groups, Steering, Variants
from server.scoring.analyses.variants import Table as Found
from server.scoring.report.analysed import analysed, without
from server.scoring.report.blocks import (
    Block,
    Cell,
    Figure,
    Heading,
    Para,
    Row,
    Section,
    Table,
    figure,
    nothing,
)
from server.scoring.report.drawings.canvas import shortened
from server.scoring.report.drawings.dots import Point, dots
from server.scoring.report.figures import change, counted, digits, number, span
from server.scoring.report.material import Material
from server.scoring.statistics import Difference, Estimate

SETTINGS = {
    "tone": "Tone variants: the same words, said otherwise",
    "context": "Context variants: the same recording, another situation",
}
STRANDS = {
    "understanding": "Understanding",
    "linguistic": "Linguistic: what replies say",
    "paralinguistic": "Paralinguistic: how replies sound",
    "both": "Judged at once, as the authors do",
}
WHAT = {"tone": "variants", "context": "situations"}
APART = {"tone": "target and alternative", "context": "the same words in other situations"}
LETTERS = 40  # of a situation
KINDS = ("one", "two", "three")


def variants(material: Material) -> Section:
    found = analysed(material, "variants", Variants)
    name, heading = "variants", "Context and tone"
    if found is None:
        sentence = (
            "Nothing was played in several variants: no context-variant and no tone-variant run."
        )
        return Section(name, heading, (without(material, "variants", sentence),))
    blocks: list[Block] = []
    for setting, title in SETTINGS.items():
        tables = [each for each in found.tables if each.setting == setting]
        if not tables:
            blocks += [Heading(title), nothing("None in this run.")]
            continue
        blocks.append(Heading(title))
        blocks += [_groups(each) for each in found.groups if each.setting == setting]
        blocks += [_steering(each) for each in found.steering if each.setting == setting]
        blocks += [_table(each, material) for each in tables]
    return Section(name, heading, tuple(blocks))


def _groups(found: Groups) -> Para:
    told = f"{counted(found.groups, 'script')} had replies in two {WHAT[found.setting]} or more"
    if found.plays > found.groups:
        told += f", {found.plays:,} times in all: cues given and conditions count apart"
    told += "."
    if found.steered.mean is not None:
        told += (
            f" In {number(found.steered.mean, 0)} % ({_span(found.steered)}) every reply is nearer "
            "to the reference of its own cue."
        )
    if found.planned_apart.mean is not None:
        told += (
            f" In {number(found.planned_apart.mean, 0)} % ({_span(found.planned_apart)}) "
            f"{APART[found.setting]} were planned differently."
        )
    return Para(told)


def _span(found: Estimate) -> str:
    ends = f"{span(found.low, found.high)}, " if found.low is not None else ""
    return f"{ends}n = {found.n:,}"


def _steering(found: Steering) -> Figure:
    points = [
        Point(
            _short(name),
            each.mean,
            each.low,
            each.high,
            f"{number(each.mean, 0)} %, n = {each.n:,}",
            KINDS[place % 3],
        )
        for place, (name, each) in enumerate(found.following.items())
    ]
    drawn = dots(
        "Replies that follow their own cue",
        points,
        low=0,
        high=100,
        at=50,
        at_told="chance",
        unit="%",
    )
    caption = (
        "Share of replies nearer to the reference of their own cue than to the other's, by "
        "variant, with 95 % intervals."
    )
    return Figure(drawn, caption)


def _table(found: Found, material: Material) -> Table:
    names = list(dict.fromkeys(name for each in found.metrics for name in each.variants))
    has_neutral = any(each.target_over_neutral for each in found.metrics)
    has_other = any(each.target_over_alternative for each in found.metrics)
    head = [STRANDS[found.strand], *map(_short, names)]
    head += ["target − neutral"] * has_neutral + ["target − alternative"] * has_other
    others = [name for name in names if any(name in each.over_first for each in found.metrics)]
    head += [f"{_short(name)} − {_short(names[0])}" for name in others]
    rows = []
    for each in found.metrics:
        cells = [Cell(each.title)]
        cells += [_estimate(each.variants.get(name)) for name in names]
        if has_neutral:
            cells.append(_difference(each.target_over_neutral))
        if has_other:
            cells.append(_difference(each.target_over_alternative))
        cells += [_difference(each.over_first.get(name)) for name in others]
        rows.append(Row(tuple(cells)))
    caption = (
        "Means (n); differences within scripts with 95 % bootstrap intervals and p by permutation "
        "(signs flipped)."
    )
    if found.setting == "context" and names == [ANY]:
        caption += " Every item has situations of its own: one column holds them all."
    return Table(tuple(head), tuple(rows), caption, frozenset(range(1, len(head))))


def _short(name: str) -> str:
    return shortened(name, LETTERS)


def _estimate(found: Estimate | None) -> Cell:
    if found is None or found.mean is None:
        return figure("–")
    told = f"{number(found.mean, digits(found.mean))} ({found.n:,})"
    return figure(told, about=span(found.low, found.high))


def _difference(found: Difference | None) -> Cell:
    if found is None:
        return figure("–")
    return figure(change(found.mean, found.low, found.high, found.p))
