"""One export on its way to whoever asked for it: made, handed out, and gone again."""

import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from server.export_process import Order, changed, noted
from server.exports_shapes import Progress, State, Wanted
from server.http_refusals import Refusal
from server.private_log import where
from server.recording.lock import Busy, Lock
from server.recording.whole_files import PRIVATE_FOLDER
from server.sessions.library import Library

log = logging.getLogger(__name__)

ROOM = ".exports"  # beside the runs, where they are made
COMMAND = (sys.executable, "-m", "server.export_process")
ROOT = Path(__file__).parent.parent
NICE = 15
SPARE = 500_000_000  # bytes
BLOCK = 1 << 18  # bytes
WITHHELD = ("ATTUNE_OPERATOR_TOKEN",)  # of the environment: no export needs it


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where exports are made, and by which command."""

    library: Library
    runs: str
    spool: Path | None = None
    command: Sequence[str] = COMMAND

    @property
    def room(self) -> Path:
        return self.library.local / ROOM

    def tidy(self) -> None:
        """Take away what servers left that were killed; others may be at work. Blocking."""
        for folder in sorted(self.room.iterdir()) if self.room.is_dir() else []:
            try:
                lock = Lock.take(folder)
            except Busy:
                continue
            try:
                self.clear(folder)
            except OSError as error:
                log.warning("what is left of an export stays: %s", where(error))
            finally:
                lock.abandon()

    def clear(self, folder: Path) -> None:
        """The folder goes, and then the notes that something is being made in it."""
        begun = noted(folder)
        shutil.rmtree(folder)
        self.library.derived.over(str(made_in(folder)), [each.id for each in begun])


def made_in(folder: Path) -> Path:
    """What is packed has the name that it shall have when it is unpacked."""
    return folder / folder.name


class Download:
    """Blocking, all of it in one thread; only `stop` and `progress` are for others."""

    def __init__(self, workshop: Workshop, wanted: Wanted) -> None:
        self._workshop = workshop
        self._wanted = wanted
        now = f"{datetime.now(UTC):%Y-%m-%d-%H%M%S}"
        self._folder = workshop.room / f"attune-{wanted.format}-{now}-{token_hex(2)}"
        self._lock: Lock | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()
        self.progress = Progress(state="making")
        self.sessions: list[str] = []
        self.left_out = 0
        self.size = 0

    @property
    def name(self) -> str:
        return f"{self._folder.name}.zip"

    @property
    def state(self) -> State:
        return self.progress.state

    def to(self, state: State) -> None:
        self.progress = self.progress.model_copy(update={"state": state})

    def stop(self) -> None:
        """Nobody wants it any more."""
        self._stopped.set()
        process = self._process
        if process:
            with suppress(OSError):
                process.kill()

    def make(self) -> None:
        """Refusal if there is nothing to hand out, or it cannot be done."""
        try:
            with _told():
                self._make()
            self.to("ready")
        except BaseException:
            self.discard()
            raise

    def blocks(self) -> Generator[bytes, None, None]:
        """The file, registered as handed out before its first byte; it goes however this ends."""
        library, begun = self._workshop.library, noted(self._folder)
        try:
            with _told():
                if changed(library, begun, all_consented=self._wanted.all_consented):
                    raise _problem("session_changed")
                library.derived.made(f"download://{self.name}", self.sessions)
                with (self._folder / self.name).open("rb") as file:
                    while block := file.read(BLOCK):
                        yield block
        finally:
            self.discard()

    def discard(self) -> None:
        """Nothing of it stays here. Done again, it does nothing."""
        if self._lock is None:
            self.to("over")
            return
        try:
            self._workshop.clear(self._folder)
        except OSError as error:  # whoever starts next clears it away
            log.warning("what is left of an export stays: %s", where(error))
        finally:
            self._lock.abandon()
            self._lock = None
            self.to("over")

    def _make(self) -> None:
        workshop, wanted = self._workshop, self._wanted
        sought = replace(wanted.filter.filter, order="oldest", limit=None)
        ids = [row.id for row in workshop.library.find(sought).rows]
        if not ids:
            raise _problem("nothing_to_export")
        self.progress = Progress(state="making", total=len(ids))
        self._folder.mkdir(PRIVATE_FOLDER, parents=True)
        self._lock = Lock.take(self._folder)
        order = Order(
            runs=workshop.runs,
            spool=workshop.spool,
            out=made_in(self._folder),
            form=wanted.format,
            all_consented=wanted.all_consented,
            spare=SPARE,
            ids=ids,
        )
        told = self._run(order)
        if self._stopped.is_set():
            raise _problem("stopped")
        if "sessions" not in told:
            if why := told.get("where"):
                log.error("an export failed: %s", why)
            raise _problem(told.get("problem", "failed"), told.get("why", ""))
        self.sessions, self.left_out = told["sessions"], told["left_out"]
        self.size = order.archive.stat().st_size

    def _run(self, order: Order) -> dict[str, Any]:
        """The last thing the process says."""
        environment = {key: value for key, value in os.environ.items() if key not in WITHHELD}
        told: dict[str, Any] = {}
        with subprocess.Popen(
            self._workshop.command,
            cwd=ROOT, env=environment, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ) as process:  # fmt: skip
            with suppress(AttributeError, OSError):  # ended already, or no such thing here
                os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
            self._process = process
            if self._stopped.is_set():  # while it was being started
                process.kill()
            assert process.stdin and process.stdout, "both are pipes"
            with suppress(BrokenPipeError):
                process.stdin.write(order.model_dump_json().encode() + b"\n")
                process.stdin.flush()
            for line in process.stdout:
                told = json.loads(line)
                if "state" in told:
                    self.progress = Progress(**told)
        return told


PROBLEMS = {
    "nothing_to_export": (409, "There is nothing to export."),
    "session_changed": (409, "A session was deleted or withdrawn meanwhile; please export again."),
    "no_room": (503, "There is too little room on the disk to make this export."),
    "storage_failed": (503, "The recorded sessions cannot be reached just now."),
    "stopped": (409, "The export was stopped."),
    "failed": (500, "The export failed on our side; the server's log says more."),
}


def _problem(code: str, why: str = "") -> Refusal:
    status, message = PROBLEMS[code]
    if code == "nothing_to_export" and why:
        message = f"{why[0].upper()}{why[1:]}."
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return Refusal(status, message, "export_failed" if code == "failed" else code, kind=kind)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _problem("storage_failed") from error
