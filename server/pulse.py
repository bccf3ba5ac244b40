"""How hard process and machine work, and whether the event loop keeps time."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import psutil

from server.percentiles import Lately

BEAT_SEC = 0.25
BEATS = 8  # to a sample: one every two seconds
KEPT = 150  # samples: five minutes
LAG_SEC = 60.0
MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Load:
    """What was measured over the last two seconds, or at their end."""

    process_cpu: float  # percent of one core
    machine_cpu: float  # percent of all cores
    memory_mb: float  # of this process
    seats_taken: int
    lag_ms: float  # the worst in that time


class Pulse:
    """A light ticker: what it finds late, a conversation would have found late."""

    def __init__(self, seats_taken: Callable[[], int]) -> None:
        self.lag = Lately(LAG_SEC, 12)
        self.samples: deque[Load] = deque(maxlen=KEPT)
        self._seats_taken = seats_taken
        self._process = psutil.Process()
        self._worst = 0.0
        self._sample()

    async def beat(self) -> None:
        """For as long as the server runs."""
        loop = asyncio.get_running_loop()
        while True:
            for _ in range(BEATS):
                due = loop.time() + BEAT_SEC
                await asyncio.sleep(BEAT_SEC)
                late = max(0.0, (loop.time() - due) * 1000)
                self.lag.add(late)
                self._worst = max(self._worst, late)
            with suppress(OSError, MemoryError, psutil.Error):  # more files open than may be, say
                self._sample()

    @property
    def load(self) -> Load:
        return self.samples[-1]

    @property
    def lag_ms(self) -> float:
        """The worst of the last seconds."""
        return max(self._worst, self.load.lag_ms)

    @property
    def threads(self) -> int:
        return int(self._process.num_threads())

    @property
    def memory_percent(self) -> float:
        """Of the machine's memory, by whomever."""
        return float(psutil.virtual_memory().percent)

    def _sample(self) -> None:
        """Rates are since the sample before."""
        self.samples.append(
            Load(
                process_cpu=float(self._process.cpu_percent()),
                machine_cpu=float(psutil.cpu_percent()),
                memory_mb=round(self._process.memory_info().rss / MB, 1),
                seats_taken=self._seats_taken(),
                lag_ms=round(self._worst, 1),
            )
        )
        self._worst = 0.0


def cores() -> int:
    """That this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def load_average() -> tuple[float, float, float] | None:
    try:
        return os.getloadavg()
    except (AttributeError, OSError):
        return None
