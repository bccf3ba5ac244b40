"""What noise, speed and codecs do, and people's speech instead of a machine's."""

from server.reports import Metric
from server.scoring.analyses.robustness import ByCondition, BySpeech, Robustness
from server.scoring.report.analysed import analysed, without
from server.scoring.report.blocks import (
    Block,
    Cell,
    Figure,
    Folded,
    Grid,
    Heading,
    Row,
    Section,
    Table,
    figure,
    nothing,
)
from server.scoring.report.drawings.dots import Point, dots
from server.scoring.report.figures import chance, change, digits, number, signed, span
from server.scoring.report.material import Material
from server.scoring.statistics import Difference, Estimate

DRAWN = ("wer", "cue_recall", "speech_rel", "ves", "similarity_minilm", "vocalbench_acoustic")
MOST = 4  # metrics that are drawn


def robustness(material: Material) -> Section:
    found = analysed(material, "robustness", Robustness)
    name, heading = "robustness", "Robustness"
    if found is None:
        sentence = "No item was played in noise, at another speed, through a codec, or by a person."
        return Section(name, heading, (without(material, "robustness", sentence),))
    blocks: list[Block] = [Heading("Noise, speed and codecs")]
    if found.conditions:
        metrics = [each for name in DRAWN for each in found.conditions if each.metric == name]
        drawn = ([_drawn(each, material.metrics.get(each.metric))] for each in metrics[:MOST])
        blocks.append(Grid(tuple(drawn), wide=True))
        table = _conditions(found.conditions, material)
        blocks.append(Folded("All metrics by condition", (table,)))
    else:
        blocks.append(nothing("No sweep was run."))
    blocks.append(Heading("People's and synthetic speech"))
    if found.speech:
        main = [each for each in found.speech if each.metric in DRAWN]
        blocks.append(_speech(main or found.speech, material))
        if main and len(main) < len(found.speech):
            every = _speech(found.speech, material)
            blocks.append(Folded("All metrics by kind of speech", (every,)))
    else:
        blocks.append(nothing("The run has only one of the two."))
    return Section(name, heading, tuple(blocks))


def _drawn(found: ByCondition, metric: Metric | None) -> Figure:
    points = []
    if found.clean is not None:
        points.append(_point("clean", found.clean, None, metric, "three"))
    for each in found.conditions:
        points.append(_point(each.name, each.scores, each.over_clean, metric, "one"))
    drawn = dots(
        f"{found.title} by condition",
        points,
        unit=metric.unit if metric is not None else "",
        width=490,
    )
    way = {True: "higher is better", False: "lower is better", None: "neither way is better"}
    caption = (
        f"{found.title} by condition ({way[found.higher_is_better]}), with 95 % intervals; under "
        "each the difference to clean on the same items."
    )
    return Figure(drawn, caption)


def _point(
    name: str, found: Estimate, over: Difference | None, metric: Metric | None, kind: str
) -> Point:
    told = f"{number(found.mean, digits(found.mean, metric))}, n = {found.n:,}"
    if over is not None and over.mean is not None:
        told += f"; {signed(over.mean, metric)}, {chance(over.p)}"
    return Point(name, found.mean, found.low, found.high, told, kind)


def _conditions(found: list[ByCondition], material: Material) -> Table:
    names = list(dict.fromkeys(each.name for row in found for each in row.conditions))
    rows = []
    for row in found:
        metric = material.metrics.get(row.metric)
        told = {each.name: each for each in row.conditions}
        cells = [Cell(row.title), _estimate(row.clean, metric)]
        for name in names:
            each = told.get(name)
            cells.append(_estimate(each.scores if each else None, metric))
            cells.append(_difference(each.over_clean if each else None, metric))
        rows.append(Row(tuple(cells)))
    head = ("Metric", "clean", *(part for name in names for part in (name, "− clean")))
    caption = (
        "Means (n); differences on the same items with 95 % bootstrap intervals and p by "
        "permutation (signs flipped)."
    )
    return Table(head, tuple(rows), caption, frozenset(range(1, len(head))))


def _speech(found: list[BySpeech], material: Material) -> Table:
    rows = []
    for each in found:
        metric = material.metrics.get(each.metric)
        rows.append(
            Row(
                (
                    Cell(each.title),
                    _estimate(each.human, metric),
                    figure(span(each.human.low, each.human.high, metric)),
                    _estimate(each.synthetic, metric),
                    figure(span(each.synthetic.low, each.synthetic.high, metric)),
                    _difference(each.human_over_synthetic, metric),
                )
            )
        )
    head = ("Metric", "People", "95 % interval", "Synthetic", "95 % interval", "Same items")
    caption = "Means (n). Differences only on items that are there in both."
    return Table(head, tuple(rows), caption, frozenset(range(1, 6)))


def _estimate(found: Estimate | None, metric: Metric | None) -> Cell:
    if found is None or found.mean is None:
        return figure("–")
    return figure(f"{number(found.mean, digits(found.mean, metric))} ({found.n:,})")


def _difference(found: Difference | None, metric: Metric | None) -> Cell:
    if found is None:
        return figure("–")
    return figure(change(found.mean, found.low, found.high, found.p, metric))
