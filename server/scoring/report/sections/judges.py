"""Who judged, what it cost, how far a judge agrees with itself, and what it declined."""

from collections import Counter

from server.scoring.analyses.judges import Judges
from server.scoring.report.analysed import analysed, without
from server.scoring.report.blocks import (
    Block,
    Figure,
    Heading,
    Section,
    Table,
    figure,
    nothing,
    plain,
)
from server.scoring.report.drawings.dots import Point, dots
from server.scoring.report.figures import number
from server.scoring.report.material import Material


def judges(material: Material) -> Section:
    found = analysed(material, "judges", Judges)
    name, heading = "judges", "The judges themselves"
    if found is None:
        return Section(
            name, heading, (without(material, "judges", "No judge was asked anything."),)
        )
    blocks: list[Block] = [*_asked(found), *_itself(found)]
    blocks += _declined(found, material)
    return Section(name, heading, tuple(blocks))


def _declined(found: Judges, material: Material) -> list[Block]:
    """Counted as in the table of all that was not scored."""
    theirs = {reason for told in found.declined.values() for reason in told}
    reasons: Counter[str] = Counter()
    metrics: Counter[str] = Counter()
    for metric in material.head.metrics:
        told = {reason: n for reason, n in metric.reasons.items() if reason in theirs and n}
        reasons.update(told)
        metrics.update(told.keys())
    if not reasons:
        return []
    rows = tuple(
        plain(reason, figure(f"{n:,}"), figure(f"{metrics[reason]:,}"))
        for reason, n in reasons.most_common()
    )
    caption = (
        "What was not scored for a reason that lies with the judge, among the exchanges that "
        "“All figures” is over."
    )
    head = ("Reason", "Scores", "Metrics")
    return [Heading("Not judged"), Table(head, rows, caption, frozenset({1, 2}))]


def _asked(found: Judges) -> list[Block]:
    if not found.asked:
        told = "No judge was asked in this run"
        known = sum(found.judged.values())
        return [
            nothing(f"{told}: its answers were known from an earlier one." if known else told + ".")
        ]
    rows = tuple(
        plain(
            each.judge,
            each.host or "this machine",
            figure(f"{each.calls:,}"),
            figure(f"{each.retries:,}"),
            figure(f"{each.tokens_in:,}"),
            figure(f"{each.tokens_out:,}"),
            figure("not told" if each.cost is None else number(each.cost, 4)),
        )
        for each in found.asked
    )
    head = ("Judge", "Where", "Calls", "Retries", "Tokens in", "Tokens out", "Cost")
    caption = "In this run; what an earlier one knew already cost nothing and is not counted."
    return [Table(head, rows, caption, frozenset(range(2, 7)))]


def _itself(found: Judges) -> list[Block]:
    if not found.judged:
        return []
    heading = Heading("Agreement with itself")
    if not found.self_agreement:
        told = "Each question was asked once: how steady the judge is cannot be told."
        return [heading, nothing(told)]
    points = [
        Point(
            each.instrument.replace("_", " "),
            each.mean,
            each.low,
            each.high,
            f"{number(each.mean, 0)} %, n = {each.n:,}",
        )
        for each in found.self_agreement
    ]
    drawn = dots("How often a judge gives the same answer twice", points, low=0, high=100, unit="%")
    caption = "How often two answers to the same question are equal, with 95 % intervals."
    return [heading, Figure(drawn, caption)]
