"""`session.json`, read and written."""

from pathlib import Path

from pydantic import ValidationError

from server.recording.whole_files import replace
from server.sessions.format import SESSION_FILE, SessionFile


class Unreadable(Exception):
    """A `session.json` that we cannot make sense of: one sentence for people."""


def read(folder: Path) -> SessionFile:
    """Raises FileNotFoundError where there is none, and Unreadable for one that is broken."""
    data = (folder / SESSION_FILE).read_bytes()
    try:
        return SessionFile.model_validate_json(data)
    except ValidationError as error:
        places = {".".join(map(str, each["loc"])) or "the file" for each in error.errors()}
        told = ", ".join(sorted(places)[:3])
        raise Unreadable(f"session.json of {folder.name} cannot be read: see {told}") from None


def write(folder: Path, session: SessionFile) -> None:
    replace(folder / SESSION_FILE, session.model_dump_json(indent=2).encode() + b"\n")
