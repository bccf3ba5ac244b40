"""What is too much to read is refused unread, and what people need is read quickly."""

import asyncio
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from itertools import count
from typing import Any

import orjson
import pytest

from server.bulk import MOST_ESCAPES, MOST_MARKS, MOST_TEXT, SMALL, apart, bulk
from server.client_events import PIECE, ItemCreate, decode_audio, load, parse
from server.errors import ClientError
from server.limits import Limits
from server.link import TURN_BYTES, WebSocketLink
from server.session_config import SessionConfig, updated
from tests.fuzzing import said
from tests.serving import serving
from tests.talker import talking

LIST, SETTINGS = '{"type":"x","more":[%s]}', '{"type":"session.update","session":{"tools":[%s]}}'
SOUND = b64encode(bytes(range(256)) * 200).decode()
CROWD = ",".join(['{"a":[1,2]}'] * 500_000)


@asynccontextmanager
async def somebody_else() -> AsyncGenerator[Iterator[int], None]:
    """Whose turns of the event loop are counted: the next number is how many they had."""
    turns = count()

    async def take_turns() -> None:
        while True:
            next(turns)
            await asyncio.sleep(0)

    working = asyncio.create_task(take_turns())
    try:
        yield turns
    finally:
        working.cancel()


def seconds(work: Callable[[], object]) -> float:
    """Of this thread's own work, whatever else the machine does; the least of three."""
    taken = []
    for _ in range(3):
        began = time.thread_time()
        with suppress(ClientError):
            work()
        taken.append(time.thread_time() - began)
    return min(taken)


def read(message: str) -> object:
    bulk(message).check()
    return parse(load(message))


def refusal(message: str) -> ClientError:
    with pytest.raises(ClientError) as refused:
        bulk(message).check()
    return refused.value


# ---- what is too much


@pytest.mark.parametrize("crowd", [CROWD, "[]," * 2_000_000, '"",' * 2_000_000, "1," * 2_500_000])
def test_small_things_without_end_are_refused_before_any_is_read(
    crowd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orjson, "loads", None)
    message = SETTINGS % crowd
    assert refusal(message).code == "message_too_long"
    assert seconds(lambda: read(message)) < 0.2  # to read them takes seconds


def test_text_without_end_is_refused() -> None:
    assert refusal(said("session.update", session={"prompt": "x" * MOST_TEXT})).code == (
        "message_too_long"
    )
    assert refusal(
        said("session.update", session={"prompt": "\N{GRINNING FACE}" * (MOST_TEXT // 4)})
    )


def test_brackets_and_commas_are_counted_where_they_build_something_and_nowhere_else() -> None:
    comma = "," * (MOST_MARKS * 2)
    assert bulk(said("x", text=comma)).marks == 2
    assert bulk(said("x", text=comma + '"\\')).marks == 2
    assert bulk(said("x", text='\\"[' * MOST_MARKS)).marks == 2
    assert bulk(LIST % ("1," * MOST_MARKS)).marks == MOST_MARKS + 3
    hidden = '"\\\\","\\"",'  # strings that end in a backslash, and that hold a quote
    assert bulk(LIST % (hidden * MOST_MARKS)).marks > MOST_MARKS


def test_nothing_hides_behind_what_looks_like_sound() -> None:
    crowd = "1," * (2 * MOST_MARKS)
    for before in (
        '"audio":"","x":',
        '"audio":"A\\"","x":',
        '"audio":"A\\\\","x":',
        '"x":"\\"audio\\":","y":',
        '"x":"\\"audio","y":',
    ):
        assert bulk(f"{{{before}[{crowd}1]}}").marks > MOST_MARKS
    many = ",".join(['{"audio":"AAAA"}'] * MOST_MARKS)
    assert bulk(LIST % many).marks > MOST_MARKS


def test_no_message_that_is_read_keeps_the_loop_for_long() -> None:
    """Some 20 ms on the machine this was written on; a busy one may take a few times as long."""
    most = MOST_MARKS - 10
    named = ",".join(f'"k{n}":1' for n in range(most))
    extra = ",".join(f'"k{n}":1' for n in range(70))
    item = f'{{"type":"message","content":[{{"type":"input_text","text":"x"}}],{extra}}}'
    part = ",".join(['{"type":"x"}'] * 16)
    parts = f'{{"type":"message","content":[{part}]}}'
    response = '{"type":"response.create","response":{%s}}'
    escapes = "\\n," * (MOST_ESCAPES - 10)
    worst = [
        SETTINGS % ",".join(['{"a":[1,2]}'] * (most // 4)),
        SETTINGS % ",".join(["[[]]"] * (most // 3)),
        f'{{"type":"response.create",{named}}}',
        response % f'"metadata":{{{named}}}',
        response % f'"input":[{",".join([item] * 250)}]',
        response % f'"input":[{",".join([parts] * 256)}]',
        said("response.create", response={"instructions": "\n" * (MOST_TEXT // 2 - 100)}),
        response % f'"instructions":"{escapes}{"x" * (MOST_TEXT - len(escapes) - 100)}"',
        said("input_audio_buffer.append", audio="A" * 20_000_000),
        said("conversation.item.create", item={"content": [{"audio": "A" * 20_000_000}]}),
    ]
    for message in worst:
        bulk(message).check()
        assert seconds(lambda message=message: read(message)) < 0.15, message[:80]  # type: ignore[misc]


def test_settings_of_a_thousand_mistakes_are_refused_without_telling_each() -> None:
    config = SessionConfig(id="", model="m")
    patch: dict[str, Any] = {f"k{n}": 1 for n in range(1_000)}
    with pytest.raises(ClientError, match="1000 mistakes in 'session'") as refused:
        updated(config, patch, has_spoken=False)
    assert (refused.value.code, refused.value.param) == ("invalid_value", "session")


# ---- what people need


def test_all_that_the_other_limits_allow_may_be_sent() -> None:
    rows = "\n".join(["1,2,3,4,[5],{6}"] * 4_000)[:64_000]  # as text, it builds nothing
    part = {"type": "input_text", "text": rows}
    item = {"type": "message", "role": "user", "content": [part] * 16}
    read(said("conversation.item.create", item=item))
    history = [{**item, "content": [{**part, "text": rows[:16_000]}]}] * 256
    assert len(orjson.dumps(history)) > Limits().conversation_bytes
    read(said("response.create", response={"input": history}))
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    tool = {"type": "function", "name": "look_it_up", "description": "x", "parameters": schema}
    tools = [tool] * (Limits().settings_bytes // len(orjson.dumps(tool)))
    read(said("session.update", session={"tools": tools}))
    code = "\n".join(['say("\\t");'] * 5_000)
    call = {"type": "function_call", "call_id": "c", "name": "n", "arguments": code}
    read(said("response.create", response={"input": [call] * 60}))


@pytest.mark.parametrize(
    "fields",
    [
        {"audio": SOUND},
        {"audio": SOUND, "event_id": "e"},
        {"event_id": '\\"audio":"', "audio": SOUND},
        {"item": {"content": [{"audio": SOUND}, {"audio": ""}, {"audio": SOUND + "A"}]}},
        {"item": {"audio": "", "content": [{"audio": SOUND}], "text": "x" * 5_000}},
        {"audio": SOUND + "\n", "more": ['"audio":"', '"']},
        {"audio": [SOUND, {"audio": {"audio": SOUND}}]},
    ],
)
def test_a_message_with_sound_is_read_as_any_other(fields: dict[str, Any]) -> None:
    for kind in ("input_audio_buffer.append", "conversation.item.create"):
        event = {"type": kind, **fields}
        backwards = dict(reversed(event.items()))
        for message in (said(kind, **fields), orjson.dumps(backwards).decode()):
            assert len(message) > SMALL
            assert load(message) == event
        spaced = orjson.dumps(event, option=orjson.OPT_INDENT_2).decode()
        assert load(spaced) == event


def test_sound_is_apart_from_text() -> None:
    message = said("input_audio_buffer.append", audio=SOUND)
    assert apart(message) == (said("input_audio_buffer.append", audio=""), [SOUND])
    found = bulk(message)
    assert (found.size, found.marks) == (len(message), 2)
    assert found.text < 100


async def test_sound_in_pieces_is_the_same_sound_and_others_get_their_turn() -> None:
    raw = bytes(range(256)) * (PIECE // 100)
    async with somebody_else() as turns:
        for end in (0, 1, 2):
            assert await decode_audio(b64encode(raw[end:]).decode()) == raw[end:]
    assert next(turns) > 3


@pytest.mark.parametrize(
    "broken",
    ["A" * (PIECE - 1) + "=" + "A" * 8, "A" * PIECE + "A", "A" * PIECE + "=", "A" * PIECE + "-_"],
)
async def test_broken_sound_is_refused_wherever_it_is_cut(broken: str) -> None:
    with pytest.raises(ClientError, match="not valid base64"):
        await decode_audio(broken)


def test_an_item_of_sound_is_understood() -> None:
    part = {"type": "input_audio", "audio": SOUND}
    item = {"type": "message", "role": "user", "content": [part]}
    understood = read(said("conversation.item.create", item=item))
    assert isinstance(understood, ItemCreate) and understood.item.content
    assert understood.item.content[0].audio == SOUND


# ---- over the wire


async def test_a_crowd_is_refused_in_the_protocols_form_and_the_session_lives() -> None:
    async with serving() as (url, _), talking(url) as talker:
        for message in (SETTINGS % CROWD, SETTINGS % ("1," * MOST_MARKS + "1")):
            await talker.socket.send(message)
            error = (await talker.until("error"))["error"]
            assert error["type"] == "invalid_request_error"
            assert (error["code"], error["event_id"]) == ("message_too_long", None)
        assert (await talker.update(instructions="Hm"))["session"]["instructions"] == "Hm"


class Silent:
    """A socket on which nothing more comes."""

    scope: dict[str, Any] = {}

    async def receive(self) -> object:
        return await asyncio.Event().wait()


async def test_whoever_sends_much_at_once_lets_others_have_their_turn_in_between() -> None:
    waiting = ["x" * (TURN_BYTES // 2 + 1)] * 40
    link = WebSocketLink(Silent(), None, waiting)  # type: ignore[arg-type]
    async with somebody_else() as turns, aclosing(link.messages()) as messages:
        for _ in waiting:
            await anext(messages)
    assert next(turns) >= 20
