"""Questions of fact: how often a small model is right, and does it know when?

`python -m models.tuning.evaluation.facts [--model FILE] [--split dev|test]` asks as the running
system does, and tells for several bars on how sure the model was what would be said, and right.
"""

import asyncio
import json
import tomllib
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from models.protocols import Responder
from models.responder_llamacpp import LlamaCpp
from models.thinking.guards import unnoted
from models.thinking.sentences import Weighing, sentences
from models.thinking.told import SYSTEM, Told, note
from models.thinking.tuned import SURE
from models.thinking.wording import sensible
from models.tuning.evaluation.chat import sane
from models.tuning.planned import plan_of
from models.types import Turn

TABLE = Path(__file__).with_name("facts.toml")
TOKENS = 60
BARS = (-9.0, -0.8, -0.6, -0.5, -0.4, -0.3, -0.2)
Which = Literal["dev", "test"]


@dataclass(frozen=True, slots=True)
class Fact:
    ask: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """The first sentence of an answer."""

    asked: str
    text: str
    sureness: float
    right: bool


def facts(split: Which, file: Path = TABLE) -> list[Fact]:
    rows = tomllib.loads(file.read_text("utf-8"))[split]
    return [Fact(row["ask"], tuple(row["words"])) for row in rows]


def asked(fact: Fact) -> list[Turn]:
    """As the running system puts it to a model that was taught."""
    remark = note(plan_of([Turn("user", fact.ask)]), Told.PLAN)
    return [Turn("system", SYSTEM), Turn("user", f"{fact.ask} {remark}")]


async def answered(fact: Fact, responder: Responder) -> Said:
    weighing = Weighing(responder)
    async with (
        aclosing(sensible(weighing, asked(fact), TOKENS)) as tokens,
        aclosing(unnoted(tokens)) as words,
        aclosing(sentences(words, weighing)) as found,
    ):
        first = await anext(found, None)
    if first is None or first.sureness is None:
        return Said(fact.ask, "", BARS[0], False)
    return Said(fact.ask, first.text, round(first.sureness, 4), sane(first.text, fact.words))


def at(bar: float, said: Sequence[Said]) -> tuple[int, int]:
    """How many answers are sure enough to be said, and how many of these are right."""
    given = [each for each in said if each.text and each.sureness >= bar]
    return len(given), sum(each.right for each in given)


def main(
    model: Annotated[str, typer.Option(help="A GGUF file; the embedded profile's.")] = "",
    split: Annotated[Which, typer.Option(help="Which questions.")] = "dev",
    out: Annotated[Path | None, typer.Option(help="A JSON file with every answer.")] = None,
) -> None:
    """Ask a reply model questions of fact."""
    responder = LlamaCpp(model, slots=1, temperature=0.0)

    async def every() -> list[Said]:
        return [await answered(fact, responder) for fact in facts(split)]

    try:
        found = asyncio.run(every())
    finally:
        responder.close()
    table = Table("sure from", "said", "right of these", title=f"{split}, n {len(found)}")
    for bar in sorted({*BARS, SURE}):
        given, right = at(bar, found)
        name = "all" if bar == BARS[0] else f"{bar:g}{' (live)' if bar == SURE else ''}"
        table.add_row(name, str(given), f"{right} ({right / given:.0%})" if given else "-")
    Console().print(table)
    if out:
        out.write_text(json.dumps([asdict(each) for each in found], indent=1), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
