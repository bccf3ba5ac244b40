"""What a conversation, or a server, must give back: tasks, threads, sockets, files."""

import asyncio
import os
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

PATIENCE_SEC = 10.0
SHARED = ("asyncio_",)  # threads of the event loop's own pool, which end with it


@dataclass(frozen=True, slots=True)
class Held:
    """What this process holds."""

    tasks: Counter[str]
    threads: Counter[str]
    open: Counter[str]  # files, sockets, pipes
    passing: Counter[str]  # temporary files

    @staticmethod
    def now() -> "Held":
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        return Held(
            Counter(getattr(task.get_coro(), "__qualname__", "?") for task in tasks),
            Counter(t.name for t in threading.enumerate() if not t.name.startswith(SHARED)),
            Counter(_open()),
            Counter(path.name for path in Path(tempfile.gettempdir()).iterdir()),
        )

    def beyond(self, before: "Held", but: Collection[str] = ()) -> dict[str, dict[str, int]]:
        """What there is more of than there was."""
        found = {}
        for kind in ("tasks", "threads", "open", "passing"):
            more = getattr(self, kind) - getattr(before, kind)
            if named := {name: count for name, count in more.items() if name not in but}:
                found[kind] = named
        return found


def _open() -> Iterator[str]:
    """By kind, for their numbers are used again."""
    for number in os.listdir("/proc/self/fd"):
        try:
            where = os.readlink(f"/proc/self/fd/{number}")
        except OSError:  # the one that lists them
            continue
        if "onnxruntime.db" not in where:  # opened once, by its library, when that is imported
            yield where.partition(":")[0] if ":[" in where else where


@asynccontextmanager
async def nothing_left(*but: str) -> AsyncGenerator[None, None]:
    """Whatever begins within is over soon after it, but for these."""
    before = Held.now()
    yield
    try:
        async with asyncio.timeout(PATIENCE_SEC):
            while Held.now().beyond(before, but):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"left behind: {Held.now().beyond(before, but)}") from None


@contextmanager
def own_temporary_files(folder: Path) -> Iterator[None]:
    """Others put theirs elsewhere meanwhile."""
    before = tempfile.tempdir
    folder.mkdir(exist_ok=True)
    tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
