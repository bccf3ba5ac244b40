"""Few values, each a dot on one axis: a histogram of them would look like more than it is."""

from collections.abc import Sequence

from server.scoring.report.drawings.canvas import Scale, dot, drawing, label, line, ruler
from server.scoring.report.html import Html

WIDTH, HEIGHT, TOP, BOTTOM, SIZE = 310.0, 92.0, 26.0, 24.0, 4.5


def strip(
    title: str,
    values: Sequence[float],
    marks: Sequence[tuple[str, float]] = (),
    unit: str = "ms",
) -> Html:
    """Those that would cover each other stand above each other."""
    low, high = min(values), max(values)
    margin = (high - low) * 0.06 or max(1.0, abs(high) * 0.1)
    scale = Scale(low - margin, high + margin, 14, WIDTH - 30)
    base = HEIGHT - BOTTOM
    drawn: list[Html] = ruler(scale, TOP, base, unit, about=4)
    for name, value in marks:
        x = scale.at(value)
        drawn.append(line(x, TOP - 6, x, base, "mark"))
        drawn.append(label(x + 3, 8.0, name, kind="faint small"))
    levels: list[float] = []  # where the last dot of each level stands
    for value in sorted(values):
        x = scale.at(value)
        level = next((n for n, last in enumerate(levels) if x - last > 2 * SIZE), len(levels))
        levels[level : level + 1] = [x]
        y = base - 8 - min(level, 3) * 2 * SIZE
        drawn.append(dot(x, y, "one", size=SIZE, about=f"{value:,.0f} {unit}"))
    return drawing(WIDTH, HEIGHT, title, *drawn)
