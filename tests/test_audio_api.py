"""The voice and the ears over HTTP, as OpenAI's own client and anybody else finds them."""

import asyncio
import io
import json
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx2
import numpy as np
import pytest
import pytest_asyncio
import soundfile
from openai import APIStatusError, AsyncOpenAI, BadRequestError, RateLimitError

from models.audio import decode_pcm16
from models.errors import BackendError
from models.protocols import Models, VoiceActivity
from models.standin import StandinSpeaker
from models.style import Style
from models.types import EAR_RATE, FRAME, WIRE_RATE, AudioChunk, Samples, SpokenChunk
from server import recordings
from server.audio_api import MOST_JSON, MOST_UPLOAD, SPEECHES, TRANSCRIPTIONS
from server.http_streams import Streamed
from tests.serving import serving, standins

WORD_SEC = 0.2  # of the stand-in voice
TEXT = "Good morning to you all. Here is the news. It is a fine day, and the sun will shine."
WORDS = len(TEXT.split())


pytestmark = pytest.mark.asyncio(loop_scope="module")  # most tests share one server


@asynccontextmanager
async def plainly(
    models: Models | None = None, **settings: Any
) -> AsyncGenerator[httpx2.AsyncClient, None]:
    """A client that sends what it likes, at a server of ours."""
    async with serving(models, **settings) as (url, _):
        base = url.replace("ws:", "http:").removesuffix("/realtime")
        async with httpx2.AsyncClient(base_url=base, verify=False) as client:
            yield client


@asynccontextmanager
async def officially(client: httpx2.AsyncClient) -> AsyncGenerator[AsyncOpenAI, None]:
    """The openai package, at the same server."""
    async with AsyncOpenAI(
        api_key="none", base_url=client.base_url, max_retries=0, http_client=client
    ) as official:
        yield official


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncGenerator[httpx2.AsyncClient, None]:
    """At a server with stand-ins, which a page of a friend may use."""
    async with plainly(origins=["https://friend.example"]) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def official(client: httpx2.AsyncClient) -> AsyncGenerator[AsyncOpenAI, None]:
    async with officially(client) as found:
        yield found


def asked(**fields: Any) -> dict[str, Any]:
    return {"model": "tts-1", "voice": "alloy", "input": TEXT, "response_format": "pcm"} | fields


def tone(seconds: float, rate: int = EAR_RATE) -> Samples:
    time = np.arange(round(seconds * rate)) / rate
    return (0.3 * np.sin(2 * np.pi * 220 * time)).astype(np.float32)


def file(samples: Samples, rate: int = EAR_RATE, form: str = "WAV") -> bytes:
    out = io.BytesIO()
    soundfile.write(out, samples, rate, format=form)
    return out.getvalue()


QUIET = np.zeros(EAR_RATE, np.float32)
TWICE = np.concatenate([tone(1.0), QUIET, tone(1.6), QUIET])


class Held:
    """A Speaker that says a word at once, and the rest of the clause when it may."""

    def __init__(self) -> None:
        self.may_go_on = asyncio.Event()
        self.styles: list[Style] = []
        self.error: Exception | None = None
        self.speaking = 0
        self.moved = asyncio.Condition()

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        self.styles.append(style)
        await self._count(1)
        try:
            async with aclosing(StandinSpeaker().speak(clause, style)) as chunks:
                yield await anext(chunks)
                await self.may_go_on.wait()
                if self.error:
                    raise self.error
                async for chunk in chunks:
                    yield chunk
        finally:
            await self._count(-1)

    async def _count(self, change: int) -> None:
        async with self.moved:
            self.speaking += change
            self.moved.notify_all()

    async def are_speaking(self, count: int) -> None:
        async with asyncio.timeout(20), self.moved:
            await self.moved.wait_for(lambda: self.speaking == count)


# ---- speaking


@pytest.mark.parametrize("form", ["pcm", "wav", "flac", "mp3", "opus"])
async def test_the_official_client_gets_speech_in_every_format(
    official: AsyncOpenAI, form: Any
) -> None:
    answer = await official.audio.speech.create(**asked(response_format=form))
    if form == "pcm":
        samples, rate = decode_pcm16(answer.content), WIRE_RATE
    else:
        samples, rate = soundfile.read(io.BytesIO(answer.content), dtype="float32")
    assert rate == WIRE_RATE
    assert len(samples) / rate == pytest.approx(WORDS * WORD_SEC, abs=0.1)
    assert 0.2 < np.abs(samples).max() < 0.4


@pytest.mark.parametrize("form", ["pcm", "wav"])
async def test_sound_is_sent_while_the_rest_is_being_made(form: Any) -> None:
    voice = Held()
    async with (
        asyncio.timeout(20),
        plainly(standins(speaker=voice)) as client,
        officially(client) as official,
        official.audio.speech.with_streaming_response.create(
            **asked(response_format=form)
        ) as answer,
    ):
        pieces = answer.iter_bytes()
        got = await anext(pieces)
        assert voice.speaking == 1
        voice.may_go_on.set()
        async for piece in pieces:
            got += piece
    sound = got[44:] if form == "wav" else got
    assert len(sound) == 2 * WORDS * WORD_SEC * WIRE_RATE


async def test_events_carry_the_same_sound(client: httpx2.AsyncClient) -> None:
    whole = (await client.post("/audio/speech", json=asked())).content
    answer = await client.post("/audio/speech", json=asked(stream_format="sse"))
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line]
    assert [event["type"] for event in events[:-1]] == ["speech.audio.delta"] * WORDS
    assert events[-1]["type"] == "speech.audio.done"
    assert b"".join(b64decode(event["audio"]) for event in events[:-1]) == whole


async def test_speed_and_instructions_reach_the_voice() -> None:
    voice = Held()
    voice.may_go_on.set()
    async with plainly(standins(speaker=voice)) as client, officially(client) as official:
        told = "Speak slowly, in a comforting tone."
        await official.audio.speech.create(**asked(instructions=told, speed=2.0, voice={"id": "v"}))
    assert len(voice.styles) > 1  # a clause at a time
    assert {style.emotion for style in voice.styles} == {"comforting"}
    assert {style.pace for style in voice.styles} == {2.0 * 0.85}


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"input": "*** \U0001f642"}, 400, "input"),
        ({"input": ""}, 400, "input"),
        ({"input": "", "stream_format": "sse"}, 400, "input"),
        ({"input": "a " * 2049}, 400, "input"),
        ({"input": 7}, 400, "input"),
        ({"voice": None}, 400, "voice"),
        ({"response_format": "aac"}, 400, "response_format"),
        ({"speed": 5}, 400, "speed"),
        ({"speed": "NaN"}, 400, "speed"),
        ({"stream_format": "x"}, 400, "stream_format"),
        ({"more": "x" * MOST_JSON}, 413, None),
    ],
)
async def test_a_request_to_speak_that_will_not_do_is_told_why(
    client: httpx2.AsyncClient, fields: dict[str, Any], status: int, param: str | None
) -> None:
    answer = await client.post("/audio/speech", json=asked(**fields))
    assert answer.status_code == status
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert error["message"].endswith(".") and "\n" not in error["message"]
    assert (await client.post("/audio/speech", json=asked())).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff\xfe", b"{}", b"[" * 9000])
async def test_what_is_no_request_is_refused(client: httpx2.AsyncClient, body: bytes) -> None:
    answer = await client.post("/audio/speech", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_the_official_client_knows_the_refusals(official: AsyncOpenAI) -> None:
    with pytest.raises(BadRequestError, match="nothing in the input to say"):
        await official.audio.speech.create(**asked(input="***"))
    assert [model.id async for model in official.models.list()] == ["attune"]


async def test_too_many_at_once_are_asked_to_come_again() -> None:
    voice = Held()
    async with (
        plainly(standins(speaker=voice)) as client,
        officially(client) as official,
        asyncio.TaskGroup() as tasks,
    ):
        speeches = [
            tasks.create_task(official.audio.speech.create(**asked())) for _ in range(SPEECHES)
        ]
        await voice.are_speaking(SPEECHES)
        with pytest.raises(RateLimitError, match="try again soon"):
            async with asyncio.timeout(5):
                await official.audio.speech.create(**asked())
        voice.may_go_on.set()
        lengths = {len((await speech).content) for speech in speeches}
        assert lengths == {len((await official.audio.speech.create(**asked())).content)}


@pytest.mark.parametrize("form", ["mp3", "opus", "flac"])
async def test_a_client_that_hangs_up_before_any_sound_stops_the_voice(form: str) -> None:
    voice = Held()
    async with plainly(standins(speaker=voice)) as client:
        for _ in range(SPEECHES + 1):  # its place is free again, too
            asking = asyncio.create_task(
                client.post("/audio/speech", json=asked(response_format=form))
            )
            await voice.are_speaking(1)
            asking.cancel()
            await asyncio.wait([asking])
            await voice.are_speaking(0)


@pytest.mark.parametrize("fields", [{}, {"stream_format": "sse"}])
async def test_a_client_that_hangs_up_stops_the_voice(fields: dict[str, Any]) -> None:
    voice = Held()
    async with plainly(standins(speaker=voice)) as client:
        for _ in range(SPEECHES + 1):  # its place is free again, too
            async with client.stream("POST", "/audio/speech", json=asked(**fields)) as answer:
                assert answer.status_code == 200
                await voice.are_speaking(1)
            await voice.are_speaking(0)


async def test_an_answer_that_cannot_even_begin_closes_its_source() -> None:
    closed = asyncio.Event()

    async def source() -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"sound"
        finally:
            closed.set()

    async def send(_: Any) -> None:
        raise OSError("the client has left")

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    sound = source()
    answer = Streamed(await anext(sound), sound, "audio/pcm")
    await answer({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send)
    assert closed.is_set()


async def test_null_means_the_default(client: httpx2.AsyncClient) -> None:
    nothing = {"speed": None, "instructions": None, "stream_format": None}
    answer = await client.post("/audio/speech", json=asked(**nothing))
    assert answer.content == (await client.post("/audio/speech", json=asked())).content


async def test_another_method_is_refused_in_the_same_form(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/audio/speech")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == "method_not_allowed"


# ---- models that fail


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("The voice at http://10.0.0.7:8091/v1 is away.", "The voice is away."),
        ("The voice (https://inner.example/v1) is away.", "The voice is away."),
        ("No answer from 10.0.0.7:80.", "No answer."),
        ("No answer from inner:8091 in 10 s.", "No answer in 10 s."),
    ],
)
async def test_where_a_model_is_served_is_told_to_the_log_alone(
    sentence: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Away:
        async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
            raise BackendError("speaker", sentence)
            yield

    async with plainly(standins(speaker=Away())) as client:
        answer = await client.post("/audio/speech", json=asked())
    assert answer.json()["error"]["message"] == told
    hidden = next(word for word in sentence.split() if ":" in word).strip("().")
    assert hidden in caplog.text


async def test_a_voice_that_fails_at_once_is_told_in_a_sentence() -> None:
    class Dumb:
        async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
            raise BackendError("speaker", "The voice has a cold.")
            yield

    async with plainly(standins(speaker=Dumb())) as client, officially(client) as official:
        for fields in ({}, {"stream_format": "sse"}, {"response_format": "mp3"}):
            with pytest.raises(APIStatusError, match="The voice has a cold.") as caught:
                await official.audio.speech.create(**asked(**fields))
            assert caught.value.status_code == 503


async def test_a_voice_that_fails_later_breaks_off_and_leaves_no_words_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    voice = Held()
    voice.error = BackendError("speaker", "Cannot say zanzibar.")
    voice.may_go_on.set()
    async with plainly(standins(speaker=voice)) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post("/audio/speech", json=asked())
        answer = await client.post("/audio/speech", json=asked(stream_format="sse"))
        *_, last = (json.loads(line[6:]) for line in answer.text.splitlines() if line)
        assert (last["type"], last["error"]["message"]) == ("error", "Cannot say zanzibar.")
        voice.error = None
        assert (await client.post("/audio/speech", json=asked())).status_code == 200
    assert any("BackendError" in record.getMessage() for record in caplog.records)
    assert not any(
        "zanzibar" in record.getMessage() or record.exc_info for record in caplog.records
    )


async def test_a_bug_is_answered_without_its_details(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        async def transcribe(self, audio: AudioChunk) -> str:
            raise ZeroDivisionError("zanzibar")

    async with plainly(standins(transcriber=Broken())) as client:
        answer = await client.post(
            "/audio/transcriptions", data={"model": "x"}, files={"file": file(TWICE)}
        )
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "server_error"
    assert "zanzibar" not in answer.text + caplog.text
    assert "ZeroDivisionError" in caplog.text


# ---- who may ask


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"Origin": "https://friend.example"}, True),
        ({"Origin": "https://stranger.example"}, False),
        ({"Host": "stranger.example"}, False),
    ],
)
async def test_only_our_own_pages_and_those_allowed_may_ask(
    client: httpx2.AsyncClient, headers: dict[str, str], allowed: bool
) -> None:
    form: dict[str, Any] = {"data": {"model": "x"}, "files": {"file": file(TWICE)}}
    answers = [
        await client.get("/models", headers=headers),
        await client.post("/audio/speech", json=asked(), headers=headers),
        await client.post("/audio/transcriptions", headers=headers, **form),
    ]
    assert {answer.status_code for answer in answers} == {200 if allowed else 403}


# ---- listening


async def test_the_official_client_gets_words_in_every_form(official: AsyncOpenAI) -> None:
    create: Any = official.audio.transcriptions.create
    sent = {"model": "whisper-1", "file": ("a.flac", file(TWICE, form="FLAC"))}
    plain_json = await create(**sent, language="en", temperature=0.2, prompt="Well,")
    assert (plain_json.usage.type, plain_json.usage.seconds) == ("duration", 5)
    words = plain_json.text
    assert len(words.split()) >= 2
    assert (await create(**sent, response_format="text")).strip() == words
    verbose = await create(
        **sent, response_format="verbose_json", timestamp_granularities=["segment"]
    )
    assert (verbose.text, verbose.duration) == (words, pytest.approx(4.6))
    assert " ".join(segment.text for segment in verbose.segments) == words
    places = [(segment.start, segment.end) for segment in verbose.segments]
    expected = [(0.0, 1.2), (1.8, 3.8)]
    np.testing.assert_allclose(places, expected, atol=FRAME / EAR_RATE)
    assert (await create(**sent, response_format="srt")).startswith("1\n00:00:00,000 --> ")
    assert (await create(**sent, response_format="vtt")).startswith("WEBVTT\n\n00:00:00.000")


async def test_the_official_client_gets_words_as_they_are_found(official: AsyncOpenAI) -> None:
    sent = {"model": "whisper-1", "file": ("a.wav", file(TWICE))}
    create: Any = official.audio.transcriptions.create
    whole = (await create(**sent)).text
    events = [event async for event in await create(**sent, stream=True)]
    assert [event.type for event in events] == [
        *["transcript.text.delta"] * 2,
        "transcript.text.done",
    ]
    assert "".join(event.delta for event in events[:-1]) == events[-1].text == whole


@pytest.mark.parametrize("samples", [QUIET, QUIET[:0], QUIET[:7]])
async def test_silence_has_no_words(client: httpx2.AsyncClient, samples: Samples) -> None:
    for stream in ("false", "true"):
        answer = await client.post(
            "/audio/transcriptions",
            data={"model": "x", "stream": stream},
            files={"file": file(samples)},
        )
        assert answer.status_code == 200
        assert '"text": ""' in answer.text or '"text":""' in answer.text


@pytest.mark.parametrize(
    ("fields", "upload", "status", "code"),
    [
        ({}, None, 400, "missing_file"),
        ({}, b"", 400, "invalid_file_format"),
        ({}, b"RIFF nonsense", 400, "invalid_file_format"),
        ({"model": None}, b"", 400, "invalid_value"),
        ({"language": "de"}, b"", 400, "unsupported_language"),
        ({"language": "enm"}, b"", 400, "unsupported_language"),
        ({"language": "en-US"}, b"", 400, "invalid_file_format"),
        ({"response_format": "diarized_json"}, b"", 400, "invalid_value"),
        ({"response_format": "srt", "stream": "true"}, b"", 400, "unsupported_value"),
        ({"timestamp_granularities[]": "word"}, b"", 400, "invalid_value"),
        ({"temperature": "hot"}, b"", 400, "invalid_value"),
        ({"prompt": "x" * 20_000}, b"", 400, "invalid_form"),
        ({}, bytes(MOST_UPLOAD), 413, "request_too_large"),
    ],
)
async def test_a_request_to_listen_that_will_not_do_is_told_why(
    client: httpx2.AsyncClient, fields: dict[str, Any], upload: bytes | None, status: int, code: str
) -> None:
    data = {name: value for name, value in ({"model": "x"} | fields).items() if value is not None}
    answer = await client.post(
        "/audio/transcriptions",
        data=data,
        files={"file": ("a.wav", upload)} if upload is not None else {"other": b""},
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b""),
        ("multipart/form-data; boundary=x", b"--y\r\n\r\n"),
        ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\na"),
        ("multipart/form-data; boundary=x", b"--x\r\n: :\r\n\r\n"),
        ("multipart/form-data; boundary=x", b""),
    ],
)
async def test_what_is_no_form_is_refused(
    client: httpx2.AsyncClient, kind: str, body: bytes
) -> None:
    answer = await client.post(
        "/audio/transcriptions", content=body, headers={"Content-Type": kind}
    )
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"


class Slow:
    """A Transcriber that waits before each answer until it may give it."""

    def __init__(self) -> None:
        self.listening = asyncio.Semaphore(0)
        self.may_go_on = asyncio.Event()
        self.asked = 0

    async def transcribe(self, audio: AudioChunk) -> str:
        self.asked += 1
        self.listening.release()
        await self.may_go_on.wait()
        return "yes"


async def test_a_client_that_hangs_up_is_not_listened_to_any_longer() -> None:
    ears = Slow()
    async with plainly(standins(transcriber=ears)) as client:
        form: dict[str, Any] = {"data": {"model": "x"}, "files": {"file": file(np.tile(TWICE, 4))}}
        asking = asyncio.create_task(client.post("/audio/transcriptions", **form))
        async with asyncio.timeout(20):
            await ears.listening.acquire()
        asking.cancel()
        await asyncio.wait([asking])
        ears.may_go_on.set()
        form["files"] = {"file": file(TWICE)}
        answer = await client.post("/audio/transcriptions", **form)
        assert answer.json()["text"] == "yes yes"
    assert ears.asked <= 2 + 2  # the server may notice one stretch late, of eight


async def test_a_long_recording_does_not_keep_a_short_one_waiting() -> None:
    """Nor is it listened to any longer once its client has left."""
    heard = 0
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Ears:
        def open(self) -> VoiceActivity:
            return self._hear

        def _hear(self, frame: Samples) -> float:
            nonlocal heard
            heard += 1
            loop.call_soon_threadsafe(begun.set)
            return 0.0

    frames = 20_000
    async with plainly(standins(voice_detector=Ears())) as client:

        async def send(samples: Samples) -> None:
            form: dict[str, Any] = {"data": {"model": "x"}, "files": {"file": file(samples)}}
            assert (await client.post("/audio/transcriptions", **form)).status_code == 200

        long = asyncio.create_task(send(np.zeros(frames * FRAME, np.float32)))
        async with asyncio.timeout(20):
            await begun.wait()
            await send(QUIET)
        assert not long.done() and heard < frames
        long.cancel()
        await asyncio.wait([long])
    assert heard < frames


async def test_too_many_recordings_at_once_are_asked_to_come_again() -> None:
    ears = Slow()
    async with (
        plainly(standins(transcriber=ears)) as client,
        officially(client) as official,
        asyncio.TaskGroup() as tasks,
    ):
        create: Any = official.audio.transcriptions.create
        sent = {"model": "whisper-1", "file": ("a.wav", file(TWICE))}
        first = [tasks.create_task(create(**sent)) for _ in range(TRANSCRIPTIONS)]
        for _ in first:
            async with asyncio.timeout(20):
                await ears.listening.acquire()
        for stream in (False, True):
            with pytest.raises(RateLimitError):
                async with asyncio.timeout(5):
                    await create(**sent, stream=stream)
        ears.may_go_on.set()
        assert {(await each).text for each in first} == {"yes yes"}
        assert (await create(**sent)).text == "yes yes"


async def test_a_recording_that_is_too_long_is_refused(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "LONGEST_SEC", 4)
    answer = await client.post(
        "/audio/transcriptions", data={"model": "x"}, files={"file": file(TWICE)}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "recording_too_long")
