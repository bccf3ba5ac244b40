"""Whether a session folder is what it should be: nothing missing, and nothing too much."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from models.types import WIRE_RATE
from server.recording import audio_file, record
from server.recording.finishing import JOURNALS
from server.recording.lock import is_held
from server.recording.permitted import permitted, permitted_at, recorded_from
from server.recording.redaction import kept
from server.sessions.format import (
    AUDIO_FILE,
    EVENTS_FILE,
    LOCK_FILE,
    NOTES_FILE,
    RATINGS_FILE,
    SESSION_FILE,
    SESSION_ID,
    Line,
    Notes,
    Rating,
    SessionFile,
)

# A stretch of sound is told of when it is over, and so a little late.
BACKWARDS = 5 * WIRE_RATE
FILES = (SESSION_FILE, EVENTS_FILE, AUDIO_FILE, RATINGS_FILE, NOTES_FILE)
MOST = 20  # problems in the log: more would tell no more


def verify(folder: Path) -> list[str]:
    """What is wrong with it, in words; never in those of the conversation."""
    if is_held(folder):
        return []  # it is being written
    try:
        session = record.read(folder)
    except FileNotFoundError:
        return ["there is no session.json"]
    except record.Unreadable as error:
        return [str(error)]
    if session.state == "recording":
        return ["it was left half-written: repair it"]
    found = [*_strangers(folder, session), *_telling(folder, session)]
    if session.state != "deleted":
        found += [*_lines(folder, session), *_audio(folder, session), *_remarks(folder)]
    return found


def _strangers(folder: Path, session: SessionFile) -> Iterator[str]:
    expected = (SESSION_FILE,) if session.state == "deleted" else FILES
    for path in sorted(folder.iterdir()):
        if path.name in (*JOURNALS, LOCK_FILE):
            yield f"{path.name} was left behind: repair it"
        elif path.name not in expected:
            yield f"{path.name} does not belong in this folder"


def _telling(folder: Path, session: SessionFile) -> Iterator[str]:
    """Problems within the record itself."""
    if SESSION_ID.fullmatch(folder.name) and folder.name != session.id:
        yield f"session.json is of another session, {session.id}"
    if session.state == "deleted":
        bare = SessionFile(
            id=session.id,
            state="deleted",
            software=session.software,
            started=session.started,
            tombstones=session.tombstones,
        )
        if session != bare or not session.tombstones:
            yield "session.json tells more of a deleted session than that it is deleted"
        return
    allowed = permitted(session)
    if session.ended is None:
        yield "session.json does not say when it ended"
    if not session.consent:
        yield "session.json names no consent"
    if not allowed.personal and (session.client or session.speaker):
        yield "session.json tells of the person without consent"
    if not allowed.transcript and session.prompts:
        yield "session.json holds prompts without consent to a transcript"
    for turn in session.turns:
        if turn.start > turn.end:
            yield f"the turn at {turn.start} ends before it starts"
        elif session.audio and turn.end > session.audio.samples:
            yield f"the turn at {turn.start} ends after the audio"


def _lines(folder: Path, session: SessionFile) -> Iterator[str]:
    found = _every_line(folder, session)
    yield from islice(found, MOST)
    if next(found, None):
        yield "there are more problems in events.jsonl"


def _every_line(folder: Path, session: SessionFile) -> Iterator[str]:
    furthest = 0
    for number, raw in enumerate(_raw_lines(folder / EVENTS_FILE)):
        place = f"line {number + 1} of events.jsonl"
        try:
            line = Line.model_validate_json(raw)
        except ValidationError:
            yield f"{place} cannot be read"
            continue
        if line.n != number:
            yield f"{place} has the number {line.n}"
        if line.at < furthest - BACKWARDS:
            yield f"{place} lies {furthest - line.at} samples before one above it"
        furthest = max(furthest, line.at)
        if kept(line.event, permitted_at(session.consent, line.at, line.wall)) != line.event:
            yield f"{place} holds what the consent does not cover"


def _audio(folder: Path, session: SessionFile) -> Iterator[str]:
    exists = (folder / AUDIO_FILE).exists()
    begin, audio = recorded_from(session), session.audio
    if begin is None and (exists or audio):
        yield "there is audio without consent to it"
    elif exists and audio is None:
        yield "session.json does not know of audio.flac"
    elif audio and not exists:
        yield "audio.flac is missing"
    elif audio and begin is not None:
        if audio.rate != WIRE_RATE or audio.recorded_from != begin:
            yield f"session.json says audio is kept from {audio.recorded_from}, not {begin}"
        yield from audio_file.problems(folder / AUDIO_FILE, begin, audio.samples)


def _remarks(folder: Path) -> Iterator[str]:
    notes = folder / NOTES_FILE
    try:
        if notes.exists():
            Notes.model_validate_json(notes.read_bytes())
    except ValidationError:
        yield "notes.json cannot be read"
    for number, raw in enumerate(_raw_lines(folder / RATINGS_FILE)):
        try:
            Rating.model_validate_json(raw)
        except ValidationError:
            yield f"line {number + 1} of ratings.jsonl cannot be read"


def _raw_lines(path: Path) -> Iterator[bytes]:
    with suppress(FileNotFoundError), path.open("rb") as file:
        yield from file
