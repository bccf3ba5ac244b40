"""A real vLLM, held in the middle of a reply, and killed in another: apologised for both times,
waited for or started again, and used again. One that is only slow is waited for."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from server.config import BackendProcess
from server.house import House
from server.reply import RESTING
from server.supervision import Supervision
from tests.talker import HUSH, Event, Talker, play_until
from tests.test_app import until
from tests.test_faults_backends import ready, told_plainly, two
from tests.test_vllm import endless_story, said, storyteller
from tests.vllm_serving import ENVIRONMENT, PYTHON, READY_SEC, VllmServer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]  # vLLM is slow to start

HELD_SEC, FREE_SEC = 0.2, 0.1  # of one that is slowed to a third
WAITER = "asyncio-waitpid-"  # and a number, counted up by asyncio


@dataclass(frozen=True, slots=True)
class Kept:
    """The one vLLM of this file, and who looks after it."""

    server: VllmServer
    supervision: Supervision

    @property
    def engine(self) -> psutil.Process:
        """The process that was told to listen there."""
        port = self.server.url.split(":")[2].removesuffix("/v1")
        return next(
            process
            for process in psutil.Process().children(recursive=True)
            if process.cmdline()[:1] == [str(PYTHON)] and port in process.cmdline()
        )

    @property
    def family(self) -> list[psutil.Process]:
        return [self.engine, *self.engine.children(recursive=True)]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    if not PYTHON.exists():
        pytest.skip("make vllm-cpu makes .venv-vllm")
    logs = tmp_path_factory.mktemp("vllm")
    server = VllmServer(logs / "unused.log")
    process = BackendProcess(
        command=server.command,
        ready=server.health,
        env=ENVIRONMENT,
        start_sec=READY_SEC,
        misses=1_000,  # one that is only held is to come back by itself
        log=logs / "vllm.log",
    )
    with Supervision({"vllm": process}).at_work() as supervision:
        supervision.wait_until_up()
        yield Kept(server, supervision)
        there = Kept(server, supervision).engine
    assert not there.is_running()


def next_waiter() -> str:
    """The thread that will wait for the end of the next backend to be started."""
    waiters = [each.name for each in threading.enumerate() if each.name.startswith(WAITER)]
    return f"{WAITER}{1 + max(int(name.removeprefix(WAITER)) for name in waiters)}"


@contextmanager
def held(processes: list[psutil.Process]) -> Iterator[None]:
    """They stand still meanwhile."""
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


@asynccontextmanager
async def slowed(processes: list[psutil.Process]) -> AsyncGenerator[None, None]:
    """They get on by fits and starts meanwhile."""

    async def hinder() -> None:
        while True:
            with held(processes):
                await asyncio.sleep(HELD_SEC)
            await asyncio.sleep(FREE_SEC)

    hindering = asyncio.create_task(hinder())
    try:
        yield
    finally:
        hindering.cancel()
        await asyncio.wait([hindering])


async def asked(talker: Talker) -> Event:
    """One turn, and a short answer or what is said in place of one."""
    await talker.say(HUSH, 8.0)  # until the last of what was said before has sounded
    await talker.update(max_output_tokens=8)
    await talker.ask()
    response: Event = (await play_until(talker, "response.done"))["response"]
    return response


async def answered(talker: Talker) -> None:
    response = await asked(talker)
    assert response["status"] == "incomplete" and "sorry" not in said(response)


async def seconds_until_answered(talker: Talker) -> float:
    begun = time.monotonic()
    await answered(talker)
    return time.monotonic() - begun


async def closed(house: House) -> None:
    """Wait until it is asked again; it is tried every half minute at worst."""
    async with asyncio.timeout(READY_SEC):
        while house.breakers["responder"].state != "closed":  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.2)


async def test_a_held_engine_is_apologised_for_told_of_and_used_once_it_goes_on(
    kept: Kept, tmp_path: Path
) -> None:
    models = storyteller(kept.server)
    async with two(models, tmp_path / "runs") as (url, house, one, other):
        house.supervised = kept.supervision
        await answered(other)
        await endless_story(one)
        with held(kept.family):
            broken = (await play_until(one, "response.done"))["response"]
            told_plainly(one, broken, "responder")
            assert "stopped in mid-reply" in broken["status_details"]["error"]["message"]
            assert house.breakers["responder"].opened == 1
            status, body = await ready(url)
            assert status == 503
            assert body["unable"] == [{"role": "responder", "state": "hung", "needed": True}]
            away = await asked(other)  # who is told at once, and does not wait for it
            told_plainly(other, away, "responder")
            assert said(away).endswith(RESTING)
        await closed(house)
        assert (await ready(url))[0] == 200
        await answered(one)
        await answered(other)
    assert kept.supervision.backends[0].restarts == 0


async def test_a_slowed_engine_answers_everybody_late_and_is_not_left_alone(
    kept: Kept, tmp_path: Path
) -> None:
    async with two(storyteller(kept.server), tmp_path / "runs") as (url, house, one, other):
        house.supervised = kept.supervision
        await asyncio.gather(answered(one), answered(other))
        soon = await seconds_until_answered(one)
        async with slowed(kept.family):
            late, _ = await asyncio.gather(seconds_until_answered(one), answered(other))
            assert (await ready(url))[0] == 200
        assert late > soon + HELD_SEC
        assert all(breaker.opened == 0 for breaker in house.breakers.values())
        await asyncio.gather(answered(one), answered(other))
    assert kept.supervision.backends[0].restarts == 0


async def test_a_killed_engine_is_apologised_for_started_again_and_used_again(
    kept: Kept, tmp_path: Path
) -> None:
    supervision = kept.supervision
    models = storyteller(kept.server)
    async with two(models, tmp_path / "runs", [next_waiter()]) as (_, house, one, other):
        house.supervised = supervision
        await endless_story(one)
        family = kept.family
        os.kill(family[0].pid, signal.SIGKILL)
        broken = (await play_until(one, "response.done"))["response"]
        told_plainly(one, broken, "responder")
        await until(lambda: supervision.backends[0].restarts == 1)
        assert not any(process.is_running() for process in family)
        for talker in (one, other):
            told_plainly(talker, await asked(talker), "responder")

        async with asyncio.timeout(READY_SEC):
            while supervision.backends[0].state != "up":  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.2)
        await closed(house)
        await answered(one)
        await answered(other)
