"""Two figures of the same things against each other, with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.scoring.report.drawings.canvas import Scale, dot, drawing, label, line, tick, ticks
from server.scoring.report.html import Html, tag

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 560.0, 400.0, 56.0, 48.0, 12.0, 70.0


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    x: float
    y: float
    x_span: tuple[float, float] | None = None
    y_span: tuple[float, float] | None = None
    about: str = ""


def scatter(
    title: str,
    places: Sequence[Place],
    x_title: str,
    y_title: str,
    x_ends: tuple[float, float],
    y_ends: tuple[float, float],
) -> Html:
    x = Scale(*x_ends, LEFT, WIDTH - RIGHT)
    y = Scale(*y_ends, HEIGHT - BOTTOM, TOP)
    drawn: list[Html] = _axes(x, y)
    drawn.append(label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_title, anchor="middle"))
    turned = f"translate(12 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)"
    drawn.append(tag("text", y_title, transform=turned, text_anchor="middle"))
    for each in places:
        left, top = x.at(each.x), y.at(each.y)
        if each.x_span:
            drawn.append(
                line(x.at(each.x_span[0]), top, x.at(each.x_span[1]), top, "whisker faded")
            )
        if each.y_span:
            drawn.append(
                line(left, y.at(each.y_span[0]), left, y.at(each.y_span[1]), "whisker faded")
            )
    taken: list[tuple[float, float]] = []
    for each in places:
        left, top = x.at(each.x), y.at(each.y)
        drawn.append(dot(left, top, "one", about=each.about or each.name))
        spot = _free(left + 8, top, taken)
        taken.append(spot)
        drawn.append(label(*spot, each.name, kind="small halo", most=18))
    return drawing(WIDTH, HEIGHT, title, *drawn)


def _free(x: float, y: float, taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Near the dot, where no other name stands."""
    for away in (0, -11, 11, -22, 22, -33, 33):
        if all(abs(x - left) > 74 or abs(y + away - top) > 10 for left, top in taken):
            return x, y + away
    return x, y


def _axes(x: Scale, y: Scale) -> list[Html]:
    drawn: list[Html] = []
    across, up = ticks(x.low, x.high), ticks(y.low, y.high)
    for value in across:
        drawn.append(line(x.at(value), TOP, x.at(value), HEIGHT - BOTTOM, "grid"))
        told = tick(value, across[1] - across[0] if len(across) > 1 else 1.0)
        drawn.append(label(x.at(value), HEIGHT - BOTTOM + 12, told, anchor="middle", kind="faint"))
    for value in up:
        drawn.append(line(LEFT, y.at(value), WIDTH - RIGHT, y.at(value), "grid"))
        told = tick(value, up[1] - up[0] if len(up) > 1 else 1.0)
        drawn.append(label(LEFT - 6, y.at(value), told, anchor="end", kind="faint"))
    return drawn
