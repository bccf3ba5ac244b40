"""Blocks as markup."""

from collections.abc import Iterable

from server.scoring.report.blocks import (
    Block,
    Bullets,
    Cell,
    Code,
    Facts,
    Figure,
    Folded,
    Grid,
    Heading,
    Para,
    Row,
    Said,
    Section,
    Sound,
    Table,
)
from server.scoring.report.html import Html, joined, tag

CROWDED = 10  # columns beyond which a table is set smaller
LONG = 24  # letters of a cell that is not squeezed on a narrow screen
MOST = 1500  # letters of what somebody said


def section(told: Section) -> Html:
    head = tag("h2", tag("a", told.title, href=f"#{told.name}"))
    return tag("section", head, blocks(told.blocks), id=told.name)


def blocks(told: Iterable[Block]) -> Html:
    return joined(*map(block, told))


def block(told: Block) -> Html:
    match told:
        case Para(text, kind):
            return tag("p", text, class_=kind or None)
        case Heading(text):
            return tag("h3", text)
        case Bullets(items):
            return tag("ul", *(tag("li", each) for each in items))
        case Facts(pairs):
            inside = (joined(tag("dt", name), tag("dd", value)) for name, value in pairs)
            return tag("dl", *inside)
        case Code(text):
            return tag("pre", tag("code", text), tabindex=0)
        case Said(who, text, kind):
            return said(who, text, kind)
        case Sound(address, about):
            player = tag("audio", controls=True, preload="none", src=address, aria_label=about)
            return tag("div", player, tag("small", about), class_="sound")
        case Folded(summary, inside, opened):
            return tag("details", tag("summary", summary), blocks(inside), open=opened)
        case Grid(parts, wide):
            inside = (tag("div", blocks(part)) for part in parts)
            return tag("div", *inside, class_="grid wide" if wide else "grid")
        case Figure():
            return figure(told)
        case Table():
            return table(told)


def said(who: str, text: str, kind: str) -> Html:
    cut = text[:MOST]
    rest = len(text) - len(cut)
    more = tag("small", f" … and {rest:,} more letters") if rest > 0 else None
    words = tag("blockquote", tag("bdi", cut, dir="auto"), more)
    return tag("div", tag("span", who, class_="who"), words, class_=f"said {kind}")


def figure(told: Figure) -> Html:
    read = None
    if told.table is not None and told.unfolds:
        read = tag("details", tag("summary", "The figures as a table"), table(told.table))
    scroller = tag("div", told.drawing, class_="scroll", tabindex=0)
    return tag("figure", scroller, tag("figcaption", told.caption), read)


def table(told: Table) -> Html:
    heads = (
        tag("th", name, scope="col", class_="numeric" if place in told.numeric else None)
        for place, name in enumerate(told.head)
    )
    caption = tag("p", told.caption, class_="caption") if told.caption else None
    inside = tag(
        "table",
        tag("thead", tag("tr", *heads)),
        tag("tbody", *(_row(each, len(told.head)) for each in told.rows)),
    )
    dense = len(told.head) > CROWDED
    kind = "table even" if told.even else "table dense" if dense else "table"
    return tag("div", tag("div", inside, class_="scroll", tabindex=0), caption, class_=kind)


def _row(told: Row, columns: int) -> Html:
    if told.heading:
        head = tag("th", told.cells[0].text, colspan=columns, scope="colgroup", class_="group")
        return tag("tr", head)
    first, *rest = told.cells
    name = tag("th", *_inside(first), scope="row", title=first.about or None, class_=_kind(first))
    return tag("tr", name, *map(_cell, rest), class_="ours" if told.ours else None)


def _cell(told: Cell) -> Html:
    return tag("td", *_inside(told), class_=_kind(told), title=told.about or None)


def _inside(told: Cell) -> tuple[object, ...]:
    words = tag("strong", told.text) if told.strong else told.text
    return (words, told.drawing) if told.drawing is not None else (words,)


def _kind(told: Cell) -> str | None:
    kinds = [name for name in ("numeric", "faint") if getattr(told, name)]
    if len(told.text) > LONG and not told.numeric:
        kinds.append("long")
    return " ".join(kinds) or None
