"""Every metric's mean with its interval. Words and voice stand in tables of their own."""

from collections import Counter
from collections.abc import Iterable
from typing import cast

from server.reports import Metric
from server.scoring.analyses.strands import Strand, strand
from server.scoring.arms import DATA, OWN_TALK
from server.scoring.drawing import FEWEST
from server.scoring.judging.sitting import AGREEMENT
from server.scoring.report.blocks import (
    Block,
    Bullets,
    Cell,
    Folded,
    Heading,
    Para,
    Row,
    Section,
    Table,
    figure,
    nothing,
)
from server.scoring.report.drawings.dots import gauge
from server.scoring.report.figures import MINUS, counted, measured, share, span
from server.scoring.report.material import Material
from server.scoring.score import Family, Measure

# Families whose metrics are no judgement of empathy, whatever strand they belong to.
STEADY = "steady"
PLAIN = ("understanding", "perception", "words", "sound", STEADY)
EMPATHY: dict[Strand, str] = {
    "linguistic": "Linguistic empathy: what the reply says",
    "paralinguistic": "Paralinguistic empathy: how the reply sounds",
}
# Families that have a table of their own, in order; None is the rest.
FAMILIES = {
    "understanding": "Understanding",
    "perception": "Perception of how it was said",
    "words": "Words of the reply, against a reference",
    "echomind": "Judged, EchoMind",
    "aeq": "Judged, AEQ",
    "echat": "EChat-eval: words and the reply's emotion judged at once, as its authors do",
    "humdial": "Judged, HumDial",
    "vstyle": "VStyle: words and voice judged in steps, as its authors do",
    "vocalbench": "Judged, VocalBench",
    "voice": "Voice of the reply",
    "sound": "Sound of the reply",
    "counterfactual": "Against the same reply made worse",
    "duplex": "Conversation: who speaks when",
    "latency": "Latency",
    STEADY: "How often a judge gives the same answer twice",
}
CUES = {"true": "true cue given", "none": "no cue given", "perceived": "cue as perceived"}
HEAD = ("Metric", "Mean", "95 % interval", "On its scale", "n", "Unscored", "Judge")


def headline(material: Material) -> Section:
    found: list[Block] = [Para(_over(material), "note")]
    if told := _silence(material):
        found.append(Para(told, "warning"))
    shown: set[str] = set()
    for half, title in EMPATHY.items():
        meant = [
            each
            for each in material.head.metrics
            if each.higher_is_better is not None  # what only describes is no empathy
            and _family(each) not in PLAIN
            and strand_of(each) == half
        ]
        metrics = [each for each in meant if each.mean is not None]
        shown |= {each.name for each in metrics}
        found.append(Heading(title))
        found.append(
            _table([_row(each) for each in metrics]) if metrics else nothing(_nothing(meant))
        )
    found.append(
        Para(
            "The two are never merged into one number: a reply can say the right thing in the "
            "wrong voice.",
            "note",
        )
    )
    found += [Heading("Everything else"), _rest(material, shown)]
    found += _own_talk(material)
    found += _caveats(material.head.metrics)
    return Section("headline", "All figures", tuple(found))


def _nothing(metrics: Iterable[Metric]) -> str:
    """Why there is none, the reason of most metrics first."""
    reasons = Counter(reason for each in metrics for reason in each.reasons)
    if not reasons:
        return "No metric of this was asked for."
    told = "; ".join(f"{reason} ({counted(n, 'metric')})" for reason, n in reasons.most_common())
    return f"Nothing of this could be scored: {told}."


def _over(material: Material) -> str:
    """Which exchanges, drawn by what, and what is told elsewhere."""
    over = material.head.headline
    how = [CUES[over.cue]] if over.cue in CUES else []
    how += [over.condition] if over.condition else []
    played = f" ({', '.join(how)})" if how else ""
    told = (
        f"Means over {counted(over.exchanges, 'exchange')} of {', '.join(over.data) or 'nothing'}"
        f"{played}, with 95 % bootstrap intervals; "
    )
    if over.drawn == "scripts":
        told += f"{counted(over.clusters, 'script')} are drawn, each with all its plays."
    else:
        told += f"{counted(over.clusters, 'session')} are drawn whole."
    told += f" Fewer than {FEWEST} have no interval."
    if over.aside:
        aside = ", ".join(f"{name} ({n:,})" for name, n in over.aside.items())
        told += f" Not among them, but in tables of their own: {aside}."
    for name, values in over.pooled.items():
        told += f" They pool {name}: {', '.join(values)}."
    return told + " What could not be scored is never counted as anything, and is told below."


def _silence(material: Material) -> str:
    over = material.head.headline
    if not over.unanswered:
        return ""
    return (
        f"{counted(over.unanswered, 'exchange')} of {over.asked:,} got no reply "
        f"({share(over.unanswered / over.asked)}). Judges, C1 to C4 as all others, saw only "
        "replies that there are; likeness to a reference counts silence as 0. Who is silent where "
        "it is hard gains on what is judged."
    )


def _own_talk(material: Material) -> list[Block]:
    """Of a run that has both: never in one mean with a benchmark's items."""
    if OWN_TALK in material.head.headline.data:
        return []
    groups = material.groups(DATA).get(OWN_TALK, {})
    rows = [
        _row(metric.model_copy(update=groups[metric.name].model_dump(exclude={"metric", "value"})))
        for metric in material.head.metrics
        if metric.name in groups
    ]
    return [Heading("People's own talk, apart"), _table(rows)] if rows else []


def strand_of(metric: Metric) -> Strand | None:
    family = cast(Family, metric.family)
    return strand(Measure(metric.name, metric.title, family, metric.about))


def _families(material: Material) -> Iterable[tuple[str, str]]:
    known = dict(FAMILIES)
    for metric in material.head.metrics:
        known.setdefault(metric.family, metric.family.capitalize())
    return known.items()


def _rest(material: Material, shown: set[str]) -> Block:
    """One table, so that its columns stand under each other."""
    rows: list[Row] = []
    for family, title in _families(material):
        rest = [
            each
            for each in material.head.metrics
            if _family(each) == family and each.mean is not None and each.name not in shown
        ]
        if rest:
            rows.append(Row((Cell(title),), heading=True))
            rows += [_row(each) for each in rest]
    return _table(rows) if rows else nothing("Nothing else could be scored in this run.")


def _family(metric: Metric) -> str:
    return STEADY if metric.name.startswith(AGREEMENT) else metric.family


def _table(rows: list[Row]) -> Table:
    return Table(HEAD, tuple(rows), numeric=frozenset({1, 2, 4, 5}), even=True)


def _row(metric: Metric) -> Row:
    arrow = {True: " ↑", False: " ↓", None: ""}[metric.higher_is_better]
    scale = Cell("")
    if metric.smallest is not None and metric.largest is not None and metric.mean is not None:
        drawn = gauge(metric.mean, metric.low, metric.high, metric.smallest, metric.largest)
        ends = f"{_short(metric.smallest)} to {_short(metric.largest)}"
        scale = Cell(ends, faint=True, drawing=drawn)
    return Row(
        (
            Cell(metric.title + arrow, about=metric.about),
            figure(measured(metric.mean, metric), strong=True),
            figure(span(metric.low, metric.high, metric)),
            scale,
            figure(f"{metric.n:,}"),
            figure(f"{metric.unscored:,}", faint=True),
            Cell(metric.judge or "computed", faint=True),
        )
    )


def _short(value: float) -> str:
    return f"{value:g}".replace("-", MINUS)


def _caveats(metrics: list[Metric]) -> list[Block]:
    told = [each for each in metrics if each.mean is not None and (each.about or each.caveat)]
    if not told:
        return []
    lines = tuple(
        f"{each.title} ({each.name}): {each.about} "
        + (f"Caveat: {each.caveat}" if each.caveat else "")
        for each in told
    )
    return [
        Folded(f"What these {counted(len(told), 'metric')} are, with caveats", (Bullets(lines),))
    ]
