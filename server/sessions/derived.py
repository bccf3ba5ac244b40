"""A register of what was made of sessions, so that deleting one reaches its copies.

One small file for each artefact, in `derived/` beside the runs: nobody need wait for another to
write it, and it works in an object store, which knows no appending.
"""

import hashlib
import logging
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, ValidationError

from server.sessions.format import SESSION_ID, Shape, checked
from server.sessions.place import Place

log = logging.getLogger(__name__)

FOLDER = "derived"
MANY = "many"  # where artefacts of more than one session are registered
# "export-begun": one that is being written, or was when its process died.
Kind = Literal["score-cache", "report", "arena", "export", "export-begun"]
EXPORTS: tuple[Kind, ...] = ("export", "export-begun")
# What deletion may remove lies in these folders beside the runs, or in roots that were allowed.
ROOMS = ("scores", "reports", "arena")


class Artefact(Shape):
    kind: Kind
    path: str  # of a file or folder; absolute, or a URL
    sessions: list[Annotated[str, Field(pattern=f"^{SESSION_ID.pattern}$")]]
    wall: AwareDatetime

    @property
    def purgeable(self) -> bool:
        """An export is out of our hands."""
        return self.kind not in EXPORTS

    @property
    def is_url(self) -> bool:
        return "://" in self.path

    @property
    def leftovers(self) -> list[str]:
        """What an export that was killed leaves beside the place where it was to appear."""
        if self.purgeable or self.is_url:
            return []
        return [str(path) for path in beside(Path(self.path)) if path.exists()]


@dataclass(frozen=True, slots=True)
class Purged:
    removed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # it lies where we may not delete


class Derived:
    """What only this machine can reach is registered at home; the rest where the runs are."""

    def __init__(self, runs: Place, home: Path, roots: Iterable[Path] = ()) -> None:
        self._runs = runs
        self._home = Place.at(home)
        self._roots = [*(home / room for room in ROOMS), *roots]

    def register(self, kind: Kind, path: str | Path, session_ids: Iterable[str]) -> Artefact:
        """Say that something was made of sessions; ValueError where it could not be deleted."""
        ids = sorted({checked(session_id) for session_id in session_ids})
        given = str(path)
        artefact = Artefact(
            kind=kind,
            path=given if "://" in given else str(Path(given).absolute()),
            sessions=ids,
            wall=datetime.now(UTC),
        )
        if not ids:
            return artefact
        if artefact.purgeable and not self._may_remove(artefact):
            allowed = ", ".join(str(root) for root in self._roots)
            raise ValueError(f"a {kind} must lie in one of: {allowed}")
        if (known := self._known(artefact)) and known.kind == kind:
            ids = sorted({*ids, *known.sessions})
            artefact = artefact.model_copy(update={"sessions": ids})
        self._place(artefact).write(_name(artefact), artefact.model_dump_json().encode())
        return artefact

    def of(self, session_id: str) -> list[Artefact]:
        """All that was made of a session."""
        checked(session_id)
        found = [each for each in self._read(session_id) if session_id in each.sessions]
        found += [each for each in self._read(MANY) if session_id in each.sessions]
        return sorted(found, key=lambda each: (each.wall, each.path))

    def exports(self, session_id: str) -> list[str]:
        """Each once, those that were only begun, too."""
        found = (each.path for each in self.of(session_id) if not each.purgeable)
        return list(dict.fromkeys(found))

    def leftovers(self, session_id: str) -> list[str]:
        """Of exports that broke off on this machine: they may hold the session."""
        found = (path for each in self.of(session_id) for path in each.leftovers)
        return list(dict.fromkeys(found))

    def begun(self, path: str, session_id: str) -> None:
        """The session is about to be written into an export that shall appear there."""
        self.register("export-begun", path, [session_id])

    def made(self, path: str, session_ids: Iterable[str]) -> None:
        """The export is whole, with these."""
        self.register("export", path, session_ids)

    def over(self, path: str, session_ids: Iterable[str]) -> None:
        """It is no longer being written: `made` told of it, or nothing is left of it."""
        for session_id in session_ids:
            begun = Artefact(
                kind="export-begun", path=path, sessions=[session_id], wall=datetime.now(UTC)
            )
            self._place(begun).remove(_name(begun))

    def sessions(self) -> set[str]:
        """Every session something purgeable was made of."""
        folders = {name for place in self._places for name in place.folders(FOLDER)}
        return {
            session_id
            for folder in folders
            for each in self._read(folder)
            if each.purgeable
            for session_id in each.sessions
        }

    def purge(self, session_id: str) -> Purged:
        """Remove what was made of a session, whole; done again, it removes what is left."""
        purged = Purged()
        for artefact in self.of(session_id):
            if not artefact.purgeable:
                continue
            if not self._may_remove(artefact):
                purged.left.append(artefact.path)
                continue
            if self._remove(artefact):
                purged.removed.append(artefact.path)
            # What comes to lie at that path later is another one.
            self._place(artefact).remove(_name(artefact))
        return purged

    @property
    def _places(self) -> list[Place]:
        return [self._home] if self._runs.local is not None else [self._home, self._runs]

    def _place(self, artefact: Artefact) -> Place:
        shared = artefact.is_url or not artefact.purgeable
        return self._runs if shared else self._home

    def _known(self, artefact: Artefact) -> Artefact | None:
        try:
            return _read(self._place(artefact).read(_name(artefact)))
        except FileNotFoundError:
            return None

    def _read(self, folder: str) -> Iterator[Artefact]:
        for place in self._places:
            for name in place.stats(f"{FOLDER}/{folder}"):
                if not name.endswith(".json"):
                    continue
                try:
                    artefact = _read(place.read(f"{FOLDER}/{folder}/{name}"))
                except FileNotFoundError:
                    continue
                if artefact is not None:
                    yield artefact

    def _may_remove(self, artefact: Artefact) -> bool:
        """The register must not become a way to delete anything else."""
        if artefact.is_url:
            return self._inside(artefact.path) is not None
        path = Path(artefact.path).resolve()
        return any(root.resolve() in path.parents for root in self._roots)

    def _inside(self, url: str) -> str | None:
        """The name of an artefact that lies beside remote runs."""
        for room in ROOMS:
            start = self._runs.shown(room) + "/"
            parts = url.removeprefix(start).split("/")
            if url.startswith(start) and not {"", ".", ".."} & set(parts):
                return f"{room}/{'/'.join(parts)}"
        return None

    def _remove(self, artefact: Artefact) -> bool:
        if artefact.is_url:
            return self._remove_url(self._inside(artefact.path) or "")
        path = Path(artefact.path).resolve()
        if path.is_dir():
            shutil.rmtree(path)
            return True
        there = path.exists()
        path.unlink(missing_ok=True)
        return there

    def _remove_url(self, name: str) -> bool:
        if not name:
            return False
        removed = [self._runs.remove(f"{name}/{each}") for each in self._runs.stats(name) if each]
        removed.append(self._runs.remove(name))
        self._runs.forget_versions(name)
        return any(removed)


def beside(out: Path) -> tuple[Path, Path]:
    """Where an export is written before it appears, and what it takes the place of meanwhile."""
    return out.with_name(f".{out.name}.partial"), out.with_name(f".{out.name}.replaced")


def _name(artefact: Artefact) -> str:
    """Where it is registered: the same for the same path, so that it is there once."""
    folder = artefact.sessions[0] if len(artefact.sessions) == 1 else MANY
    said = f"{artefact.kind} {artefact.path}"
    return f"{FOLDER}/{folder}/{hashlib.sha256(said.encode()).hexdigest()[:20]}.json"


def _read(written: bytes) -> Artefact | None:
    try:
        return Artefact.model_validate_json(written)
    except ValidationError:
        log.warning("an entry in the register of derived files cannot be read")
        return None
