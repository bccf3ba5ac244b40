"""How often a value fell where, with marks at what half or most lie below."""

from collections.abc import Sequence

from server.scoring.report.drawings.canvas import Scale, box, drawing, label, line, ruler
from server.scoring.report.html import Html

WIDTH, HEIGHT, TOP, BOTTOM = 310.0, 132.0, 26.0, 24.0


def histogram(
    title: str,
    edges: Sequence[float],
    counts: Sequence[int],
    marks: Sequence[tuple[str, float]] = (),
    unit: str = "ms",
) -> Html:
    """`edges` are one more than the counts."""
    scale = Scale(edges[0], edges[-1], 8, WIDTH - 24)
    base, most = HEIGHT - BOTTOM, max(counts, default=0) or 1
    drawn: list[Html] = ruler(scale, TOP, base, unit, about=4)
    for begin, end, count in zip(edges[:-1], edges[1:], counts, strict=True):
        tall = (base - TOP) * count / most
        about = f"{begin:.0f} to {end:.0f} {unit}: {count}"
        wide = scale.at(end) - scale.at(begin) - 1
        drawn.append(box(scale.at(begin), base - tall, wide, tall, "bar", about=about, round_=1))
    taken = -99.0
    for place, (name, value) in enumerate(sorted(marks, key=lambda each: each[1])):
        x = scale.at(value)
        drawn.append(line(x, TOP - 6, x, base, "mark"))
        y = 8.0 if x - taken > 34 or place % 2 == 0 else 18.0
        anchor = "end" if x > WIDTH - 60 else "start"
        drawn.append(
            label(x + (-3 if anchor == "end" else 3), y, name, anchor=anchor, kind="faint small")
        )
        taken = x
    return drawing(WIDTH, HEIGHT, title, *drawn)
