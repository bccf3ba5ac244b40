"""A client that is lost comes back: to the same conversation, and to what it has not heard."""

import asyncio
import json
import logging
from base64 import b64decode
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from models.protocols import Models
from models.standin import StandinSpeaker
from models.types import WIRE_RATE, Turn
from server.parking import owner_of
from server.sent import OVERHEAD, Sent
from tests.leaving import back, cut, heard, last_event, nothing_left, returned, token, until
from tests.serving import serving, standins
from tests.talker import HUSH, VOICE, Talker, play_until, talking
from tests.test_recording import ALL, channels, consent, lines, record

TALE = "Once there was a house by the sea. Nobody lived in it but a cat. The cat was very old."


class Telling:
    """A Responder with one tale to tell."""

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        for word in TALE.split():
            yield f"{word} "


def telling(word_sec: float = 0.2) -> Models:
    return standins(responder=Telling(), speaker=StandinSpeaker(word_sec=word_sec))


async def hear_some(talker: Talker, seconds: float = 0.6) -> None:
    """Listen until a reply has been sounding for a while."""
    await talker.ask()
    await play_until(talker, "response.output_item.added", seconds=10)
    await talker.say(HUSH, seconds)
    await talker.settle()


def sound(*talkers: Talker) -> bytes:
    deltas = [each for talker in talkers for each in talker.of("response.output_audio.delta")]
    return b"".join(b64decode(delta["delta"]) for delta in deltas)


async def told_tale() -> tuple[bytes, list[str]]:
    """The tale as it is told to somebody who is never lost, and the kinds of events."""
    async with serving(telling()) as (url, _), talking(url, "?attune=1") as talker:
        await hear_some(talker)
        await play_until(talker, "response.done")
        return sound(talker), [event["type"] for event in talker.events]


# ---- the same conversation


async def test_one_who_comes_back_misses_nothing_and_hears_nothing_twice() -> None:
    whole, kinds = await told_tale()
    async with serving(telling()) as (url, house), talking(url, "?attune=1") as lost:
        await hear_some(lost)
        cut(lost)
        async with returned(url, lost) as talker:
            created, conversation, session, resumed = talker.events
            assert created["type"] == "session.created"
            assert created["session"]["id"] == session["id"] == resumed["session_id"]
            assert session["id"] == lost.of("attune.session")[0]["id"]
            assert (
                conversation["conversation"] == lost.of("conversation.created")[0]["conversation"]
            )
            assert resumed["input_samples"] == lost.sent_seconds * WIRE_RATE
            await play_until(talker, "response.done")
            assert sound(lost, talker) == whole
            more = [event["type"] for event in [*lost.events, *talker.events[4:]]]
            assert sorted(more) == sorted(kinds)
            assert len(house.sessions) == 1
            await talker.say(HUSH, 1.0)
            await talker.ask()
            done = await play_until(talker, "response.done")
            assert done["response"]["status"] == "completed"
        await until(lambda: not house.sessions)


async def test_binary_sound_goes_on_from_the_sample_it_stopped_at() -> None:
    async with serving(telling()) as (url, _), talking(url, "?attune=1") as lost:
        await lost.update(attune={"binary": True})
        await hear_some(lost)
        cut(lost)
        async with returned(url, lost) as talker:
            assert talker.of("session.created")[0]["session"]["attune"]["binary"] is True
            done = await play_until(talker, "response.done")
            (whole,) = heard(lost, talker).values()
            said = done["response"]["usage"]["output_token_details"]["audio_tokens"]
            assert len(whole) / 2 / WIRE_RATE == pytest.approx(said * 0.05, abs=0.03)


async def test_what_was_told_and_did_not_arrive_is_told_again() -> None:
    """The client says how far it got, and that may be long before the line broke."""
    async with serving(telling()) as (url, _), talking(url, "?attune=1") as lost:
        await hear_some(lost)
        seen = next(at for at, each in enumerate(lost.events) if each["type"] == "response.created")
        cut(lost)
        async with back(url, lost, after=lost.events[seen]["event_id"]) as socket:
            talker = Talker(socket)
            await talker.until("attune.resumed")
            again = [await talker.next() for _ in lost.events[seen + 1 : -1]]
            kinds = ("session.created", "conversation.created", "attune.session")
            missed = [each for each in lost.events[seen + 1 :] if each["type"] not in kinds]
            assert again == missed[: len(again)]


async def test_one_may_come_back_again_and_again_each_time_with_a_new_token() -> None:
    async with serving(telling()) as (url, _), talking(url, "?attune=1") as lost:
        await hear_some(lost, 0.2)
        talkers, tokens = [lost], {token(lost)}
        for _ in range(3):
            cut(talkers[-1])
            async with returned(url, talkers[-1]) as talker:
                await talker.say(HUSH, 0.3)
                await talker.settle()
                talkers.append(talker)
                tokens.add(token(talker))
                cut(talker)
        assert len(tokens) == 4 and {owner_of(each) for each in tokens} == {"0"}
        async with returned(url, talkers[-1]) as talker:
            await play_until(talker, "response.done")
            assert sound(*talkers, talker) == (await told_tale())[0]


async def test_what_is_answered_while_nobody_listens_waits_for_them() -> None:
    async with serving(telling(), clock="wall") as (url, house), talking(url, "?attune=1") as lost:
        await lost.say(VOICE, 1.0)
        await lost.until("input_audio_buffer.speech_started")
        cut(lost)
        (talk,) = house.talks
        await until(lambda: talk.session.replies.speech is not None)
        await until(lambda: bool(talk.session.replies.speech.reply.text))  # type: ignore[union-attr]
        async with returned(url, lost) as talker:
            await talker.until("response.output_audio.delta")
            begun = talker.of("response.created")
            assert len(begun) == 1, "it was told that it began before it began to sound"


# ---- who may


async def refused(url: str, brought: str, after: str = "") -> str:
    async with connect(f"{url}?resume={brought}&after={after}") as socket:
        told = json.loads(await socket.recv())
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1008
        return str(told["error"]["code"])


async def test_a_token_opens_one_conversation_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with serving() as (url, house), talking(url, "?attune=1") as lost:
        await lost.until("attune.session")
        first = token(lost)
        owner, session, secret = first.split(".")
        for wrong in ("x", "0..", f"{owner}.{session}.", f"1.{session}.{secret}", first + "x", "é"):
            assert await refused(url, wrong) == "resume_failed"
        cut(lost)
        async with returned(url, lost) as talker:
            await talker.say(HUSH, 0.1)
            await talker.settle()
            assert await refused(url, first) == "resume_failed"
        assert len(house.sessions) <= 1
        assert secret not in repr(vars(house.parking))
    ours = [each.getMessage() for each in caplog.records if not each.name.startswith("websockets")]
    assert len(ours) > 1 and secret not in "".join(ours)


async def test_a_line_that_dies_before_the_next_token_arrived_costs_nothing() -> None:
    async with serving() as (url, _), talking(url, "?attune=1") as lost:
        await lost.until("attune.session")
        cut(lost)
        for _ in range(2):  # it reads nothing of what it is told
            async with back(url, lost) as socket:
                await socket.recv()
                socket.transport.abort()
        async with returned(url, lost) as talker:
            await talker.say(HUSH, 0.1)
            await talker.settle()


async def test_a_browser_may_offer_its_token_as_a_sub_protocol() -> None:
    async with serving() as (url, _), talking(url, "?attune=1") as lost:
        await lost.until("attune.session")
        cut(lost)
        offered: list[Any] = ["realtime", f"attune-resume.{token(lost)}"]
        async with connect(f"{url}?after={last_event(lost)}", subprotocols=offered) as socket:
            assert socket.subprotocol == "realtime"
            await Talker(socket).until("attune.resumed")


async def test_the_place_of_a_lost_client_is_kept_for_it() -> None:
    async with serving(seats=1) as (url, house), talking(url, "?attune=1") as lost:
        await lost.until("attune.session")
        cut(lost)
        async with connect(url) as socket:
            assert "session_limit_reached" in str(await socket.recv())
        async with returned(url, lost):
            assert len(house.sessions) == 1


async def test_an_old_connection_that_looks_alive_gives_way() -> None:
    async with serving(telling()) as (url, house), talking(url, "?attune=1") as silent:
        await hear_some(silent)
        async with returned(url, silent) as talker:
            with pytest.raises(ConnectionClosed) as closed:
                await silent.until("never")
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 4001
            await play_until(talker, "response.done")
            assert sound(silent, talker) == (await told_tale())[0]
            assert len(house.sessions) == 1


@pytest.mark.parametrize("code", [1000, 1001])
async def test_whoever_hangs_up_does_not_come_back(code: int) -> None:
    async with serving() as (url, house), talking(url, "?attune=1") as talker:
        await talker.until("attune.session")
        await talker.socket.close(code)
        await until(lambda: not house.sessions)
        assert await refused(url, token(talker)) == "resume_failed"


async def test_a_server_may_let_nobody_come_back() -> None:
    async with serving(resume_sec=0) as (url, house), talking(url, "?attune=1") as talker:
        assert "resume_token" not in await talker.until("attune.session")
        cut(talker)
        await until(lambda: not house.sessions)


@pytest.mark.slow
async def test_what_is_no_longer_kept_cannot_be_gone_on_with() -> None:
    async with nothing_left(), serving() as (url, house), talking(url, "?attune=1") as lost:
        await lost.until("attune.session")
        cut(lost)
        assert await refused(url, token(lost), after="event_unknown") == "resume_failed"
        await until(lambda: not house.sessions)


# ---- what is kept of it


@pytest.mark.slow
async def test_one_who_stays_away_is_lost_and_their_recording_whole(tmp_path: Path) -> None:
    rules = {"runs": str(tmp_path)}
    async with (
        nothing_left(),
        serving(telling(), recording=rules, resume_sec=0.05) as (url, house),
        talking(url, "?attune=1") as lost,
    ):
        await consent(lost, **ALL)
        await hear_some(lost)
        cut(lost)
        await until(lambda: not house.sessions)
        assert await refused(url, token(lost)) == "resume_failed"
    session = record(tmp_path)
    assert session.ended and session.ended.why == "lost"
    assert token(lost).split(".")[2] not in str(lines(tmp_path))


@pytest.mark.slow
async def test_time_nobody_was_there_is_a_gap_and_the_reply_goes_on_after_it(
    tmp_path: Path,
) -> None:
    rules = {"runs": str(tmp_path)}
    async with (
        serving(telling(0.06), recording=rules, clock="wall") as (url, house),
        talking(url, "?attune=1") as lost,
    ):
        await consent(lost, **ALL)
        await lost.say(VOICE, 0.5)
        speaking = asyncio.create_task(_pass(lost, 30))
        item = (await lost.until("response.output_item.added"))["item"]["id"]
        for _ in range(10):
            await lost.until("response.output_audio.delta")
        speaking.cancel()
        (talk,) = house.talks
        cut(lost)
        await until(lambda: talk.session.replies.away)
        left = talk.session.room.position
        await until(lambda: talk.session.room.position > left + WIRE_RATE)
        async with returned(url, lost) as talker:
            there = talk.session.room.position
            speaking = asyncio.create_task(_pass(talker, 30))
            await talker.until("response.done")
            await until(lambda: talk.session.replies.speech is None)
            speaking.cancel()
    session = record(tmp_path)
    assert session.audio and any(
        begin <= left + 2 * WIRE_RATE // 10 and end >= there - WIRE_RATE // 2
        for begin, end in session.audio.gaps
    )
    _, reply = channels(tmp_path)
    quiet = reply[left + WIRE_RATE // 4 : there - WIRE_RATE // 4]
    assert len(quiet) > WIRE_RATE // 4 and not quiet.any()
    turn = next(turn for turn in session.turns if turn.item_id == item)
    assert not turn.interrupted and reply[there : turn.end].any()


async def _pass(talker: Talker, seconds: float) -> None:
    """An open microphone in a quiet room."""
    for _ in range(round(seconds / 0.05)):
        await talker.say(HUSH, 0.05)
        await asyncio.sleep(0.05)


# ---- what is kept to be said again


def test_what_was_sent_is_known_from_any_event_on_until_it_is_forgotten() -> None:
    sent = Sent(limit=3 * (OVERHEAD + 4))
    for name in "abc":
        sent.add(name * 4, name)
    assert sent.after("a") == 1 and sent.get(1) == (1, "bbbb")
    sent.add(b"\0\0\0\0", None)
    assert sent.after("a") == 1, "the last one forgotten: all that follows it is there"
    sent.add("eeee", "e")
    assert sent.after("a") is None and sent.after("b") == 2 and sent.after("x") is None
    assert [said for number in (2, 3, 4) if (said := sent.get(number))] == [
        (2, "cccc"),
        (3, b"\0\0\0\0"),
        (4, "eeee"),
    ]
    assert sent.get(5) is None and sent.after(None) == 2


def test_what_was_not_sent_after_all_is_not_said_again() -> None:
    sent = Sent()
    message = sent.add("never", "a")
    sent.add(None, "b")
    sent.add("then", "c")
    sent.withdraw(message)
    assert sent.get(0) == (2, "then") and sent.after("a") is None and sent.after("b") == 2


def test_one_who_is_lost_while_being_greeted_is_told_everything_again() -> None:
    sent = Sent()
    sent.add("said", "a")
    sent.add("missed", "b")
    sent.greeted(frozenset(["hello"]), 1)
    assert sent.after("hello") == 1 and sent.get(1) == (1, "missed")
