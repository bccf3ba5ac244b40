"""Whatever a client sends, it is answered in the protocol's form, and the conversation lives."""

import asyncio
import logging
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from websockets.asyncio.client import connect

from server.house import House
from tests.fuzzing import SEQUENCES, Message
from tests.serving import serving
from tests.talker import Talker

CORPUS = Path(__file__).parent / "data" / "fuzz"
CALM = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
HOURS = 60.0  # a fuzzed conversation that takes this long hangs


def filled(message: Message, talker: Talker) -> Message:
    """A message with ids of things that are there in place of their marks."""
    if isinstance(message, bytes) or "<" not in message:
        return message
    items = [event["item"]["id"] for event in talker.of("conversation.item.added")]
    responses = [event["response"]["id"] for event in talker.of("response.created")]
    message = message.replace("<item>", items[-1] if items else "none")
    return message.replace("<response>", responses[-1] if responses else "none")


async def survive(url: str, messages: Sequence[Message]) -> None:
    """Send it all, and see that what follows is still answered."""
    async with asyncio.timeout(HOURS), connect(url + "?attune=1", max_size=None) as socket:
        talker = Talker(socket)
        await talker.until("conversation.created")
        for message in messages:
            await socket.send(filled(message, talker))
        await talker.settle()
        for event in talker.of("error"):
            assert event["error"]["type"] == "invalid_request_error", event


def written(messages: Sequence[Message]) -> list[Any]:
    """Messages as the corpus keeps them, a frame as base64."""
    return [m if isinstance(m, str) else {"frame": b64encode(m).decode()} for m in messages]


def kept() -> list[tuple[str, list[Message]]]:
    """Sequences that once went wrong, or nearly did."""
    found: list[tuple[str, list[Message]]] = []
    for file in sorted(CORPUS.glob("*.json")):
        read = orjson.loads(file.read_bytes())
        found.append(
            (file.stem, [m if isinstance(m, str) else b64decode(m["frame"]) for m in read])
        )
    return found


async def fuzz(examples: int, *, repeatable: bool, caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as (url, house):
        loop = asyncio.get_running_loop()

        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=repeatable,
            database=None,
            suppress_health_check=CALM,
            phases=[Phase.generate, Phase.shrink],
        )
        @given(SEQUENCES)
        def all_survive(messages: list[Message]) -> None:
            asyncio.run_coroutine_threadsafe(survive(url, messages), loop).result(HOURS)
            failed = [r for r in caplog.records if r.levelno >= logging.ERROR]
            assert not failed, [record.getMessage() for record in failed]

        await asyncio.to_thread(all_survive)
        await _empty(house)


async def _empty(house: House) -> None:
    """Nobody who hung up is still sitting there."""
    async with asyncio.timeout(20):
        while house.sessions:  # noqa: ASYNC110 - the house tells nobody of its leaving guests
            await asyncio.sleep(0.01)


async def test_any_messages_are_answered_and_the_conversation_lives(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await fuzz(25, repeatable=True, caplog=caplog)


@pytest.mark.slow
async def test_any_messages_are_answered_and_the_conversation_lives_at_length(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await fuzz(500, repeatable=False, caplog=caplog)


@pytest.mark.parametrize(("name", "messages"), kept())
async def test_what_once_went_wrong_goes_right(
    name: str, messages: list[Message], caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as (url, house):
        await survive(url, messages)
        await _empty(house)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
