"""Further replies to the scripts that are held out: a reply is not judged by one author's alone."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from models.corpus.exchange import FOLDER, Exchange, Way, read

FILE = "references.jsonl"

References = Callable[[Exchange, Way], Sequence[str]]  # replies that would be good ones


class Reference(BaseModel):
    """What somebody else would say to a script said in one way."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    way: Way
    reply: Annotated[str, Field(min_length=1)]


def load(folder: Path = FOLDER) -> list[Reference]:
    return list(read(folder / FILE, Reference))


def of_author(exchange: Exchange, way: Way) -> Sequence[str]:
    return [exchange.variants[way].reply]


def of_all(folder: Path = FOLDER) -> References:
    """The author's and all others'."""
    others: dict[tuple[str, Way], list[str]] = defaultdict(list)
    for row in load(folder):
        others[row.id, row.way].append(row.reply)
    return lambda exchange, way: [*of_author(exchange, way), *others[exchange.id, way]]
