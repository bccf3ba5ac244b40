"""The clocks replies are paced by: the wall's, or the samples received."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol


class Gate:
    """Closed until opened; whoever waits at it is not busy."""

    def __init__(self, clock: "Clock") -> None:
        self._clock = clock
        self._opened = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return self._opened.is_set()

    def open(self) -> None:
        self._opened.set()

    def shut(self) -> None:
        self._opened.clear()

    async def wait(self) -> None:
        if not self._opened.is_set():
            with self._clock.resting():
                await self._opened.wait()


class Resting(Protocol):
    def __enter__(self) -> object: ...
    def __exit__(self, *exc: object) -> None: ...


class Clock(Protocol):
    goes_on: bool  # whether time passes by itself

    def time(self) -> float: ...
    async def until(self, time: float) -> None: ...
    def spawn(self, tasks: asyncio.TaskGroup, work: Coroutine[Any, Any, None]) -> "Task": ...
    def resting(self) -> Resting: ...
    async def settle(self) -> None: ...
    def advance(self, time: float) -> None: ...


Task = asyncio.Task[None]


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None


class WallClock:
    """Real time: what live conversations are paced by."""

    goes_on = True

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._nothing = _Nothing()

    def time(self) -> float:
        return self._loop.time()

    async def until(self, time: float) -> None:
        if (wait := time - self._loop.time()) > 0:
            await asyncio.sleep(wait)

    def spawn(self, tasks: asyncio.TaskGroup, work: Coroutine[Any, Any, None]) -> Task:
        return tasks.create_task(work)

    def resting(self) -> Resting:
        return self._nothing

    async def settle(self) -> None:
        return None

    def advance(self, time: float) -> None:
        return None


class SampleClock:
    """Time is audio received, and stands still while anything spawned is at work.

    Models therefore seem to take no time at all, and the same recording gives the same
    conversation at whatever speed it is sent.
    """

    goes_on = False

    def __init__(self) -> None:
        self._now = 0.0
        self._busy = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._waiting: list[tuple[float, asyncio.Future[None]]] = []

    def time(self) -> float:
        return self._now

    async def until(self, time: float) -> None:
        if time <= self._now:
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (time, woken)
        self._waiting.append(entry)
        self._add(-1)
        try:
            await woken
        finally:
            if entry in self._waiting:  # cancelled before its time came: nobody counted it back
                self._waiting.remove(entry)
                self._add(+1)

    def advance(self, time: float) -> None:
        self._now = time
        due = [entry for entry in self._waiting if entry[0] <= time]
        for entry in due:
            self._waiting.remove(entry)
            self._add(+1)  # here, not when the task wakes: settle() must already see it
            if not entry[1].done():
                entry[1].set_result(None)

    def spawn(self, tasks: asyncio.TaskGroup, work: Coroutine[Any, Any, None]) -> Task:
        self._add(+1)
        task = tasks.create_task(work)
        task.add_done_callback(lambda _: self._add(-1))
        return task

    def resting(self) -> Resting:
        return _Rest(self._add)

    async def settle(self) -> None:
        """Wait until everything spawned is done, or waits for time to pass or for a gate."""
        await asyncio.sleep(0)
        await self._quiet.wait()

    def _add(self, change: int) -> None:
        self._busy += change
        assert self._busy >= 0, "something rested twice"
        if self._busy:
            self._quiet.clear()
        else:
            self._quiet.set()


class _Rest:
    def __init__(self, add: Callable[[int], None]) -> None:
        self._add = add

    def __enter__(self) -> None:
        self._add(-1)

    def __exit__(self, *exc: object) -> None:
        self._add(+1)
