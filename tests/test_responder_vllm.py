"""Replies from a server of OpenAI-style chat, which here says whatever a test has it say."""

import asyncio
import io
from base64 import b64decode
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest
import soundfile

from models import responder_vllm
from models.due import needed
from models.errors import BackendError, Crowded
from models.responder_vllm import VllmResponder
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Turn

HELLO = [Turn("system", "Be kind."), Turn("user", "Hello.")]
EVENTS = "200 OK\r\nContent-Type: text/event-stream; charset=utf-8"
DONE = b"data: [DONE]\n\n"


@dataclass
class Call:
    """One request, and the way to answer it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: str = EVENTS) -> None:
        await self.send(f"HTTP/1.1 {status}\r\nConnection: close\r\n\r\n".encode())

    async def left(self) -> None:
        """Once the other side has closed the connection."""
        try:
            while await self.reader.read(1024):
                pass
        except ConnectionError:
            pass


Script = Callable[[Call], Awaitable[None]]


@dataclass
class Peer:
    """A server whose every answer is the next of its scripts, the last one again and again."""

    url: str = ""
    calls: list[Call] = field(default_factory=list)
    models: list[str] = field(default_factory=lambda: ["small"])

    @property
    def asked(self) -> list[Call]:
        """The requests for replies."""
        return [call for call in self.calls if call.path == "/v1/chat/completions"]


@asynccontextmanager
async def serving(*scripts: Script) -> AsyncGenerator[Peer, None]:
    peer, answering = Peer(), set[asyncio.Task[Any] | None]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.add(asyncio.current_task())
        try:
            call = await received(reader, writer)
            peer.calls.append(call)
            if call.path == "/v1/models":
                offer = orjson.dumps({"data": [{"id": name} for name in peer.models]})
                await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(offer))
                await call.send(offer)
                await call.left()  # which has to come: no connection is kept
            else:
                await scripts[min(len(peer.asked), len(scripts)) - 1](call)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the other side has left
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    peer.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield peer
    async with asyncio.timeout(5):
        await asyncio.gather(*filter(None, answering))


async def received(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Call:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Call(first.split()[1], headers, orjson.loads(body or b"{}"), reader, writer)


def piece(text: str | None = None, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + orjson.dumps({"id": "x", "choices": [choice]}) + b"\n\n"


def says(*texts: str) -> Script:
    async def script(call: Call) -> None:
        await call.head()
        await call.send(b"".join(map(piece, texts)) + piece("", "stop") + DONE)

    return script


def answers(status: str, body: Any = None) -> Script:
    async def script(call: Call) -> None:
        await call.head(f"{status}\r\nContent-Type: application/json")
        await call.send(body if isinstance(body, bytes) else orjson.dumps(body))

    return script


def refuses(status: str, message: str = "No.") -> Script:
    return answers(status, {"error": {"message": message, "code": int(status[:3])}})


def sends(*data: bytes) -> Script:
    async def script(call: Call) -> None:
        await call.head()
        for some in data:
            await call.send(some)

    return script


async def hangs_up(call: Call) -> None:
    call.writer.close()


def asking(peer: Peer, **options: Any) -> VllmResponder:
    return VllmResponder(peer.url, **{"model": "small", **options})


async def reply(responder: VllmResponder, turns: Sequence[Turn] = HELLO) -> list[str]:
    async with aclosing(responder.respond(turns, 40)) as pieces:
        return [piece async for piece in pieces]


async def refused(responder: VllmResponder, turns: Sequence[Turn] = HELLO) -> str:
    """The one sentence a reply failed with."""
    with pytest.raises(BackendError) as caught:
        await reply(responder, turns)
    assert caught.value.role == "responder"
    sentence = str(caught.value)
    assert sentence.endswith(".") and "\n" not in sentence
    return sentence


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responder_vllm, "PAUSE_SEC", 0.0)


# ---- asking


async def test_a_reply_comes_as_it_is_streamed() -> None:
    async with serving(says("Good", " morning", ".")) as peer:
        assert await reply(asking(peer, temperature=0.5)) == ["Good", " morning", "."]
    assert peer.asked[0].body == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hello."},
        ],
        "max_tokens": 40,
        "temperature": 0.5,
        "stream": True,
    }


async def test_a_piece_is_given_before_the_next_is_made() -> None:
    heard = asyncio.Event()

    async def script(call: Call) -> None:
        await call.head()
        await call.send(piece("Well"))
        await heard.wait()
        await call.send(piece(", hello.", "stop") + DONE)

    async with (
        serving(script) as peer,
        aclosing(asking(peer).respond(HELLO, 40)) as pieces,
    ):
        assert await anext(pieces) == "Well"
        heard.set()
        assert await anext(pieces) == ", hello."


async def test_a_stream_may_be_cut_anywhere_and_hold_any_character() -> None:
    text = "It’s 5\u2028o'clock\u0085 😀\x0b"
    stream = b": a remark\r\n\r\n" + piece(None) + piece(text).replace(b"\n", b"\r\n")
    stream += b'data: {"choices": [], "usage": {"total_tokens": 9}}\n\n' + piece("", "stop") + DONE
    async with serving(sends(*(stream[at : at + 1] for at in range(len(stream))))) as peer:
        assert await reply(asking(peer)) == [text]


async def test_a_reply_has_ended_once_the_server_says_so_in_either_way() -> None:
    async with serving(sends(piece("Hm.", "stop")), sends(piece("Hm."), DONE)) as peer:
        responder = asking(peer)
        assert await reply(responder) == await reply(responder) == ["Hm."]


async def test_the_last_event_need_not_end_its_line() -> None:
    async with serving(
        sends(piece("Hm.", "stop").rstrip()), sends(piece("Hm."), DONE.rstrip())
    ) as peer:
        responder = asking(peer)
        assert await reply(responder) == await reply(responder) == ["Hm."]
    assert len(peer.asked) == 2


async def test_an_event_without_data_says_nothing() -> None:
    async with serving(sends(b"data:\n\n", piece("Hm."), b"data: \r\n\r\n", DONE)) as peer:
        assert await reply(asking(peer)) == ["Hm."]


async def test_without_a_name_the_first_model_offered_is_taken_and_remembered() -> None:
    async with serving(says("Hi.")) as peer:
        peer.models = ["large", "small"]
        responder = VllmResponder(peer.url)
        await reply(responder)
        await reply(responder)
    assert [call.path for call in peer.calls].count("/v1/models") == 1
    assert [call.body["model"] for call in peer.asked] == ["large", "large"]


async def test_a_server_that_comes_back_with_another_model_is_followed() -> None:
    async with serving(says("Hi."), refuses("404 Not Found"), says("Hi again.")) as peer:
        responder = VllmResponder(peer.url)
        await reply(responder)
        peer.models = ["other"]
        assert await reply(responder) == ["Hi again."]
    assert [call.body["model"] for call in peer.asked] == ["small", "small", "other"]


async def test_the_key_goes_along() -> None:
    async with serving(says("Hi.")) as peer:
        await reply(asking(peer, api_key="open sesame"))
        await reply(asking(peer))
    assert peer.asked[0].headers["authorization"] == "Bearer open sesame"
    assert "authorization" not in peer.asked[1].headers


async def test_a_proxy_for_the_web_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with serving(says("Hi.")) as peer:
        assert await reply(asking(peer, retries=0)) == ["Hi."]


async def test_a_reply_that_has_begun_is_gone_on_with() -> None:
    begun = [*HELLO, Turn("assistant", "I hear you.")]
    async with serving(says(" Tell me more."), says()) as peer:
        responder = asking(peer)
        assert await reply(responder, begun) == [" Tell me more."]
        assert await reply(responder, begun) == []  # it was complete
    assert peer.asked[0].body["continue_final_message"] is True
    assert peer.asked[0].body["add_generation_prompt"] is False


async def test_many_replies_at_once_do_not_mix() -> None:
    async def echo(call: Call) -> None:
        await says(*call.body["messages"][-1]["content"].split())(call)

    async with serving(echo) as peer:
        responder = asking(peer)
        asked = [[Turn("user", f"This is number {number}")] for number in range(20)]
        replies = await asyncio.gather(*(reply(responder, turns) for turns in asked))
    assert replies == [["This", "is", "number", str(number)] for number in range(20)]


# ---- hearing


def noise(seconds: float, rate: int = EAR_RATE) -> AudioChunk:
    return AudioChunk(np.linspace(-0.5, 0.5, round(seconds * rate)).astype(np.float32), rate)


TALK = [
    Turn("user", "First.", audio=noise(1.0)),
    Turn("assistant", "Yes?"),
    Turn("user", "Second.", audio=noise(2.0, WIRE_RATE)),
]


async def contents(turns: Sequence[Turn], **options: Any) -> list[Any]:
    """What the server is sent of each turn; sound as (rate, samples)."""
    async with serving(says("Hi.")) as peer:
        await reply(asking(peer, **options), turns)
    return [shown(message["content"]) for message in peer.asked[0].body["messages"]]


def shown(content: Any) -> Any:
    if isinstance(content, str):
        return content
    sound, *words = content
    assert sound["type"] == "input_audio" and sound["input_audio"]["format"] == "wav"
    samples, rate = soundfile.read(io.BytesIO(b64decode(sound["input_audio"]["data"])))
    assert samples.ndim == 1
    return (rate, samples, *(part["text"] for part in words if part["type"] == "text"))


async def test_a_model_without_ears_is_sent_words_alone() -> None:
    assert await contents(TALK, ears_turns=2) == ["First.", "Yes?", "Second."]


async def test_a_model_with_ears_is_sent_the_last_turns_sound_and_its_words() -> None:
    first, second, third = await contents(TALK, hears=True)
    assert (first, second) == ("First.", "Yes?")
    rate, samples, words = third
    assert (rate, len(samples), words) == (EAR_RATE, 2 * EAR_RATE, "Second.")
    np.testing.assert_allclose(samples[800:-800], noise(2.0).samples[800:-800], atol=1e-3)


@pytest.mark.parametrize(
    ("ears_turns", "heard"),
    [(0, [False] * 2), (1, [False, True]), (2, [True] * 2), (9, [True] * 2)],
)
async def test_as_many_turns_are_heard_as_was_set(ears_turns: int, heard: list[bool]) -> None:
    sent = await contents(TALK, hears=True, ears_turns=ears_turns)
    assert [isinstance(content, tuple) for content in (sent[0], sent[2])] == heard


async def test_an_older_turn_is_not_heard_in_place_of_a_typed_one() -> None:
    typed = [*TALK, Turn("assistant", "Oh."), Turn("user", "Third.")]
    assert (await contents(typed, hears=True))[-3:] == ["Second.", "Oh.", "Third."]


async def test_too_short_a_sound_is_left_out_and_too_long_a_one_loses_its_beginning() -> None:
    blip = [Turn("user", "Hm.", audio=noise(0.05))]
    assert await contents(blip, hears=True) == ["Hm."]
    speech = [Turn("user", "", audio=noise(40.0))]
    [(rate, samples)] = await contents(speech, hears=True)
    assert len(samples) == 30 * rate
    assert samples[-1] == pytest.approx(0.5, abs=1e-3)


# ---- trying again


@pytest.mark.parametrize(
    "trouble",
    [
        hangs_up,
        sends(),
        sends(piece("")[:20]),
        refuses("429 Too Many Requests"),
        refuses("502 Bad Gateway"),
        refuses("503 Service Unavailable"),
        refuses("504 Gateway Timeout"),
    ],
    ids=["hangs up", "no stream", "half an event", "429", "502", "503", "504"],
)
async def test_what_may_pass_is_tried_again(trouble: Script) -> None:
    async with serving(trouble, trouble, says("Here.")) as peer:
        assert await reply(asking(peer, retries=2)) == ["Here."]
    assert len(peer.asked) == 3


async def test_no_more_tries_are_made_than_allowed() -> None:
    async with serving(refuses("503 Service Unavailable")) as peer:
        assert "is busy" in await refused(asking(peer, retries=2))
        assert len(peer.asked) == 3
        await refused(asking(peer, retries=0))
        assert len(peer.asked) == 4


async def test_nothing_is_tried_again_once_words_have_come() -> None:
    async with serving(sends(piece("Once upon")), says("Never.")) as peer:
        responder = asking(peer)
        async with aclosing(responder.respond(HELLO, 40)) as pieces:
            assert await anext(pieces) == "Once upon"
            with pytest.raises(BackendError, match="broke off in mid-reply"):
                await anext(pieces)
    assert len(peer.asked) == 1


@pytest.mark.parametrize("status", ["400 Bad Request", "500 Internal Server Error"])
async def test_what_will_not_pass_is_not_tried_again(status: str) -> None:
    async with serving(refuses(status, "Too  odd\nby far.")) as peer:
        sentence = await refused(asking(peer))
    assert sentence.endswith(f"refused with HTTP {status[:3]}: Too odd by far.")
    assert len(peer.asked) == 1


async def test_tries_lie_further_and_further_apart_and_never_equally(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr(responder_vllm, "PAUSE_SEC", 1.0)
    monkeypatch.setattr(asyncio, "sleep", noted)
    async with serving(hangs_up) as peer:
        for _ in range(5):
            await refused(asking(peer, retries=2))
    first, second = pauses[::2], pauses[1::2]
    assert len(set(pauses)) == 10
    assert all(0.5 <= pause <= 1.5 for pause in first)
    assert all(1.0 <= pause <= 3.0 for pause in second)


# ---- what can go wrong


async def test_a_server_that_is_not_there_is_told_with_the_remedy() -> None:
    async with serving() as peer:
        pass
    sentence = await refused(VllmResponder(peer.url))
    assert sentence.startswith(f"The reply server at {peer.url} cannot be reached")
    assert "docs/gpu.md" in sentence and "make vllm-cpu" in sentence


async def test_a_model_the_server_lacks_is_told_with_those_it_has() -> None:
    async with serving(refuses("404 Not Found")) as peer:
        peer.models = ["one", "two"]
        sentence = await refused(asking(peer, model="three"))
    assert sentence.endswith("has no model 'three'; it has: one, two.")


async def test_a_server_without_models_is_told() -> None:
    async with serving() as peer:
        peer.models = []
        assert "has no model at all" in await refused(VllmResponder(peer.url))


async def test_a_wrong_key_is_told() -> None:
    async with serving(refuses("401 Unauthorized")) as peer:
        assert "refuses our key" in await refused(asking(peer))


async def test_a_wrong_address_is_told() -> None:
    async with serving(answers("404 Not Found", {"detail": "Not Found"})) as peer:
        responder = VllmResponder(peer.url.removesuffix("/v1"), model="small")
        assert "mostly ends in /v1" in await refused(responder)


async def test_too_long_a_conversation_is_told() -> None:
    message = "This model's maximum context length is 2048 tokens. However, you asked for more."
    async with serving(refuses("400 Bad Request", message)) as peer:
        assert "so long a conversation" in await refused(asking(peer))


async def test_an_empty_reply_is_told() -> None:
    async with serving(says()) as peer:
        assert "gave an empty reply" in await refused(asking(peer))


@pytest.mark.parametrize(
    "error", [b'{"message": "The engine died.", "code": 500}', b'"The engine  died."']
)
async def test_an_error_in_the_stream_is_told(error: bytes) -> None:
    failure = b'data: {"error": ' + error + b"}\n\n"
    async with serving(sends(piece("Well"), failure, DONE)) as peer:
        assert (await refused(asking(peer))).endswith("failed: The engine died.")


@pytest.mark.parametrize("body", [{"error": "boom"}, {"message": "boom"}, {"detail": "boom"}])
async def test_a_refusal_is_told_in_whatever_form_it_has(body: Any) -> None:
    async with serving(answers("400 Bad Request", body)) as peer:
        assert (await refused(asking(peer))).endswith("refused with HTTP 400: boom.")


@pytest.mark.parametrize(
    "garbage",
    [
        sends(b"data: {\n\n"),
        sends(b"data: \xff\xfe\n\n"),
        sends(b"data: []\n\n"),
        sends(b'data: {"choices": 7}\n\n'),
        sends(b'data: {"choices": [{"delta": {"content": {}}}]}\n\n'),
        sends(b'data: {"error": "out of luck"}\n\n'),
        answers("418 I'm a teapot", b"\x00\xff"),
        answers("500 Internal Server Error", {"error": None}),
        answers("307 Temporary Redirect", b""),
        answers("200 OK\r\nContent-Encoding: gzip\r\nX: text/event-stream", b"no gzip"),
    ],
)
async def test_whatever_a_server_sends_ends_in_one_sentence(garbage: Script) -> None:
    async with serving(garbage) as peer:
        assert peer.url in await refused(asking(peer))


async def test_a_line_without_end_is_not_read_to_its_end() -> None:
    async def script(call: Call) -> None:
        await call.head()
        while True:  # until the other side has left
            await call.send(b"data: " + b"x" * 65_536)

    async with serving(script) as peer:
        assert "sent something that is no reply" in await refused(asking(peer))


async def test_what_is_no_stream_is_told_with_what_may_be_wrong() -> None:
    async with serving(answers("200 OK", {"choices": []})) as peer:
        assert "its URL mostly ends in /v1" in await refused(asking(peer))


async def test_what_is_no_http_ends_in_one_sentence() -> None:
    async def script(call: Call) -> None:
        await call.send(b"SSH-2.0-door\r\n\r\n")

    async with serving(script) as peer:
        assert "cannot be reached" in await refused(asking(peer))


async def test_a_strange_list_of_models_ends_in_one_sentence() -> None:
    async with serving(answers("200 OK", [1, 2])) as peer:
        responder = VllmResponder(peer.url.replace("/v1", "/v2"))
        assert "does not say what it has" in await refused(responder)


@pytest.mark.parametrize("url", ["127.0.0.1:8000/v1", "ftp://x/v1", "http://", "http://x:y/v1", ""])
async def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(BackendError, match="and not one like http://127.0.0.1:8000/v1"):
        VllmResponder(url)


@pytest.mark.parametrize("port", [0, 65_536, 99_999])
async def test_a_port_that_cannot_be_is_refused_at_once(port: int) -> None:
    with pytest.raises(BackendError, match="^The reply server's URL is .* from 1 to 65535.$"):
        VllmResponder(f"http://127.0.0.1:{port}/v1")


@pytest.mark.parametrize("key", ["schlüssel", "key\n"])
async def test_a_key_that_cannot_be_sent_is_refused_at_once_and_not_told(key: str) -> None:
    with pytest.raises(BackendError) as caught:
        VllmResponder(api_key=key)
    assert str(caught.value) == (
        "The reply server's api_key holds characters that cannot be in a key."
    )


# ---- waiting and leaving


async def test_a_server_that_does_not_begin_is_waited_for_no_longer_than_allowed() -> None:
    gone = asyncio.Event()

    async def script(call: Call) -> None:
        await call.head()
        await call.send(b": I am thinking\n\n")
        await call.left()
        gone.set()

    async with serving(script) as peer:
        sentence = await refused(asking(peer, first_token_sec=0.05))
        assert sentence.endswith("did not begin to answer within 0.05 seconds.")
        await gone.wait()


async def test_all_tries_together_take_no_longer_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(responder_vllm, "PAUSE_SEC", 60.0)
    async with serving(hangs_up) as peer:
        assert "within 0.1 seconds" in await refused(asking(peer, first_token_sec=0.1))


async def test_a_server_that_falls_silent_is_left() -> None:
    gone = asyncio.Event()

    async def script(call: Call) -> None:
        await call.head()
        await call.send(piece("Once"))
        await call.left()
        gone.set()

    async with serving(script) as peer:
        sentence = await refused(asking(peer, stall_sec=0.05))
        assert "stopped in mid-reply" in sentence and "0.05 seconds" in sentence
        await gone.wait()


@pytest.mark.parametrize("pieces_taken", [0, 1, 2])
async def test_leaving_a_reply_closes_its_connection(pieces_taken: int) -> None:
    begun, gone = asyncio.Event(), asyncio.Event()

    async def script(call: Call) -> None:
        await call.head()
        await call.send(piece("On") * pieces_taken)
        begun.set()
        await call.left()
        gone.set()

    async with serving(script) as peer:
        pieces = asking(peer).respond(HELLO, 40)
        for _ in range(pieces_taken):
            await anext(pieces)
        waiting = asyncio.ensure_future(anext(pieces))
        await begun.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        await pieces.aclose()
        async with asyncio.timeout(5):
            await gone.wait()


async def test_closing_a_reply_between_pieces_closes_its_connection() -> None:
    gone = asyncio.Event()

    async def script(call: Call) -> None:
        await call.head()
        await call.send(piece("On") * 50)
        await call.left()
        gone.set()

    async with serving(script) as peer:
        async with aclosing(asking(peer).respond(HELLO, 40)) as pieces:
            await anext(pieces)
        async with asyncio.timeout(5):
            await gone.wait()


async def test_a_reply_never_listened_to_asks_for_nothing() -> None:
    async with serving(says("Hi.")) as peer:
        await asking(peer).respond(HELLO, 40).aclose()
    assert not peer.calls


async def test_more_replies_than_we_may_ask_for_at_once_are_our_own_crowd(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And say nothing about the server, which a breaker would leave alone."""

    async def script(call: Call) -> None:
        await call.head()
        await call.send(piece("On"))
        await call.left()

    monkeypatch.setattr(responder_vllm, "CONNECTIONS", 1)
    async with serving(script) as peer:
        responder = asking(peer, connect_sec=0.3, retries=0)
        async with aclosing(responder.respond(HELLO, 40)) as pieces:
            await anext(pieces)
            with pytest.raises(Crowded, match="too many of our replies"):
                await reply(responder)


# ---- who is answered first


def urgent(peer: Peer) -> list[Any]:
    return [call.body.get("priority") for call in peer.asked]


async def needed_in(seconds: float, responder: VllmResponder) -> list[str]:
    with needed(lambda: monotonic() + seconds):
        return await reply(responder)


async def test_a_reply_that_is_needed_sooner_has_a_lower_priority_and_all_are_below_none() -> None:
    async with serving(says("Hi.")) as peer:
        responder = asking(peer, priority=True)
        for seconds in (20.0, -20.0, 0.0, 10.0):
            await needed_in(seconds, responder)
    later, sooner, now, soon = urgent(peer)
    assert sooner < now < soon < later < 0
    assert all(type(each) is int for each in urgent(peer))


async def test_a_priority_is_the_same_moment_on_every_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each counts its own seconds from when it was started; clocks on the wall agree."""
    wall = 1.8e9
    async with serving(says("Hi.")) as peer:
        for started in (0.0, 5_000.0):
            clock = SimpleNamespace(time=lambda: wall, monotonic=partial(float, started))
            monkeypatch.setattr("models.responder_vllm.time", clock)
            with needed(partial(float, started + 1.5)):
                await reply(asking(peer, priority=True))
    one, other = urgent(peer)
    assert one == other == round((wall + 1.5) * 1000) - responder_vllm.FAR_MS


async def test_no_priority_is_sent_unless_asked_for() -> None:
    async with serving(says("Hi.")) as peer:
        await reply(asking(peer))
    assert "priority" not in peer.asked[0].body


@pytest.mark.parametrize(
    "refusal",
    [
        refuses("400 Bad Request", "Got priority -5 but Priority scheduling is not enabled."),
        answers("422 Unprocessable", {"detail": [{"loc": ["body", "priority"], "msg": "extra"}]}),
    ],
)
async def test_a_server_that_refuses_priorities_answers_without_and_that_is_told_once(
    refusal: Script, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(refusal, says("Hi.")) as peer:
        responder = asking(peer, priority=True)
        for _ in range(2):
            assert await reply(responder) == ["Hi."]
    assert [each is not None for each in urgent(peer)] == [True, False, False]
    (told,) = [each.getMessage() for each in caplog.records]
    assert f"The reply server at {peer.url} refuses the field priority" in told
    assert "--scheduling-policy priority" in told


async def test_a_refusal_of_something_else_is_told_and_priorities_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One may even name the word, which somebody may have said."""
    named = refuses("400 Bad Request", "Cannot read 'my first priority'.")
    other = refuses("400 Bad Request", "This model's maximum context length is 8 tokens.")
    async with serving(named, named, other, says("Hi.")) as peer:
        responder = asking(peer, priority=True)
        assert "my first priority" in await refused(responder)
        assert "so long a conversation" in await refused(responder)
        assert await reply(responder) == ["Hi."]
    assert [each is not None for each in urgent(peer)] == [True, False, True, True]
    assert not caplog.records
