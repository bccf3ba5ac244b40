"""What a report is made of, before it is a page or Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from server.scoring.report.html import Html


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    numeric: bool = False
    strong: bool = False
    faint: bool = False
    about: str = ""  # told where one points at it
    drawing: Html | None = None  # beside the text, on a page


@dataclass(frozen=True, slots=True)
class Row:
    cells: tuple[Cell, ...]
    ours: bool = False
    heading: bool = False  # one cell over all columns


@dataclass(frozen=True, slots=True)
class Table:
    head: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    numeric: frozenset[int] = frozenset()  # columns whose heads stand to the right
    even: bool = False  # columns as wide as in other tables of the kind


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing; its caption says what it shows and of how many."""

    drawing: Html
    caption: str
    table: Table | None = None  # the same figures, to be read
    unfolds: bool = True  # the table under the drawing; else only where nothing can be drawn


@dataclass(frozen=True, slots=True)
class Para:
    text: str
    kind: Literal["", "lead", "note", "none", "warning"] = ""


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Bullets:
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what belongs to them."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody or a model said, word for word."""

    who: str
    text: str
    kind: Literal["user", "reply", "truth", "judge"] = "user"


@dataclass(frozen=True, slots=True)
class Sound:
    address: str  # data:
    about: str


@dataclass(frozen=True, slots=True)
class Folded:
    """To be unfolded."""

    summary: str
    inside: "tuple[Block, ...]"
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Side by side where there is room."""

    parts: "tuple[Sequence[Block], ...]"
    wide: bool = False  # two rather than three


Block = Table | Figure | Para | Heading | Bullets | Facts | Code | Said | Sound | Folded | Grid


@dataclass(frozen=True, slots=True)
class Section:
    name: str  # of its anchor
    title: str
    blocks: tuple[Block, ...]


def plain(*texts: object) -> Row:
    """A row of words."""
    return Row(tuple(each if isinstance(each, Cell) else Cell(str(each)) for each in texts))


def figure(told: str, **more: bool | str) -> Cell:
    """A cell that stands to the right."""
    return Cell(told, numeric=True, **more)  # type: ignore[arg-type]


def nothing(sentence: str) -> Para:
    """Why there is nothing to see."""
    return Para(sentence, "none")
