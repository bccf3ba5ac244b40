"""What one address may ask of us with all its connections, and that a room of people may share one.

A proxy on this machine tells the addresses apart, as in front of a real server.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect

from models.types import WIRE_RATE
from server.address_limits import AHEAD_REFILL_SEC, AddressLimits
from server.budgets import REMEMBERED, Budget, subscriber
from server.errors import ClientError
from server.limits import Limits, Meter, PassedOver
from tests.serving import serving
from tests.talker import HUSH, VOICE, Talker, talking
from tests.test_exposure import served

ONE, OTHER = "192.0.2.1", "192.0.2.2"
TOKEN = "a talker's own token"
MANUAL = {"audio": {"input": {"turn_detection": None}}}
FRAME = WIRE_RATE // 50


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def behind_a_proxy(**limits: Any) -> AsyncGenerator[str, None]:
    async with served(
        forwarded_allow_ips="127.0.0.1",
        talker_token=TOKEN,
        admission={"measured": False, "share": 1},
        limits=limits,
    ) as url:
        yield url


def headers(address: str | None) -> dict[str, str]:
    forwarded = {"X-Forwarded-For": address} if address else {}
    return {"Authorization": f"Bearer {TOKEN}", **forwarded}


@asynccontextmanager
async def coming_from(address: str | None, url: str) -> AsyncGenerator[Talker, None]:
    place = url.replace("http://", "ws://") + "/v1/realtime"
    async with connect(place, additional_headers=headers(address)) as socket:
        talker = Talker(socket)
        await talker.until("conversation.created")
        yield talker


async def ask_often(talker: Talker, times: int) -> None:
    for _ in range(times):
        await talker.send("input_audio_buffer.clear")


async def answered(talker: Talker, times: int) -> None:
    await ask_often(talker, times)
    for _ in range(times):
        told = await talker.until("input_audio_buffer.cleared", "error")
        assert told["type"] == "input_audio_buffer.cleared", told


# ---- over the wire


async def test_many_connections_of_one_address_have_its_messages_together_and_others_theirs() -> (
    None
):
    async with (
        behind_a_proxy(address_messages_per_sec=0.5, address_messages_burst=20) as url,
        coming_from(ONE, url) as first,
        coming_from(ONE, url) as second,
        coming_from(ONE, url) as third,
        coming_from(OTHER, url) as neighbour,
    ):
        await answered(first, 10)
        await answered(second, 10)
        await ask_often(third, 30)
        error = (await third.until("error"))["error"]
        assert error["type"] == "invalid_request_error"
        assert error["code"] == "rate_limit_exceeded"
        assert "from your address" in error["message"]
        await answered(neighbour, 15)
        heard = asyncio.create_task(third.until("input_audio_buffer.cleared"))
        while not heard.done():  # it lives, and is answered as soon as there is room again
            await ask_often(third, 1)
            await asyncio.wait([heard], timeout=0.5)
        await heard


async def test_what_is_said_while_waiting_for_a_seat_is_counted_for_the_address() -> None:
    limits = {"address_messages_per_sec": 0.001, "address_messages_burst": 20}
    async with (
        serving(clock="wall", HOST="0.0.0.0", insecure=True, seats=1, limits=limits) as (
            url,
            house,
        ),
        talking(url),
        connect(url + "?attune=1", additional_headers={"X-Forwarded-For": ONE}) as socket,
    ):
        waiting = Talker(socket)
        await waiting.until("attune.queue")
        await ask_often(waiting, 30)
        async with asyncio.timeout(20):
            while house.vitals.refusals["address_messages_per_sec"] < 10:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.005)


async def test_sound_ahead_of_time_is_counted_over_all_connections_of_an_address() -> None:
    async with behind_a_proxy(address_audio_ahead_sec=10) as url:
        async with coming_from(ONE, url) as first:
            await first.update(**MANUAL)
            await first.say(HUSH, 10.0)
            await first.send("input_audio_buffer.commit")
            await first.until("conversation.item.done")
        async with coming_from(ONE, url) as again, coming_from(OTHER, url) as neighbour:
            await again.update(**MANUAL)
            await again.say(HUSH, 60.0)
            error = (await again.until("error"))["error"]
            assert (error["code"], error["param"]) == ("rate_limit_exceeded", "audio")
            assert "from your address" in error["message"]
            for talker, seconds in ((again, 0.5), (neighbour, 10.0)):  # in time, or their own
                await talker.update(**MANUAL)
                await talker.say(VOICE, seconds)
                await talker.send("input_audio_buffer.commit")
                told = await talker.until("conversation.item.done", "error")
                assert told["type"] == "conversation.item.done", told


async def test_costly_requests_of_one_address_are_counted_and_cheap_and_strange_ones_not() -> None:
    async with (
        behind_a_proxy(requests_per_minute=3) as url,
        httpx2.AsyncClient(base_url=url) as client,
    ):

        async def secret(shown: dict[str, str]) -> httpx2.Response:
            return await client.post("/v1/realtime/client_secrets", json={}, headers=shown)

        stranger = {"X-Forwarded-For": ONE}
        assert {(await secret(stranger)).status_code for _ in range(10)} == {401}
        assert {(await secret(headers(ONE))).status_code for _ in range(3)} == {200}
        refused = await secret(headers(ONE))
        assert refused.status_code == 429
        assert refused.json()["error"] == {
            "message": "Too many requests from this address; please try again soon.",
            "type": "rate_limit_error",
            "param": None,
            "code": "rate_limit_exceeded",
        }
        assert 1 <= int(refused.headers["retry-after"]) <= 20
        for path in ("/v1/audio/speech", "/v1/audio/transcriptions", "/api/arena/rounds"):
            assert (await client.post(path, headers=headers(ONE))).status_code == 429, path
        leaders = "/api/arena/leaderboard"
        assert (await client.get(leaders, headers=headers(ONE))).status_code == 429
        assert (await client.get("/v1/models", headers=headers(ONE))).status_code == 200
        assert (await secret(headers(OTHER))).status_code == 200
        # This machine's own are not counted, as with seats.
        assert {(await secret(headers(None))).status_code for _ in range(10)} == {200}
        async with coming_from(ONE, url) as talker:  # and conversations are not requests
            await answered(talker, 1)


# ---- by the clock


def test_fifty_people_behind_one_address_meet_no_limit() -> None:
    time = Time()
    limits = AddressLimits(Limits(), time)
    meters = [Meter(Limits(), 0.0, shared=limits.of(ONE)) for _ in range(50)]
    for count in range(20 * 50):
        time.now = count / 50
        for meter in meters:
            meter.message(time.now, 1_400)
            meter.sound(FRAME, time.now)
            meter.message(time.now, 500)  # a report with every frame is more than anybody sends


def test_many_connections_of_one_address_have_its_bytes_together() -> None:
    limits = Limits(address_bytes_per_sec=1, address_bytes_burst=100)
    shared = AddressLimits(limits, Time())
    Meter(limits, 0.0, shared=shared.of(ONE)).message(0.0, 100)
    with pytest.raises(ClientError) as refused:
        Meter(limits, 0.0, shared=shared.of(ONE)).message(0.0, 1)
    assert "from your address" in refused.value.message
    Meter(limits, 0.0, shared=shared.of(OTHER)).message(0.0, 100)


def test_lines_that_stall_and_then_deliver_take_nothing_from_their_address() -> None:
    time = Time()
    limits = AddressLimits(Limits(address_audio_ahead_sec=0.1), time)
    meter = Meter(Limits(), 0.0, shared=limits.of(ONE))
    for _ in range(20):
        time.now += 4.0
        meter.sound(4 * WIRE_RATE, time.now)


def test_what_is_refused_to_one_connection_alone_takes_nothing_from_its_address() -> None:
    limits = Limits(messages_per_sec=1, messages_burst=5, address_messages_burst=10)
    shared = AddressLimits(limits, Time()).of(ONE)
    flood, calm = Meter(limits, 0.0, shared=shared), Meter(limits, 0.0, shared=shared)
    for _ in range(5):
        flood.message(0.0)
    for _ in range(100):
        with pytest.raises((ClientError, PassedOver)):
            flood.message(0.0)
    for _ in range(5):
        calm.message(0.0)


def test_nobody_is_cut_off_for_what_others_at_their_address_do() -> None:
    limits = Limits(refusals=10, address_messages_per_sec=1, address_messages_burst=1)
    shared = AddressLimits(limits, Time()).of(ONE)
    Meter(limits, 0.0, shared=shared).message(0.0)
    innocent = Meter(limits, 0.0, shared=shared)
    for _ in range(100):
        with pytest.raises((ClientError, PassedOver)):
            innocent.message(0.0)
    assert innocent.over(0.0) is None


def test_coming_back_again_and_again_saves_nobody_from_the_limit_on_sound() -> None:
    time = Time()
    limits = AddressLimits(Limits(), time)
    taken = 0.0
    for count in range(200):  # a new connection every half second, with all it may send at once
        time.now = count / 2
        meter = Meter(Limits(), time.now, shared=limits.of(ONE))
        try:
            meter.sound(300 * WIRE_RATE, time.now)
            taken += 300
        except ClientError:
            continue
    assert taken <= 3_000 + 3_000 * 100 / AHEAD_REFILL_SEC + 200


def test_a_bucket_fills_up_again_and_no_further() -> None:
    time = Time()
    budget = Budget(2.0, 10.0, time)
    assert budget.take("a", 10.0) and not budget.take("a")
    assert budget.wait_sec("a") == 0.5
    assert budget.take("b", 10.0)
    time.now = 0.5
    assert budget.take("a") and not budget.take("a")
    time.now = 1000.0
    assert not budget.take("a", 11.0) and budget.take("a", 10.0)


def test_the_table_empties_by_itself_and_is_never_large() -> None:
    time = Time()
    budget = Budget(1.0, 10.0, time)
    for count in range(3 * REMEMBERED):
        assert budget.take(str(count))
    assert len(budget) == REMEMBERED
    time.now = 10.0
    assert budget.take("another") and len(budget) == 1


@pytest.mark.parametrize(
    ("address", "whose"),
    [
        (ONE, ONE),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        (f"::ffff:{ONE}", ONE),
        ("a-name", "a-name"),
        ("127.0.0.1", None),
        ("127.8.9.10", None),
        ("::ffff:127.0.0.1", None),
        ("0:0:0:0:0:ffff:7f00:1", None),
        ("localhost", None),
        ("::1", None),
        ("", None),
        (None, None),
    ],
)
def test_an_ipv6_subscriber_counts_as_one_and_this_machine_not_at_all(
    address: str | None, whose: str | None
) -> None:
    assert subscriber(address) == whose


def test_limits_that_are_none_hold_nobody() -> None:
    none = Limits(
        address_messages_per_sec=None,
        address_bytes_per_sec=None,
        address_audio_ahead_sec=None,
        bytes_per_sec=None,
        audio_ahead_sec=None,
    )
    meter = Meter(none, 0.0, shared=AddressLimits(none, Time()).of(ONE))
    for _ in range(1_000):
        meter.message(0.0, 1_000_000)
        meter.sound(60 * WIRE_RATE, 0.0)
