"""How far the cue steers replies that are good ones: `python -m models.tuning.evaluation.ceiling`.

The further references of the held-out scripts take the place of a model's replies, one set after
the other. What is measured of them is as much as `steering` can be expected to find in anybody's.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from models.corpus.exchange import Exchange, Split, Way, load
from models.corpus.references import of_all
from models.tuning.evaluation.meaning import Meaning, Nearness
from models.tuning.evaluation.questions import name
from models.tuning.evaluation.steering import steering
from models.tuning.evaluation.tables import share

TOLD = {"a reply, both cues": "all", "target": "target", "both replies together": "follows"}


def ceiling(exchanges: Sequence[Exchange], near: Nearness, seed: int) -> list[dict[str, Any]]:
    """For each set of further references: how they are steered, by the author's and by the rest."""
    references = of_all()
    found = []
    for which in range(1, min(len(references(each, way)) for each in exchanges for way in Way)):
        replies = {
            name(each.id, way): references(each, way)[which] for each in exchanges for way in Way
        }

        def rest(exchange: Exchange, way: Way, which: int = which) -> Sequence[str]:
            return [each for at, each in enumerate(references(exchange, way)) if at != which]

        by_author = steering(exchanges, replies, near, seed)
        found.append(
            {"by_author": by_author, "by_rest": steering(exchanges, replies, near, seed, rest)}
        )
    return found


def main(
    split: Annotated[Split, typer.Option(help="dev or test.")] = Split.TEST,
    seed: Annotated[int, typer.Option(help="Of the intervals.")] = 7,
    out: Annotated[Path | None, typer.Option(help="Write every figure as JSON here.")] = None,
) -> None:
    """Tell how far good replies go the way of their cue."""
    found = ceiling(load(split), Meaning().near, seed)
    sets = [
        (f"set {at}, by {whose}", each[by])
        for at, each in enumerate(found, 1)
        for whose, by in (("the author's", "by_author"), ("the rest", "by_rest"))
    ]
    shown = Table("", *(title for title, _ in sets))
    for label, key in TOLD.items():
        shown.add_row(label, *(share(figures[key]) for _, figures in sets))
    Console().print(shown)
    if out:
        out.write_text(json.dumps({"split": split, "sets": found}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    typer.run(main)
