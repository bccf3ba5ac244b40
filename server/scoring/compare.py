"""python -m server.scoring.compare A B: which of two runs is better, and how sure that is."""

import sys
from collections.abc import Iterator
from dataclasses import replace as replaced
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from server.recording.whole_files import PRIVATE_FOLDER, replace
from server.reports import SCORES_FILE
from server.scoring.report.comparison import DRAWS, Compared, Comparison, Verdict, compare
from server.scoring.report.comparison_page import html, pairing, text
from server.scoring.report.figures import measured, number, signed, span
from server.scoring.report.reading import BrokenScores
from server.scoring.report.sides import Side, side
from server.scoring.settings import SEED
from server.sessions.shown import plain

NAME = "comparison"
REPORT = "report"  # in a benchmark's result
UNPAIRED = "*"
SHORT: dict[Verdict, str] = {
    "a": "A better", "b": "B better", "differs": "they differ", "none": "none shown",
    "too few": "too few", "not comparable": "not comparable",
}  # fmt: skip
STYLES = {"a": "bold", "b": "bold", "differs": "bold", "not comparable": "yellow"}


def main(
    a: Annotated[
        Path,
        typer.Argument(metavar="A", help="Of a report or a benchmark's result: what was before."),
    ],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another: what is new.")],
    out: Annotated[Path | None, typer.Option(help=f"Where {NAME}.json, .html and .md go.")] = None,
    draws: Annotated[int, typer.Option(min=100, help="Of every interval and p.")] = DRAWS,
    seed: Annotated[int, typer.Option(help="Of the draws.")] = SEED,
) -> None:
    """Compare two scored runs, exchange by exchange where they are the same ones."""
    try:
        found = compare(_side(a), _side(b), draws, seed)
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


def _side(path: Path) -> Side:
    """Of a report's folder, or of a benchmark's result, which has its report within."""
    folder = path.absolute()
    if not folder.exists():
        raise BrokenScores(f"there is no folder {path}.")
    if folder.is_dir() and not (folder / SCORES_FILE).is_file():
        folder /= REPORT
        if not (folder / SCORES_FILE).is_file():
            raise BrokenScores(f"{path} holds no report: there is no {SCORES_FILE} in it.")
    found = side(folder)
    return replaced(found, name=folder.parent.name) if found.name == REPORT else found


def _show(found: Comparison, console: Console) -> None:
    for name, told in (("A", found.a), ("B", found.b)):
        console.print(Text(plain(f"{name}: {told.name}"), style="bold"))
    console.print(Text(pairing(found)))
    if not found.metrics:
        console.print(Text("No metric has values in both."))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("metric", ratio=1, overflow="fold")
    for name in ("A", "B", "B − A", "95 %", "p, Holm", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for each in found.metrics:
        style = STYLES.get(each.verdict, "")
        table.add_row(*(Text(plain(cell)) for cell in _cells(each)), style=style)
    console.print(table)
    for note in _notes(found):
        console.print(Text(plain(note), style="dim"))


def _cells(each: Compared) -> tuple[str, ...]:
    return (
        f"{each.title}, {each.unit}" if each.unit else each.title,
        measured(each.mean_a, each, unit=False),
        measured(each.mean_b, each, unit=False),
        "–" if each.difference is None else signed(each.difference, each),
        span(each.low, each.high, each),
        number(each.corrected, 3),
        f"{each.n:,}" + ("" if each.paired else UNPAIRED),
        SHORT[each.verdict],
    )


def _notes(found: Comparison) -> Iterator[str]:
    if any(not each.paired for each in found.metrics):
        yield f"{UNPAIRED} not paired"
    for each in found.metrics:
        if each.why_not:
            yield f"{each.title}: {each.why_not}"


if __name__ == "__main__":
    typer.run(main)
