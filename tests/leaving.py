"""Clients that are lost and come back, and what must be gone when they are."""

import asyncio
import gc
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from struct import unpack_from

import psutil
import pytest
from websockets.asyncio.client import connect

from tests.nothing_left import own_temporary_files
from tests.talker import Talker

HEADER = 8


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that tells nobody when it happens."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.005)


def cut(talker: Talker) -> None:
    """The connection is gone, without a word."""
    talker.socket.transport.abort()


def token(talker: Talker) -> str:
    return str(talker.of("attune.session")[-1]["resume_token"])


def last_event(talker: Talker) -> str:
    return str(talker.events[-1]["event_id"])


def back(url: str, lost: Talker, *, after: str | None = None) -> connect:
    """Another connection to the conversation of one that was lost."""
    address = f"{url}?after={after or last_event(lost)}"
    return connect(address, max_size=None, additional_headers={"X-Attune-Resume": token(lost)})


@asynccontextmanager
async def returned(url: str, lost: Talker) -> AsyncGenerator[Talker, None]:
    """The one who was lost is back, and has been told so."""
    async with back(url, lost) as socket:
        talker = Talker(socket)
        await talker.until("attune.resumed")
        yield talker


def heard(*talkers: Talker) -> dict[int, bytes]:
    """The sound of each response by its sequence; fails if anything is missing in it."""
    replies: dict[int, bytes] = {}
    for frame in (frame for talker in talkers for frame in talker.audio):
        sequence, offset = unpack_from("<II", frame)
        so_far = replies.get(sequence, b"")
        assert offset * 2 <= len(so_far), "something is missing"
        replies[sequence] = so_far[: offset * 2] + frame[HEADER:]
    return replies


@asynccontextmanager
async def nothing_left() -> AsyncGenerator[None, None]:
    """Afterwards there are no more tasks, threads, connections and files than before.

    Temporary files count as well, those of processes started meanwhile among them.
    """
    gc.collect()
    tasks, threads, files = asyncio.all_tasks(), _threads(), _opened()
    with (
        tempfile.TemporaryDirectory() as folder,
        own_temporary_files(Path(folder)),
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("TMPDIR", folder)
        yield
        gc.collect()
        await until(lambda: asyncio.all_tasks() <= tasks)
        await until(lambda: _opened() <= files)
        await until(lambda: _threads() <= threads)
        await until(lambda: not any(Path(folder).iterdir()))


@asynccontextmanager
async def nothing_left_in(process: psutil.Process) -> AsyncGenerator[None, None]:
    """Afterwards another process has no more connections and open files than before."""
    before = _opened(process)
    yield
    await until(lambda: _opened(process) <= before)


def _opened(process: psutil.Process | None = None) -> set[object]:
    """Not what onnxruntime opens for itself when it is first used."""
    process = process or psutil.Process()
    paths = {file.path for file in process.open_files()}
    files: set[object] = {path for path in paths if ".onnxruntime" not in path}
    return files | {(line.laddr, line.raddr) for line in process.net_connections("tcp")}


def _threads() -> set[threading.Thread]:
    """All but those in which the event loop has somebody else wait; they are kept, and few."""
    return {each for each in threading.enumerate() if not each.name.startswith("asyncio_")}
