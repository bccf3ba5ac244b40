"""How the backends are that one process looks after, where all processes can read it."""

import mmap
from collections.abc import Sequence
from typing import get_args

import numpy as np

from server.readiness import Backend
from server.supervision import State

STATES: tuple[State, ...] = get_args(State)
STOPPED = STATES.index("stopped")


class NoticeBoard:
    """Made before the processes part; one writes, and each number is written whole."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        count = len(self._names)
        memory = mmap.mmap(-1, max(1, 2 * 8 * count))
        self._states = np.frombuffer(memory, np.int64, count)
        self._restarts = np.frombuffer(memory, np.int64, count, 8 * count)
        self._before = np.zeros(count, np.int64)  # restarts, when who writes now began
        self.all_stopped()

    @property
    def backends(self) -> list[Backend]:
        return [
            Backend(
                name=name, state=STATES[self._states[place]], restarts=int(self._restarts[place])
            )
            for place, name in enumerate(self._names)
        ]

    def write(self, backends: Sequence[Backend]) -> None:
        for place, backend in enumerate(backends):
            self._states[place] = STATES.index(backend.state)
            self._restarts[place] = self._before[place] + backend.restarts

    def all_stopped(self) -> None:
        """Nobody looks after them, and without that none goes on."""
        self._states[:] = STOPPED

    def all_restart(self) -> None:
        """Who looked after them is gone, and with it they; its successor, not born yet, starts them
        again, and knows of no restart before."""
        self.all_stopped()
        self._before = self._restarts + 1
        self._restarts[:] = self._before
