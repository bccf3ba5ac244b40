"""python -m server.scoring.compare A B: which of two runs is better, and how sure that is."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from server.recording.whole_files import PRIVATE_FOLDER, replace
from server.scoring.report.comparison import DRAWS, Compared, Comparison, compare
from server.scoring.report.comparison_page import html, pairing, text, verdict
from server.scoring.report.figures import measured, number, signed, span
from server.scoring.report.reading import BrokenScores
from server.scoring.report.sides import side
from server.scoring.settings import SEED
from server.sessions.shown import plain

NAME = "comparison"
STYLES = {"a": "bold", "b": "bold", "differs": "bold", "not comparable": "yellow"}


def main(
    a: Annotated[Path, typer.Argument(metavar="A", help="A report's folder: what was before.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another: what is new.")],
    out: Annotated[Path | None, typer.Option(help=f"Where {NAME}.json, .html and .md go.")] = None,
    draws: Annotated[int, typer.Option(min=100, help="Of every interval and p.")] = DRAWS,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = SEED,
) -> None:
    """Compare two scored runs, exchange by exchange where they are the same ones."""
    try:
        found = compare(side(a), side(b), draws, seed)
        if out is not None:
            _write(out, found)
    except BrokenScores as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or out} cannot be written: {error.strerror}.")
    _show(found, Console())


def _fail(sentence: str) -> NoReturn:
    print(f"attune: {sentence}", file=sys.stderr)
    raise typer.Exit(1)


def _write(out: Path, found: Comparison) -> None:
    out.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    replace(out / f"{NAME}.json", found.model_dump_json(indent=2).encode())
    replace(out / f"{NAME}.html", html(found).encode())
    replace(out / f"{NAME}.md", text(found).encode())


def _show(found: Comparison, console: Console) -> None:
    console.print(Text(plain(f"A: {found.a.name}   B: {found.b.name}"), style="bold"))
    console.print(Text(pairing(found)))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("metric", "A", "B", "B − A", "95 %", "p (Holm)", "n", ""):
        table.add_column(name, justify="left" if name in ("metric", "") else "right")
    for each in found.metrics:
        style = STYLES.get(each.verdict, "")
        table.add_row(*(Text(plain(cell)) for cell in _cells(each, found)), style=style)
    console.print(table)


def _cells(each: Compared, found: Comparison) -> tuple[str, ...]:
    return (
        each.metric,
        measured(each.mean_a, each),
        measured(each.mean_b, each),
        "–" if each.difference is None else signed(each.difference, each),
        span(each.low, each.high, each),
        number(each.corrected, 3),
        f"{each.n:,}" + ("" if each.paired else " unpaired"),
        verdict(each, found),
    )


if __name__ == "__main__":
    typer.run(main)
