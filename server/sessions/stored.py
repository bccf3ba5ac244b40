"""One session as it lies in a store: reading it, and what people add to it."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import soundfile
from numpy.typing import NDArray
from pydantic import ValidationError

from models.types import WIRE_RATE
from server.recording.whole_files import is_part
from server.sessions.format import (
    AUDIO_FILE,
    EVENTS_FILE,
    LOCK_FILE,
    NOTES_FILE,
    RATINGS_FILE,
    SESSION_FILE,
    Line,
    Notes,
    Rating,
    SessionFile,
)
from server.sessions.place import Place, Stat


class UnknownSession(Exception):
    """There is no such session, or that is no session id."""


class DeletedSession(UnknownSession):
    """There was one; only its tombstone is left."""


class BrokenSession(Exception):
    """A file of a session cannot be read; the message says which and quotes nothing of it."""


class NoAudio(Exception):
    """The session has no finished audio: it was not allowed, or it is still being recorded."""


def belonging(files: dict[str, Stat]) -> dict[str, Stat]:
    """Those of a session's files that are whole: no lock, and nothing half written."""
    return {n: stat for n, stat in files.items() if n != LOCK_FILE and not is_part(n)}


@dataclass(frozen=True, slots=True)
class StoredSession:
    id: str
    date: str
    place: Place

    @property
    def folder(self) -> str:
        return f"{self.date}/{self.id}"

    def file(self) -> SessionFile:
        try:
            return SessionFile.model_validate_json(self.place.read(self._name(SESSION_FILE)))
        except FileNotFoundError:
            raise UnknownSession(f"there is no session {self.id}") from None
        except ValidationError:
            raise BrokenSession(f"{SESSION_FILE} of {self.id} cannot be read") from None

    def lines(self, kinds: Collection[str] | None = None) -> Iterator[Line]:
        """The log in order; with `kinds`, only events of these types, which is faster.

        A last line that was broken off is what a crash leaves, and is left out. Any other that
        cannot be read is a BrokenSession.
        """
        try:
            file = self.open(EVENTS_FILE)
        except FileNotFoundError:
            return
        sought = None if kinds is None else [json.dumps(kind).encode() for kind in kinds]
        broken = None
        with file:
            for number, raw in enumerate(file, 1):
                if broken is not None:
                    raise BrokenSession(f"line {broken} of {EVENTS_FILE} of {self.id} is broken")
                if sought is not None and not any(kind in raw for kind in sought):
                    continue
                try:
                    line = Line.model_validate_json(raw)
                except ValidationError:
                    broken = number
                    continue
                if kinds is None or line.event.get("type") in kinds:
                    yield line

    def open(self, name: str) -> BinaryIO:
        return self.place.open(self._name(name))

    def open_audio(self) -> BinaryIO:
        """The FLAC file, seekable; from an object store only what is read comes over."""
        try:
            return self.open(AUDIO_FILE)
        except FileNotFoundError:
            raise NoAudio(f"no audio is kept of {self.id}") from None

    def cut(self, begin: int, end: int) -> NDArray[np.int16]:
        """Both channels between two positions, [samples, 2]; less where the audio ends before."""
        with self.open_audio() as raw:
            try:
                with soundfile.SoundFile(raw) as audio:
                    if audio.samplerate != WIRE_RATE or audio.channels != 2:
                        raise BrokenSession(f"{AUDIO_FILE} of {self.id} is of another shape")
                    begin = min(max(begin, 0), audio.frames)
                    audio.seek(begin)
                    count = max(min(end, audio.frames) - begin, 0)
                    found: NDArray[np.int16] = audio.read(count, "int16", always_2d=True)
                    return found
            except soundfile.LibsndfileError:
                raise BrokenSession(f"{AUDIO_FILE} of {self.id} cannot be read") from None

    def ratings(self) -> list[Rating]:
        return [Rating.model_validate_json(line) for line in self._rating_lines()]

    def rate(self, rating: Rating) -> None:
        """Add one. Two at once must be kept apart by the caller: the file is written anew."""
        told = [*self._rating_lines(), rating.model_dump_json().encode()]
        self.place.write(self._name(RATINGS_FILE), b"".join(line + b"\n" for line in told))

    def notes(self) -> Notes:
        try:
            return Notes.model_validate_json(self.place.read(self._name(NOTES_FILE)))
        except FileNotFoundError:
            return Notes()
        except ValidationError:
            raise BrokenSession(f"{NOTES_FILE} of {self.id} cannot be read") from None

    def annotate(self, notes: Notes) -> None:
        self.place.write(self._name(NOTES_FILE), notes.model_dump_json().encode())

    def stats(self) -> dict[str, Stat]:
        return belonging(self.place.stats(self.folder))

    def size(self) -> int:
        """In bytes, all files together."""
        return sum(stat.size for stat in self.stats().values())

    def _rating_lines(self) -> list[bytes]:
        """Whole ones that can be read; a broken one anywhere is told."""
        try:
            raw = self.place.read(self._name(RATINGS_FILE))
        except FileNotFoundError:
            return []
        lines = [line for line in raw.splitlines() if line.strip()]
        for number, line in enumerate(lines, 1):
            try:
                Rating.model_validate_json(line)
            except ValidationError:
                where = f"line {number} of {RATINGS_FILE} of {self.id}"
                raise BrokenSession(f"{where} cannot be read") from None
        return lines

    def _name(self, file: str) -> str:
        return f"{self.folder}/{file}"
