"""The voice and the ears of another server: our own app, and peers that misbehave."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any

import jiwer
import numpy as np
import pytest
import pytest_asyncio
import uvicorn

from models.asr_moonshine import Moonshine
from models.asr_openai import OpenAITranscriber
from models.audio import decode_pcm16, encode_pcm16, resample
from models.breaker import Breaker
from models.due import needed
from models.errors import BackendError, Crowded
from models.guarded import PATIENCE, Guard, Patience, breakers, guarded
from models.openai_http import OpenAIServer
from models.pauses import AUDIBLE, GAP_SEC, STOP_SEC
from models.protocols import Speaker
from models.registry import Choice, build
from models.speaker_hibari import Hibari
from models.speaker_openai import LEAD, OpenAISpeaker, Sound, Words
from models.style import PLAIN, Style
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples, SpokenChunk
from models.vad_silero import SileroDetector
from tests.serving import serving, standins
from tests.talker import play_until, talking

pytestmark = pytest.mark.asyncio(loop_scope="module")  # all share one server

CLAUSE = "Well, this is a quiet afternoon."
SENTENCES = [
    "Good morning, how are you today?",
    "I would like to hear a story about the sea.",
    "The weather is lovely, and we should go for a walk.",
    "Thank you very much for your help yesterday.",
]

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


def tone(seconds: float, level: float = 0.3) -> Samples:
    time = np.arange(round(seconds * WIRE_RATE)) / WIRE_RATE
    return (level * np.cos(2 * np.pi * 220 * time)).astype(np.float32)


def hush(seconds: float) -> Samples:
    return np.zeros(round(seconds * WIRE_RATE), np.float32)


class Peer:
    """A server of someone else: it keeps what it was sent, and answers as it is told to."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.kind = "audio/pcm"
        self.pieces: list[bytes] = [encode_pcm16(tone(1.0))]
        self.endless = False
        self.breaks_off = False
        self.may_go_on = asyncio.Event()  # after the first piece
        self.may_go_on.set()
        self.asked: list[bytes] = []
        self.left = asyncio.Event()  # the client, before the end

    async def __call__(self, scope: Message, receive: Any, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.asked.append(body)
        headers = [(b"content-type", self.kind.encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        async with asyncio.TaskGroup() as tasks:
            answering = tasks.create_task(self._answer(send))
            leaving = tasks.create_task(self._watch(receive))
            await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
            answering.cancel()
            leaving.cancel()

    async def _answer(self, send: Send) -> None:
        for number, piece in enumerate(self.pieces):
            if number:
                await self.may_go_on.wait()
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        while self.endless:
            await send({"type": "http.response.body", "body": self.pieces[0], "more_body": True})
            await asyncio.sleep(0)
        if not self.breaks_off:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _watch(self, receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()

    def request(self) -> dict[str, Any]:
        asked: dict[str, Any] = json.loads(self.asked[-1])
        return asked


@asynccontextmanager
async def at_a_port(app: Any) -> AsyncGenerator[str, None]:
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off")
    )
    running = asyncio.create_task(server.serve())
    try:
        while not server.started:  # noqa: ASYNC110 - uvicorn offers no event to wait for
            await asyncio.sleep(0.005)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        await running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def open_port() -> AsyncGenerator[tuple[str, list[Peer]], None]:
    """A port at which the newest of the peers answers."""
    peers: list[Peer] = []

    async def app(scope: Message, receive: Any, send: Send) -> None:
        await peers[-1](scope, receive, send)

    async with at_a_port(app) as url:
        yield url, peers


@pytest.fixture
def peer(open_port: tuple[str, list[Peer]]) -> Peer:
    url, peers = open_port
    peers.append(Peer())
    peers[-1].url = url
    return peers[-1]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ours() -> AsyncGenerator[str, None]:
    """Our own server with the embedded voice and ears."""
    voice, ears = Hibari(), Moonshine()
    models = standins(speaker=voice, transcriber=ears, voice_detector=SileroDetector())
    async with serving(models) as (url, _):
        yield url.replace("ws:", "http:").removesuffix("/realtime")
    voice.close()
    ears.close()


def voice_at(url: str, **options: Any) -> OpenAISpeaker:
    speaker = build("speaker", Choice("openai", {"url": url, "model": "m", "voice": "v"} | options))
    assert isinstance(speaker, OpenAISpeaker)
    return speaker


def ears_at(url: str, **options: Any) -> OpenAITranscriber:
    ears = build("transcriber", Choice("openai", {"url": url, "model": "m"} | options))
    assert isinstance(ears, OpenAITranscriber)
    return ears


async def say(
    speaker: Speaker, clause: str = CLAUSE, style: Style = PLAIN
) -> tuple[list[SpokenChunk], Samples]:
    async with aclosing(speaker.speak(clause, style)) as stream:
        chunks = [chunk async for chunk in stream]
    assert all(chunk.audio.rate == WIRE_RATE for chunk in chunks)
    samples = np.concatenate([hush(0), *(chunk.audio.samples for chunk in chunks)])
    assert samples.dtype == np.float32
    return chunks, samples


def words(text: str) -> str:
    return " ".join(re.findall(r"[a-z']+", text.lower()))


def text(chunks: list[SpokenChunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


# ---- a voice at our own server


@pytest.mark.parametrize("clause", ["Hello there, ", "How are you?", "Well ", " I see. "])
async def test_a_clause_is_said_without_opening_silence(ours: str, clause: str) -> None:
    chunks, samples = await say(voice_at(ours), clause)
    assert text(chunks) == clause
    assert int(np.argmax(np.abs(samples) > AUDIBLE)) <= LEAD
    ended = len(samples) - int(np.flatnonzero(np.abs(samples) > AUDIBLE)[-1])
    pause_sec = STOP_SEC if clause.strip()[-1] in ".?" else GAP_SEC
    assert ended / WIRE_RATE == pytest.approx(pause_sec, abs=0.001)


async def test_nothing_is_said_to_nothing(peer: Peer) -> None:
    for clause in ("", " ", "— ", ":D", "xD ", "<3"):  # a face reads as nothing
        assert (await say(voice_at(peer.url), clause))[0] == []
    assert not peer.asked


@pytest.mark.parametrize(
    ("clause", "pause_sec"),
    [("Well, ", GAP_SEC), ("Well", STOP_SEC), ("Great! :D ", STOP_SEC), ("Cats, e.g. ", GAP_SEC)],
)
async def test_a_pause_is_as_what_is_said_asks_for(
    peer: Peer, clause: str, pause_sec: float
) -> None:
    chunks, _ = await say(voice_at(peer.url), clause)
    assert len(chunks[-1].audio.samples) / WIRE_RATE == pytest.approx(pause_sec)


async def test_words_come_with_their_sound(ours: str) -> None:
    speaker = voice_at(ours)
    sentence = SENTENCES[2]
    for _ in range(3):
        chunks, samples = await say(speaker, sentence)
    at, spoken = 0, 0
    for chunk in chunks[:-1]:
        at += len(chunk.audio.samples)
        spoken += len(chunk.text)
        if chunk.text:
            assert spoken / len(sentence) == pytest.approx(at / len(samples), abs=0.2)


async def test_a_voice_can_slow_down(ours: str) -> None:
    lengths = [len((await say(voice_at(ours), CLAUSE, Style(pace=p)))[1]) for p in (1.4, 1.0, 0.5)]
    assert lengths[0] < lengths[1] < lengths[2]


async def test_clauses_of_several_conversations_do_not_mix(ours: str) -> None:
    speaker = voice_at(ours)
    clauses = [f"This is number {number}." for number in ("one", "two", "three")]
    alone = [await say(speaker, clause) for clause in clauses]
    together = await asyncio.gather(*(say(speaker, clause) for clause in clauses))
    for clause, (chunks, samples), (_, expected) in zip(clauses, together, alone, strict=True):
        assert text(chunks) == clause
        np.testing.assert_array_equal(samples, expected)


async def test_what_the_voice_says_over_http_the_ears_hear_over_http(ours: str) -> None:
    speaker, ears = voice_at(ours), ears_at(ours)
    heard = []
    for sentence in SENTENCES:
        _, samples = await say(speaker, sentence)
        heard.append(await ears.transcribe(AudioChunk(samples, WIRE_RATE)))
    assert jiwer.wer([*map(words, SENTENCES)], [*map(words, heard)]) <= 0.05


async def test_a_conversation_can_be_held_through_another_server(ours: str) -> None:
    models = standins(
        voice_detector=SileroDetector(), transcriber=ears_at(ours), speaker=voice_at(ours)
    )
    _, question = await say(voice_at(ours), SENTENCES[0])
    async with serving(models) as (url, _), talking(url) as talker:
        await talker.send_audio(question)
        done = (await play_until(talker, "response.done"))["response"]
        said = done["output"][0]["content"][0]["transcript"]
        assert done["status"] == "completed"
        assert words(said) == f"i heard you you said {words(SENTENCES[0])}"
        assert not [event for event in talker.of("error") if not event["error"]["event_id"]]


# ---- what the voice is asked for


async def test_a_voice_is_told_pace_and_manner(peer: Peer) -> None:
    style = Style(emotion="sad", pace=0.85)
    await say(voice_at(peer.url), f" {CLAUSE} ", style)
    assert peer.request() == {
        "model": "m",
        "voice": "v",
        "response_format": "pcm",
        "input": CLAUSE,
        "speed": 0.85,
        "instructions": "Speak sadly.",
    }
    await say(voice_at(peer.url), CLAUSE, Style(pace=9.0))
    assert (peer.request()["speed"], "instructions" in peer.request()) == (4.0, False)


async def test_a_voice_that_takes_no_speed_is_told_the_pace_in_words(peer: Peer) -> None:
    extra = {"stream": True, "language": "English"}
    await say(voice_at(peer.url, speed=False, extra=extra), CLAUSE, Style(pace=0.85))
    assert peer.request()["instructions"] == "Speak slowly."
    assert "speed" not in peer.request()
    assert (peer.request()["stream"], peer.request()["language"]) == (True, "English")


async def test_a_voice_that_takes_no_instructions_is_told_none(peer: Peer) -> None:
    await say(voice_at(peer.url, instructions=False), CLAUSE, Style(emotion="sad"))
    assert "instructions" not in peer.request()


# ---- sound as it comes


async def test_sound_is_passed_on_before_the_rest_is_there(peer: Peer) -> None:
    peer.pieces = [encode_pcm16(tone(0.1)), encode_pcm16(tone(0.5))]
    peer.may_go_on.clear()
    async with aclosing(voice_at(peer.url).speak(CLAUSE, PLAIN)) as chunks:
        first = await anext(chunks)
        assert len(first.audio.samples) / WIRE_RATE == pytest.approx(0.1, abs=0.01)
        peer.may_go_on.set()
        rest = [chunk async for chunk in chunks]
    assert text([first, *rest]) == CLAUSE


async def test_leaving_closes_the_connection(peer: Peer) -> None:
    peer.endless = True
    async with aclosing(voice_at(peer.url).speak(CLAUSE, PLAIN)) as chunks:
        await anext(chunks)
    async with asyncio.timeout(5):
        await peer.left.wait()


async def test_a_voice_that_rambles_is_cut_short(peer: Peer) -> None:
    peer.endless = True
    chunks, samples = await say(voice_at(peer.url), "Hello.")
    assert text(chunks) == "Hello."
    assert len(samples) / WIRE_RATE < 8
    async with asyncio.timeout(5):
        await peer.left.wait()


async def test_a_voice_that_rambled_is_believed_the_next_time(peer: Peer) -> None:
    speaker = voice_at(peer.url)
    peer.endless = True
    for _ in range(9):
        await say(speaker, "Oh.")
    peer.endless = False
    chunks, _ = await say(speaker, "One, two.")  # in a second
    assert chunks[0].text == "One, "


async def test_sound_is_the_same_in_pieces_of_any_size() -> None:
    whole = np.concatenate([hush(0.3), tone(0.5), hush(0.4), tone(0.2), hush(0.5)])
    data = encode_pcm16(whole)
    for size in (101, 480, 4095, len(data)):
        sound = Sound()
        out = [sound.push(data[at : at + size]) for at in range(0, len(data), size)]
        samples = np.concatenate([*out, sound.end(STOP_SEC)])
        # From 10 ms before it is audible, with the pause inside, and a pause behind.
        assert len(samples) / WIRE_RATE == pytest.approx(0.01 + 1.1 + STOP_SEC, abs=0.002)
        np.testing.assert_array_equal(
            samples[2 * LEAD : LEAD + round(1.0 * WIRE_RATE)],
            decode_pcm16(data)[round(0.3 * WIRE_RATE) + LEAD : round(1.3 * WIRE_RATE)],
        )


async def test_only_silence_is_held_back() -> None:
    sound = Sound()
    assert len(sound.push(encode_pcm16(hush(0.3)))) == 0
    got = sound.push(encode_pcm16(np.concatenate([hush(0.1), tone(0.2)])))
    assert len(got) / WIRE_RATE == pytest.approx(0.21, abs=0.002)
    assert len(sound.push(encode_pcm16(hush(0.2)))) == 0
    got = sound.push(encode_pcm16(tone(0.1)))
    assert len(got) / WIRE_RATE == pytest.approx(0.3, abs=0.003)


async def test_joins_are_without_a_click() -> None:
    sound = Sound()
    samples = np.concatenate([sound.push(encode_pcm16(tone(0.2))), sound.end(GAP_SEC)])
    assert abs(samples[0]) < AUDIBLE and abs(samples[-1]) < AUDIBLE


@pytest.mark.parametrize("piece_sec", [0.05, 0.3, 0.7, 2.0])
async def test_words_are_shared_out_by_their_length(piece_sec: float) -> None:
    words = Words(" One two, three. ", 0.1)
    assert words.seconds == pytest.approx(1.7)
    sound = tone(2.0)
    size = round(piece_sec * WIRE_RATE)
    chunks = [c for at in range(0, len(sound), size) for c in words.share(sound[at : at + size])]
    np.testing.assert_array_equal(np.concatenate([c.audio.samples for c in chunks]), sound)
    ends = np.cumsum([len(chunk.audio.samples) for chunk in chunks]) / WIRE_RATE
    told = {c.text: end for c, end in zip(chunks, ends, strict=True) if c.text}
    assert told == {" One ": pytest.approx(0.5), "two, ": pytest.approx(1.0)}
    assert words.rest == "three. "


# ---- servers that fail


async def test_a_server_that_is_not_there_is_told_in_a_sentence() -> None:
    for call in (
        say(voice_at("http://127.0.0.1:9/v1")),
        ears_at("http://127.0.0.1:9/v1").transcribe(AudioChunk(tone(1.0), WIRE_RATE)),
    ):
        with pytest.raises(BackendError, match="server cannot be reached at http://127.0.0.1:9/v1"):
            await call


@pytest.mark.parametrize("url", ["", "localhost:8000/v1", "http://", "ftp://x/v1", "http://x:y/v1"])
async def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(BackendError, match="^The voice server's URL is .*, and not one like http"):
        voice_at(url)


@pytest.mark.parametrize("port", [0, 65_536, 99_999])
async def test_a_port_that_cannot_be_is_refused_at_once(port: int) -> None:
    with pytest.raises(BackendError, match="^The voice server's URL is .* from 1 to 65535.$"):
        voice_at(f"http://127.0.0.1:{port}/v1")


@pytest.mark.parametrize("key", ["schlüssel", "two\nlines", "key\n", "key "])
async def test_a_key_that_cannot_be_sent_is_refused_at_once_and_not_told(key: str) -> None:
    with pytest.raises(BackendError) as caught:
        ears_at("http://127.0.0.1:9/v1", api_key=key)
    assert str(caught.value) == (
        "The transcription server's api_key holds characters that cannot be in a key."
    )


async def test_a_proxy_for_the_web_is_not_asked(
    peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert text((await say(voice_at(peer.url)))[0]) == CLAUSE


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (401, b"", "The voice server did not accept our key."),
        (
            404,
            b'{"error": {"message": "The model `m` does not exist.", "code": 404}}',
            "The voice server refused: The model `m` does not exist.",
        ),
        (400, b'{"message": "No voice v"}', "The voice server refused: No voice v."),
        (400, b'{"error": null, "message": "No."}', "The voice server refused: No."),
        (400, b"[" * 100_000, "The voice server refused: status 400."),
        (422, b'{"detail": [{"msg": "x"}]}', "The voice server refused: status 422."),
        (400, b"<html>", "The voice server refused: status 400."),
        (429, b"", "The voice server is busy; please try again soon."),
        (503, b"", "The voice server is busy; please try again soon."),
        (500, b"Traceback", "The voice server failed with status 500."),
        (302, b"", "The voice server failed with status 302."),
    ],
)  # fmt: skip
async def test_a_server_that_refuses_is_told_in_a_sentence(
    peer: Peer, status: int, body: bytes, sentence: str
) -> None:
    peer.status, peer.pieces = status, [body]
    with pytest.raises(BackendError) as caught:
        await say(voice_at(peer.url))
    assert (str(caught.value), caught.value.role) == (sentence, "speaker")
    with pytest.raises(BackendError, match="^The transcription server"):
        await ears_at(peer.url).transcribe(AudioChunk(tone(1.0), WIRE_RATE))


@pytest.mark.parametrize(
    ("kind", "pieces", "sentence"),
    [
        ("text/html", [b"<html>"], "answered with text/html where PCM was asked for"),
        ("audio/wav", [b"RIFF"], "answered with audio/wav where PCM was asked for"),
        ("audio/pcm", [], "answered without a sound"),
        ("audio/pcm; rate=24000", [bytes(48_000)], "answered without a sound"),
    ],
)
async def test_an_answer_that_is_no_speech_is_told_in_a_sentence(
    peer: Peer, kind: str, pieces: list[bytes], sentence: str
) -> None:
    peer.kind, peer.pieces = kind, pieces
    with pytest.raises(BackendError, match=sentence):
        await say(voice_at(peer.url))


async def test_a_server_that_breaks_off_is_told_after_what_came(peer: Peer) -> None:
    peer.breaks_off = True
    heard = []
    with pytest.raises(BackendError, match="The voice server broke off in the middle."):
        async with aclosing(voice_at(peer.url).speak(CLAUSE, PLAIN)) as chunks:
            async for chunk in chunks:
                heard.append(chunk)
    assert heard


async def test_a_server_that_falls_silent_is_not_waited_for(peer: Peer) -> None:
    peer.pieces *= 2
    peer.may_go_on.clear()
    with pytest.raises(BackendError, match="did not answer in time"):
        await say(voice_at(peer.url, timeout_sec=0.05))


# ---- ears


async def test_ears_send_a_wav_file_with_what_is_known(peer: Peer) -> None:
    peer.kind, peer.pieces = "application/json", [b'{"text": " Yes. "}']
    ears = ears_at(peer.url, language="fr")
    assert await ears.transcribe(AudioChunk(tone(1.0), WIRE_RATE)) == "Yes."
    (body,) = peer.asked
    assert b'name="language"\r\n\r\nfr\r\n' in body and b'name="model"\r\n\r\nm\r\n' in body
    data = body[body.index(b"data", body.index(b"RIFF")) + 8 :][: 2 * EAR_RATE]
    expected = resample(tone(1.0), WIRE_RATE, EAR_RATE)
    np.testing.assert_allclose(decode_pcm16(data), expected, atol=1e-4)


async def test_ears_do_not_ask_about_silence(peer: Peer) -> None:
    for samples in (hush(0), hush(1.0), tone(0.05), tone(1.0, level=0.0005)):
        assert await ears_at(peer.url).transcribe(AudioChunk(samples, WIRE_RATE)) == ""
    assert not peer.asked


@pytest.mark.parametrize(
    "body", [b"", b"yes", b"[]", b"{}", b"\xff", b'{"text": null}', b'{"text": ["Yes."]}']
)
async def test_an_answer_without_words_is_told_in_a_sentence(peer: Peer, body: bytes) -> None:
    peer.kind, peer.pieces = "application/json", [body]
    with pytest.raises(BackendError, match="The transcription server answered without words."):
        await ears_at(peer.url).transcribe(AudioChunk(tone(1.0), WIRE_RATE))


# ---- more to ask than a server does at once


class Desk:
    """A server that answers when it is told to, and says who is asking."""

    def __init__(self) -> None:
        self.arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self.may_answer = asyncio.Semaphore(0)
        self.answer = b"{}"
        self.kind = b"audio/pcm"

    async def __call__(self, scope: Message, receive: Any, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        self.arrived.put_nowait(body)
        await self.may_answer.acquire()
        headers = [(b"content-type", self.kind)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.answer, "more_body": False})


@asynccontextmanager
async def desk() -> AsyncGenerator[tuple[str, Desk], None]:
    served = Desk()
    async with asyncio.timeout(20), at_a_port(served) as url:
        yield url, served


def in_line(work: Callable[[], Awaitable[Any]], due: float) -> "asyncio.Task[Any]":
    async def wait() -> Any:
        with needed(lambda: due):
            return await work()

    return asyncio.create_task(wait())


async def test_clauses_wait_for_the_voice_in_the_order_in_which_they_are_needed() -> None:
    async with desk() as (url, served):
        served.answer = encode_pcm16(tone(0.5))
        speaker = voice_at(url, concurrency=2)
        dues = {"One.": 0.0, "Two.": 0.0, "Late.": 9.0, "Soon.": 2.0, "Now.": 1.0}
        saying = []
        for clause, due in dues.items():
            saying.append(in_line(partial(say, speaker, clause), due))
            await asyncio.sleep(0)  # they come one after the other
        asked = [json.loads(await served.arrived.get())["input"] for _ in range(2)]
        assert sorted(asked) == ["One.", "Two."] and served.arrived.empty()
        for _ in range(3):
            served.may_answer.release()
            asked.append(json.loads(await served.arrived.get())["input"])
        assert asked[2:] == ["Now.", "Soon.", "Late."]
        for _ in range(2):
            served.may_answer.release()
        assert [text(chunks) for chunks, _ in await asyncio.gather(*saying)] == [*dues]


async def test_utterances_wait_for_the_ears_in_the_order_in_which_they_are_needed() -> None:
    async with desk() as (url, served):
        served.answer = b'{"text": "yes"}'
        ears = ears_at(url, concurrency=1)
        heard = []
        for seconds, due in ((1.0, 0.0), (2.0, 9.0), (3.0, 1.0)):
            sound = AudioChunk(tone(seconds), WIRE_RATE)
            heard.append(in_line(partial(ears.transcribe, sound), due))
            await asyncio.sleep(0)
        sizes = []
        for _ in heard:
            sizes.append(len(await served.arrived.get()))
            assert served.arrived.empty()
            served.may_answer.release()
        assert sizes[0] < sizes[2] < sizes[1]  # of one, two and three seconds
        assert await asyncio.gather(*heard) == ["yes"] * 3


async def test_a_clause_given_up_frees_its_place_whether_it_waits_or_is_spoken() -> None:
    async with desk() as (url, served):
        served.answer = encode_pcm16(tone(0.5))
        speaker = voice_at(url, concurrency=1)
        spoken, waiting, other = (
            in_line(partial(say, speaker, clause), due)
            for clause, due in (("Spoken.", 0.0), ("Waiting.", 1.0), ("Other.", 2.0))
        )
        assert b"Spoken" in await served.arrived.get()
        for given_up in (waiting, spoken):
            given_up.cancel()
            await asyncio.wait([given_up])
        assert b"Other" in await served.arrived.get()
        for _ in range(2):
            served.may_answer.release()
        chunks, _ = await other
        assert text(chunks) == "Other."


async def test_a_clause_that_is_played_slowly_keeps_the_voice_from_nobody() -> None:
    async with desk() as (url, served):
        served.answer = encode_pcm16(tone(3.0))
        for _ in range(2):
            served.may_answer.release()
        speaker = voice_at(url, concurrency=1)
        async with aclosing(speaker.speak(CLAUSE, PLAIN)) as slowly:
            first = await anext(slowly)  # and no more for now
            chunks, _ = await say(speaker, "Hello.")
            assert text(chunks) == "Hello."
            assert text([first, *[chunk async for chunk in slowly]]) == CLAUSE


async def test_whoever_is_not_let_through_in_time_is_told_that_the_server_is_busy() -> None:
    async with desk() as (url, served):
        for _ in range(2):
            served.may_answer.release()
        server = OpenAIServer("speaker", "voice server", url, None, 0.2, concurrency=1)
        async with server.post("/audio/speech", json={}):  # answered, and not read to its end
            with pytest.raises(Crowded, match="^The voice server is busy"):
                async with server.post("/audio/speech", json={}):
                    pass
        assert served.arrived.qsize() == 1
        async with server.post("/audio/speech", json={}) as answer:
            assert answer.is_success


PATIENT_SEC = 0.5


@pytest.mark.parametrize("role", ["speaker", "transcriber"])
async def test_a_healthy_server_with_a_long_line_is_neither_given_up_nor_left_alone(
    role: str,
) -> None:
    """Each is answered soon once it is asked, and asked after more than anybody's patience."""
    async with desk() as (url, served):
        for_all = {each: Patience(PATIENT_SEC, PATIENT_SEC) for each in PATIENCE}
        speaker, ears = (make(url, concurrency=1) for make in (voice_at, ears_at))
        kept = breakers()
        models = guarded(standins(speaker=speaker, transcriber=ears), kept, for_all)
        work: dict[str, Callable[[], Awaitable[Any]]] = {
            "speaker": partial(say, models.speaker, "Hello."),
            "transcriber": partial(models.transcriber.transcribe, AudioChunk(tone(1.0), WIRE_RATE)),
        }
        if role == "speaker":
            served.answer = encode_pcm16(tone(0.5))
        else:
            served.answer = b'{"text": "yes"}'
        line = [in_line(work[role], float(place)) for place in range(4)]
        for _ in line:
            await served.arrived.get()
            await asyncio.sleep(0.6 * PATIENT_SEC)  # at work
            served.may_answer.release()
        assert all(await asyncio.gather(*line))
        assert (kept[role].state, kept[role].failures) == ("closed", 0)


async def test_a_line_that_moves_too_slowly_says_nothing_about_the_server() -> None:
    async with desk() as (url, served):
        served.may_answer.release()
        server = OpenAIServer("speaker", "voice server", url, None, 0.3, concurrency=1)
        guard = Guard("speaker", PATIENCE["speaker"], Breaker())

        async def ask() -> None:
            async with server.post("/audio/speech", json={}):
                pass

        async with server.post("/audio/speech", json={}):  # answered, and not read to its end
            for _ in range(4):
                with pytest.raises(Crowded):
                    await guard.call(ask)
        assert (guard.breaker.state, guard.breaker.failures) == ("closed", 0)


async def test_no_places_at_all_are_refused_at_once() -> None:
    with pytest.raises(BackendError, match="^The voice server's concurrency is 0, and not 1 or"):
        voice_at("http://127.0.0.1:9/v1", concurrency=0)
