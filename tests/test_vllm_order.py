"""A real vLLM that forms one reply at a time, and whom it lets wait."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from time import monotonic

import pytest

from models.due import needed
from models.prompt import messages
from models.responder_vllm import VllmResponder
from models.types import Turn
from tests.test_vllm import ENDLESS, LONG, STORY, asking, metric
from tests.vllm_serving import PYTHON, READY_SEC, VllmServer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]  # vLLM is slow to start

WORDS = 4  # tokens of a short reply


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    if not PYTHON.exists():
        pytest.skip("make vllm-cpu makes .venv-vllm")
    log = tmp_path_factory.mktemp("vllm") / "log.txt"
    alone = VllmServer(log, options=["--max-num-seqs", "1"])
    alone.start()
    yield alone
    alone.stop()


async def waiting(server: VllmServer, count: int) -> None:
    async with asyncio.timeout(20):
        while await metric(server, "num_requests_waiting") != count:
            pass


async def test_of_replies_that_wait_the_one_needed_first_is_begun_first(
    server: VllmServer, caplog: pytest.LogCaptureFixture
) -> None:
    responder = asking(server, priority=True, first_token_sec=READY_SEC, stall_sec=READY_SEC)
    begun: list[str] = []

    async def ask(name: str, in_sec: float) -> None:
        with needed(lambda: monotonic() + in_sec):
            async with aclosing(_reply(responder, "", "Hello.", WORDS)) as pieces:
                await anext(pieces)
                begun.append(name)
                async for _ in pieces:
                    pass

    async with aclosing(_reply(responder, ENDLESS, STORY, LONG)) as story:
        await anext(story)
        asked = []
        for place, (name, in_sec) in enumerate({"later": 60.0, "sooner": 1.0}.items()):
            asked.append(asyncio.create_task(ask(name, in_sec)))
            await waiting(server, place + 1)
        await anext(story)  # it goes on, and nobody takes its place
        assert not begun
    await asyncio.gather(*asked)
    assert begun == ["sooner", "later"]
    assert not [each for each in caplog.records if "priority" in each.getMessage()]


def _reply(responder: VllmResponder, told: str, said: str, most: int) -> AsyncGenerator[str, None]:
    return responder.respond(messages(told, [Turn("user", said)]), most)
