"""All session folders, wherever the runs lie; recorded locally first if that is not here."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from models.weights import cache_dir
from server.sessions.format import SESSION_FILE, SESSION_ID, checked
from server.sessions.place import Place, Stat, StorageFailed
from server.sessions.stored import (
    BrokenSession,
    DeletedSession,
    NoAudio,
    StoredSession,
    UnknownSession,
    belonging,
)

__all__ = [
    "BrokenSession",
    "DeletedSession",
    "NoAudio",
    "StorageFailed",
    "Store",
    "StoredSession",
    "UnknownSession",
]

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
ADOPTED = ".adopted"  # local copies on their way out
TRIES = 3  # a folder may change while it is uploaded


@dataclass(frozen=True, slots=True)
class Listed:
    """A session, and its files as a listing shows them."""

    session: StoredSession
    files: dict[str, Stat]

    @property
    def stamp(self) -> str:
        """Differs once any of its files changed."""
        told = "\n".join(f"{n} {s.size} {s.mark}" for n, s in sorted(self.files.items()))
        return hashlib.sha256(told.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Store:
    runs: Place
    home: Path  # on this machine: where sessions are recorded, and the index lies

    @classmethod
    def open(cls, runs: str, spool: Path | None = None) -> "Store":
        place = Place.at(runs)
        return cls(place, place.local or spool or _default_spool(runs))

    @property
    def is_remote(self) -> bool:
        return self.runs.local is None

    @property
    def places(self) -> list[Place]:
        """Where a session may lie. The spool comes first: what is there is not yet uploaded."""
        return [Place.at(self.home), self.runs] if self.is_remote else [self.runs]

    def ids(self) -> Iterator[str]:
        for listed in self.listing():
            yield listed.session.id

    def listing(self) -> Iterator[Listed]:
        """Every session once, by date; a folder without session.json is none, or not yet."""
        seen: set[str] = set()
        for place in self.places:
            for date in filter(DATE.fullmatch, place.folders()):
                found: dict[str, dict[str, Stat]] = {}
                for name, stat in place.stats(date).items():
                    session_id, _, file = name.partition("/")
                    if SESSION_ID.fullmatch(session_id) and file:
                        found.setdefault(session_id, {})[file] = stat
                for session_id, files in sorted(found.items()):
                    if SESSION_FILE in files and session_id not in seen:
                        seen.add(session_id)
                        yield Listed(StoredSession(session_id, date, place), belonging(files))

    def session(self, session_id: str, date: str | None = None) -> StoredSession:
        """With its date it is found at once; without, the dates are gone through, newest first."""
        try:
            checked(session_id)
        except ValueError:
            raise UnknownSession(f"'{session_id[:64]}' is no session id") from None
        for place in self.places:
            hint = [date] if date and DATE.fullmatch(date) else []
            if found := _among(place, hint, session_id):
                return found
        for place in self.places:
            dates = sorted(filter(DATE.fullmatch, place.folders()), reverse=True)
            if found := _among(place, dates, session_id):
                return found
        raise UnknownSession(f"there is no session {session_id}")

    def adopt(self, path: Path) -> StoredSession:
        """Take in a finished local folder; with remote runs it is uploaded and the copy removed.

        The session appears there once it is whole: its session.json goes last. If it broke off,
        the local folder is still there to do it again.
        """
        session_id, date = checked(path.name), path.parent.name
        if not DATE.fullmatch(date):
            raise ValueError(f"{path} is no session folder")
        session = StoredSession(session_id, date, self.runs)
        if not self.is_remote:
            return session
        for _ in range(TRIES):
            if self._uploaded(path, session):
                _discard(path, self.home / ADOPTED)
                return session
        raise StorageFailed(f"{session_id} changed while it was uploaded, or arrived incomplete")

    def discard_adopted(self) -> None:
        """Local copies whose removal broke off; they are whole where they went."""
        shutil.rmtree(self.home / ADOPTED, ignore_errors=True)

    def _uploaded(self, path: Path, session: StoredSession) -> bool:
        """Whether what is there now is what is here now."""
        source = StoredSession(session.id, session.date, Place.at(self.home))
        before = source.stats()
        for name in sorted(before, key=lambda name: (name == SESSION_FILE, name)):
            try:
                self.runs.take(path / name, f"{session.folder}/{name}")
            except FileNotFoundError:  # it was deleted meanwhile
                return False
        for name in session.stats().keys() - before.keys():
            self.runs.remove(f"{session.folder}/{name}")
        sizes = {name: stat.size for name, stat in session.stats().items()}
        wanted = {name: stat.size for name, stat in before.items()}
        return sizes == wanted and source.stats() == before


def _among(place: Place, dates: list[str], session_id: str) -> StoredSession | None:
    for date in dates:
        if place.exists(f"{date}/{session_id}/{SESSION_FILE}"):
            return StoredSession(session_id, date, place)
    return None


def _discard(path: Path, bin_: Path) -> None:
    """In one step for everyone who looks: a folder half removed would look like a session."""
    bin_.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = bin_ / path.name
    shutil.rmtree(target, ignore_errors=True)
    os.rename(path, target)
    shutil.rmtree(target)
    Place.at(path.parent.parent).prune(path.parent.name)


def _default_spool(runs: str) -> Path:
    """One for each place, so that two never mix."""
    return cache_dir() / "spool" / hashlib.sha256(runs.rstrip("/").encode()).hexdigest()[:16]
