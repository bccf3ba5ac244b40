"""Run a command that must not outlive its parent: python keeper.py LOG BYTES COMMAND...

A process of its own between the server and a backend, of the standard library alone. The command
ends, with all that it started, when our standard input does: that happens even if the server is
killed. What it writes goes to the log, of which the newest part is kept.
"""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

STOP_SEC = 10.0  # for the command to clean up after itself
CHUNK = 1 << 16
GENERATIONS = 5  # of processes that were left behind, the children of each becoming ours
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main(log: str, limit: str, *command: str) -> int:
    _prctl(PR_SET_CHILD_SUBREAPER, 1)  # what the command leaves behind becomes ours to end
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's is the server's to act on
    written = Log(Path(log), int(limit))
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: _prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
        )
    except OSError as error:
        written.write(f"{command[0]}: {error.strerror}\n".encode())
        return 127
    assert child.stdout is not None
    threading.Thread(target=_copy, args=[child.stdout, written], daemon=True).start()
    threading.Thread(target=_end_with_parent, args=[child], daemon=True).start()
    try:
        return child.wait()
    finally:
        _kill(child.pid)


class Log:
    """The newest of what was written: the file, and one before it that is full."""

    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._limit = limit // 2  # for each of the two

    def write(self, data: bytes) -> None:
        with suppress(OSError):  # a full disk ends no backend
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists() and self._path.stat().st_size + len(data) > self._limit:
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            with self._path.open("ab") as file:
                file.write(data)


def _copy(output: BinaryIO, log: Log) -> None:
    while data := os.read(output.fileno(), CHUNK):
        log.write(data)


def _end_with_parent(child: "subprocess.Popen[bytes]") -> None:
    while os.read(0, CHUNK):  # nothing is ever written there: it ends when the server does
        pass
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM)
    time.sleep(STOP_SEC)  # the process ends before, if the command does
    _kill(child.pid)


def _kill(group: int) -> None:
    """End the command's group, and whatever of it has moved elsewhere and is ours now."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    for _ in range(GENERATIONS):
        for process in _children():
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)


def _children() -> list[int]:
    me = os.getpid()
    try:
        return [int(pid) for pid in Path(f"/proc/{me}/task/{me}/children").read_text().split()]
    except OSError:  # not Linux
        return []


def _prctl(option: int, value: int) -> None:
    """Linux's own; elsewhere the group must do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) & 0xFF)
