"""`python -m models.corpus`: check the corpus, and print what it holds as JSON."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from models.corpus.exchange import FOLDER, CorpusError
from models.corpus.validate import faults, figures

SHOWN = 40  # faults
app = typer.Typer(add_completion=False)


@app.command()
def main(
    folder: Annotated[Path, typer.Option(help="Where train, dev and test.jsonl lie.")] = FOLDER,
) -> None:
    """Check form, coverage, leaks and sameness; leaves with 1 if anything is wrong."""
    told = Console(stderr=True)
    try:
        wrong = faults(folder)
        holds = figures(folder)
    except CorpusError as error:
        told.print(str(error), markup=False)
        raise typer.Exit(1) from None
    print(json.dumps(holds, indent=2))
    for fault in wrong[:SHOWN]:
        told.print(fault, markup=False)
    if wrong:
        told.print(f"{len(wrong)} faults")
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
