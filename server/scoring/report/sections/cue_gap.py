"""What knowing the cue is worth, and how much of that our perception brings."""

from server.scoring.analyses.cue_gap import CueGap, MetricGap
from server.scoring.judging.sitting import AGREEMENT
from server.scoring.report.analysed import analysed, without
from server.scoring.report.blocks import (
    Block,
    Cell,
    Figure,
    Grid,
    Para,
    Row,
    Section,
    Table,
    figure,
)
from server.scoring.report.drawings.dots import Point, dots
from server.scoring.report.figures import change, digits, number, share, span
from server.scoring.report.material import Material
from server.scoring.report.sections.headline import strand_of
from server.scoring.statistics import Difference, Estimate

MAIN = (
    "speech_rel",
    "ves",
    "ctx_fit",
    "aeq_supportiveness",
    "steering_minilm",
    "similarity_minilm",
)
DRAWN = 4
CUES = {"none": "no cue", "perceived": "perceived", "true": "true cue"}
KINDS = {"none": "two", "perceived": "one", "true": "three"}
PUBLISHED = (
    "Published, other judge: the true cue given as text raised C4 by 1.10 (Step-Audio) and 1.03 "
    "(GPT-4o-Audio), and GPT-4o-Audio's VES from 3.34 to 4.42 (EchoMind)."
)


def cue_gap(material: Material) -> Section:
    found = analysed(material, "cue_gap", CueGap)
    name, heading = "cue-gap", "What hearing the cue is worth"
    if found is None:
        sentence = (
            "No item was played both with the true cue and with none: how much of the difference "
            "our perception recovers cannot be told. A benchmark's --ablation runs all three."
        )
        return Section(
            name, heading, (without(material, "cue_gap", sentence), Para(PUBLISHED, "note"))
        )
    blocks: list[Block] = [Para(_told(found)), Para(PUBLISHED, "note")]
    recovered = [
        each
        for each in found.metrics
        if each.recovered is not None and not each.metric.startswith(AGREEMENT)
    ]
    if recovered:
        blocks.append(_recovered(recovered, found, material))
    order = [each for name in MAIN for each in found.metrics if each.metric == name]
    if order:
        blocks.append(Grid(tuple([_means(each)] for each in order[:DRAWN]), wide=True))
    blocks += _table(found)
    return Section(name, heading, tuple(blocks))


def _told(found: CueGap) -> str:
    told = (
        f"{found.items:,} items were answered with the true cue, given as if it had been "
        "perceived, and with none; the difference is the gap. "
    )
    first = next((m for name in MAIN for m in found.metrics if m.metric == name), None)
    if first is not None and first.recovered is not None:
        told += (
            f"Of it our own perception recovers {share(first.recovered.share)} in {first.title} "
            f"({_ends(first)})."
        )
    elif first is not None and first.undefined:
        told += f"In {first.title} no share can be told: {first.undefined}."
    return told


def _ends(found: MetricGap) -> str:
    kept = found.recovered
    if kept is None or kept.low is None or kept.high is None:
        return "no interval"
    return f"95 % interval {share(kept.low)} to {share(kept.high)}"


def _recovered(found: list[MetricGap], whole: CueGap, material: Material) -> Figure:
    points = [
        Point(
            each.title,
            100 * each.recovered.share,
            None if each.recovered.low is None else 100 * each.recovered.low,
            None if each.recovered.high is None else 100 * each.recovered.high,
            f"{share(each.recovered.share)}, n = {each.gap.n:,}",
            _strand(each.metric, material),
        )
        for each in found
        if each.recovered is not None
    ]
    ends = [
        value for each in points for value in (each.value, each.low, each.high) if value is not None
    ]
    low, high = max(-150.0, min([-10.0, *ends])), min(250.0, max([110.0, *ends]))
    drawn = dots(
        "Share of the cue gap that our perception recovers",
        points,
        low=low,
        high=high,
        at=100,
        at_told="true cue",
        unit="%",
    )
    caption = (
        "Share of the gap between no cue (0 %) and the true cue (100 %, dashed) that our "
        f"perception recovers, with 95 % bootstrap intervals; {whole.items:,} items. Green: words, "
        "orange: voice, blue: other. Only metrics whose gap is surely not 0."
    )
    return Figure(drawn, caption)


def _strand(name: str, material: Material) -> str:
    metric = material.metrics.get(name)
    half = strand_of(metric) if metric is not None else None
    return {"linguistic": "one", "paralinguistic": "two"}.get(half or "", "three")


def _means(found: MetricGap) -> Figure:
    points = [
        Point(
            CUES[cue],
            each.mean,
            each.low,
            each.high,
            f"{number(each.mean, digits(each.mean))} ({span(each.low, each.high)})",
            KINDS[cue],
        )
        for cue in CUES
        if (each := found.means.get(cue)) is not None
    ]
    drawn = dots(f"{found.title} by cue given", points, unit=found.unit, width=480)
    n = found.gap.n
    return Figure(drawn, f"{found.title} with 95 % intervals, the same {n:,} items.")


def _table(found: CueGap) -> list[Block]:
    rows = tuple(
        Row(
            (
                Cell(each.title),
                *(_estimate(each.means.get(cue)) for cue in CUES),
                _difference(each.gap),
                _difference(each.gained),
                _recovers(each),
            )
        )
        for each in found.metrics
    )
    head = (
        "Metric", "No cue", "Perceived", "True cue", "Gap: true − none", "Perceived − none",
        "Recovered",
    )  # fmt: skip
    caption = (
        "Means over the same items; differences with 95 % bootstrap intervals and p by "
        "permutation (signs flipped)."
    )
    blocks: list[Block] = [Table(head, rows, caption, frozenset(range(1, 7)))]
    reasons: dict[str, list[str]] = {}
    for each in found.metrics:
        if each.undefined:
            reasons.setdefault(each.undefined, []).append(each.title)
    for reason, titles in reasons.items():
        blocks.append(Para(f"No share for {', '.join(titles)}: {reason}.", "note"))
    return blocks


def _recovers(found: MetricGap) -> Cell:
    if found.recovered is None:
        return figure("–", about=found.undefined or "")
    return figure(share(found.recovered.share), strong=True, about=_ends(found))


def _estimate(found: Estimate | None) -> Cell:
    if found is None or found.mean is None:
        return figure("–")
    about = f"{span(found.low, found.high)}, n = {found.n:,}"
    return figure(number(found.mean, digits(found.mean)), about=about)


def _difference(found: Difference | None) -> Cell:
    if found is None:
        return figure("–")
    return figure(change(found.mean, found.low, found.high, found.p))
