"""An export to download, made by a process of its own.

A thread that makes way for others would keep Python's lock while it waits for its turn, and with
it every conversation; a process can stay behind everybody who talks.
"""

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from server.private_log import where
from server.sessions.export.making import ExportError, Form, Wanted, export
from server.sessions.export.selection import LeftOut, allowance
from server.sessions.format import Shape
from server.sessions.library import Library
from server.sessions.stored import BrokenSession, UnknownSession

BEGUN = "begun.jsonl"  # which sessions may be in there, and what of them
ZIPPED_ALREADY = (".parquet", ".flac")
QUICKLY = 1  # the level of compression


class Order(Shape):
    """What the process is told in the first line of its input, which stays open after that."""

    runs: str
    spool: Path | None
    out: Path  # the folder that is packed; its name is the archive's, too
    form: Form
    all_consented: bool
    spare: int  # bytes that stay free on the disk: recording comes first
    ids: list[str]

    @property
    def archive(self) -> Path:
        return self.out.with_name(f"{self.out.name}.zip")


class NoRoom(Exception):
    """The disk is wanted for recording."""


class Begun(Shape):
    """A session that may be in an export, with what was allowed when it was written."""

    id: str
    scopes: list[str]


class Register:
    """Notes down what is begun; that it was handed out, those who hand it out do."""

    def __init__(self, library: Library, notes: Path, *, all_consented: bool) -> None:
        self._library = library
        self._notes = notes
        self._all_consented = all_consented

    def begun(self, path: str, session_id: str) -> None:
        scopes = allowed(self._library, session_id, all_consented=self._all_consented)
        with self._notes.open("a", encoding="utf-8") as notes:
            notes.write(Begun(id=session_id, scopes=scopes or []).model_dump_json() + "\n")
        self._library.derived.begun(path, session_id)

    def made(self, path: str, session_ids: Sequence[str]) -> None:
        """It is only packed now."""

    def over(self, path: str, session_ids: Sequence[str]) -> None:
        """Not before the packed file is gone, too."""


def allowed(library: Library, session_id: str, *, all_consented: bool) -> list[str] | None:
    """What may be handed out of a session now; None: nothing."""
    try:
        consent = allowance(library.session(session_id).file(), all_consented=all_consented)
    except (UnknownSession, BrokenSession):
        return None
    return None if isinstance(consent, LeftOut) else consent.scopes


def noted(folder: Path) -> list[Begun]:
    """What was begun in a folder, whatever became of it."""
    try:
        lines = (folder / BEGUN).read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [Begun.model_validate_json(line) for line in lines if line.endswith("}")]


def changed(library: Library, begun: Sequence[Begun], *, all_consented: bool) -> bool:
    """Whether somebody has taken back something since."""
    return any(
        allowed(library, each.id, all_consented=all_consented) != each.scopes for each in begun
    )


def make(order: Order, library: Library, tell: Callable[..., None]) -> None:
    """Write the export and pack it; ExportError or NoRoom if that cannot be."""
    done, total = 0, len(order.ids)

    def step() -> None:
        nonlocal done
        check_room(order)
        done += 1
        tell(state="making", done=done, total=total)

    register = Register(library, order.out.parent / BEGUN, all_consented=order.all_consented)
    wanted = Wanted(order.form, order.out, order.all_consented)
    check_room(order)
    tally = export(order.ids, library.session, wanted, register, step)
    tell(state="packing", done=total, total=total)
    pack(order)
    tell(sessions=tally.sessions, left_out=sum(tally.left_out.values()))


def check_room(order: Order) -> None:
    if shutil.disk_usage(order.out.parent).free < order.spare:
        raise NoRoom


def pack(order: Order) -> None:
    """The folder as one file, which takes its place bit by bit: twice of it might be too much."""
    with ZipFile(order.archive, "x", compresslevel=QUICKLY) as archive:
        for path in sorted(path for path in order.out.rglob("*") if path.is_file()):
            check_room(order)
            how = ZIP_STORED if path.suffix in ZIPPED_ALREADY else ZIP_DEFLATED
            archive.write(path, path.relative_to(order.out.parent), how)
            path.unlink()
    shutil.rmtree(order.out)


def main() -> int:
    """What it does is told in lines of JSON; the last one says how it ended."""
    order = Order.model_validate_json(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.umask(0o077)
    with Library.open(order.runs, order.spool) as library:
        try:
            make(order, library, _tell)
        except ExportError as error:
            begun = noted(order.out.parent)
            has_changed = changed(library, begun, all_consented=order.all_consented)
            _tell(problem="session_changed" if has_changed else "nothing_to_export", why=str(error))
        except NoRoom:
            _tell(problem="no_room")
        except Exception as error:
            _tell(problem="storage_failed" if isinstance(error, OSError) else "failed",
                  where=where(error))  # fmt: skip
        else:
            return 0
    return 1


def _tell(**news: object) -> None:
    print(json.dumps(news), flush=True)


def _end_with_parent() -> None:
    """The server that wants it is gone: what lies here, the next one clears away."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
