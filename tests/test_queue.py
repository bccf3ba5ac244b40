"""Waiting for a seat over the wire: what is told, what is kept, and who is never told of it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from server import porter, waiting
from server.house import House
from server.pressure import Level
from tests.serving import serving
from tests.talker import VOICE, Talker, play_until, talking


@asynccontextmanager
async def coming(url: str) -> AsyncGenerator[Talker, None]:
    """Somebody who knows of the queue, and has not been let in yet."""
    async with connect(f"{url}?attune=1") as socket:
        yield Talker(socket)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)


def waits(house: House, count: int) -> Callable[[], bool]:
    return lambda: house.porter.admission.waiting == count


async def test_those_who_wait_are_told_their_place_and_move_up_when_somebody_gives_up() -> None:
    async with serving(seats=1) as (url, house), talking(url), coming(url) as second:
        told = await second.next()
        assert (told["type"], told["position"]) == ("attune.queue", 1)
        assert told["estimate_sec"] is None  # nobody has left yet
        async with coming(url) as third:
            assert (await third.next())["position"] == 2
            await second.socket.close()
            assert (await third.next())["position"] == 1
            assert house.vitals.left_queue == 1


async def test_a_freed_seat_begins_the_session_of_whoever_waited_longest() -> None:
    async with serving(seats=1) as (url, house), coming(url) as first:
        await first.until("session.created")
        async with coming(url) as second, coming(url) as third:
            await second.until("attune.queue")
            await third.until("attune.queue")
            await first.socket.close()
            await second.until("session.created")
            told = await third.until("attune.queue")
            assert told["position"] == 1 and told["estimate_sec"] >= 1
            await second.ask()
            await play_until(second, "response.done")
            await second.socket.close()
            await third.until("session.created")
        assert (house.vitals.queued, house.vitals.refused) == (2, 0)


async def test_one_who_waits_hears_of_it_though_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(porter, "TELL_SEC", 0.02)
    async with serving(seats=1) as (url, _), talking(url), coming(url) as second:
        for _ in range(3):
            assert (await second.next())["type"] == "attune.queue"


async def test_what_is_said_while_waiting_is_done_afterwards_and_sound_is_dropped() -> None:
    async with serving(seats=1) as (url, house), coming(url) as first:
        await first.until("session.created")
        async with coming(url) as second:
            await second.until("attune.queue")
            await second.send("session.update", session={"type": "realtime", "instructions": "Hm"})
            await second.say(VOICE, 1.0)
            await second.socket.send(bytes(4_800))
            await second.send("input_audio_buffer.commit")
            for text in ("one", "two"):
                content = [{"type": "input_text", "text": text}]
                item = {"type": "message", "role": "user", "content": content}
                await second.send("conversation.item.create", item=item)
            await second.send("conversation.item.retrieve", item_id="nowhere")
            await first.socket.close()
            await second.until("error")
        kinds = [event["type"] for event in second.events]
    assert kinds.count("session.updated") == 1
    assert kinds.count("conversation.item.added") == 2
    assert kinds.count("error") == 1 and second.events[-1]["error"]["code"].startswith("item_")
    assert kinds.index("session.created") < kinds.index("session.updated")
    assert not any(kind.startswith("input_audio_buffer") for kind in kinds)


async def test_too_many_words_while_waiting_are_refused_and_the_place_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "KEPT", 2)
    async with serving(seats=1) as (url, house), talking(url), coming(url) as second:
        for _ in range(3):
            await second.send("response.create")
        told = await second.until("error")
        assert told["error"]["code"] == "queue_messages_exceeded"
        assert told["error"]["type"] == "invalid_request_error"
        monkeypatch.setattr(waiting, "KEPT_CHARS", 10_000)
        long = json.dumps({"audio": "A" * 20_000, "type": "input_audio_buffer.append"})
        await second.socket.send(long)  # sound: nobody minds
        await second.socket.send(json.dumps({"type": "nonsense", "more": "A" * 20_000}))
        await second.until("error")
        assert len([event for event in second.events if event["type"] == "error"]) == 2
        assert house.porter.admission.waiting == 1


async def test_a_client_that_knows_nothing_of_queues_is_refused_at_once_and_told_when_to_come() -> (
    None
):
    async with serving(seats=1) as (url, house):
        async with talking(url):
            pass
        await until(lambda: not house.sessions)
        async with talking(url), connect(url) as stock:
            told = json.loads(await stock.recv())
            assert told["type"] == "error"
            assert told["error"]["code"] == "session_limit_reached"
            assert "please try again in about 5 s" in told["error"]["message"]
            with pytest.raises(ConnectionClosed) as closed:
                await stock.recv()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1013
        assert (house.vitals.refused, house.vitals.queued) == (1, 0)


@pytest.mark.parametrize("admission", [{"queue": 0}, {"patience_sec": 0.01}])
async def test_without_a_queue_or_out_of_patience_everybody_is_refused(
    admission: dict[str, float],
) -> None:
    async with serving(seats=1, admission=admission) as (url, house), talking(url):
        async with coming(url) as second:
            assert (await second.until("error"))["error"]["code"] == "session_limit_reached"
            with pytest.raises(ConnectionClosed) as closed:
                await second.next()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1013
        assert (house.vitals.refused, house.vitals.left_queue) == (1, 0)
        assert house.porter.admission.waiting == 0 and house.porter.admission.taken == 1


async def test_hanging_up_frees_the_place_and_a_conversation_that_failed_its_seat() -> None:
    async with serving(seats=1) as (url, house):
        async with talking(url):
            async with coming(url) as second:
                await second.until("attune.queue")
            await until(waits(house, 0))
            assert house.vitals.left_queue == 1
        await until(lambda: house.porter.admission.taken == 0)
        assert house.porter.admission.free == 1


# ---- what is left out


class Pinned:
    """Pressure of a level that is set by hand."""

    level = Level.NONE


async def turn_at(level: Level) -> Talker:
    """A turn of four seconds in a house that is pressed so hard."""
    pinned = Pinned()
    pinned.level = level
    async with serving() as (url, house):
        house.porter.pressed = pinned
        async with talking(f"{url}?attune=1") as talker:
            await talker.ask(voice=4.0)
            await play_until(talker, "response.done")
    return talker


def running(talker: Talker) -> int:
    return sum(not told["final"] for told in talker.of("attune.percept"))


async def test_each_level_leaves_out_one_thing_more_and_the_turn_is_answered_all_the_same() -> None:
    delta = "conversation.item.input_audio_transcription.delta"
    calm, percepts, partials, speculation = [
        await turn_at(level)
        for level in (Level.NONE, Level.PERCEPTS, Level.PARTIALS, Level.SPECULATION)
    ]
    assert running(calm) >= 4 * running(percepts) > 0
    assert calm.of(delta) and percepts.of(delta)
    assert len(partials.of(delta)) < len(percepts.of(delta))
    for talker in (calm, percepts, partials, speculation):
        completed = "conversation.item.input_audio_transcription.completed"
        assert talker.of(completed)[0]["transcript"] == calm.of(completed)[0]["transcript"]
        assert [told["final"] for told in talker.of("attune.percept")][-1] is True
        assert talker.of("response.done")[0]["response"]["status"] == "completed"

    def thought_ahead(talker: Talker) -> bool:
        stages = talker.of("attune.timing")[0]["stages_ms"]
        return bool(stages["planned"] < stages["gate"])

    assert [thought_ahead(each) for each in (calm, percepts, partials)] == [True] * 3
    assert not thought_ahead(speculation)
