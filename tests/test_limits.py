"""What one client may ask of us, and that people who talk never notice."""

from typing import Any

import httpx2
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from models.types import WIRE_RATE
from server.errors import ClientError
from server.limits import Doorbell, Limits, Meter, PassedOver
from tests.serving import serving
from tests.talker import HUSH, VOICE, Talker, talking

FRAME = WIRE_RATE // 50


def test_a_person_who_talks_for_an_hour_meets_no_limit() -> None:
    meter = Meter(Limits(), 0.0)
    for count in range(3600 * 50):
        now = count / 50
        meter.message(now)
        meter.sound(FRAME, now)
        if count % 12 == 0:  # reports of playback, and whatever else
            meter.message(now)
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
        messages_per_sec=None, audio_ahead_sec=None, session_minutes=None, idle_minutes=None
    )
    meter = Meter(none, 0.0)
    for _ in range(10_000):
        meter.message(0.0)
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


async def test_an_address_that_connects_too_often_is_refused_before_the_handshake() -> None:
    settings: dict[str, Any] = {
        "HOST": "0.0.0.0",
        "insecure": True,
        "limits": {"connections_per_minute": 2},
    }
    async with serving(clock="wall", **settings) as (url, _):
        for _ in range(2):
            async with talking(url):
                pass
        with pytest.raises(InvalidStatus) as refused:
            async with talking(url):
                pass
        assert refused.value.response.status_code == 429
        async with httpx2.AsyncClient() as client:  # others are not held up by it
            health = url.replace("ws://", "http://").replace("/v1/realtime", "/health")
            assert (await client.get(health)).status_code == 200
