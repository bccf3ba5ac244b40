"""Scores that were given once: beside the runs, a file for each session, found by what was scored.

They may tell what was said. Each file is registered before it is written, so that deleting its
session takes it along, and nothing is written about a session while somebody deletes it.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from server.recording.whole_files import PRIVATE_FILE, PRIVATE_FOLDER
from server.scoring.planning import Planned, is_still_allowed
from server.scoring.score import Score
from server.sessions.changing import Changes
from server.sessions.derived import Derived
from server.sessions.format import checked
from server.sessions.library import CHANGES
from server.sessions.store import Store

FORM = 1
ROOM = "scores"
KEPT = ("value", "why", "unscored", "raw")  # of a score; none that is kept is passing

Known = Mapping[str, Mapping[str, Score]]  # by key: the scores by measure


@dataclass(frozen=True, slots=True)
class Entry:
    """What one instrument gave one exchange."""

    key: str
    instrument: str
    number: int
    scores: Mapping[str, Score]

    @property
    def lasts(self) -> bool:
        return not any(score.passing for score in self.scores.values())

    def line(self) -> bytes:
        told = {
            name: {k: v for k in KEPT if (v := getattr(score, k)) not in (None, "")}
            for name, score in self.scores.items()
        }
        whole = {"form": FORM, "key": self.key, "by": self.instrument, "number": self.number}
        return orjson.dumps({**whole, "scores": told}) + b"\n"


def key(instrument: str, instrument_key: str, exchange_digest: str) -> str:
    told = f"{FORM}\n{instrument}\n{instrument_key}\n{exchange_digest}"
    return hashlib.sha256(told.encode()).hexdigest()


class Cache:
    """Of sessions that lie together. Without a store: of those that no deletion could reach."""

    def __init__(self, folder: Path, store: Store | None = None) -> None:
        self._folder = folder
        self._derived = Derived(store.runs, store.home) if store else None
        self._changes = Changes(store.home / CHANGES) if store else None

    @classmethod
    def beside(cls, store: Store) -> "Cache":
        return cls(store.home / ROOM, store)

    def known(self, session_id: str) -> Known:
        """What cannot be read is as if it had never been."""
        try:
            with self._path(session_id).open("rb") as file:
                return dict(filter(None, map(_read, file)))
        except OSError:
            return {}

    def add(self, planned: Planned, entries: Iterable[Entry], *, all_consented: bool) -> bool:
        """Whether it was kept: not, if the session is gone, or may no longer be scored."""
        lines = b"".join(entry.line() for entry in entries if entry.lasts)
        session_id = planned.unit.session_id
        with self._alone(session_id):
            if not is_still_allowed(planned, all_consented=all_consented):
                return False
            if lines:
                self._append(session_id, lines)
        return True

    def _append(self, session_id: str, lines: bytes) -> None:
        path = self._path(session_id)
        if not path.exists():
            self._folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            if self._derived:
                self._derived.register("score-cache", path, [session_id])
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
        try:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":  # a line that broke off
                lines = b"\n" + lines
            os.write(handle, lines)
        finally:
            os.close(handle)

    @contextmanager
    def _alone(self, session_id: str) -> Iterator[None]:
        if self._changes is None:
            yield
            return
        with self._changes.alone(session_id):
            yield

    def _path(self, session_id: str) -> Path:
        return self._folder / f"{checked(session_id)}.jsonl"


def _read(line: bytes) -> tuple[str, dict[str, Score]] | None:
    try:
        told = orjson.loads(line)
        if told["form"] != FORM:
            return None
        return str(told["key"]), {
            name: Score(
                value=None if each.get("value") is None else float(each["value"]),
                why=str(each.get("why", "")),
                unscored=None if each.get("unscored") is None else str(each["unscored"]),
                raw=str(each.get("raw", "")),
            )
            for name, each in told["scores"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
