"""Taking back what was kept: as far as a consent was withdrawn, or all of it.

The record is written first: whoever finds the work half done knows what is to go.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import Literal

from pydantic import ValidationError

from server.consent import Consent
from server.recording import event_log, record
from server.recording.allowed import consented, lost
from server.recording.finishing import drop_journals, turns
from server.recording.lock import Lock
from server.recording.permitted import permitted, permitted_at
from server.recording.whole_files import replace
from server.sessions.format import (
    AUDIO_FILE,
    EVENTS_FILE,
    LOCK_FILE,
    NOTES_FILE,
    RATINGS_FILE,
    SESSION_FILE,
    Rating,
    SessionFile,
    Tombstone,
)

Why = Literal["revoked", "deleted", "retention"]


def keep_only(folder: Path, consent: Consent, exports: Sequence[str] = ()) -> SessionFile:
    """Erase from a folder that is finished what this does not cover. It cannot allow more.

    Raises Busy while somebody is at work on the folder.
    """
    lock = Lock.take(folder)
    try:
        session = record.read(folder)
        if session.state == "deleted":
            lock.release(folder)
            return session
        before = permitted(session)
        narrower = before.both(consent)
        if narrower != before:
            at = session.ended.at if session.ended else 0
            gone = lost(before, narrower)
            agreed = consented(session, narrower, at, datetime.now(UTC), gone, exports)
            session = narrowed(agreed)
            record.write(folder, session)
        session = erase(folder, session)
        lock.release(folder)
        return session
    finally:
        lock.abandon()


def entomb(folder: Path, why: Why, exports: Sequence[str] = ()) -> SessionFile:
    """Delete all but a tombstone. To do it again does no harm. Raises Busy as `keep_only` does."""
    lock = Lock.take(folder)
    try:
        session = _buried(folder, why, exports)
        record.write(folder, session)
        clear(folder)
        lock.release(folder)
        return session
    finally:
        lock.abandon()


def erase(folder: Path, session: SessionFile) -> SessionFile:
    """Remove what the record's words on consent do not cover; returns the record as it then is."""
    allowed = permitted(session)
    if not allowed.audio:
        drop_journals(folder)
        (folder / AUDIO_FILE).unlink(missing_ok=True)
    narrow_events(folder, session)
    if not allowed.personal or any("transcript" in stone.what for stone in session.tombstones):
        _forget_remarks(folder)
    session = narrowed(session)
    if session.state != "recording":
        session = session.model_copy(update={"turns": turns(folder, session)})
    if session != record.read(folder):
        record.write(folder, session)
    return session


def narrow_events(folder: Path, session: SessionFile) -> int:
    """How many lines are left."""
    words = session.consent
    return event_log.narrow(folder / EVENTS_FILE, lambda at, wall: permitted_at(words, at, wall))


def narrowed(session: SessionFile) -> SessionFile:
    """The record without what it may no longer tell of the person."""
    allowed = permitted(session)
    return session.model_copy(
        update={
            "speaker": session.speaker if allowed.personal else None,
            "client": session.client if allowed.personal else None,
            "prompts": session.prompts if allowed.transcript else None,
            "audio": session.audio if allowed.audio else None,
        }
    )


def clear(folder: Path) -> bool:
    """Remove everything but the record; whether there was anything."""
    others = [path for path in folder.iterdir() if path.name not in (SESSION_FILE, LOCK_FILE)]
    for path in others:
        if path.is_dir() and not path.is_symlink():
            rmtree(path)
        else:
            path.unlink(missing_ok=True)
    return bool(others)


def _buried(folder: Path, why: Why, exports: Sequence[str]) -> SessionFile:
    stones: list[Tombstone] = []
    try:
        session = record.read(folder)
        started, software, stones = session.started, session.software, session.tombstones
        if session.state == "deleted" and stones:
            known = stones[-1].exports
            new = [export for export in exports if export not in known]
            last = stones[-1].model_copy(update={"exports": [*known, *new]})
            return session.model_copy(update={"tombstones": [*stones[:-1], last]})
    except (FileNotFoundError, record.Unreadable):  # what cannot be read can be deleted
        day = datetime.fromisoformat(folder.parent.name)
        started, software = day.replace(tzinfo=UTC), "unknown"
    stone = Tombstone(wall=datetime.now(UTC), what=["session"], why=why, exports=[*exports])
    return SessionFile(
        id=folder.name,
        state="deleted",
        software=software,
        started=started,
        tombstones=[*stones, stone],
    )


def _forget_remarks(folder: Path) -> None:
    """What people wrote about a session may quote it; what they scored does not."""
    (folder / NOTES_FILE).unlink(missing_ok=True)
    ratings = folder / RATINGS_FILE
    if ratings.exists():
        bare = map(_scores_only, ratings.read_bytes().splitlines())
        replace(ratings, b"".join(line + b"\n" for line in bare if line))


def _scores_only(line: bytes) -> bytes | None:
    """None where nothing is left, or where nobody can tell what it says."""
    try:
        rating = Rating.model_validate_json(line)
    except ValidationError:
        return None
    bare = rating.model_copy(update={"comment": "", "rater": None})
    return bare.model_dump_json().encode() if bare.scores else None
