"""The one port and everyone at it: who may come in, who breaks, and what they leave behind."""

import asyncio
import json
import logging
import threading
import urllib.request
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from models.errors import BackendError
from models.percept import Percept
from models.protocols import Attention, VoiceActivity
from models.standin import (
    StandinDetector,
    StandinJudge,
    StandinPerceiver,
    StandinResponder,
    StandinSpeaker,
    StandinTranscriber,
)
from models.style import Style
from models.types import AudioChunk, Samples, SpokenChunk, Turn
from models.worker import Worker
from server.reply import APOLOGY, UNHEARD
from server.version import VERSION
from tests.serving import serving, standins
from tests.talker import HUSH, VOICE, Talker, play_until, talking

COMPLETED = "conversation.item.input_audio_transcription.completed"


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that tells nobody when it happens."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.005)


async def get(url: str, path: str) -> tuple[int, str]:
    address = f"http://{urlsplit(url).netloc}{path}"

    def fetch() -> tuple[int, str]:
        with urllib.request.urlopen(address, timeout=20) as answer:
            return answer.status, answer.read().decode()

    return await asyncio.to_thread(fetch)


# ---- what the port shows


async def test_health_and_readiness_count_who_is_talking() -> None:
    async with serving(seats=2) as (url, _):
        assert json.loads((await get(url, "/health"))[1]) == {
            "status": "ok",
            "version": VERSION,
            "sessions": 0,
        }
        async with talking(url):
            status, body = await get(url, "/ready")
            assert status == 200
            assert json.loads(body) == {
                "ready": True,
                "profile": "standin",
                "seats_free": 1,
                "unable": [],
                "recording": "on",
                "backends": [],
            }
            assert json.loads((await get(url, "/health"))[1])["sessions"] == 1


async def test_a_server_that_is_not_ready_says_so() -> None:
    async with serving() as (url, house):
        house.ready = False
        with pytest.raises(urllib.error.HTTPError) as refused:
            await get(url, "/ready")
        with refused.value:
            assert refused.value.code == 503
            assert json.loads(refused.value.read())["ready"] is False
        assert (await get(url, "/health"))[0] == 200


async def test_the_front_page_says_how_to_connect() -> None:
    async with serving() as (url, _):
        status, page = await get(url, "/")
        assert status == 200
        assert "/v1/realtime" in page and "server.client" in page


# ---- who may come in


async def admitted(url: str, origin: str | None, host: str | None = None) -> bool:
    """Whether a page of that origin, which calls us by that name, gets in."""
    address = urlsplit(url)
    named = url.replace("127.0.0.1", host) if host else url
    try:
        where = {"host": "127.0.0.1", "port": address.port}
        async with connect(named, origin=origin, **where) as socket:  # type: ignore[arg-type]
            assert "session.created" in str(await socket.recv())
            return True
    except InvalidStatus as refused:
        assert refused.response.status_code == 403
        return False


async def test_only_programs_and_our_own_pages_may_connect() -> None:
    async with serving() as (url, _):
        own = f"http://{urlsplit(url).netloc}"
        assert await admitted(url, None)
        assert await admitted(url, own)
        assert not await admitted(url, "https://evil.example")
        assert not await admitted(url, own.replace("127.0.0.1", "localhost"))
        assert not await admitted(url, "http://127.0.0.1:1")
        assert not await admitted(url, "null")
        assert not await admitted(url, own + ".evil.example")


async def test_on_loopback_a_name_that_merely_resolves_to_us_is_refused() -> None:
    async with serving() as (url, _):
        port = urlsplit(url).port
        assert await admitted(url, f"http://localhost:{port}", "localhost")
        assert not await admitted(url, f"http://rebound.example:{port}", "rebound.example")
        assert not await admitted(url, None, "rebound.example")


async def test_pages_may_be_allowed_by_name() -> None:
    async with serving(origins=["https://friend.example"]) as (url, _):
        assert await admitted(url, "https://friend.example")
        assert not await admitted(url, "http://friend.example")
        assert not await admitted(url, "https://friend.example.evil.example")


async def test_open_to_the_network_any_name_is_ours_but_no_foreign_page() -> None:
    async with serving(HOST="0.0.0.0", insecure=True, clock="wall") as (url, _):
        port = urlsplit(url).port
        assert await admitted(url, f"http://box.example:{port}", "box.example")
        assert await admitted(url, None, "box.example")
        assert not await admitted(url, "https://evil.example", "box.example")


async def test_a_full_house_says_so_and_a_freed_seat_can_be_taken() -> None:
    async with serving(seats=1) as (url, house):
        async with talking(url), connect(url) as socket:
            told = json.loads(await socket.recv())
            assert told["type"] == "error"
            assert told["error"]["code"] == "session_limit_reached"
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1013
        await until(lambda: not house.sessions)
        async with talking(url) as talker:
            await talker.ask()
            await play_until(talker, "response.done")


# ---- what a client leaves behind


class Threaded:
    """A Responder in its own thread with much to say, which knows who still listens."""

    def __init__(self) -> None:
        self.worker = Worker("threaded")
        self.open = 0
        self.may_go_on = threading.Event()  # the thread is inside the model until set
        self.may_go_on.set()
        self.inside = False

    def _words(self, count: int) -> Generator[str, None, None]:
        self.open += 1
        try:
            for _ in range(count):
                self.inside = True
                self.may_go_on.wait()
                self.inside = False
                yield "and on, "
        finally:
            self.open -= 1

    def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        return self.worker.stream(self._words(max_tokens))


class Counting(StandinSpeaker):
    """A Speaker that knows how many clauses are being spoken."""

    def __init__(self) -> None:
        super().__init__()
        self.open = 0

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        self.open += 1
        try:
            async for chunk in super().speak(clause, style):
                await asyncio.sleep(0)
                yield chunk
        finally:
            self.open -= 1


@pytest.mark.parametrize(
    ("when", "clock"),
    [
        ("in mid-reply", "samples"),
        ("in mid-reply", "wall"),
        ("while the model works", "wall"),  # samples stand still until the model is done
        ("by closing", "samples"),
    ],
)
async def test_a_client_that_vanishes_leaves_nothing_behind(when: str, clock: str) -> None:
    responder, speaker = Threaded(), Counting()
    models = standins(responder=responder, speaker=speaker)
    async with serving(models, clock=clock) as (url, house):
        with released(responder):
            before = asyncio.all_tasks()
            async with connect(url) as socket:
                talker = Talker(socket)
                if when == "while the model works":
                    responder.may_go_on.clear()
                await talker.ask()
                if when == "while the model works":
                    await until(lambda: responder.inside)
                else:
                    await talker.until("response.output_audio.delta")
                assert len(house.sessions) == 1 and responder.open > 0
                if when == "by closing":
                    await socket.close()
                else:
                    socket.transport.abort()
                    await socket.wait_closed()
            await until(lambda: not house.sessions)
        await until(lambda: responder.open == 0 and speaker.open == 0)
        await until(lambda: asyncio.all_tasks() <= before)
        await responder.worker.run(lambda: None)  # its thread is free

        async with talking(url) as talker:  # and so is everything for the next one
            await talker.ask()
            await talker.until("response.output_audio.delta")
        await until(lambda: not house.sessions and responder.open == 0)
    responder.worker.close()


@contextmanager
def released(responder: Threaded) -> Generator[None, None, None]:
    """However the test goes, let the model's thread out of the model."""
    try:
        yield
    finally:
        responder.may_go_on.set()


# ---- models that break


class Moody:
    """Every role by a stand-in, any one of which fails while told to, and how."""

    def __init__(self, role: str, error: Exception) -> None:
        self._role = role
        self._error = error
        self.failing = True

    def _may_fail(self, role: str) -> None:
        if self.failing and role == self._role:
            raise self._error

    def open(self) -> VoiceActivity:
        hear = StandinDetector().open()

        def heard(frame: Samples) -> float:
            self._may_fail("voice_detector")
            return hear(frame)

        return heard

    async def finished(self, audio: AudioChunk) -> float:
        self._may_fail("turn_judge")
        return await StandinJudge().finished(audio)

    async def transcribe(self, audio: AudioChunk) -> str:
        self._may_fail("transcriber")
        return await StandinTranscriber().transcribe(audio)

    def attend(self) -> Attention:
        return self

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self.perceive(audio)

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        self._may_fail("perceiver")
        return await StandinPerceiver().perceive(audio, words)

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        self._may_fail("responder")
        count = 0
        async for word in StandinResponder().respond(dialogue, max_tokens):
            yield word
            count += 1
            if count == 6:  # a clause has been said by then
                self._may_fail("responder, later")

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        self._may_fail("speaker")
        async for chunk in StandinSpeaker().speak(clause, style):
            yield chunk


ROLES = (
    *("voice_detector", "turn_judge", "transcriber", "perceiver"),
    *("responder", "responder, later", "speaker"),
)


def moody(role: str, error: Exception) -> tuple[Moody, Any]:
    mood = Moody(role, error)
    names = [name for name in ROLES if "," not in name]
    return mood, standins(**dict.fromkeys(names, mood))


async def next_turn_works(talker: Talker) -> None:
    await talker.ask()
    done = await play_until(talker, "response.done")
    heard = talker.of(COMPLETED)[-1]["transcript"]
    said = done["response"]["output"][0]["content"][0]["transcript"]
    # A turn that got no answer before is part of what is answered now.
    assert heard and said.startswith("I heard you, you said ") and said.endswith(f"{heard}.")


@pytest.mark.parametrize("role", ["responder", "responder, later", "speaker"])
async def test_a_reply_that_fails_is_told_and_the_next_one_comes(role: str) -> None:
    mood, models = moody(role, BackendError(role, "It is out of order."))
    async with serving(models) as (url, _), talking(url) as talker:
        await talker.ask(hush=4.0)
        response = (await talker.until("response.done"))["response"]
        assert response["status"] == "failed"
        assert response["status_details"]["error"]["code"] == "model_error"
        # The voice says so, too, unless it is the voice that failed.
        said = "".join(
            part["transcript"] for item in response["output"] for part in item["content"]
        )
        assert said.endswith(APOLOGY) == (role != "speaker")
        assert said.startswith("I heard you,") == (role == "responder, later")
        assert bool(talker.of("response.output_audio.delta")) == (role != "speaker")
        problem = (await talker.until("error"))["error"]
        assert (problem["code"], problem["message"]) == ("model_error", "It is out of order.")
        mood.failing = False
        await talker.say(HUSH, 2.0)
        await next_turn_works(talker)


async def test_words_that_cannot_be_found_are_told_and_the_next_turn_works() -> None:
    mood, models = moody("transcriber", BackendError("transcriber", "It is out of order."))
    async with serving(models) as (url, _), talking(url) as talker:
        await talker.ask()
        failed = "conversation.item.input_audio_transcription.failed"
        response = (await play_until(talker, "response.done"))["response"]
        assert talker.of(failed)[0]["error"]["message"] == "It is out of order."
        assert response["output"][0]["content"][0]["transcript"] == UNHEARD
        assert response["status_details"]["error"]["message"] == "It is out of order."
        await talker.say(HUSH, 7.0)
        mood.failing = False
        await next_turn_works(talker)


async def test_without_a_judge_the_turn_ends_by_silence() -> None:
    _, models = moody("turn_judge", BackendError("turn_judge", "It is out of order."))
    async with serving(models) as (url, _), talking(url) as talker:
        await talker.ask(hush=3.0)
        await talker.settle()
        assert not talker.of("input_audio_buffer.speech_stopped")
        await play_until(talker, "response.done")
        await talker.say(HUSH, 2.0)
        await next_turn_works(talker)


@pytest.mark.parametrize("role", ROLES)
async def test_a_broken_model_ends_its_session_and_no_other(role: str) -> None:
    mood, models = moody(role, ZeroDivisionError("a bug"))
    async with serving(models) as (url, house), talking(url) as other:
        async with talking(url) as talker:
            await talker.ask(hush=4.0)
            with pytest.raises(ConnectionClosed) as closed:
                await talker.until("never")
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 1011
            problem = talker.events[-1]["error"]
            assert problem["type"] == "server_error"
            assert "a bug" not in problem["message"]
        await until(lambda: len(house.sessions) == 1)
        mood.failing = False
        await next_turn_works(other)


# ---- several at once


async def test_two_conversations_at_once_do_not_mix() -> None:
    async with serving() as (url, _), talking(url) as one, talking(url) as two:
        for step in range(60):  # both speak for 1.2 s at the same time, and then listen
            for talker, level in ((one, 0.3), (two, 0.2)):
                await talker.say(level if step < 12 else HUSH, 0.1)
            await asyncio.gather(one.settle(), two.settle())
        heard = [talker.of(COMPLETED)[0]["transcript"] for talker in (one, two)]
        assert heard[0] != heard[1]
        for talker, words in zip((one, two), heard, strict=True):
            done = [event["response"] for event in talker.of("response.done")]
            said = [response["output"][0]["content"][0]["transcript"] for response in done]
            assert said == [f"I heard you, you said {words}."]
        ids = [{event["event_id"] for event in talker.events} for talker in (one, two)]
        assert not ids[0] & ids[1]


# ---- nothing anybody said is in the log

USER_WORD, REPLY_WORD = "zanzibar", "xylophone"


class Indiscreet:
    """Ears and mind that put what they know into everything, their errors included."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def transcribe(self, audio: AudioChunk) -> str:
        return f"my {USER_WORD} is lost"

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        yield f"Your {REPLY_WORD} "
        yield f"{dialogue[-1].text}."
        if self.error:
            raise self.error from ValueError(USER_WORD)


async def test_nothing_anybody_said_is_in_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="websockets.client")  # the test's end of the wire
    caplog.set_level(logging.DEBUG)
    told = Indiscreet()
    async with serving(standins(transcriber=told, responder=told)) as (url, _):
        with pytest.raises(ConnectionClosed):
            async with talking(url, f"?attune=1&model={USER_WORD}") as talker:
                await talker.update(instructions=f"Speak of {USER_WORD}.")
                await talker.ask()
                await play_until(talker, "response.output_audio.delta")
                await talker.say(VOICE, 1.0)
                await play_until(talker, "response.done")
                text = {"type": "input_text", "text": USER_WORD}
                item = {"type": "message", "role": "user", "content": [text]}
                await talker.send("conversation.item.create", item=item)
                await talker.send(USER_WORD)
                await talker.send("conversation.item.delete", item_id=USER_WORD)
                await talker.socket.send(USER_WORD)
                told.error = BackendError("responder", f"Cannot speak of {USER_WORD}.")
                await talker.say(HUSH, 5.0)
                await talker.settle()
                await talker.ask(hush=5.0)
                failed = (await talker.until("response.done"))["response"]
                assert failed["status"] == "failed"
                await talker.until("error")
                told.error = ZeroDivisionError(USER_WORD)
                await talker.ask(hush=5.0)
                await talker.until("never")
    lines = [record.getMessage() + (record.exc_text or "") for record in caplog.records]
    assert any("reply failed" in line for line in lines)
    assert any("ZeroDivisionError" in line for line in lines)
    assert any("closed" in line for line in lines)
    shown = [line for line in lines if USER_WORD in line or REPLY_WORD in line]
    assert not shown


@pytest.mark.parametrize("path", ["/api/nothing", "/api/reports/a/view/b/%0A"])
async def test_what_no_route_answers_is_refused_in_the_apis_form(path: str) -> None:
    async with serving() as (url, _):
        with pytest.raises(urllib.error.HTTPError) as refused:
            await get(url, path)
        assert refused.value.code == 404
        assert json.loads(refused.value.read())["error"]["message"]
        refused.value.close()
