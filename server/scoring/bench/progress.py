"""How far a run is: a bar for people, JSON lines for programs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from server.scoring.bench.running import Progress as Told


@contextmanager
def told(doing: str) -> Iterator[Told]:
    """Tells problems on stderr, and the rest where it is read."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _as_lines(doing)
        return
    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(doing, total=None)

        def tell(done: int, total: int, problem: str) -> None:
            if problem:
                bar.console.print(f"[yellow]failed[/] {escape(problem)}", soft_wrap=True)
            bar.update(task, completed=done, total=total)

        yield tell


def _as_lines(doing: str) -> Told:
    def tell(done: int, total: int, problem: str) -> None:
        if problem:
            print(f"attune: {problem}", file=sys.stderr)
        print(orjson.dumps({"done": done, "total": total, "doing": doing}).decode(), flush=True)

    return tell
