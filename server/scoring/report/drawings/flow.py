"""Where things went: bands between columns, as thick as what they stand for."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.scoring.report.drawings.canvas import box, drawing, label
from server.scoring.report.html import Html, tag

WIDTH, TALL, GAP, NODE, TOP = 980.0, 240.0, 16.0, 12.0, 40.0
ROOM = 18.0  # a name takes, however few it stands for
SIDE = 150.0  # room for the last column's words


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    column: int
    count: int
    kind: str = "fine"  # fine, poor or unknown
    told: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    source: int  # places among the nodes
    target: int
    count: int
    kind: str = "fine"


def flow(title: str, heads: Sequence[str], nodes: Sequence[Node], links: Sequence[Link]) -> Html:
    """Columns of nodes from left to right; within a column in the order given."""
    columns = len(heads)
    step = (WIDTH - SIDE - NODE) / max(1, columns - 1)
    total = max((_sum(nodes, column) for column in range(columns)), default=0) or 1
    unit = TALL / total
    places: list[tuple[float, float]] = []
    below = [TOP] * columns
    for node in nodes:
        places.append((node.column * step, below[node.column]))
        below[node.column] += max(node.count * unit, ROOM) + GAP
    drawn: list[Html] = []
    left_out, came_in = [0.0] * len(nodes), [0.0] * len(nodes)
    for link in links:
        thick = link.count * unit
        (x1, y1), (x2, y2) = places[link.source], places[link.target]
        y1, y2 = y1 + left_out[link.source], y2 + came_in[link.target]
        left_out[link.source] += thick
        came_in[link.target] += thick
        about = f"{nodes[link.source].name} → {nodes[link.target].name}: {link.count}"
        drawn.append(_band(x1 + NODE, y1, x2, y2, thick, f"band {link.kind}", about))
    for node, (x, y) in zip(nodes, places, strict=True):
        thick = max(1.5, node.count * unit)
        drawn.append(box(x, y, NODE, thick, node.kind, about=f"{node.name}: {node.count}"))
        drawn += _named(node, x + NODE + 6, y + thick / 2, step - NODE - 12)
    for column, head in enumerate(heads):
        drawn.append(label(column * step, 10, head, kind="strong small", most=24))
    return drawing(WIDTH, max(below) + 4, title, *drawn)


def _named(node: Node, x: float, y: float, room: float) -> list[Html]:
    most = max(8, int(min(room, SIDE) / 6.0))
    told = node.told or f"{node.count:,}"
    if not node.name:
        return [label(x, y, told, kind="small halo", most=most)]
    return [
        label(x, y - 6, node.name, kind="small strong halo", most=most),
        label(x, y + 7, told, kind="small halo", most=most),
    ]


def _band(x1: float, y1: float, x2: float, y2: float, thick: float, kind: str, about: str) -> Html:
    middle = (x1 + x2) / 2
    path = (
        f"M{x1:.1f} {y1:.1f}C{middle:.1f} {y1:.1f} {middle:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
        f"V{y2 + thick:.1f}C{middle:.1f} {y2 + thick:.1f} {middle:.1f} {y1 + thick:.1f} "
        f"{x1:.1f} {y1 + thick:.1f}Z"
    )
    return tag("path", tag("title", about), d=path, class_=kind)


def _sum(nodes: Sequence[Node], column: int) -> float:
    inside = [node.count for node in nodes if node.column == column]
    return sum(inside)
