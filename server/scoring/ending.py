"""Ending when told to, whatever is going on."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

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


async def until_told(work: Coroutine[Any, Any, None]) -> None:
    """Work that SIGTERM breaks off as Ctrl-C does: it is cancelled, and when it has ended, Stopped
    is raised."""
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    told = False

    def stop() -> None:
        nonlocal told
        told = True
        task.cancel()

    loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        await task
    except asyncio.CancelledError:
        if told:
            raise Stopped from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGTERM)


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
