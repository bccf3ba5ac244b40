"""Questions of fact: how often a small model is right, and does it know when?

`python -m models.tuning.evaluation.facts [--model FILE] [--split dev|test]` tells for several bars
on how sure the model was what a person would hear, and how much of it is right. Each answer goes
the way of the embedded profile: the thinker plans, asks, and leaves out what its guards do. Two
things differ: the model always takes the likeliest word (live, its temperature is 0.2), so that
every run gives the same figures; and no answer is given up for being late.
"""

import asyncio
import json
import tomllib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from models.protocols import Responder
from models.responder_llamacpp import LlamaCpp
from models.thinking.followups import written
from models.thinking.tuned import SURE, TunedThinker
from models.tuning.evaluation.chat import sane
from models.types import Turn

TABLE = Path(__file__).with_name("facts.toml")
TOKENS = 160  # of one answer, as in a conversation
NONE = float("-inf")  # no bar: all that the other guards let through
BARS = (NONE, -0.8, -0.6, -0.5, -0.4, -0.3, -0.2)
Which = Literal["dev", "test"]


@dataclass(frozen=True, slots=True)
class Fact:
    ask: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """What would be said where an answer must be so sure; empty if that we do not know."""

    asked: str
    bar: float
    text: str
    right: bool


def facts(split: Which, file: Path = TABLE) -> list[Fact]:
    rows = tomllib.loads(file.read_text("utf-8"))[split]
    return [Fact(row["ask"], tuple(row["words"])) for row in rows]


async def answered(fact: Fact, responder: Responder, bars: Sequence[float] = BARS) -> list[Said]:
    """The answer at each bar; the model is asked once."""
    once = Once(responder)
    return [await _at(bar, fact, once) for bar in bars]


async def _at(bar: float, fact: Fact, responder: Responder) -> Said:
    thinker, dialogue = TunedThinker(lead=True, sure=bar), [Turn("user", fact.ask)]
    plan = await thinker.think(dialogue, responder)
    async with aclosing(thinker.answer(plan, "", dialogue, responder, TOKENS)) as words:
        text = "".join([word async for word in words]).strip()
    known = text != written(plan, fact.ask, [])
    return Said(fact.ask, bar, text if known else "", known and sane(text, fact.words))


class Once:
    """A Responder that asks another once, and says the same again, as surely, each further time."""

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._tokens: list[str] | None = None

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        if self._tokens is None:
            async with aclosing(self._responder.respond(dialogue, max_tokens)) as tokens:
                self._tokens = [token async for token in tokens]
        for token in self._tokens:
            yield token


def at(bar: float, said: Sequence[Said]) -> tuple[int, int]:
    """How many answers are sure enough to be said, and how many of these are right."""
    given = [each for each in said if each.text and each.bar == bar]
    return len(given), sum(each.right for each in given)


def main(
    model: Annotated[str, typer.Option(help="A GGUF file; the embedded profile's.")] = "",
    split: Annotated[Which, typer.Option(help="Which questions.")] = "dev",
    out: Annotated[Path | None, typer.Option(help="A JSON file with every answer.")] = None,
) -> None:
    """Ask a reply model questions of fact."""
    responder = LlamaCpp(model, slots=1, temperature=0.0)
    bars, asked = sorted({*BARS, SURE}), facts(split)

    async def every() -> list[Said]:
        return [said for fact in asked for said in await answered(fact, responder, bars)]

    try:
        found = asyncio.run(every())
    finally:
        responder.close()
    table = Table("sure from", "said", "right of these", title=f"{split}, n {len(asked)}")
    for bar in bars:
        given, right = at(bar, found)
        name = "any" if bar == NONE else f"{bar:g}{' (live)' if bar == SURE else ''}"
        table.add_row(name, str(given), f"{right} ({right / given:.0%})" if given else "-")
    Console().print(table)
    if out:
        rows = [{**asdict(each), "bar": str(each.bar)} for each in found]
        out.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
