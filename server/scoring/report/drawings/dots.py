"""Values with their intervals, one under the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.scoring.report.drawings.canvas import LETTER, Scale, dot, drawing, label, line, ruler
from server.scoring.report.html import Html, joined, tag

ROW, TOP, BOTTOM = 34.0, 8.0, 26.0
WIDTH, WIDEST = 760.0, 250.0  # of all; of the words at the left
SMALL = 6.0  # how wide a letter is, about, of what is told under a name
EDGE = 24.0


@dataclass(frozen=True, slots=True)
class Point:
    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    told: str = ""  # the same in words, under its name: on a narrow screen it is in view
    kind: str = "one"  # one, two or three
    mark: float | None = None  # where a dashed mark stands, as chance


def dots(
    title: str,
    points: Sequence[Point],
    *,
    low: float | None = None,
    high: float | None = None,
    at: float | None = None,
    at_told: str = "",
    unit: str = "",
    width: float = WIDTH,
) -> Html:
    """A row for each; `at` is a value a line stands at, as 0 or chance."""
    longest = max((max(len(p.label) * LETTER, len(p.told) * SMALL) for p in points), default=28.0)
    left = min(WIDEST, longest) + 14
    scale = Scale(*ends(points, low, high, at), left, width - EDGE)
    height = TOP + ROW * len(points) + BOTTOM
    bottom = TOP + ROW * len(points)
    drawn: list[Html] = ruler(scale, TOP, bottom, unit)
    if at is not None:
        drawn.append(line(scale.at(at), TOP, scale.at(at), bottom, "zero"))
        if at_told:
            drawn.append(label(scale.at(at) + 4, TOP + 2, at_told, kind="faint small"))
    for place, point in enumerate(points):
        drawn.append(_row(point, TOP + ROW * (place + 0.5), scale, left))
    return drawing(width, height, title, *drawn)


def ends(
    points: Sequence[Point], low: float | None, high: float | None, at: float | None
) -> tuple[float, float]:
    """Of the axis: what is given, or all values with some room."""
    known = [
        each
        for point in points
        for each in (point.value, point.low, point.high)
        if each is not None
    ]
    if at is not None:
        known.append(at)
    least, most = min(known, default=0.0), max(known, default=1.0)
    margin = (most - least) * 0.06 or abs(most) * 0.1 or 1.0
    return (least - margin if low is None else low), (most + margin if high is None else high)


def _row(point: Point, y: float, scale: Scale, left: float) -> Html:
    most = int((left - 10) / LETTER)
    name = label(0, y - 7, point.label, most=most)
    told = label(0, y + 7, point.told, kind="faint small")
    if point.value is None:
        return joined(name, told)
    marks = []
    if point.mark is not None:
        at = scale.at(point.mark)
        marks.append(line(at, y - 8, at, y + 8, "zero"))
    if point.low is not None and point.high is not None:
        x1, x2 = scale.at(point.low), scale.at(point.high)
        marks += [
            line(x1, y, x2, y, f"whisker {point.kind}"),
            line(x1, y - 4, x1, y + 4, f"whisker {point.kind}"),
            line(x2, y - 4, x2, y + 4, f"whisker {point.kind}"),
        ]
    about = f"{point.label}: {point.told}"
    return tag("g", name, *marks, dot(scale.at(point.value), y, point.kind, about=about), told)


def gauge(
    value: float, low: float | None, high: float | None, smallest: float, largest: float
) -> Html:
    """One value on its scale, small enough for a table's cell."""
    scale = Scale(smallest, largest, 5, 105)
    marks = [line(5, 8, 105, 8, "rail")]
    if low is not None and high is not None:
        marks.append(line(scale.at(low), 8, scale.at(high), 8, "whisker one thick"))
    marks.append(dot(scale.at(value), 8, "one", size=4))
    return tag(
        "svg",
        *marks,
        viewBox="0 0 110 16",
        width=110,
        height=16,
        class_="gauge",
        aria_hidden="true",
    )
