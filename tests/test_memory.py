"""Little memory: how it is measured, who notices, and that it passes."""

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from server.memory import MB, MemoryWatch, free_share, used_by_us
from tests.serving import standins
from tests.talker import Talker, talking
from tests.test_faults_backends import consent, recorded

TOKEN = "the operator's own token"
GB = 1 << 30


# ---- how much there is


def group(folder: Path, limit: str, used: int, cache: int, *, old: bool = False) -> None:
    """A control group, as Linux shows it."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    limited, current, cached = names if old else ("memory.max", "memory.current", "inactive_file")
    (folder / limited).write_text(f"{limit}\n")
    (folder / current).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon {used - cache}\n{cached} {cache}\n")


def member(root: Path, line: str) -> None:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(f"{line}\n")


def test_in_a_container_its_own_limit_counts_and_what_can_be_given_back_is_free(
    tmp_path: Path,
) -> None:
    member(tmp_path, "0::/")
    group(tmp_path / "sys/fs/cgroup", str(GB), used=GB * 3 // 4, cache=GB // 4)
    assert free_share(tmp_path) == 0.5


def test_of_several_limits_the_nearest_counts(tmp_path: Path) -> None:
    member(tmp_path, "0::/a/b")
    mounted = tmp_path / "sys/fs/cgroup"
    group(mounted / "a/b", "max", used=GB, cache=0)
    group(mounted / "a", str(GB), used=GB // 2, cache=0)
    group(mounted, str(2 * GB), used=GB, cache=0)
    assert free_share(tmp_path) == 0.5
    group(mounted, str(2 * GB), used=2 * GB, cache=GB // 2)
    assert free_share(tmp_path) == 0.25


def test_the_older_kind_of_groups_is_known_too_also_by_a_path_that_only_the_host_has(
    tmp_path: Path,
) -> None:
    member(tmp_path, "4:memory:/docker/0123\n3:cpu:/")
    group(tmp_path / "sys/fs/cgroup/memory", str(GB), used=GB, cache=GB // 8, old=True)
    assert free_share(tmp_path) == 0.125


@pytest.mark.parametrize("limit", ["max", "9223372036854771712"])
def test_without_a_limit_the_machine_counts(tmp_path: Path, limit: str) -> None:
    machine = psutil.virtual_memory()
    nowhere = free_share(tmp_path)
    member(tmp_path, "0::/")
    group(tmp_path / "sys/fs/cgroup", limit, used=GB, cache=0)
    for found in (nowhere, free_share(tmp_path)):
        assert found == pytest.approx(machine.available / machine.total, abs=0.05)


# ---- who notices


@asynccontextmanager
async def taking(size: int) -> AsyncGenerator[None, None]:
    """A child of ours that has so many bytes in memory."""
    held = f"import sys; held = b'x' * {size}; print('full', flush=True); sys.stdin.read()"
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        held,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout and child.stdin
    try:
        assert await child.stdout.readline() == b"full\n"
        yield
    finally:
        child.stdin.close()
        await child.communicate()
        await child.wait()


async def test_what_children_use_is_ours() -> None:
    before = used_by_us()
    async with taking(100 * MB):
        assert await asyncio.to_thread(used_by_us) > before + 100 * MB
    assert used_by_us() < before + 50 * MB


class Broken:
    """Memory that can be looked at only now and then: a share, or what comes of looking."""

    def __init__(self, *found: float | Exception) -> None:
        self.found = list(found)
        self.watch = MemoryWatch()
        self.seen: list[float | None] = []  # at each next look, what was known by then

    def look(self) -> float:
        self.seen.append(self.watch.free)
        found = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(found, Exception):
            raise found
        return found


async def test_memory_that_cannot_be_looked_at_is_unknown_said_once_and_looked_at_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("server.memory.LOOK_SEC", 0.0)
    broken = Broken(0.03, psutil.Error(), MemoryError(), OSError(24, "Too many open files"), 0.5)
    monkeypatch.setattr("server.memory.free_share", broken.look)
    watching = asyncio.create_task(broken.watch.watch())
    async with asyncio.timeout(20):
        while broken.watch.free != 0.5:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
    watching.cancel()
    assert broken.seen[:5] == [None, 0.03, None, None, None]
    assert [each.levelname for each in caplog.records if each.name == "server.memory"] == ["ERROR"]


async def test_where_no_thread_can_be_started_to_look_memory_is_unknown_and_then_known_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("server.memory.LOOK_SEC", 0.0)
    start, refused = threading.Thread.start, asyncio.Event()

    def none_to_be_had(thread: threading.Thread) -> None:
        refused.set()
        raise RuntimeError("can't start new thread")

    watch = MemoryWatch()
    watch.free = 0.03
    monkeypatch.setattr(threading.Thread, "start", none_to_be_had)
    watching = asyncio.create_task(watch.watch())
    await refused.wait()
    await asyncio.sleep(0)
    assert watch.free is None and not watching.done()
    monkeypatch.setattr(threading.Thread, "start", start)
    async with asyncio.timeout(20):
        while watch.free is None:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)
    watching.cancel()


async def refused(url: str) -> tuple[dict[str, Any], int | None]:
    """What somebody is told who knows of no queue."""
    async with connect(url) as socket:
        stock = Talker(socket)
        error: dict[str, Any] = (await stock.until("error"))["error"]
        with pytest.raises(ConnectionClosed) as closed:
            await stock.next()
    return error, closed.value.rcvd.code if closed.value.rcvd else None


async def spoken_to(talker: Talker) -> None:
    await talker.ask()
    done = await talker.until("response.done")
    assert done["response"]["status"] == "completed"


@pytest.mark.slow
async def test_without_memory_those_who_talk_go_on_and_nobody_new_comes_until_it_is_back(
    tmp_path: Path,
) -> None:
    most = 2 * max(300 * MB, used_by_us())
    admission = {
        "measured": True,
        "target_ms": 1e6,  # other programs may be what makes it slow
        "memory_mb": most / MB,  # half of it is free at least,
        "memory_free": 0.1,  # a tenth has to be
    }
    async with (
        recorded(
            standins(),
            tmp_path / "runs",
            1,
            clock="wall",
            admission=admission,
            operator_token=TOKEN,
        ) as (url, house),
        httpx2.AsyncClient(
            base_url=url.replace("ws:", "http:").removesuffix("/v1/realtime")
        ) as web,
        talking(url, "?attune=1") as one,
        talking(url) as other,
    ):

        async def seats_free() -> int:
            answer = await web.get("/ready")
            assert answer.status_code == 200  # who talks is served, and that is what it tells
            found: int = answer.json()["seats_free"]
            return found

        async def until_seats(there: bool) -> None:
            async with asyncio.timeout(60):
                while (await seats_free() > 0) != there:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.1)

        async def pressure() -> dict[str, Any]:
            answer = await web.get("/api/system", headers={"Authorization": f"Bearer {TOKEN}"})
            found: dict[str, Any] = answer.json()["pressure"]
            return found

        await until_seats(True)
        await consent(one)
        for talker in (one, other):
            await spoken_to(talker)
        async with taking(int(0.95 * most) - used_by_us()):
            await until_seats(False)
            error, code = await refused(url)
            assert (error["type"], error["code"]) == ("server_error", "session_limit_reached")
            assert "short of memory" in error["message"]
            assert code == 1013
            told = await pressure()
            assert told["level"] == 4 and "seats" in told["without"] and told["strain"] >= 0.9
            for talker in (one, other):
                await spoken_to(talker)
            waits = Talker(await connect(f"{url}?attune=1"))
            queued = await waits.next()
            assert (queued["type"], queued["position"]) == ("attune.queue", 1)
            assert queued["estimate_sec"] is None
        await waits.until("session.created")  # it is back: whoever waited comes in first
        assert not house.porter.short_of_memory
        for talker in (waits, one, other):
            await spoken_to(talker)
        assert [told["recording"] for told in one.of("attune.recording")][-1]
        await waits.socket.close()
        await until_seats(True)
        async with talking(url) as new:
            await spoken_to(new)
