"""What every command needs: the sessions, a console, and errors told in a sentence."""

import json
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from server import config
from server.client import CallError
from server.recording.record import Unreadable
from server.sessions.commands.asked import BadOption
from server.sessions.export.making import ExportError
from server.sessions.library import Library, StillRecording
from server.sessions.player import NoPlayer
from server.sessions.stored import BrokenSession, NoAudio, UnknownSession

FAILURES = (
    BrokenSession, CallError, ExportError, NoAudio, NoPlayer, OSError, StillRecording,
    UnknownSession, Unreadable,
)  # fmt: skip

console = Console(highlight=False)

Json = Annotated[bool, typer.Option("--json", help="For programs.")]
Id = Annotated[str, typer.Argument(metavar="ID", show_default=False)]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)]


@contextmanager
def opened(context: typer.Context) -> Iterator[Library]:
    """The sessions; what goes wrong with them is told in a sentence."""
    settings: config.Recording = context.obj
    try:
        with Library.open(settings.runs, settings.spool) as library:
            yield library
    except FAILURES as error:
        complain(error)
        raise typer.Exit(1) from None
    except sqlite3.Error as error:
        complain(f"the index of sessions cannot be used: {error}")
        raise typer.Exit(1) from None
    except BadOption as error:
        complain(error)
        raise typer.Exit(2) from None


def synced(library: Library) -> Library:
    """With an index that knows what others recorded meanwhile."""
    for problem in library.sync():
        complain(problem)
    return library


def say(text: str) -> None:
    """A line as it is; a path in it can be copied whole."""
    console.print(text, markup=False, soft_wrap=True)


def complain(error: Exception | str) -> None:
    told = str(error)
    if isinstance(error, OSError) and error.strerror:
        told = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    print(f"attune: {told}", file=sys.stderr)


def print_json(told: Any) -> None:
    print(json.dumps(told, ensure_ascii=False, indent=1, default=_plain))


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def progress(ids: Iterable[str], total: int, what: str) -> Iterator[str]:
    """The same ids, with a bar that goes on as they are taken."""
    columns, stderr = (TextColumn(what), BarColumn(), MofNCompleteColumn()), Console(stderr=True)
    is_seen = stderr.is_terminal
    with Progress(*columns, console=stderr, transient=True, disable=not is_seen) as bar:
        yield from bar.track(ids, total=total)
