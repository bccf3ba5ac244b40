"""What happens after the other between two moments, as bars on one time axis."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.scoring.report.drawings.canvas import LETTER, Scale, box, drawing, label, ruler
from server.scoring.report.html import Html

WIDTH, ROW, TOP, BOTTOM, EDGE = 640.0, 34.0, 8.0, 26.0, 30.0


@dataclass(frozen=True, slots=True)
class Span:
    name: str
    start: float
    end: float
    kind: str = "one"  # hear, think or speak


def waterfall(title: str, spans: Sequence[Span], unit: str = "ms") -> Html:
    left = max((len(each.name) for each in spans), default=4) * LETTER + 24
    low = min(0.0, *(each.start for each in spans)) if spans else 0.0
    high = max((each.end for each in spans), default=1.0)
    scale = Scale(low, high if high > low else low + 1, left, WIDTH - EDGE)
    base = TOP + ROW * len(spans)
    drawn: list[Html] = ruler(scale, TOP, base, unit)
    for place, span in enumerate(spans):
        y = TOP + ROW * place
        told = f"{span.end - span.start:,.0f} {unit}"
        about = f"{span.name}: {span.start:.0f} to {span.end:.0f} {unit}"
        x1, x2 = scale.at(span.start), scale.at(span.end)
        drawn.append(label(0, y + ROW / 2 - 7, span.name))
        drawn.append(label(0, y + ROW / 2 + 7, told, kind="faint small"))
        drawn.append(box(x1, y + 8, max(2.0, x2 - x1), ROW - 16, span.kind, about=about))
    return drawing(WIDTH, base + BOTTOM, title, *drawn)
