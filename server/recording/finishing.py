"""Making a session folder whole: its audio, its turns, and a record that says so."""

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from models.types import WIRE_RATE
from server.recording import audio_file, event_log, journal, record
from server.recording.permitted import recorded_from
from server.sessions.format import (
    AUDIO_FILE,
    EVENTS_FILE,
    REPLY_JOURNAL,
    USER_JOURNAL,
    Audio,
    SessionFile,
    TurnSpan,
)

JOURNALS = (USER_JOURNAL, REPLY_JOURNAL)


def complete(
    folder: Path, session: SessionFile, state: Literal["finished", "repaired"]
) -> SessionFile:
    """Everything that is only known at the end. Can be done again from wherever it broke off.

    `audio.flac` appears only when it is whole and right, and the journals go only when the record
    tells of it: whichever of them is found, nothing is lost.
    """
    session = session.model_copy(update={"audio": _audio(folder, session)})
    whole = session.model_copy(update={"state": state, "turns": turns(folder, session)})
    record.write(folder, whole)
    drop_journals(folder)
    return whole


def turns(folder: Path, session: SessionFile) -> list[TurnSpan]:
    """Where each turn lies; what was said of it last holds, and nothing lies after the end."""
    end = session.audio.samples if session.audio else session.ended.at if session.ended else None
    found: dict[str, TurnSpan] = {}
    for event in event_log.noted(folder / EVENTS_FILE, "recording.turn"):
        try:
            turn = TurnSpan.model_validate({name: event[name] for name in event if name != "type"})
        except ValidationError:  # its item has a name of the client's that may not be kept
            continue
        if end is not None and turn.end > end:
            turn = turn.model_copy(update={"start": min(turn.start, end), "end": end})
        found[turn.item_id] = turn
    return sorted(found.values(), key=lambda turn: (turn.start, turn.end))


def drop_journals(folder: Path) -> None:
    for name in JOURNALS:
        (folder / name).unlink(missing_ok=True)


def _audio(folder: Path, session: SessionFile) -> Audio | None:
    begin = recorded_from(session)
    if begin is None:
        (folder / AUDIO_FILE).unlink(missing_ok=True)
        return None
    if not (folder / AUDIO_FILE).exists():
        # A reply on its way to the loudspeaker at the end was not heard.
        at = session.ended.at if session.ended else 0
        length = max(at, journal.samples(folder / USER_JOURNAL))
        if length == 0:
            return None
        audio_file.encode(folder, begin, length)
    samples = audio_file.frames_in(folder / AUDIO_FILE)
    return Audio(rate=WIRE_RATE, samples=samples, recorded_from=begin, gaps=_gaps(folder))


def _gaps(folder: Path) -> list[tuple[int, int]]:
    """Where no audio came, in order and without overlaps."""
    joined: list[tuple[int, int]] = []
    told = event_log.noted(folder / EVENTS_FILE, "recording.gap")
    for start, end in sorted((event["start"], event["end"]) for event in told):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined
