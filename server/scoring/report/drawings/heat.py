"""Tables whose cells are the darker the more they hold; every figure is written as well."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, radians, sin

from server.scoring.report.drawings.canvas import LETTER, box, drawing, label, line, shortened
from server.scoring.report.html import Html, tag

ROW, GAP = 26.0, 1.5
ASLANT, LONGEST = 38, 40  # degrees; letters of a column's name


@dataclass(frozen=True, slots=True)
class Heat:
    """One cell: how dark, from 0 to 1, and what is written in it."""

    share: float
    told: str
    below: str = ""  # smaller, under it
    about: str = ""


def heat(
    title: str,
    rows: Sequence[tuple[str, str]],  # group and name
    columns: Sequence[str],
    cells: Mapping[tuple[int, int], Heat],
    *,
    cell: float = 70.0,
    outlined: Sequence[tuple[int, int]] = (),
    row: float = ROW,
) -> Html:
    """Rows stand in groups whose names stand at the left; columns' names stand aslant."""
    groups = max((len(group) for group, _ in rows), default=0) * LETTER
    names = max((len(name) for _, name in rows), default=0) * LETTER
    left = groups + names + (30 if groups else 16)
    longest = max((min(LONGEST, len(name)) for name in columns), default=0)
    head = longest * LETTER * sin(radians(ASLANT)) + 20
    reach = max(
        (
            cell * (place + 0.5) + min(LONGEST, len(name)) * LETTER * cos(radians(ASLANT))
            for place, name in enumerate(columns)
        ),
        default=0.0,
    )
    width = left + max(cell * len(columns), reach) + 8
    drawn: list[Html] = [
        _aslant(left + cell * (place + 0.5), head - 10, name) for place, name in enumerate(columns)
    ]
    y, previous = head, None
    marked = set(outlined)
    for index, (group, name) in enumerate(rows):
        if group != previous and groups:
            if previous is not None:
                y += 5
            drawn.append(line(0, y - 2, left + cell * len(columns), y - 2, "grid"))
            drawn.append(label(0, y + row / 2, group, kind="strong"))
            previous = group
        drawn.append(label(left - 8, y + row / 2, name, anchor="end"))
        for place in range(len(columns)):
            found = cells.get((index, place))
            x = left + cell * place
            drawn += _cell(found, x, y, cell, row, (index, place) in marked)
        y += row
    return drawing(width, y + 6, title, *drawn)


def _cell(
    found: Heat | None, x: float, y: float, cell: float, row: float, outlined: bool
) -> list[Html]:
    width, height = cell - GAP, row - GAP
    if found is None:
        return [box(x, y, width, height, "cell none")]
    share = min(1.0, max(0.0, found.share))
    kind = "cell outlined" if outlined else "cell"
    ink = "on-dark" if share > 0.72 else "on-mid" if share > 0.58 else "on-light"
    drawn = [box(x, y, width, height, kind, about=found.about, style=f"--share:{share * 100:.0f}%")]
    middle = y + height / 2
    if found.below:
        drawn.append(label(x + width / 2, middle - 4.5, found.told, anchor="middle", kind=ink))
        small = f"{ink} small"
        drawn.append(label(x + width / 2, middle + 7.5, found.below, anchor="middle", kind=small))
    else:
        drawn.append(label(x + width / 2, middle, found.told, anchor="middle", kind=ink))
    return drawn


def _aslant(x: float, y: float, name: str) -> Html:
    shown = shortened(name, LONGEST)
    whole = tag("title", name) if shown != name else None
    return tag("text", shown, whole, transform=f"translate({x:.1f} {y:.1f}) rotate(-{ASLANT})")
