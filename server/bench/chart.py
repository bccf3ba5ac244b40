"""Charts that stand alone as SVG files, in a light and a dark dress. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.scoring.report.drawings.canvas import (
    LETTER,
    Scale,
    box,
    dot,
    label,
    line,
    ruler,
    tick,
    ticks,
)
from server.scoring.report.html import Html, tag

STYLE = """
.chart { --paper: #ffffff; --edge: #dfe3e8; --ink: #1f2933; --soft: #5f6b78; --grid: #e9ecf0;
  --one: #0b6e63; --two: #b4651a; --bad: #b42318; }
@media (prefers-color-scheme: dark) { .chart { --paper: #14181d; --edge: #2d343c; --ink: #e6e9ed;
  --soft: #9aa6b2; --grid: #272d34; --one: #57c7b6; --two: #e8a35c; --bad: #f0857a; } }
.chart text { font: 13px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
  fill: var(--ink); font-variant-numeric: tabular-nums; }
.chart .head { font-size: 16px; font-weight: 600; }
.chart .faint { fill: var(--soft); font-size: 12px; }
.chart .paper { fill: var(--paper); stroke: var(--edge); }
.chart .grid { stroke: var(--grid); }
.chart .limit { stroke: var(--bad); stroke-dasharray: 5 4; stroke-width: 1.5; }
.chart rect.one, .chart circle.one { fill: var(--one); }
.chart rect.two, .chart circle.two { fill: var(--two); }
.chart line.one, .chart line.whisker.one { stroke: var(--one); stroke-width: 2; }
.chart line.two { stroke: var(--two); stroke-width: 2; }
.chart line.fit { stroke: var(--soft); stroke-dasharray: 3 4; stroke-width: 1.5; }
"""
MARGIN, TOP = 24.0, 92.0  # around; below the heading
WIDE, TALL = 560.0, 280.0  # of what is plotted
ROW = 34.0


@dataclass(frozen=True, slots=True)
class Series:
    """Points in the order of x, joined."""

    name: str
    points: Sequence[tuple[float, float]]
    kind: str = "one"  # one or two
    joined: bool = True


@dataclass(frozen=True, slots=True)
class Bar:
    """A row: a bar to its value and, if there is one, a whisker to a higher one."""

    name: str
    value: float
    kind: str = "one"
    high: float | None = None
    told: str = ""


def card(title: str, below: Sequence[str], width: float, height: float, *inside: object) -> str:
    """A picture on its own paper, with what it shows above it."""
    longest = max((len(each) for each in below), default=0) * LETTER * 0.92
    width = max(width, len(title) * LETTER * 1.3 + 2 * MARGIN, longest + 2 * MARGIN)
    heading = [
        label(MARGIN, 32, title, kind="head"),
        *(label(MARGIN, 54 + 17 * n, each, kind="faint") for n, each in enumerate(below)),
    ]
    paper = box(0.5, 0.5, width - 1, height - 1, "paper", round_=10)
    drawn = tag(
        "svg",
        tag("title", title),
        tag("style", Html(STYLE)),
        paper,
        *heading,
        *inside,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=round(width),
        height=round(height),
        role="img",
        class_="chart",
    )
    return drawn + "\n"


def curves(
    title: str,
    below: Sequence[str],
    series: Sequence[Series],
    *,
    across: str,
    unit: str,
    limit: float | None = None,
    fit: tuple[float, float] | None = None,
) -> str:
    """Lines over a common axis; `limit` is a level, `fit` a straight line as base and slope."""
    points = [point for each in series for point in each.points]
    most = max([y for _, y in points] + ([limit] if limit is not None else []))
    right = max(x for x, _ in points)
    left, base = MARGIN + 52, TOP + TALL
    x = Scale(0, right * 1.05, left, left + WIDE)
    y = Scale(0, most * 1.1, base, TOP)
    drawn: list[Html] = [*ruler(x, TOP, base), *_levels(y, left, unit)]
    drawn.append(label(left + WIDE / 2, base + 30, across, anchor="middle", kind="faint"))
    if fit is not None:
        ends = [(each, fit[0] + fit[1] * each) for each in (0.0, right)]
        drawn.append(_stroke(ends, x, y, "fit"))
    if limit is not None:
        drawn.append(line(left, y.at(limit), left + WIDE, y.at(limit), "limit"))
    for each in series:
        if each.joined:
            pairs = zip(each.points, each.points[1:], strict=False)
            drawn += [_stroke(pair, x, y, each.kind) for pair in pairs]
        for at, value in each.points:
            about = f"{each.name}, {at:g}: {value:,.4g} {unit}"
            drawn.append(dot(x.at(at), y.at(value), each.kind, size=4, about=about))
    drawn += _legend(series, left, base + 50)
    return card(title, below, left + WIDE + MARGIN, base + 50 + MARGIN, *drawn)


def _levels(y: Scale, left: float, unit: str) -> list[Html]:
    marks = ticks(y.low, y.high)
    step = marks[1] - marks[0] if len(marks) > 1 else 1.0
    drawn = []
    for value in marks:
        drawn.append(line(left, y.at(value), left + WIDE, y.at(value), "grid"))
        told = tick(value, step) + (f" {unit}" if value is marks[-1] else "")
        drawn.append(label(left - 8, y.at(value), told, anchor="end", kind="faint"))
    return drawn


def _stroke(ends: Sequence[tuple[float, float]], x: Scale, y: Scale, kind: str) -> Html:
    (x1, y1), (x2, y2) = ends
    return line(x.at(x1), y.at(y1), x.at(x2), y.at(y2), kind)


def _legend(series: Sequence[Series], left: float, at: float) -> list[Html]:
    drawn = []
    for each in series:
        drawn += [dot(left + 4, at, each.kind, size=4), label(left + 14, at, each.name)]
        left += 14 + (len(each.name) + 3) * LETTER
    return drawn


def bars(title: str, below: Sequence[str], groups: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """Groups of rows, each group on a scale of its own, in its unit."""
    rows = [row for _, some in groups for row in some]
    left = MARGIN + max((len(row.name) for row in rows), default=0) * LETTER + 12
    room = max((len(row.told) for row in rows), default=0) * LETTER + 16
    top, drawn = TOP, list[Html]()
    for unit, some in groups:
        high = max((max(row.value, row.high or 0.0) for row in some), default=1.0)
        low = min(0.0, *(row.value for row in some)) if some else 0.0
        scale = Scale(low, high or 1.0, left, left + WIDE - room)
        base = top + ROW * len(some)
        drawn += ruler(scale, top, base, unit)
        for place, row in enumerate(some):
            drawn += _row(row, top + ROW * place, scale, left)
        top = base + 40
    return card(title, below, left + WIDE + MARGIN, top + MARGIN / 2, *drawn)


def _row(row: Bar, y: float, scale: Scale, left: float) -> list[Html]:
    middle = y + ROW / 2
    begin, end = sorted((scale.at(0.0), scale.at(row.value)))
    far = scale.at(row.high) if row.high is not None else end
    drawn = [
        label(left - 10, middle, row.name, anchor="end"),
        box(begin, y + 8, max(2.0, end - begin), ROW - 16, row.kind, about=row.told),
        label(max(end, far) + 8, middle, row.told, kind="faint"),
    ]
    if row.high is not None:
        drawn.append(line(end, middle, far, middle, row.kind))
        drawn.append(line(far, middle - 5, far, middle + 5, row.kind))
    return drawn
