"""Plain replies to the corpus's scripts, for models too small to learn from their author's."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from models.corpus.exchange import FOLDER, CorpusError, Exchange, Way, read

FILE = "simple.jsonl"


class Simple(BaseModel):
    """What one says to a script said in one way: an opening, and a sentence that may also follow
    another's."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str
    way: Way
    opening: Annotated[str, Field(min_length=1)]
    more: Annotated[str, Field(min_length=1)]

    @property
    def reply(self) -> str:
        return f"{self.opening} {self.more}"


Replies = Mapping[str, Mapping[Way, Simple]]  # by the script's id; one for each way


def load(folder: Path = FOLDER) -> Replies:
    found: dict[str, dict[Way, Simple]] = defaultdict(dict)
    for row in read(folder / FILE, Simple):
        if row.way in found[row.id]:
            raise CorpusError(f"{FILE}: {row.id} has two replies for {row.way}.")
        found[row.id][row.way] = row
    for name, ways in found.items():
        if lacking := set(Way) - set(ways):
            raise CorpusError(f"{FILE}: {name} has no reply for {min(lacking)}.")
    return found


def simplified(exchanges: Iterable[Exchange], replies: Replies) -> list[Exchange]:
    """The exchanges that have plain replies, with these in place of their author's."""
    return [_simple(each, replies[each.id]) for each in exchanges if each.id in replies]


def _simple(exchange: Exchange, replies: Mapping[Way, Simple]) -> Exchange:
    variants = {
        way: variant.model_copy(update={"reply": replies[way].reply})
        for way, variant in exchange.variants.items()
    }
    return exchange.model_copy(update={"variants": variants})
