"""A disk that is full, slow, broken or gone, memory that is piled up, a machine that is suspended:
people go on talking."""

import asyncio
import errno
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from models.types import WIRE_RATE, Turn
from server.bench.process import served
from server.recording.record import read
from server.reply import DEFAULT_MAX_TOKENS, LETTERS
from tests import leaving
from tests.live_person import LivePerson, kept_in_order, live
from tests.nothing_left import nothing_left, own_temporary_files
from tests.serving import serving, standins
from tests.talker import HUSH, Talker, play_until, talking
from tests.test_faults_backends import (
    HOUSEHOLD,
    consent,
    finished,
    problems,
    ready,
    recorded,
    turn,
    two,
)
from tests.test_recording import _until_stopped

pytestmark = [pytest.mark.slow, pytest.mark.alone]

MB = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path, None, None]:
    """A disk of three megabytes, where we may make one."""
    where = tmp_path / "disk"
    where.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(where)], capture_output=True
    )
    if made.returncode:
        if os.environ.get("CI") == "true" and os.geteuid() == 0:
            pytest.fail(f"root cannot mount a small disk: {made.stderr.decode().strip()}")
        pytest.skip("only root can mount a small disk")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


async def test_a_full_disk_ends_recordings_and_no_conversation(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.recording.scribe.FINISH_AGAIN_SEC", 0.2)
    runs = small_disk / "runs"
    with own_temporary_files(tmp_path / "passing"):
        async with (
            nothing_left(),
            serving(recording={"runs": str(runs)}) as (url, _),
            nothing_left(*HOUSEHOLD),
        ):
            async with talking(url, "?attune=1") as one, talking(url, "?attune=1") as other:
                await consent(one)
                await one.say(HUSH, 90.0)
                told = await asyncio.wait_for(_until_stopped(one), 20)
                assert (told["recording"], told["reason"]) == (False, "disk_full")
                for talker in (one, other):
                    assert (await turn(talker, 0.3))["status"] == "completed"
                status, body = await ready(url)
                assert (status, body["ready"], body["recording"]) == (200, True, "disk_full")
            await asyncio.to_thread(enlarge, small_disk)
            await asyncio.to_thread(finished, runs, 1)  # what had been written is made whole
    assert not problems(runs)


def enlarge(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)


@pytest.mark.parametrize("call", ["os.pwrite", "os.mkdir", "os.open"])
async def test_a_slow_disk_is_not_noticed_by_those_who_talk(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do = getattr(os, call.removeprefix("os."))
    answered, hung = threading.Event(), threading.Event()

    def slowly(*how: Any, **more: Any) -> Any:
        if call == "os.pwrite" or "sess_" in str(how[0]):  # of a session's folder alone
            hung.set()
            assert answered.wait(60), "somebody waits for the disk"
        return do(*how, **more)

    monkeypatch.setattr(call, slowly)
    async with two(standins(), tmp_path / "runs") as (_, _, one, other):
        try:
            for talker in (one, other):
                assert (await turn(talker, 0.3))["status"] == "completed"
            assert hung.is_set()
        finally:
            answered.set()


async def stopped(person: LivePerson) -> str:
    """Wait until they are told that nothing more is recorded, and why."""
    while (told := await person.talker.until("attune.recording"))["recording"]:
        pass
    return str(told["reason"])


async def test_a_disk_that_breaks_for_one_ends_that_recording_and_no_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, runs = os.pwrite, tmp_path / "runs"
    async with (
        recorded(standins(), runs, clock="wall") as (url, _),
        live(url, 1) as one,
        live(url, 2) as other,
    ):
        for person in (one, other):
            assert (await person.turn())["status"] == "completed"

        def broken(file: int, data: bytes, offset: int) -> int:
            if one.session_id in os.readlink(f"/proc/self/fd/{file}"):
                raise OSError(errno.EIO, "Input/output error")
            return write(file, data, offset)

        broke_at = asyncio.get_running_loop().time()
        monkeypatch.setattr("os.pwrite", broken)
        assert await stopped(one) == "disk_error"
        for person in (one, other):
            assert (await person.turn())["status"] == "completed"
        monkeypatch.undo()
        assert len(other.talker.of("attune.recording")) == 1
    kept_in_order(runs, one, until=broke_at - 1.0)
    kept_in_order(runs, other)
    (folder,) = runs.glob(f"*/{one.session_id}")
    assert [each.reason for each in read(folder).stopped] == ["disk_error"]


async def test_a_runs_folder_that_vanishes_ends_recordings_and_no_conversation(
    tmp_path: Path,
) -> None:
    runs = tmp_path / "runs"
    # The list of sessions stays open, and right; the next start makes another.
    index = [f"{runs}/index.sqlite{part} (deleted)" for part in ("", "-wal", "-shm")]
    async with recorded(standins(), runs, 1, index, clock="wall") as (url, _):
        async with live(url, 1) as one, live(url, 2) as other:
            for person in (one, other):
                assert (await person.turn())["status"] == "completed"
            await asyncio.to_thread(shutil.rmtree, runs)
            assert [await stopped(one), await stopped(other)] == ["disk_error"] * 2
            for person in (one, other):
                assert (await person.turn())["status"] == "completed"
        async with live(url, 3) as later:  # who comes after is recorded as ever
            assert (await later.turn())["status"] == "completed"
    kept_in_order(runs, later)
    assert not list(runs.glob(f"*/{one.session_id}"))


# ---- time

SUSPENDED_SEC = 3.0


async def test_a_machine_that_is_suspended_goes_on_where_it_was(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    async with leaving.nothing_left(), served("--models", "standin", runs=runs) as server:
        async with (
            leaving.nothing_left_in(server.process),
            live(server.url, 1) as one,
            live(server.url, 2) as other,
        ):
            assert (await one.turn())["status"] == "completed"
            one.speak(1.0)
            await one.talker.until("response.output_audio.delta")  # it is being spoken to,
            other.speak(2.0)  # and another speaks
            await other.talker.until("input_audio_buffer.speech_started")
            server.process.send_signal(signal.SIGSTOP)
            try:
                await asyncio.sleep(SUSPENDED_SEC)
            finally:
                server.process.send_signal(signal.SIGCONT)
            for person in (one, other):
                done = (await person.talker.until("response.done"))["response"]
                assert done["status"] == "completed"
                await person.hush(1.0)
            for person in (one, other):
                assert (await person.turn())["status"] == "completed"
        await asyncio.to_thread(finished, runs, 2)
        assert not server.problems
    assert not problems(runs)
    for person in (one, other):
        # What came late fills the silence that was counted in for it, and is not counted twice.
        begun, ended = person.frames[0][0], person.frames[-1][0]
        assert kept_in_order(runs, person) / WIRE_RATE <= ended - begun + 1.0


# ---- memory


class Boundless:
    """A Responder that says everything there is, at once."""

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        while max_tokens > 1:
            yield "and so on " * MB


async def test_a_reply_without_measure_is_cut(tmp_path: Path) -> None:
    async with two(standins(responder=Boundless()), tmp_path / "runs") as (_, _, one, other):
        for talker in (one, other):
            await talker.update(output_modalities=["text"])
            await talker.say(0.3, 1.0)
            response = (await play_until(talker, "response.done"))["response"]
            assert response["status"] == "incomplete"
            text = response["output"][0]["content"][0]["text"]
            assert len(text) <= DEFAULT_MAX_TOKENS * LETTERS


async def greedy(talker: Talker) -> None:
    """Send sound as fast as it is taken, and never say that a turn is over."""
    await talker.update(audio={"input": {"turn_detection": None}})
    for _ in range(12):
        await talker.append(bytes(8 * MB))
        await talker.settle()
    refused = {event["error"]["code"] for event in talker.of("error")} - {"invalid_value"}
    assert refused == {"input_audio_buffer_full"}


async def test_what_some_pile_up_is_bounded_and_the_others_go_on(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    async with (
        leaving.nothing_left(),
        served("--models", "standin", "--clock", "samples", runs=runs) as server,
    ):
        async with (
            leaving.nothing_left_in(server.process),
            talking(server.url, "?attune=1") as other,
        ):
            await consent(other)
            assert (await turn(other, 0.3))["status"] == "completed"
            before = server.process.memory_info().rss
            async with AsyncExitStack() as calls:
                many = [await calls.enter_async_context(talking(server.url)) for _ in range(6)]
                await asyncio.gather(*map(greedy, many))
                assert (await turn(other, 0.3))["status"] == "completed"
                # What is not committed, and a message on its way: as read, and as decoded.
                assert server.process.memory_info().rss - before < len(many) * 90 * MB
            assert (await turn(other, 0.3))["status"] == "completed"
        await asyncio.to_thread(finished, runs, 1)
    assert not problems(runs)
