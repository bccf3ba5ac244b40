"""Making whole what a writer left behind when it was killed."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from time import time

from server.recording import event_log, journal, record
from server.recording.erasure import clear, erase
from server.recording.finishing import JOURNALS, complete, drop_journals
from server.recording.lock import Busy, Lock
from server.recording.whole_files import is_part
from server.sessions.format import (
    EVENTS_FILE,
    LOCK_FILE,
    SESSION_FILE,
    SESSION_ID,
    USER_JOURNAL,
    Ending,
    SessionFile,
    Stopped,
)

STOPPED = ".stopped-"  # and the reason: writing has broken off
MAKING = ".new-"  # begins the name of a folder whose record is not written yet
MAKING_SEC = 60.0  # nobody takes that long to write it
_RECORDING = re.compile(rb'"state":\s*"recording"')


def repair(folder: Path) -> bool:
    """Whether anything had to be done; nothing is, while somebody is at work on the folder.

    It may itself be killed at any point, and done again. Raises record.Unreadable, and touches
    nothing, if the record makes no sense.
    """
    if not needs_repair(folder):
        return False
    try:
        lock = Lock.take(folder)
    except (Busy, FileNotFoundError):
        return False
    try:
        if not (folder / SESSION_FILE).exists():
            # The record is the first file and the last: without it nobody ever allowed the rest.
            rmtree(folder)
            return True
        session = record.read(folder)
        _drop_parts(folder)
        if session.state == "deleted":
            clear(folder)
        else:
            _make_whole(folder, session)
        lock.release(folder)
        return True
    finally:
        lock.abandon()


def needs_repair(folder: Path) -> bool:
    """Whether work on it was begun and not ended, or still goes on."""
    try:
        names = {path.name for path in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return False
    if SESSION_FILE not in names or LOCK_FILE in names or any(map(is_part, names)):
        return True
    # A copy may have come without the hidden files.
    return not names.isdisjoint(JOURNALS) or bool(_RECORDING.search(_head(folder)))


def left_behind(runs: Path) -> Iterator[Path]:
    """The folders that a writer has not finished. Those that were hardly begun are removed."""
    for day in sorted(path for path in runs.glob("????-??-??") if path.is_dir()):
        for folder in sorted(day.iterdir()):
            if folder.name.startswith(MAKING):
                _drop_unmade(folder)
            elif SESSION_ID.fullmatch(folder.name) and needs_repair(folder):
                yield folder


def _make_whole(folder: Path, session: SessionFile) -> None:
    session = erase(folder, session)  # consent may have been withdrawn just before
    if session.state != "recording":
        drop_journals(folder)
        return
    if session.ended is None:
        session = session.model_copy(update={"ended": _ending(folder, session)})
    notes = list(folder.glob(f"{STOPPED}*"))
    if notes and not session.stopped:
        session = session.model_copy(update={"stopped": [_stop(folder, session, notes[0])]})
    complete(folder, session, "repaired")
    for note in notes:
        note.unlink(missing_ok=True)


def _stop(folder: Path, session: SessionFile, note: Path) -> Stopped:
    """What a writer could leave no more of than a name, for want of room."""
    wall = datetime.fromtimestamp(note.stat().st_mtime, UTC)
    at = journal.samples(folder / USER_JOURNAL) or _ending(folder, session).at
    return Stopped.model_validate(
        {"at": at, "wall": wall, "reason": note.name.removeprefix(STOPPED)}
    )


def _ending(folder: Path, session: SessionFile) -> Ending:
    """As far as it is known: the furthest that anything was written."""
    at = session.consent[-1].at if session.consent else 0
    wall: datetime | None = None
    for line in event_log.read(folder / EVENTS_FILE):
        if line is not None:
            at, wall = max(at, line.at), line.wall
    at = max(at, journal.samples(folder / USER_JOURNAL))
    written = datetime.fromtimestamp((folder / SESSION_FILE).stat().st_mtime, UTC)
    return Ending(at=at, wall=wall or written, why="crashed")


def _head(folder: Path) -> bytes:
    with (folder / SESSION_FILE).open("rb") as file:
        return file.read(1024)


def _drop_parts(folder: Path) -> None:
    for path in folder.iterdir():
        if is_part(path.name):
            path.unlink(missing_ok=True)


def _drop_unmade(folder: Path) -> None:
    with suppress(Busy, FileNotFoundError):
        if time() - folder.stat().st_mtime > MAKING_SEC:
            lock = Lock.take(folder)  # raises while its maker lives
            rmtree(folder)
            lock.abandon()
