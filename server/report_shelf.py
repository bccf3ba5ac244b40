"""Finished reports in a folder beside the recorded sessions. Blocking."""

import re
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from threading import Lock

from server.report_digest import FORM, BrokenReport, Digest, opened
from server.reports import SCORES_FILE

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
LARGEST_MB = 256  # a scores.json that is read
AGAIN_SEC = 60.0  # until one that could not be read is tried again
MEDIA = {
    ".css": "text/css",
    ".csv": "text/csv",
    ".flac": "audio/flac",
    ".html": "text/html",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".mp3": "audio/mpeg",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".wav": "audio/wav",
    ".webp": "image/webp",
}


class UnknownReport(Exception):
    """There is none of that name, or no such file in it."""


class Shelf:
    """Every report is registered before anything of it is given out."""

    def __init__(
        self, folder: Path, register: Callable[[Path, Sequence[str]], None] = lambda *_: None
    ) -> None:
        """`register` is told of whom a report tells; it may take the report away."""
        self.folder = folder
        self._register = register
        self._lock = Lock()
        self._known: dict[str, tuple[str, Digest]] = {}  # those that are registered
        self._unread: dict[str, tuple[str, str, float]] = {}  # why, and when that was tried

    def names(self) -> list[str]:
        """Of those that are whole: the scores are written last."""
        try:
            found = [each.name for each in self.folder.iterdir() if NAME.fullmatch(each.name)]
        except FileNotFoundError:
            return []
        return sorted(name for name in found if (self.folder / name / SCORES_FILE).is_file())

    def has(self, name: str) -> bool:
        return NAME.fullmatch(name) is not None and (self.folder / name).exists()

    def digest(self, name: str) -> Digest:
        """What a report says. The first to ask for a large one waits, and so do others."""
        mark = self._mark(name)
        if known := self._registered(name, mark):
            return known
        with self._lock:
            if known := self._registered(name, mark):
                return known
            digest = self._read(name, mark)
            try:
                self._register(self.folder / name, digest.session_ids())
            except ValueError:
                message = "It lies elsewhere, where deleting a session could not reach it."
                raise BrokenReport(message) from None
            self._mark(name)  # UnknownReport, if that took it away
            self._known[name] = mark, digest
            return digest

    def file(self, name: str, inside: str) -> Path:
        """A file of a report: the scores, or anything of the kinds we know in `report`."""
        self.digest(name)
        folder = self.path(name).resolve()
        parts = PurePosixPath(inside).parts
        if not parts or not all(map(PART.fullmatch, parts)):
            raise UnknownReport(inside)
        path = folder.joinpath(*parts).resolve()
        is_ours = parts[0] == "report" or (len(parts) == 1 and path.stem == "scores")
        if (
            not is_ours
            or path.suffix not in MEDIA
            or folder not in path.parents  # a link that leads elsewhere
            or not path.is_file()
        ):
            raise UnknownReport(inside)
        return path

    def remove(self, name: str) -> None:
        shutil.rmtree(self.path(name))
        self._forget(name)

    def path(self, name: str) -> Path:
        if not self.has(name):
            raise UnknownReport(name)
        return self.folder / name

    def _mark(self, name: str) -> str:
        """Another once the file is another."""
        path = self.path(name) / SCORES_FILE
        try:
            found = path.stat()
        except FileNotFoundError:
            self._forget(name)
            raise UnknownReport(name) from None
        if found.st_size > LARGEST_MB << 20:
            raise BrokenReport(f"{SCORES_FILE} is larger than {LARGEST_MB} MB.")
        return f"{FORM}.{found.st_mtime_ns}.{found.st_size}.{found.st_ino}"

    def _registered(self, name: str, mark: str) -> Digest | None:
        known = self._known.get(name)
        return known[1] if known and known[0] == mark and known[1].path.exists() else None

    def _read(self, name: str, mark: str) -> Digest:
        now = time.monotonic()
        unread = self._unread.get(name)
        if unread and unread[0] == mark and now - unread[2] < AGAIN_SEC:
            raise BrokenReport(unread[1])
        try:
            return opened(self.folder / name, mark)
        except BrokenReport as error:
            self._unread[name] = mark, str(error), now
            raise

    def _forget(self, name: str) -> None:
        self._known.pop(name, None)
        self._unread.pop(name, None)
