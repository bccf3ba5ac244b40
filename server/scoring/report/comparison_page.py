"""A comparison as a page and as Markdown."""

from server.scoring.drawing import FEWEST
from server.scoring.report import markdown, page
from server.scoring.report.blocks import (
    Block,
    Bullets,
    Cell,
    Facts,
    Figure,
    Folded,
    Para,
    Row,
    Section,
    Table,
    figure,
    nothing,
)
from server.scoring.report.comparison import Compared, Comparison, Told
from server.scoring.report.drawings.dots import Point, dots
from server.scoring.report.figures import counted, measured, number, signed, span

TITLE = "Two runs compared"


def html(found: Comparison) -> str:
    return page.document(TITLE, _below(found), found.b.software, _sections(found))


def text(found: Comparison) -> str:
    return markdown.document(f"{TITLE}: {_below(found)}", _sections(found))


def verdict(each: Compared, found: Comparison) -> str:
    """In words: who is better, if anybody is."""
    match each.verdict:
        case "a":
            return f"A ({found.a.name}) is better"
        case "b":
            return f"B ({found.b.name}) is better"
        case "differs":
            return "they differ"
        case "none":
            return "no difference shown"
        case "too few":
            return "too few to tell"
    return f"not comparable: {each.why_not}"


def pairing(found: Comparison) -> str:
    """How exchanges were matched, in a sentence or two."""
    if not found.pairs:
        return (
            "No exchange is the same in both: the two are compared as independent samples, which "
            "sees less."
        )
    told = f"{counted(found.pairs, 'exchange')} are the same in both"
    items, talks = found.by_item, found.pairs - found.by_item
    how = [f"{items:,} by item of a data set"] if items else []
    how += [f"{talks:,} by recorded talk"] if talks else []
    alone = [each for each in found.metrics if not each.paired and each.verdict != "not comparable"]
    more = f" {counted(len(alone), 'metric')} pair nothing and stand unpaired." if alone else ""
    return f"{told} ({', '.join(how)}); differences are paired.{more}"


def _below(found: Comparison) -> str:
    return f"A: {found.a.name} · B: {found.b.name}"


def _sections(found: Comparison) -> tuple[Section, ...]:
    return (
        Section("runs", "What is compared", tuple(_runs(found))),
        Section("differences", "Differences", tuple(_differences(found))),
        Section("left", "What is not compared", tuple(_left(found))),
    )


def _runs(found: Comparison) -> list[Block]:
    facts = [("A", _run(found.a)), ("B", _run(found.b))]
    return [Facts(tuple(facts)), Para(pairing(found))]


def _run(told: Told) -> str:
    judges = ", ".join(told.judges) or "none"
    return (
        f"{told.name}: {counted(told.exchanges, 'exchange')} of "
        f"{counted(told.sessions, 'session')}, made {told.made} by {told.software}; "
        f"judges: {judges}"
    )


def _differences(found: Comparison) -> list[Block]:
    called = [each for each in found.metrics if each.verdict != "not comparable"]
    if not called:
        return [nothing("No metric has comparable values in both.")]
    sure = [each for each in called if each.verdict in ("a", "b", "differs")]
    lead = (
        f"{len(sure)} of {counted(len(called), 'metric')} differ surely (p < 0.05 after Holm's "
        "correction over all of them)."
    )
    scaled = [each for each in called if each.difference is not None and _scale(each)]
    blocks: list[Block] = [Para(lead, "lead")]
    if scaled:
        blocks.append(_figure(scaled, found))
    blocks.append(_table(called, found))
    return blocks


def _scale(each: Compared) -> float | None:
    """How long its scale is, with the sign of what is better."""
    if each.smallest is None or each.largest is None or each.higher_is_better is None:
        return None
    length = each.largest - each.smallest
    return length if each.higher_is_better else -length


def _figure(scaled: list[Compared], found: Comparison) -> Figure:
    points = []
    for each in scaled:
        length = _scale(each)
        assert length is not None and each.difference is not None
        ends = sorted(100 * end / length for end in (each.low, each.high) if end is not None)
        points.append(
            Point(
                each.title,
                100 * each.difference / length,
                ends[0] if len(ends) == 2 else None,
                ends[1] if len(ends) == 2 else None,
                f"{signed(each.difference, each)}, {verdict(each, found)}",
                {"b": "one", "a": "two"}.get(each.verdict, "three"),
            )
        )
    drawn = dots("Differences in per cent of each scale", points, at=0, unit="%")
    caption = (
        "How much better B is than A, in per cent of each metric's scale, with 95 % bootstrap "
        "intervals: right of 0 B is better. Green: B surely, orange: A surely, blue: neither. "
        "Metrics without a scale are in the table."
    )
    return Figure(drawn, caption)


def _table(called: list[Compared], found: Comparison) -> Table:
    head = ("Metric", "A", "B", "B − A", "95 % interval", "p", "p, Holm", "n", "")
    rows = tuple(
        Row(
            (
                Cell(each.title + {True: " ↑", False: " ↓", None: ""}[each.higher_is_better]),
                figure(measured(each.mean_a, each)),
                figure(measured(each.mean_b, each)),
                figure("–" if each.difference is None else signed(each.difference, each)),
                figure(span(each.low, each.high, each)),
                figure(_p(each.p)),
                figure(_p(each.corrected), strong=each.verdict in ("a", "b", "differs")),
                figure(f"{each.n:,}" + ("" if each.paired else " unpaired")),
                Cell(verdict(each, found)),
            )
        )
        for each in called
    )
    caption = (
        f"Means over what is compared; n counts pairs. Intervals by bootstrap, p by permutation, "
        f"{found.draws:,} draws over scripts or sessions; fewer than {FEWEST} of them have neither."
    )
    return Table(head, rows, caption, frozenset(range(1, 8)))


def _p(value: float | None) -> str:
    return number(None) if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _left(found: Comparison) -> list[Block]:
    blocks: list[Block] = []
    refused = [each for each in found.metrics if each.verdict == "not comparable"]
    if refused:
        blocks.append(
            Para(
                "These were not measured alike. Their means are told, their difference is not: it "
                "would be the judge's as much as the replies'.",
                "warning",
            )
        )
        rows = tuple(
            Row(
                (
                    Cell(each.title),
                    figure(measured(each.mean_a, each)),
                    figure(measured(each.mean_b, each)),
                    Cell(each.why_not),
                )
            )
            for each in refused
        )
        blocks.append(Table(("Metric", "A", "B", "Why not"), rows, numeric=frozenset({1, 2})))
    for name, only in (("A", found.only_a), ("B", found.only_b)):
        if only:
            summary = f"{counted(len(only), 'metric')} with values in {name} only"
            blocks.append(Folded(summary, (Bullets(tuple(only)),)))
    return blocks or [nothing("Every metric that has values in one has them in the other.")]
