"""How fast a tuned reply model is beside the packaged one.

`python -m models.tuning.evaluation.speed` asks both the same, one after the other, question by
question, so that a machine that grows busy does so for both.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from models import prompt, weights
from models.protocols import Responder
from models.responder_llamacpp import LlamaCpp
from models.thinking.told import SYSTEM
from models.tuning.evaluation.facts import facts
from models.types import Turn

TOKENS = 40  # of a reply
FEWEST = 8  # tokens of which a pace can be told


@dataclass(frozen=True, slots=True)
class Pace:
    """Of one reply; tokens a second only where there are some."""

    first_ms: float
    tokens_per_sec: float | None


async def timed(responder: Responder, asked: str) -> Pace:
    turns = prompt.messages(SYSTEM, [Turn("user", f"{asked} Tell me all about it.")], None)
    begun = time.perf_counter()
    moments: list[float] = []
    async with aclosing(responder.respond(turns, TOKENS)) as tokens:
        async for _ in tokens:
            moments.append(time.perf_counter())
    if not moments:
        moments = [time.perf_counter()]
    took, more = moments[-1] - moments[0], len(moments) - 1
    return Pace((moments[0] - begun) * 1e3, more / took if more >= FEWEST else None)


def middle(paces: Sequence[Pace]) -> Pace:
    rates = [each.tokens_per_sec for each in paces if each.tokens_per_sec]
    return Pace(median(each.first_ms for each in paces), median(rates) if rates else None)


async def side_by_side(
    one: Responder, other: Responder, asked: Sequence[str]
) -> tuple[list[Pace], list[Pace]]:
    """By turns, and by turns who comes first."""
    paces: dict[int, list[Pace]] = {0: [], 1: []}
    for number, each in enumerate(asked):
        for which in (0, 1) if number % 2 else (1, 0):
            paces[which].append(await timed((one, other)[which], each))
    return paces[0], paces[1]


def main(
    model: Annotated[str, typer.Option(help="A GGUF file; the embedded profile's.")] = "",
    beside: Annotated[str, typer.Option(help="A GGUF file; the packaged one.")] = "",
    out: Annotated[Path | None, typer.Option(help="A JSON file with every reply's.")] = None,
) -> None:
    """Time two reply models, each on one thread."""
    tuned = LlamaCpp(model or None, slots=1, temperature=0)
    packaged = LlamaCpp(beside or str(weights.path("smollm2")), slots=1, temperature=0)
    asked = [each.ask for each in facts("dev")]
    try:
        both = asyncio.run(side_by_side(packaged, tuned, asked))
    finally:
        tuned.close()
        packaged.close()
    found = dict(zip(("beside", "model"), both, strict=True))
    table = Table("", "first token, ms", "tokens a second", title=f"medians, n {len(asked)}")
    for name, paces in found.items():
        told = middle(paces)
        rate = f"{told.tokens_per_sec:.0f}" if told.tokens_per_sec else "-"
        table.add_row(name, f"{told.first_ms:.0f}", rate)
    Console().print(table)
    if out:
        rows = {name: [asdict(each) for each in paces] for name, paces in found.items()}
        out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
