"""Ending when told to, whatever is going on."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from server.scoring.errors import Stopped

PATIENCE_SEC = 1.5  # for what cannot be broken off, as a network that is being run
KILLED, INTERRUPTED = 143, 130  # as a shell tells SIGTERM and Ctrl-C


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM raises Stopped; should that not get through in time, the process ends anyway."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
        raise Stopped

    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    over = threading.Event()
    before = signal.signal(signal.SIGTERM, stop)
    previous = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(ours, over), daemon=True).start()
    try:
        yield
    finally:
        over.set()
        signal.set_wakeup_fd(previous)
        signal.signal(signal.SIGTERM, before)
        theirs.close()


def exit_code(stopped: BaseException) -> int:
    """Of a command that somebody stopped."""
    return KILLED if isinstance(stopped, Stopped) else INTERRUPTED


def _watch(line: socket.socket, over: threading.Event) -> None:
    with line:
        while told := line.recv(64):
            if signal.SIGTERM in told:
                if not over.wait(PATIENCE_SEC):
                    os._exit(KILLED)
                return
