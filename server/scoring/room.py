"""Where results may lie: never among recorded sessions, whose files they would be taken for."""

import os
from pathlib import Path

from server.scoring.errors import ScoringError
from server.scoring.played import ITEMS_FILE
from server.sessions.format import SESSION_FILE, SESSION_ID
from server.sessions.store import DATE


def refuse_sessions(out: Path) -> None:
    """ScoringError for a folder of sessions, or a place within one."""
    out = out.absolute()
    if _holds_sessions(out) or any((each / SESSION_FILE).is_file() for each in (out, *out.parents)):
        raise ScoringError(f"{out} holds recorded sessions: give --out a folder of its own")


def refuse_results(out: Path) -> None:
    """ScoringError for the folder of a benchmark's result: it has a `report` of its own."""
    if (out / ITEMS_FILE).is_file():
        raise ScoringError(f"{out} holds the result of a benchmark: give --out another folder")


def _holds_sessions(out: Path) -> bool:
    """As days or sessions of a day."""
    try:
        names = os.listdir(out)
    except OSError:
        return False
    return any(
        DATE.fullmatch(name) or SESSION_ID.fullmatch(name)
        for name in names
        if (out / name).is_dir()
    )
