"""A thread that asks the event loop, over and over, whether it is still there.

While one conversation's code keeps the loop, all others wait. What keeps it for long is told
with the place in the code where it was found, and without anything anybody said.
"""

import asyncio
import logging
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import FrameType

log = logging.getLogger(__name__)

STALL_SEC = 0.02  # an answer that takes longer is late
ASK_SEC = 0.01  # from an answer to the next question: to wake the loop costs a little each time
TELL_SEC = 10.0  # from one line in the log to the next
CALLS = 12  # of the stack, the innermost
IDLE = ("runners.py", "selectors.py", "base_events.py", "uvloop")  # the loop itself, at no work


class Watchdog:
    """Measures how late the loop answers; every stall is given to `stalled`, in ms."""

    def __init__(self, stalled: Callable[[float], None] = lambda _: None) -> None:
        self._stalled = stalled
        self._answered = threading.Event()
        self._over = threading.Event()
        self._asked_at: float | None = None  # while no answer has come
        self._lag_ms = 0.0
        self._told_at = -TELL_SEC
        self._untold = 0

    @property
    def lag_ms(self) -> float:
        """How late the loop answers: lately, or by now if it does not answer."""
        asked = self._asked_at
        waited = (time.monotonic() - asked) * 1000 if asked is not None else 0.0
        return max(self._lag_ms, waited)

    @asynccontextmanager
    async def on_duty(self) -> AsyncGenerator[None, None]:
        """Watch the loop this is entered in, until it is left."""
        self._over.clear()
        where = (asyncio.get_running_loop(), threading.get_ident())
        thread = threading.Thread(target=self._watch, args=where, name="watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._answered.set()

    def _watch(self, loop: asyncio.AbstractEventLoop, ident: int) -> None:
        with suppress(RuntimeError):  # the loop has been closed
            while not self._over.wait(ASK_SEC):
                self._ask(loop, ident)

    def _ask(self, loop: asyncio.AbstractEventLoop, ident: int) -> None:
        self._answered.clear()
        self._asked_at = asked = time.monotonic()
        loop.call_soon_threadsafe(self._answered.set)
        stack = ""
        if not self._answered.wait(STALL_SEC):
            stack = stack_of(sys._current_frames().get(ident))
            while not self._answered.wait(1.0) and not self._over.is_set():
                pass
        late = (time.monotonic() - asked) * 1000
        self._asked_at = None
        # Quick to rise and slow to fall: one stall is seen for about a second.
        self._lag_ms = max(late, 0.95 * self._lag_ms)
        if stack and not self._over.is_set():
            self._stalled(late)
            self._tell(late, stack)

    def _tell(self, late: float, stack: str) -> None:
        now = time.monotonic()
        if now - self._told_at < TELL_SEC:
            self._untold += 1
            return
        others = f"; {self._untold} more since the last such line" if self._untold else ""
        log.info("the event loop stalled for %.0f ms at %s%s", late, stack, others)
        self._told_at, self._untold = now, 0


def stack_of(frame: FrameType | None) -> str:
    """The calls that led to a frame, as file and line; empty if the loop only waits its turn."""
    calls: list[str] = []
    while frame is not None:
        calls.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
        frame = frame.f_back
    if not calls or calls[0].split(":")[0] in IDLE:
        return ""  # the machine is busy with others, or just now it has gone on
    return " > ".join(reversed(calls[:CALLS]))
