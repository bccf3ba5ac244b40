"""How far it is: lines of JSON for whoever started it, or a bar for who looks on."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import orjson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

APART_SEC = 0.2  # lines


class Tell(Protocol):
    def __call__(self, done: int, total: int, doing: str) -> None: ...


def silent(done: int, total: int, doing: str) -> None:
    """For whoever does not want to know."""


class Lines:
    """On stdout; a new thing to do and the end are always told."""

    def __init__(self) -> None:
        self._last = -APART_SEC
        self._doing = ""

    def __call__(self, done: int, total: int, doing: str) -> None:
        now = time.monotonic()
        if doing == self._doing and done < total and now - self._last < APART_SEC:
            return
        self._last, self._doing = now, doing
        told = orjson.dumps({"done": done, "total": total, "doing": doing})
        sys.stdout.write(told.decode() + "\n")
        sys.stdout.flush()


@contextmanager
def shown() -> Iterator[Tell]:
    """A bar on stderr if stdout is a terminal, else lines."""
    if not sys.stdout.isatty():
        yield Lines()
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    # What is said meanwhile stands above the bar, in whole lines for the paths in them.
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def tell(done: int, total: int, doing: str) -> None:
            bar.update(task, completed=done, total=total, description=doing)

        yield tell
