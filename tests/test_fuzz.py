"""Whatever a client sends, it is answered in the protocol's form, and the conversation lives."""

import asyncio
import logging
from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import Phase, given, settings
from websockets.asyncio.client import connect

from models.audio import encode_pcm16
from server.house import House
from tests.fuzz_corpus import CALM, CORPUS, NASTY, keep, kept
from tests.fuzzing import SEQUENCES, Message
from tests.serving import serving
from tests.talker import HUSH, VOICE, Talker, sound

HOURS = 60.0  # a fuzzed conversation that takes this long hangs
LARGE = {
    "<voice>": b64encode(encode_pcm16(sound(VOICE, 0.5))).decode(),
    "<hush>": b64encode(encode_pcm16(sound(HUSH, 1.0))).decode(),
    "<crowd>": ",".join(['{"a":[1,2]}'] * 100_000),  # no sound, and slow to read
}


def filled(message: Message, talker: Talker) -> Message:
    """A message with what is large, and ids of things that are there, in place of their marks."""
    if isinstance(message, bytes) or "<" not in message:
        return message
    items = [event["item"]["id"] for event in talker.of("conversation.item.added")]
    responses = [event["response"]["id"] for event in talker.of("response.created")]
    for mark, encoded in LARGE.items():
        message = message.replace(mark, encoded)
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


async def fuzz(
    examples: int, *, repeatable: bool, caplog: pytest.LogCaptureFixture, corpus: Path = CORPUS
) -> None:
    """Try so many sequences; the least that goes wrong is kept, and tried ever after."""
    async with serving() as (url, house):
        loop = asyncio.get_running_loop()
        tried: list[Message] = []

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
            tried[:] = messages
            caplog.clear()  # what an earlier one made the server say is not of this one
            asyncio.run_coroutine_threadsafe(survive(url, messages), loop).result(HOURS)
            failed = [r for r in caplog.records if r.levelno >= logging.ERROR]
            assert not failed, [record.getMessage() for record in failed]

        try:
            await asyncio.to_thread(all_survive)
        except Exception as error:
            # Hypothesis runs the least that fails once more before it gives up.
            error.add_note(f"kept as {keep(tried, corpus)}: commit it with what mends it")
            raise
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncGenerator[tuple[str, House], None]:
    """One server for all that is kept: to start one takes longer than to try a sequence."""
    async with serving() as started:
        yield started


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "messages", [pytest.param(messages, id=name) for name, messages in kept(CORPUS)]
)
async def test_what_once_went_wrong_goes_right(
    messages: list[Message], shared: tuple[str, House], caplog: pytest.LogCaptureFixture
) -> None:
    """Or might have: most of the corpus was written down, or drawn, before it ever did."""
    url, house = shared
    await survive(url, messages)
    await _empty(house)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_the_corpus_holds_what_its_command_writes_and_more_but_is_small() -> None:
    found = dict(kept(CORPUS))
    assert {name: found.get(name) for name in NASTY} == {n: [*some] for n, some in NASTY.items()}
    assert sum(name.startswith("drawn-") for name in found) >= 10
    assert sum(file.stat().st_size for file in CORPUS.iterdir()) < 200_000


def test_a_corpus_with_nothing_in_it_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="nothing is kept"):
        kept(tmp_path)


async def test_the_least_that_goes_wrong_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def survive_no_frames(url: str, messages: Sequence[Message]) -> None:
        assert not any(isinstance(message, bytes) for message in messages)

    monkeypatch.setattr("tests.test_fuzz.survive", survive_no_frames)
    with pytest.raises(AssertionError) as caught:
        await fuzz(50, repeatable=True, caplog=caplog, corpus=tmp_path)
    [(name, messages)] = kept(tmp_path)
    assert messages == [b""] and name.startswith("found-")
    assert f"{name}.json" in caught.value.__notes__[-1]
