"""Loss over the steps of a stage, as an SVG that carries a light and a dark dress."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from models.tuning.lesson import Step

WIDE, TALL, LEFT, TOP = 640.0, 300.0, 52.0, 56.0
SMOOTH = 20  # steps whose mean is drawn
STYLE = """
svg { --paper: #fff; --ink: #1f2933; --soft: #5f6b78; --grid: #e9ecf0; --one: #0b6e63;
  --two: #b4651a }
@media (prefers-color-scheme: dark) { svg { --paper: #14181d; --ink: #e6e9ed; --soft: #9aa6b2;
  --grid: #272d34; --one: #57c7b6; --two: #e8a35c } }
text { font: 12px system-ui, sans-serif; fill: var(--soft) }
.head { font-size: 15px; fill: var(--ink) }
path { fill: none; stroke-width: 2 } .one { stroke: var(--one) } .two { stroke: var(--two) }
text.one { fill: var(--one); stroke: none } text.two { fill: var(--two); stroke: none }
"""


def draw(title: str, steps: Sequence[Step], file: Path) -> None:
    file.write_text(svg(title, steps), encoding="utf-8")


def svg(title: str, steps: Sequence[Step]) -> str:
    learned = _smoothed([(step.step, step.loss) for step in steps])
    held = [(step.step, step.held_out) for step in steps if step.held_out is not None]
    values = [value for _, value in [*learned, *held]]
    low, high = min(values), max(values)
    last = max(steps[-1].step, 2)

    def place(step: float, value: float) -> str:
        x = LEFT + (step - 1) / (last - 1) * (WIDE - LEFT - 20)
        y = TOP + (high - value) / max(high - low, 1e-6) * (TALL - TOP - 40)
        return f"{x:.1f} {y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE:.0f} {TALL:.0f}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDE:.0f}" height="{TALL:.0f}" rx="8" fill="var(--paper)"/>',
        f'<text class="head" x="20" y="28">{escape(title)}</text>',
        '<text class="one" x="20" y="46">examples learned from</text>',
        '<text class="two" x="170" y="46">examples held out</text>',
    ]
    for value in (low, (low + high) / 2, high):
        y = place(1, value).split()[1]
        parts.append(f'<path d="M{LEFT} {y} H{WIDE - 20}" stroke="var(--grid)"/>')
        parts.append(f'<text x="10" y="{float(y) + 4:.1f}">{value:.2f}</text>')
    for kind, points in (("one", learned), ("two", held)):
        if points:
            path = " L".join(place(step, value) for step, value in points)
            parts.append(f'<path class="{kind}" d="M{path}"/>')
    parts.append(f'<text x="{LEFT}" y="{TALL - 12}">step 1</text>')
    parts.append(f'<text x="{WIDE - 20}" y="{TALL - 12}" text-anchor="end">{last}</text></svg>')
    return "\n".join(parts) + "\n"


def _smoothed(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return [
        (
            step,
            sum(value for _, value in points[max(0, at - SMOOTH + 1) : at + 1])
            / min(SMOOTH, at + 1),
        )
        for at, (step, _) in enumerate(points)
    ]
