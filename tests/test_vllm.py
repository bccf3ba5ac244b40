"""Replies by a real vLLM on the CPU, alone and in spoken conversations."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, aclosing
from typing import Any

import numpy as np
import pytest

from models import registry
from models.errors import BackendError
from models.prompt import messages
from models.protocols import Models
from models.registry import Choice
from models.responder_vllm import VllmResponder
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Turn
from server.config import PROFILES
from tests.fakes import loudest
from tests.serving import serving, standins
from tests.talker import HUSH, Talker, play_until, talking

# What every responder is held to; run here as well, with the fixture below.
from tests.test_backends import (  # noqa: F401
    test_a_reply_comes_in_pieces_no_more_than_allowed,
    test_a_reply_may_be_cancelled_while_it_waits,
    test_a_reply_may_be_left_at_any_piece,
    test_more_replies_than_slots_are_all_given,
    test_the_same_dialogue_is_answered_the_same,
)
from tests.test_real_conversation import spoken, words
from tests.vllm_serving import NAME, PYTHON, VllmServer

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]  # vLLM is slow to start

ENDLESS = "You are a storyteller who tells endless stories."
STORY = "Tell me a long story about the sea."
LONG = 1000  # tokens; such a story is never over when a test leaves it
ABORT_SEC = 1.0


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    if not PYTHON.exists():
        pytest.skip("make vllm-cpu makes .venv-vllm")
    server = VllmServer(tmp_path_factory.mktemp("vllm") / "log.txt")
    yield server
    server.stop()


@pytest.fixture
def server(house: VllmServer) -> VllmServer:
    if not house.running:  # yet, or since a test has killed it
        house.start()
    return house


@pytest.fixture
def responder(server: VllmServer) -> VllmResponder:
    return asking(server)


def asking(server: VllmServer, **options: Any) -> VllmResponder:
    return VllmResponder(server.url, **{"temperature": 0, **options})


async def reply(responder: VllmResponder, turns: list[Turn], max_tokens: int = 24) -> str:
    async with aclosing(responder.respond(turns, max_tokens)) as pieces:
        said = [piece async for piece in pieces]
    assert len(said) > 1  # streamed
    return "".join(said)


async def metric(server: VllmServer, name: str) -> float:
    return await asyncio.to_thread(server.metric, name)


async def replying(server: VllmServer, count: int, within: float = 20.0) -> None:
    async with asyncio.timeout(within):
        while await metric(server, "num_requests_running") != count:
            pass


async def nothing_is_made(server: VllmServer) -> None:
    """It stops soon, and stands still while it has time for more."""
    await replying(server, 0, within=ABORT_SEC)
    made = await metric(server, "generation_tokens_total")
    await reply(asking(server), messages("", [Turn("user", "Hello.")]), 2)
    assert await metric(server, "generation_tokens_total") == made + 2


# ---- alone


async def test_a_question_is_answered(server: VllmServer) -> None:
    turns = messages("", [Turn("user", "What is the capital of France?")])
    assert "Paris" in await reply(asking(server), turns)


async def test_a_reply_that_has_begun_is_gone_on_with(server: VllmServer) -> None:
    asked = messages("", [Turn("user", "What is the capital of France?")])
    begun = Turn("assistant", "That is easy. The capital of France is")
    said = await reply(asking(server), [*asked, begun])
    assert said.startswith(" Paris")


async def test_the_sound_of_the_last_turns_is_heard(server: VllmServer) -> None:
    rng = np.random.default_rng(0)
    sounds = [
        AudioChunk(rng.normal(0, 0.1, 2 * rate).astype(np.float32), rate)
        for rate in (EAR_RATE, EAR_RATE, WIRE_RATE)
    ]
    turns = [Turn("user", "Listen.", audio=sound) for sound in sounds]
    dialogue = [turns[0], Turn("assistant", "Yes."), turns[1], Turn("assistant", "Oh."), turns[2]]
    heard = await metric(server, "mm_cache_queries_total")
    assert await reply(asking(server, hears=True, ears_turns=2), dialogue)
    assert await metric(server, "mm_cache_queries_total") == heard + 2
    assert await reply(asking(server), dialogue)
    assert await metric(server, "mm_cache_queries_total") == heard + 2


async def test_leaving_a_reply_stops_the_engine(server: VllmServer) -> None:
    async with aclosing(asking(server).respond(messages(ENDLESS, _user(STORY)), LONG)) as pieces:
        for _ in range(3):
            await anext(pieces)
        await replying(server, 1)
    await nothing_is_made(server)


async def test_cancelling_before_the_first_word_stops_the_engine(server: VllmServer) -> None:
    long_prompt = messages(ENDLESS, _user("one two three four " * 100))
    asked = asyncio.create_task(reply(asking(server), long_prompt, LONG))
    await replying(server, 1)
    asked.cancel()
    await asyncio.wait([asked])
    await nothing_is_made(server)


async def test_four_replies_are_formed_at_once(server: VllmServer) -> None:
    responder = asking(server)
    places = ("the sea", "a forest", "the moon", "an old house")
    async with AsyncExitStack() as opened:
        stories = []
        for place in places:
            turns = messages(ENDLESS, _user(f"Tell me a long story about {place}."))
            stories.append(
                await opened.enter_async_context(aclosing(responder.respond(turns, LONG)))
            )
        said = await asyncio.gather(*map(anext, stories))
        assert all(said)
        await replying(server, 4)
    await nothing_is_made(server)


async def test_a_model_it_lacks_is_told_with_those_it_has(server: VllmServer) -> None:
    with pytest.raises(BackendError, match=f"has no model 'other'; it has: {NAME}"):
        await reply(asking(server, model="other"), _user("Hello."))


async def test_too_long_a_conversation_is_told(server: VllmServer) -> None:
    with pytest.raises(BackendError, match="cannot take in so long a conversation"):
        await reply(asking(server), _user("one two three four " * 800))


def _user(text: str) -> list[Turn]:
    return [Turn("user", text)]


# ---- in conversations


class AsksForAStory:
    """A Transcriber that hears one wish in any voice."""

    async def transcribe(self, audio: AudioChunk) -> str:
        return STORY if loudest(audio) > 0.1 else ""


def storyteller(server: VllmServer) -> Models:
    return standins(transcriber=AsksForAStory(), responder=asking(server))


async def endless_story(talker: Talker) -> None:
    """Ask for one, and listen until it sounds."""
    await talker.update(instructions=ENDLESS, max_output_tokens=LONG)
    await talker.ask()
    await play_until(talker, "response.output_audio.delta")


def said(response: dict[str, Any]) -> str:
    return str(response["output"][0]["content"][0]["transcript"])


@pytest.fixture
def embedded_ears_and_voice(server: VllmServer) -> Iterator[Models]:
    """As in the embedded profile, but with a speech LM elsewhere, told all that is known."""
    options = {"url": server.url, "hears": True, "temperature": 0}
    choices = registry.read(PROFILES / "embedded.toml")
    choices["thinker"] = Choice("dual", {"strength": "enhanced", "refine_sec": 0.4})
    choices["responder"] = Choice("vllm", options)
    loaded = registry.load(choices)
    yield loaded
    loaded.close()


async def test_a_spoken_question_is_answered_and_the_answer_interrupted(
    server: VllmServer, embedded_ears_and_voice: Models
) -> None:
    models = embedded_ears_and_voice
    heard = await metric(server, "mm_cache_queries_total")
    async with serving(models) as (url, _), talking(url, "?attune=1") as talker:
        await talker.update(instructions=ENDLESS, max_output_tokens=LONG)
        await talker.send_audio(await spoken(models, STORY))
        begun = await play_until(talker, "response.output_audio.delta")
        await talker.say(HUSH, 1.0)
        await replying(server, 1)
        assert await metric(server, "mm_cache_queries_total") > heard  # it was heard, too
        assert talker.of("attune.style")[0]["response_id"] == begun["response_id"]

        await talker.send_audio(await spoken(models, "Stop, wait a moment."))
        done = (await play_until(talker, "response.done"))["response"]
        assert done["id"] == begun["response_id"]
        assert done["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        assert len(words(said(done))) >= 3

        await play_until(talker, "response.output_audio.delta")  # that, too, is answered
        await talker.send("response.cancel")
        await talker.until("response.done")
        await replying(server, 0, within=ABORT_SEC)
        assert not [e for e in talker.of("error") if e["error"]["event_id"] != "settled"]


async def test_four_conversations_are_held_at_once(server: VllmServer) -> None:
    async with serving(storyteller(server)) as (url, _), AsyncExitStack() as calls:
        talkers = [await calls.enter_async_context(talking(url)) for _ in range(4)]
        await asyncio.gather(*map(endless_story, talkers))
        await replying(server, 4)
        for talker in talkers:
            await talker.send("response.cancel")
        ends = await asyncio.gather(*(talker.until("response.done") for talker in talkers))
        assert [end["response"]["status"] for end in ends] == ["cancelled"] * 4
        await nothing_is_made(server)


async def test_a_conversation_outlives_its_server(server: VllmServer) -> None:
    async with serving(storyteller(server)) as (url, house), talking(url) as talker:
        await endless_story(talker)
        await asyncio.to_thread(server.kill)
        broken = (await play_until(talker, "response.done"))["response"]
        assert broken["status"] == "failed"
        assert "broke off in mid-reply" in broken["status_details"]["error"]["message"]

        await talker.say(HUSH, 5.0)
        await talker.ask()
        away = (await play_until(talker, "response.done"))["response"]
        assert away["status"] == "failed"
        # Either that turn finds it gone, or what is tried meanwhile has found it out before.
        told = away["status_details"]["error"]["message"]
        assert "make vllm-cpu" in told or "out of order" in told
        assert "sorry" in said(away)  # aloud

        await asyncio.to_thread(server.start)
        async with asyncio.timeout(120):
            while house.breakers["responder"].state != "closed":  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.1)
        await talker.say(HUSH, 5.0)
        await talker.update(max_output_tokens=8)
        await talker.ask()
        answered = (await play_until(talker, "response.done"))["response"]
        assert answered["status"] == "incomplete"
        assert len(words(said(answered))) > 3
