"""The process that looks after backends, so that the parent need not have threads."""

import signal
import socket
import sys
from collections.abc import Callable, Mapping
from types import FrameType

from server.config import BackendProcess
from server.processes.notice_board import NoticeBoard
from server.supervision import Supervision


def run(
    processes: Mapping[str, BackendProcess], board: NoticeBoard, ready: Callable[[], None]
) -> None:
    """Keep them running until told to stop; they end with us, however we end."""
    wake, woken = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())  # or one that comes just before we wait would be missed
    signal.signal(signal.SIGTERM, _leave)
    with Supervision(processes, changed=board.write).at_work() as kept:
        kept.wait_until_up()
        ready()
        while True:
            woken.recv(1)


def _leave(sign: int, frame: FrameType | None) -> None:
    """Once: being told again does not keep us from ending them in good order."""
    signal.signal(sign, _told_already)
    sys.exit(0)


def _told_already(sign: int, frame: FrameType | None) -> None:
    """A handler, since what is ignored would be ignored by the backends as well."""
