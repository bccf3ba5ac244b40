"""What happens after the other between two moments, as bars on one time axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.scoring.report.drawings.canvas import LETTER, Scale, box, drawing, label, ruler
from server.scoring.report.html import Html

WIDTH, ROW, TOP, BOTTOM, TOLD = 720.0, 26.0, 8.0, 26.0, 110.0


@dataclass(frozen=True, slots=True)
class Span:
    name: str
    start: float
    end: float
    kind: str = "one"  # hear, think or speak


def waterfall(title: str, spans: Sequence[Span], unit: str = "ms") -> Html:
    left = max((len(each.name) for each in spans), default=4) * LETTER + 16
    low = min(0.0, *(each.start for each in spans)) if spans else 0.0
    high = max((each.end for each in spans), default=1.0)
    scale = Scale(low, high if high > low else low + 1, left, WIDTH - TOLD)
    base = TOP + ROW * len(spans)
    drawn: list[Html] = ruler(scale, TOP, base, unit)
    for place, span in enumerate(spans):
        y = TOP + ROW * place
        told = f"{span.end - span.start:,.0f} {unit}"
        about = f"{span.name}: {span.start:.0f} to {span.end:.0f} {unit}"
        x1, x2 = scale.at(span.start), scale.at(span.end)
        drawn.append(label(left - 10, y + ROW / 2, span.name, anchor="end"))
        drawn.append(box(x1, y + 4, max(2.0, x2 - x1), ROW - 8, span.kind, about=about))
        drawn.append(label(x2 + 8, y + ROW / 2, told, kind="faint"))
    return drawing(WIDTH, base + BOTTOM, title, *drawn)
