"""What could not be scored, read or used, and why."""

from collections import defaultdict

from server.scoring.report.blocks import (
    Block,
    Bullets,
    Folded,
    Heading,
    Para,
    Section,
    Table,
    figure,
    nothing,
    plain,
)
from server.scoring.report.figures import counted
from server.scoring.report.material import Material

MOST = 200  # broken parts that are listed


def missing(material: Material) -> Section:
    blocks: list[Block] = [*_unscored(material)]
    head = material.head
    blocks += _failed(material)
    blocks.append(Heading("Sessions that were left out"))
    if head.left_out:
        rows = tuple(plain(reason, figure(f"{n:,}")) for reason, n in head.left_out.items())
        blocks.append(Table(("Reason", "Sessions"), rows, numeric=frozenset({1})))
    else:
        blocks.append(nothing("None."))
    blocks.append(Heading("What could not be read or looked at"))
    if head.broken:
        rows = tuple(plain(each.where, each.problem) for each in head.broken[:MOST])
        blocks.append(Table(("Where", "What"), rows))
        if len(head.broken) > MOST:
            blocks.append(Para(f"And {len(head.broken) - MOST:,} more.", "note"))
    else:
        blocks.append(nothing("Everything could be read."))
    return Section("unscored", "What was not scored, and why", tuple(blocks))


def _failed(material: Material) -> list[Block]:
    """Items that nobody could score, since playing them failed."""
    blocks: list[Block] = []
    for each in material.head.benchmarks:
        if not each.failed:
            continue
        blocks.append(Heading(f"Items of {each.title or each.name} that failed"))
        rows = tuple(plain(why, figure(f"{n:,}")) for why, n in each.problems.items())
        caption = (
            f"{each.failed:,} of {each.wanted:,} could not be played: no figure of this report is "
            "over them."
        )
        blocks.append(Table(("Reason", "Items"), rows, caption, frozenset({1})))
        if each.failures:
            lines = tuple(f"{failure.item}: {failure.problem}" for failure in each.failures[:MOST])
            blocks.append(Folded("Which", (Bullets(lines),)))
    return blocks


def _unscored(material: Material) -> list[Block]:
    """By reason, then by metric: most reasons hold for many."""
    reasons: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for metric in material.head.metrics:
        for reason, n in metric.reasons.items():
            if n:
                reasons[reason].append((metric.title, n))
    if not reasons:
        return [nothing("Every metric has a value for every exchange.")]
    order = sorted(reasons.items(), key=lambda each: -sum(n for _, n in each[1]))
    rows = tuple(
        plain(reason, figure(f"{sum(n for _, n in found):,}"), _listed(found))
        for reason, found in order
    )
    never = [each for each in material.head.metrics if each.mean is None]
    blocks: list[Block] = [
        Table(
            ("Reason", "Scores", "Metrics"),
            rows,
            "Among the exchanges that “All figures” is over.",
            frozenset({1}),
        ),
    ]
    if never:
        lines = tuple(
            f"{each.title} ({each.name}): {'; '.join(each.reasons) or 'nothing to score'}"
            for each in never
        )
        blocks.append(
            Folded(f"{counted(len(never), 'metric')} without any value", (Bullets(lines),))
        )
    return blocks


def _listed(found: list[tuple[str, int]]) -> str:
    return ", ".join(f"{title} ({n:,})" for title, n in found)
