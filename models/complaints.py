"""What a command says when it cannot: one line, and no traceback."""

from collections.abc import Generator
from contextlib import contextmanager

import typer
from rich.console import Console


@contextmanager
def in_a_line(console: Console, *errors: type[Exception]) -> Generator[None, None, None]:
    """Such an error is told to the console and ends the command with 1."""
    try:
        yield
    except errors as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from None
