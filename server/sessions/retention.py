"""Keeping sessions no longer, and no more of them, than was set."""

import logging
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from server.config import ConfigError, Recording, read
from server.private_log import where
from server.sessions.index import Filter
from server.sessions.library import Deletion, Library, StillRecording
from server.sessions.stored import UnknownSession
from server.sessions.summary import Row

log = logging.getLogger(__name__)

GB = 10**9


def overdue(
    rows: Iterable[Row], keep_days: float | None, keep_gb: float | None, now: datetime
) -> list[str]:
    """The ids of those to delete, oldest first. What is being recorded counts, and stays."""
    kept = sorted((row for row in rows if row.state != "deleted"), key=_age)
    total = sum(row.bytes for row in kept)
    gone = []
    for row in kept:
        if row.state == "recording":
            continue
        is_old = keep_days is not None and _over(row) < now - timedelta(days=keep_days)
        is_beyond = keep_gb is not None and total > keep_gb * GB
        if is_old or is_beyond:
            gone.append(row.id)
            total -= row.bytes
    return gone


def apply(library: Library, settings: Recording, now: datetime | None = None) -> list[Deletion]:
    """Delete what is overdue; one that cannot be deleted now is tried again the next time."""
    gone = []
    for session_id in due(library, settings, now):
        try:
            gone.append(library.delete(session_id, "retention"))
        except (StillRecording, UnknownSession):  # the first is done once it is over
            continue
        except OSError as error:
            log.error("session %s could not be deleted: %s", session_id, where(error))
    return gone


def due(library: Library, settings: Recording, now: datetime | None = None) -> list[str]:
    library.sync()
    rows = library.find(Filter(limit=None)).rows
    return overdue(rows, settings.keep_days, settings.keep_gb, now or datetime.now(UTC))


def _over(row: Row) -> datetime:
    """When it ended, or at least began."""
    return row.ended or row.started


def _age(row: Row) -> tuple[datetime, str]:
    return _over(row), row.id


command = typer.Typer(add_completion=False)


@command.command()
def main(
    dry_run: Annotated[bool, typer.Option(help="Only say what would be deleted.")] = False,
) -> None:
    """Delete the recorded sessions that are older, or more, than the settings keep."""
    try:
        settings = read().recording
        if settings.keep_days is None and settings.keep_gb is None:
            raise ConfigError(
                "nothing is deleted: set recording.keep_days or recording.keep_gb, "
                "or ATTUNE_RECORDING__KEEP_DAYS or ATTUNE_RECORDING__KEEP_GB"
            )
        with Library.open(settings.runs, settings.spool) as library:
            if dry_run:
                for session_id in due(library, settings):
                    print(f"would delete {session_id}")
                return
            for deletion in apply(library, settings):
                exports = f"; exported before to {', '.join(deletion.exports)}"
                print(f"deleted {deletion.id}{exports if deletion.exports else ''}")
    except (ConfigError, OSError) as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    command()
