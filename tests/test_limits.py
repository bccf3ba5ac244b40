"""What one client may ask of us, and that people who talk never notice."""

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from models.types import WIRE_RATE
from server.bulk import bulk
from server.client_secrets import ClientSecrets
from server.errors import ClientError
from server.items import MAX_ITEMS, Conversation, Item
from server.limits import Doorbell, Limits, Meter, PassedOver
from tests.fuzzing import said
from tests.serving import serving
from tests.talker import HUSH, VOICE, Talker, talking

FRAME = WIRE_RATE // 50
SPOKEN = said("input_audio_buffer.append", audio="A" * (FRAME * 2 * 4 // 3))
REPORT = said("attune.playback", response_id="r", item_id="i", played_samples=1, input_samples=1)
ELSEWHERE = {"X-Forwarded-For": "192.0.2.1"}  # as a proxy on this machine tells
KEY = "a signing key of thirty-two letters or more"


def written(text: str, item_id: str | None = None) -> dict[str, Any]:
    """An item as a client writes it."""
    content = [{"type": "input_text", "text": text}]
    named = {"id": item_id} if item_id else {}
    return {"type": "message", "role": "user", "content": content, **named}


def kept(items: Iterable[Item]) -> int:
    """Bytes of all that is written in them."""
    texts = [text for item in items for text in (item.text, *item.fields.values())]
    return len("".join(texts).encode())


def test_a_person_who_talks_for_an_hour_meets_no_limit() -> None:
    meter = Meter(Limits(), 0.0)
    for count in range(3600 * 50):
        now = count / 50
        meter.message(now, bulk(SPOKEN).weight)
        meter.sound(FRAME, now)
        if count % 12 == 0:  # reports of playback, and whatever else
            meter.message(now, bulk(REPORT).weight)
    assert meter.over(3600.0) is None


def test_a_line_that_stalls_and_then_delivers_meets_no_limit() -> None:
    meter = Meter(Limits(audio_ahead_sec=5), 0.0)
    now = 0.0
    for _ in range(20):
        now += 4.0
        for _ in range(200):  # four seconds at once
            meter.message(now)
            meter.sound(FRAME, now)


def test_messages_beyond_the_burst_are_refused_and_told_once_a_second() -> None:
    meter = Meter(Limits(messages_per_sec=10, messages_burst=5), 0.0)
    for _ in range(5):
        meter.message(0.0)
    with pytest.raises(ClientError) as refused:
        meter.message(0.0)
    assert refused.value.code == "rate_limit_exceeded"
    for _ in range(50):
        with pytest.raises(PassedOver):
            meter.message(0.01)
    meter.message(0.2)  # two more have come free
    meter.message(0.2)
    with pytest.raises(PassedOver):
        meter.message(0.2)
    with pytest.raises(ClientError):
        for _ in range(20):
            meter.message(1.3)


def test_bytes_beyond_the_burst_are_refused_and_come_back_with_time() -> None:
    meter = Meter(Limits(bytes_per_sec=1_000, bytes_burst=10_000), 0.0)
    meter.message(0.0, 10_000)
    with pytest.raises(ClientError) as refused:
        meter.message(0.0, 1_000)
    assert refused.value.code == "rate_limit_exceeded"
    meter.message(1.0, 1_000)
    with pytest.raises(ClientError):
        meter.message(1000.0, 10_001)


def test_who_goes_on_sending_what_is_too_large_is_cut_off_before_it_costs_much() -> None:
    meter = Meter(Limits(bytes_per_sec=1, bytes_burst=1), 0.0)
    times = 0
    while meter.over(0.0) is None:
        times += 1
        with pytest.raises((ClientError, PassedOver)):
            meter.message(0.0, 24 * 1024 * 1024)
    assert 20 <= times <= 30


def test_five_minutes_of_sound_at_once_and_a_whole_conversation_fit_into_the_burst() -> None:
    meter = Meter(Limits(), 0.0)
    second = bulk(said("input_audio_buffer.append", audio="A" * 64_000))
    for _ in range(300):
        meter.message(0.0, second.weight)
    for _ in range(1_000):
        meter.message(0.0, bulk(said("conversation.item.create", item=written("x" * 4_000))).weight)


def test_sound_far_ahead_of_time_is_refused_and_what_follows_in_time_is_not() -> None:
    meter = Meter(Limits(audio_ahead_sec=10), 0.0)
    meter.sound(10 * WIRE_RATE, 0.0)
    with pytest.raises(ClientError) as refused:
        meter.sound(FRAME, 0.0)
    assert (refused.value.code, refused.value.param) == ("rate_limit_exceeded", "audio")
    meter.sound(WIRE_RATE // 2, 0.5)
    with pytest.raises(PassedOver):
        meter.sound(WIRE_RATE, 0.5)


def test_silence_saves_up_nothing_to_spend_later() -> None:
    meter = Meter(Limits(audio_ahead_sec=10), 0.0)
    meter.sound(FRAME, 3600.0)
    meter.sound(9 * WIRE_RATE, 3600.0)
    with pytest.raises(ClientError):
        meter.sound(2 * WIRE_RATE, 3600.0)


@pytest.mark.parametrize(
    ("limits", "at", "code"),
    [
        (Limits(session_minutes=1, idle_minutes=None), 60.0, "session_expired"),
        (Limits(idle_minutes=0.5), 30.0, "idle_timeout"),
    ],
)
def test_a_conversation_ends_with_its_time(limits: Limits, at: float, code: str) -> None:
    meter = Meter(limits, 0.0)
    assert meter.over(at - 0.01) is None
    ended = meter.over(at)
    assert ended and ended.code == code


def test_who_is_refused_for_too_long_is_cut_off() -> None:
    meter = Meter(Limits(messages_per_sec=1, messages_burst=1, refusals=10), 0.0)
    meter.message(0.0)
    for _ in range(10):
        assert meter.over(0.0) is None
        with pytest.raises((ClientError, PassedOver)):
            meter.message(0.0)
    ended = meter.over(0.0)
    assert ended and ended.code == "rate_limit_exceeded"


def test_without_limits_nothing_is_counted() -> None:
    none = Limits(
        messages_per_sec=None,
        bytes_per_sec=None,
        audio_ahead_sec=None,
        session_minutes=None,
        idle_minutes=None,
    )
    meter = Meter(none, 0.0)
    for _ in range(10_000):
        meter.message(0.0, 1_000_000)
        meter.sound(WIRE_RATE, 0.0)
    assert meter.over(1e9) is None


def test_an_address_that_comes_too_often_waits_while_others_do_not() -> None:
    time = 0.0
    bell = Doorbell(3, lambda: time)
    assert [bell.rings("a") for _ in range(5)] == [True, True, True, False, False]
    assert bell.rings("b")
    time = 60.0
    assert bell.rings("a")


def test_only_so_many_addresses_are_remembered() -> None:
    bell = Doorbell(1, lambda: 0.0)
    for count in range(10_000):
        assert bell.rings(str(count))
    assert len(bell._came) <= 4096


def test_the_text_of_a_conversation_is_counted_in_bytes_over_all_items() -> None:
    conversation = Conversation(100)
    conversation.add(Item("a", "message", "user", text="é" * 20))
    call = {"call_id": "c" * 10, "name": "look_it_up", "arguments": "x" * 20}
    conversation.add(Item("b", "function_call", fields=call))
    conversation.add(Item("c", "function_call_output", fields={"call_id": "c", "output": "y" * 19}))
    assert kept(conversation) == 100
    with pytest.raises(ClientError) as refused:
        conversation.add(Item("d", "message", "user", text="z"))
    assert refused.value.code == "conversation_too_long"
    conversation.delete("c")
    conversation.add(Item("d", "message", "user", text="z" * 20))
    assert [item.id for item in conversation] == ["a", "b", "d"]


def test_words_that_come_late_or_are_taken_back_count_as_they_are() -> None:
    conversation = Conversation(100)
    spoken = Item("a", "message", "user", spoken=True)
    conversation.join(spoken)
    conversation.add(Item("b", "message", "user", text="x" * 10))
    spoken.text = "y" * 90
    with pytest.raises(ClientError):
        conversation.add(Item("c", "message", "user", text="x"))
    spoken.text = "y" * 80
    conversation.add(Item("c", "message", "user", text="x" * 10))


def test_the_oldest_items_make_room_for_what_is_said() -> None:
    conversation = Conversation(100)
    for name in "abcd":
        conversation.add(Item(name, "message", "user", text="x" * 25))
    conversation.join(Item("said", "message", "user", text="y" * 30, spoken=True))
    assert [item.id for item in conversation] == ["c", "d", "said"]
    conversation.join(Item("long", "message", "user", text="y" * 200, spoken=True))
    assert [item.id for item in conversation] == ["long"]


def test_as_many_of_the_largest_items_as_may_be_sent_stay_within_the_bound() -> None:
    conversation = Conversation(Limits().conversation_bytes)
    largest = "\N{GRINNING FACE}" * 64_000 * 16
    conversation.add(Item("first", "message", "user", text=largest))  # one always fits
    for count in range(MAX_ITEMS):
        with pytest.raises(ClientError):
            conversation.add(Item(str(count), "message", "user", text=largest))
    assert kept(conversation) <= Limits().conversation_bytes


async def test_text_beyond_the_bound_is_refused_and_deleting_makes_room() -> None:
    limits = {"conversation_bytes": 1_000}
    async with serving(limits=limits) as (url, house), talking(url) as talker:
        (talk,) = house.talks
        conversation = talk.session.room.conversation
        await talker.send("conversation.item.create", item=written("é" * 250, "first"))
        await talker.send("conversation.item.create", item=written("x" * 500, "second"))
        assert "error" not in {each["type"] for each in await talker.settle()}
        for count in range(50):
            more = written("x" * 500, f"more-{count}")
            await talker.send("conversation.item.create", item=more, event_id="more")
            error = (await talker.until("error"))["error"]
            assert error["type"] == "invalid_request_error"
            assert (error["code"], error["event_id"]) == ("conversation_too_long", "more")
        assert [item.id for item in conversation] == ["first", "second"]
        assert kept(conversation) == 1_000
        await talker.send("conversation.item.delete", item_id="first")
        await talker.send("conversation.item.create", item=written("y" * 500, "third"))
        await talker.until("conversation.item.done")
        assert [item.id for item in conversation] == ["second", "third"]


async def test_a_response_is_asked_for_with_no_more_text_than_a_conversation_holds() -> None:
    async with serving(limits={"conversation_bytes": 100}) as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=written("x" * 50, "long"))
        twice = [{"type": "item_reference", "id": "long"}] * 2
        asked = {"output_modalities": ["text"], "conversation": "none"}
        await talker.send("response.create", response={**asked, "input": twice})
        assert (await talker.until("response.done"))["response"]["status"] == "completed"
        more = [*twice, written("x")]
        await talker.send("response.create", response={**asked, "input": more})
        error = (await talker.until("error"))["error"]
        assert (error["code"], error["param"]) == ("conversation_too_long", "response.input")


def tools(letters: int) -> list[dict[str, Any]]:
    return [{"type": "function", "name": "look_it_up", "description": "x" * letters}]


@pytest.mark.parametrize(
    "large",
    [
        {"tools": tools(300_000)},
        {"prompt": {"id": "p", "variables": {"x": "y" * 300_000}}},
        {"tracing": {"metadata": {"x": "y" * 300_000}}},
        {"tools": tools(100_000), "tracing": {"workflow_name": "y" * 170_000}},
        {"model": "m" * 300_000},
        {"audio": {"input": {"transcription": {"prompt": "é" * 150_000}}}},
        {"instructions": "\N{GRINNING FACE}" * 32_000, "tools": tools(140_000)},
    ],
)
async def test_settings_too_large_to_keep_are_refused_and_nothing_changes(
    large: dict[str, Any],
) -> None:
    async with serving() as (url, house), talking(url) as talker:
        (talk,) = house.talks
        before = talk.session.room.config
        error = (await talker.update(**large))["error"]
        assert error["type"] == "invalid_request_error"
        assert (error["code"], error["param"]) == ("settings_too_long", "session")
        assert talk.session.room.config is before
        told = await talker.update(instructions="Be brief.")
        assert told["session"]["instructions"] == "Be brief."


async def test_settings_up_to_the_bound_are_kept_also_in_several_steps() -> None:
    async with serving(limits={"settings_bytes": 10_000}) as (url, house), talking(url) as talker:
        (talk,) = house.talks
        small = talk.session.room.config.model_copy(update={"tools": tools(0)})
        exact = tools(10_000 - len(small.model_dump_json()))
        assert (await talker.update(tools=exact))["session"]["tools"] == exact
        assert (await talker.update(instructions="x"))["error"]["code"] == "settings_too_long"
        assert (await talker.update(tools=tools(0)))["session"]["tools"] == tools(0)
        told = await talker.update(instructions="x")
        assert told["session"]["instructions"] == "x"


async def test_settings_of_a_response_too_large_to_keep_are_refused() -> None:
    async with serving() as (url, _), talking(url) as talker:
        await talker.send("conversation.item.create", item=written("hello"))
        asked = {"output_modalities": ["text"], "metadata": {"x": "y" * 300_000}}
        await talker.send("response.create", response=asked)
        error = (await talker.until("error"))["error"]
        assert (error["code"], error["param"]) == ("settings_too_long", "response")
        await talker.send("response.create", response={**asked, "metadata": {"x": "y"}})
        assert (await talker.until("response.done"))["response"]["metadata"] == {"x": "y"}


async def test_a_client_secret_opens_no_session_that_is_too_large() -> None:
    settings: dict[str, Any] = {"client_secret_key": KEY, "limits": {"settings_bytes": 10_000}}
    async with serving(**settings) as (url, _):
        for letters, fits in ((5_000, True), (20_000, False)):
            value, _ = ClientSecrets(KEY).make({"tools": tools(letters)}, 600)
            shown = [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{value}")]
            if fits:
                async with connect(url, subprotocols=shown):
                    continue
            with pytest.raises(InvalidStatus) as refused:
                await connect(url, subprotocols=shown)
            assert refused.value.response.status_code == 400


async def told_then_closed(talker: Talker) -> tuple[str, int | None]:
    error = (await talker.until("error"))["error"]
    with pytest.raises(ConnectionClosed) as ended:
        while True:
            await talker.next()
    return error["code"], ended.value.rcvd.code if ended.value.rcvd else None


async def test_a_session_that_has_lasted_too_long_is_told_and_closed() -> None:
    limits = {"session_minutes": 0.005}
    async with serving(clock="wall", limits=limits) as (url, _), talking(url) as talker:
        assert await told_then_closed(talker) == ("session_expired", 1008)


async def test_a_line_on_which_nothing_is_sent_is_closed() -> None:
    limits = {"idle_minutes": 0.005}
    async with serving(clock="wall", limits=limits) as (url, house), talking(url) as talker:
        assert await told_then_closed(talker) == ("idle_timeout", 1008)
    assert not house.sessions


async def test_a_flood_is_told_once_passed_over_and_then_cut_off() -> None:
    limits = {"messages_per_sec": 1, "messages_burst": 5, "refusals": 50}
    async with serving(clock="wall", limits=limits) as (url, _), talking(url) as talker:
        for _ in range(200):
            await talker.send("input_audio_buffer.clear")
        with pytest.raises(ConnectionClosed) as ended:
            while True:
                await talker.next()
        assert len(talker.of("input_audio_buffer.cleared")) == 5
        codes = [event["error"]["code"] for event in talker.of("error")]
        assert codes == ["rate_limit_exceeded"] * 2
        assert ended.value.rcvd is not None and ended.value.rcvd.code == 1008


async def test_small_messages_with_large_answers_count_as_what_they_ask_for() -> None:
    limits = {"bytes_per_sec": 1, "bytes_burst": 2_000_000}
    sound = b64encode(bytes(400_000)).decode()
    heard = {"type": "message", "role": "user", "id": "heard"}
    content = [{"type": "input_audio", "audio": sound, "transcript": "hush"}]
    async with serving(clock="wall", limits=limits) as (url, _):
        async with talking(url) as talker:
            assert "session" in await talker.update(tools=tools(200_000))
            for _ in range(20):
                await talker.send("session.update", session={"type": "realtime"})
            assert (await talker.until("error"))["error"]["code"] == "rate_limit_exceeded"
            assert len(talker.of("session.updated")) <= 10
        async with talking(url) as talker:
            await talker.send("conversation.item.create", item={**heard, "content": content})
            for _ in range(20):
                await talker.send("conversation.item.retrieve", item_id="heard")
            assert (await talker.until("error"))["error"]["code"] == "rate_limit_exceeded"
            assert len(talker.of("conversation.item.retrieved")) <= 4


async def test_sound_too_far_ahead_is_not_taken_and_the_conversation_goes_on() -> None:
    limits = {"audio_ahead_sec": 5}
    manual = {"audio": {"input": {"turn_detection": None}}}
    async with serving(clock="wall", limits=limits) as (url, _), talking(url) as talker:
        await talker.update(**manual)
        await talker.say(VOICE, 4.0)
        await talker.say(HUSH, 60.0)
        error = (await talker.until("error"))["error"]
        assert (error["code"], error["param"]) == ("rate_limit_exceeded", "audio")
        await talker.send("input_audio_buffer.commit")
        await talker.until("conversation.item.done")


async def test_whom_no_token_lets_in_uses_up_nobody_elses_connections() -> None:
    token = "sixteen and more characters"
    settings: dict[str, Any] = {
        "HOST": "0.0.0.0",
        "talker_tokens": [token],
        "limits": {"connections_per_minute": 2},
    }
    async with serving(clock="wall", **settings) as (url, _):
        for _ in range(5):
            with pytest.raises(InvalidStatus) as refused:
                await connect(url, additional_headers=ELSEWHERE)
            assert refused.value.response.status_code == 401
        shown = {**ELSEWHERE, "Authorization": f"Bearer {token}"}
        for _ in range(2):
            async with connect(url, additional_headers=shown):
                pass
        with pytest.raises(InvalidStatus) as refused:
            await connect(url, additional_headers=shown)
        assert refused.value.response.status_code == 429


async def test_an_address_that_connects_too_often_is_refused_and_this_machine_never() -> None:
    settings: dict[str, Any] = {
        "HOST": "0.0.0.0",
        "insecure": True,
        "limits": {"connections_per_minute": 2},
    }
    async with serving(clock="wall", **settings) as (url, _):
        for _ in range(2):
            async with connect(url, additional_headers=ELSEWHERE):
                pass
        with pytest.raises(InvalidStatus) as refused:  # before the handshake
            await connect(url, additional_headers=ELSEWHERE)
        assert refused.value.response.status_code == 429
        for _ in range(5):
            async with talking(url):
                pass
        async with httpx2.AsyncClient() as client:  # others are not held up by it
            health = url.replace("ws://", "http://").replace("/v1/realtime", "/health")
            assert (await client.get(health)).status_code == 200
