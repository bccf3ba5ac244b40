"""Blocks as Markdown; what anybody said stays text there, too."""

import re
from collections.abc import Iterable, Iterator

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
from server.scoring.report.html import cleaned

MOST = 600  # letters of what somebody said
# All that could begin markup, a link, a mention or a table's next cell.
MARKS = re.compile(r"([\\`*_{}\[\]<>#!|~&$@^])")
LINKS = re.compile(r"(?i)(?<=\bwww)\.|:(?=//)")
FIRST = re.compile(r"^([-+=]|\d+(?=[.)](?:\s|$)))")  # of a line: a list, a rule, a heading


def escaped(said: object) -> str:
    """On one line, all marks taken as they are."""
    line = " ".join(cleaned(said).split())
    marked = LINKS.sub(r"\\\g<0>", MARKS.sub(r"\\\1", line))
    return FIRST.sub(lambda found: _first(found[0]), marked)


def _first(begin: str) -> str:
    return f"{begin}\\" if begin.isdigit() else f"\\{begin}"


def section(told: Section) -> str:
    return "\n\n".join([f"## {escaped(told.title)}", *blocks(told.blocks)])


def blocks(told: Iterable[Block], depth: int = 3) -> Iterator[str]:
    for each in told:
        yield from block(each, depth)


def block(told: Block, depth: int = 3) -> Iterator[str]:
    match told:
        case Para(text, kind):
            yield f"*{escaped(text)}*" if kind in ("note", "none") else escaped(text)
        case Heading(text):
            yield f"{'#' * depth} {escaped(text)}"
        case Bullets(items):
            yield "\n".join(f"- {escaped(each)}" for each in items)
        case Facts(pairs):
            yield "\n".join(f"- **{escaped(name)}**: {escaped(value)}" for name, value in pairs)
        case Code(text):
            yield _code(text)
        case Said(who, text, _):
            rest = f" … and {len(text) - MOST:,} more letters" if len(text) > MOST else ""
            yield f"> **{escaped(who)}** {escaped(text[:MOST])}{rest}"
        case Sound():
            yield "*The sound is in the HTML report.*"
        case Folded(summary, inside, _):
            yield f"{'#' * depth} {escaped(summary)}"
            yield from blocks(inside, depth + 1)
        case Grid(parts, _):
            for part in parts:
                yield from blocks(part, depth)
        case Figure(_, caption, read, _):
            yield f"*{escaped(caption)}*"
            if read is not None:
                yield from block(read, depth)
        case Table():
            yield _table(told)


def _code(text: str) -> str:
    """Fenced by more backticks than there are in it."""
    inside = cleaned(text)
    longest = max((len(run) for run in re.findall("`+", inside)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{inside}\n{fence}"


def _table(told: Table) -> str:
    rules = ("---:" if place in told.numeric else "---" for place in range(len(told.head)))
    lines = [_line(map(escaped, told.head)), _line(rules)]
    lines += [_row(each, len(told.head)) for each in told.rows]
    caption = f"\n\n*{escaped(told.caption)}*" if told.caption else ""
    return "\n".join(lines) + caption


def _row(told: Row, columns: int) -> str:
    if told.heading:
        return _line([f"**{escaped(told.cells[0].text)}**", *[""] * (columns - 1)])
    return _line(_cell(each, told.ours) for each in told.cells)


def _cell(told: Cell, ours: bool) -> str:
    words = escaped(told.text)
    return f"**{words}**" if words and (told.strong or ours) else words


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
