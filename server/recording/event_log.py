"""`events.jsonl`: appended to while a session goes on, and narrowed when consent is."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from server.consent import Consent
from server.recording.entries import Said
from server.recording.redaction import kept
from server.recording.whole_files import PRIVATE_FILE, part_of, settle

# What may be kept of a line at a position and wall time.
Rule = Callable[[int, datetime], Consent]


@dataclass(frozen=True, slots=True)
class Entered:
    """A line of the log, as far as it matters here."""

    n: int
    at: int
    wall: datetime
    source: str
    event: dict[str, Any]

    @classmethod
    def read(cls, raw: bytes) -> "Entered | None":
        """None if it is no line of a log: one that was not written to its end, for instance."""
        try:
            line = orjson.loads(raw)
            wall = datetime.fromisoformat(line["wall"])
            entered = cls(line["n"], line["at"], wall, line["from"], line["event"])
        except (ValueError, KeyError, TypeError):
            return None
        whole = type(entered.at) is int and type(entered.event) is dict and wall.tzinfo
        return entered if whole else None

    def raw(self) -> bytes:
        line = {"n": self.n, "at": self.at, "wall": self.wall, "from": self.source}
        try:
            return orjson.dumps({**line, "event": self.event}, option=orjson.OPT_APPEND_NEWLINE)
        except TypeError:  # numbers of any length and halves of characters are JSON for others
            event = json.dumps(self.event, ensure_ascii=False).encode("utf-8", "replace")
            return orjson.dumps({**line, "event": orjson.Fragment(event)}) + b"\n"


class EventLog:
    """The log of a session that is being recorded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = 0

    def append(self, said: Iterable[Said]) -> None:
        """Write what of each event may be kept: all of the lines or, if that fails, none."""
        lines: list[bytes] = []
        for each in said:
            event = kept(each.event, each.consent)
            if event is not None:
                number = self._lines + len(lines)
                lines.append(Entered(number, each.at, each.wall, each.source, event).raw())
        if not lines:
            return
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
        try:
            size = os.fstat(handle).st_size
            try:
                _write_all(handle, b"".join(lines))
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)
        self._lines += len(lines)

    def recount(self) -> None:
        """Others have narrowed it."""
        self._lines = sum(1 for _ in read(self._path))


def read(path: Path) -> Iterator[Entered | None]:
    """Each line; None for one that cannot be read."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        for raw in file:
            yield Entered.read(raw)


def noted(path: Path, kind: str) -> Iterator[dict[str, Any]]:
    """The recorder's own events of one type; the other lines are hardly looked at."""
    sign = kind.encode()
    with suppress(FileNotFoundError), path.open("rb") as file:
        for raw in file:
            line = Entered.read(raw) if sign in raw else None
            if line and line.source == "recorder" and line.event.get("type") == kind:
                yield line.event


def narrow(path: Path, rule: Rule) -> int:
    """Keep of every line only what the rule allows; returns how many are left.

    A line that cannot be read goes: nobody knows what it holds. Where the disk has no room for a
    second log, it is narrowed in its place: what may not be kept must go, even if a crash just
    then costs the rest.
    """
    if not path.exists():
        return 0
    part = part_of(path)
    count, changed = 0, False
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE), "wb") as out:
            for before, after in _narrowed(path, rule):
                changed = changed or before != after
                count += bool(after)
                out.write(after)
        if changed:
            settle(part, path)
        else:
            part.unlink()
    except OSError:
        with suppress(OSError):
            part.unlink()
        count = _narrow_in_place(path, rule)
    return count


def _narrowed(path: Path, rule: Rule) -> Iterator[tuple[bytes, bytes]]:
    """Each line as it was and as it shall be: empty, if nothing of it is kept."""
    count = 0
    with path.open("rb") as file:
        for raw in file:
            line = Entered.read(raw)
            event = kept(line.event, rule(line.at, line.wall)) if line else None
            if line is None or event is None:
                yield raw, b""
                continue
            if event == line.event and line.n == count and raw.endswith(b"\n"):
                yield raw, raw
            else:
                yield raw, Entered(count, line.at, line.wall, line.source, event).raw()
            count += 1


def _narrow_in_place(path: Path, rule: Rule) -> int:
    lines = [after for _, after in _narrowed(path, rule) if after]
    handle = os.open(path, os.O_RDWR)
    try:
        try:
            data = b"".join(lines)
            _write_all(handle, data)
        except OSError:
            lines, data = [], b""
        os.ftruncate(handle, len(data))
        os.fsync(handle)
    finally:
        os.close(handle)
    return len(lines)


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]
