"""A server that is stopped while people talk: the sentence is finished, and nothing is lost."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from models.protocols import Models
from models.standin import StandinSpeaker
from models.types import Turn
from server.bench.process import Served, served
from server.draining import drain
from server.house import House
from server.recording.folder import left_behind, verify
from server.recording.record import read
from tests.leaving import cut, nothing_left, until
from tests.live_person import LivePerson, kept_in_order, live
from tests.serving import serving, standins
from tests.talker import HUSH, VOICE, Talker, talking
from tests.test_crash import MOST_LOST_SEC
from tests.test_recording import ALL, consent, folders, record

pytestmark = [pytest.mark.slow, pytest.mark.alone]

TALKERS = 6
NETWORK_SEC = 0.5  # what was sent so shortly before the end may not have arrived
SENTENCE = "Nobody lived in the little house but a cat. "


class Telling:
    """A Responder that tells this over and over."""

    def __init__(self, said: str, times: int = 40) -> None:
        self.said = said
        self.times = times

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        for word in (self.said * self.times).split():
            yield f"{word} "


def telling(said: str = SENTENCE, word_sec: float = 0.03) -> Models:
    return standins(responder=Telling(said), speaker=StandinSpeaker(word_sec=word_sec))


async def spoken_to(talker: Talker) -> None:
    """Say something, and be answered."""
    await talker.ask(0.4, 0.3)
    await talker.until("response.output_audio.delta")


async def farewell(talker: Talker) -> int:
    """Listen to the end; returns what was said at the close."""
    with pytest.raises(ConnectionClosed) as closed:
        await talker.until("never")
    return closed.value.rcvd.code if closed.value.rcvd else 0


def transcript(done: dict[str, Any]) -> str:
    return str(done["response"]["output"][0]["content"][0]["transcript"])


async def stop(house: House) -> None:
    await drain(house, asyncio.Event())


async def test_the_sentence_is_finished_and_no_other_begun(tmp_path: Path) -> None:
    rules = {"runs": str(tmp_path)}
    settings: dict[str, Any] = {"clock": "wall", "recording": rules, "drain_sec": 30}
    async with serving(telling(), **settings) as (url, house), talking(url, "?attune=1") as talker:
        await consent(talker, **ALL)
        await spoken_to(talker)
        stopping = asyncio.create_task(stop(house))
        assert await farewell(talker) == 1001
        await stopping
        assert not house.sessions
    (done,) = talker.of("response.done")
    assert done["response"]["status"] == "incomplete"
    said = transcript(done)
    assert said.endswith("cat.") and len(said) < len(SENTENCE) * 10
    (closing,) = talker.of("attune.closing")
    assert closing["reason"] == "server_stopping"
    assert not talker.of("conversation.item.truncated"), "all of it was heard"
    session = record(tmp_path)
    assert session.ended and session.ended.why == "server_stopped"
    assert [verify(each) for each in folders(tmp_path)] == [[]]
    (turn,) = (turn for turn in session.turns if turn.role == "assistant")
    heard_sec = (turn.end - turn.start) / 24_000
    assert heard_sec > 0.03 * len(said.split()) * 0.9


async def test_whoever_is_not_spoken_to_is_let_go_at_once(tmp_path: Path) -> None:
    rules = {"runs": str(tmp_path)}
    settings: dict[str, Any] = {"clock": "wall", "recording": rules, "drain_sec": 600}
    async with (
        serving(**settings) as (url, house),
        talking(url) as stock,
        talking(url, "?attune=1") as hearing,
        talking(url, "?attune=1") as lost,
    ):
        for talker in (hearing, lost):
            await consent(talker, **ALL)
        await hearing.say(VOICE, 0.5)
        await hearing.until("input_audio_buffer.speech_started")
        cut(lost)
        await until(lambda: any(talk.session.replies.away for talk in house.talks))
        await asyncio.gather(stop(house), farewell(hearing), farewell(stock))
        assert not house.sessions
        assert not [event for event in stock.events if event["type"].startswith("attune.")]
    assert [verify(each) for each in folders(tmp_path)] == [[], []]
    endings = [read(each).ended for each in folders(tmp_path)]
    assert [ending.why for ending in endings if ending] == ["server_stopped"] * 2


async def test_meanwhile_nobody_new_is_let_in() -> None:
    async with (
        serving(telling(), clock="wall", drain_sec=30) as (url, house),
        talking(url) as talker,
    ):
        await spoken_to(talker)
        stopping = asyncio.create_task(stop(house))
        await until(lambda: house.stopping)
        for query in ("", "?resume=0.sess_x.y"):
            async with connect(url + query) as socket:
                assert json.loads(await socket.recv())["error"]["code"] == "server_stopping"
                with pytest.raises(ConnectionClosed) as closed:
                    await socket.recv()
                assert closed.value.rcvd is not None and closed.value.rcvd.code == 1013
        with pytest.raises(HTTPError) as refused:
            await asyncio.to_thread(
                urlopen, url.replace("ws", "http", 1).split("/v1")[0] + "/ready"
            )
        with refused.value:
            assert refused.value.code == 503
        assert await farewell(talker) == 1001
        await stopping


@pytest.mark.parametrize("why", ["time", "hurry"])
async def test_a_sentence_without_an_end_is_cut_where_it_was_heard(why: str) -> None:
    endless = telling("and on and on ")
    settings: dict[str, Any] = {"clock": "wall", "drain_sec": 0.3 if why == "time" else 600}
    async with (
        serving(endless, **settings) as (url, house),
        talking(url, "?attune=1") as talker,
        nothing_left(),
    ):
        await spoken_to(talker)
        hurry = asyncio.Event()
        stopping = asyncio.create_task(drain(house, hurry))
        await talker.until("attune.closing")
        if why == "hurry":
            hurry.set()
        assert await farewell(talker) == 1001
        (done,) = talker.of("response.done")
        assert done["response"]["status"] == "cancelled"
        assert talker.of("conversation.item.truncated")
        await stopping
        await talker.socket.close()


async def test_a_server_stops_though_somebody_reads_nothing() -> None:
    async with AsyncExitStack() as stack:
        url, house = await stack.enter_async_context(serving(telling(), clock="wall"))
        async with talking(url, "?attune=1") as talker:
            await spoken_to(talker)
            talker.socket.transport.pause_reading()
            await stack.aclose()
            assert not house.sessions
            cut(talker)


# ---- with real signals


async def _hush(talker: Talker) -> None:
    while True:
        await talker.say(HUSH, 0.1)
        await asyncio.sleep(0.1)


@asynccontextmanager
async def served_at(url: str, runs: Path) -> AsyncGenerator[Served, None]:
    """A server that takes the place of one that is gone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("server.bench.process._free_port", lambda: urlsplit(url).port)
        async with served("--models", "standin", runs=runs) as server:
            assert server.url == url
            yield server


async def spoken_to_until_the_end(url: str, seed: int, begun: list[LivePerson]) -> int:
    """Talk, be answered at length, and listen until the connection ends; returns how it did."""
    async with live(url, seed) as person:
        person.speak(4.0)  # the stand-in says what it heard
        await person.talker.until("response.output_audio.delta")
        begun.append(person)
        return await farewell(person.talker)


async def come_back(url: str, seed: int) -> LivePerson:
    """Try until there is a server that takes one in, and be answered there."""
    async with asyncio.timeout(60):
        while True:
            try:
                async with live(url, seed) as person:
                    assert (await person.turn())["status"] == "completed"
                    return person
            except (OSError, ConnectionClosed, InvalidHandshake):
                await asyncio.sleep(0.1)  # nobody is there yet


async def refused(url: str) -> int:
    """Come while it stops; returns how one is sent away."""
    async with connect(url) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                await socket.recv()
    return closed.value.rcvd.code if closed.value.rcvd else 0


async def test_stopped_under_load_everybody_finds_the_next_server_at_the_same_place(
    tmp_path: Path,
) -> None:
    begun: list[LivePerson] = []
    async with nothing_left():
        async with served("--models", "standin", runs=tmp_path) as server:
            url = server.url
            talks = [
                asyncio.create_task(spoken_to_until_the_end(url, seed, begun))
                for seed in range(TALKERS)
            ]
            await until(lambda: len(begun) == TALKERS)
            server.process.send_signal(signal.SIGTERM)
            await until(lambda: bool(begun[0].talker.of("attune.closing")))
            assert await refused(url) == 1013
            back = [asyncio.create_task(come_back(url, 100 + seed)) for seed in range(TALKERS)]
            assert await asyncio.gather(*talks) == [1001] * TALKERS
            await asyncio.to_thread(server.process.wait, 30)
            assert not server.problems
        async with served_at(url, tmp_path) as server:
            returned = await asyncio.gather(*back)
            await until(lambda: not list(left_behind(tmp_path)))
            assert not server.problems
    found = folders(tmp_path)
    assert len(found) == 2 * TALKERS and [verify(each) for each in found] == [[]] * len(found)
    for person in begun:
        kept_in_order(tmp_path, person, until=person.frames[-1][0] - NETWORK_SEC)
    for person in returned:
        kept_in_order(tmp_path, person)
    ended = {each.name: read(each).ended for each in found}
    whys = [ending.why for person in begun if (ending := ended[person.session_id])]
    assert whys == ["server_stopped"] * TALKERS


async def test_killed_under_load_everybody_finds_the_next_server_and_what_was_recorded(
    tmp_path: Path,
) -> None:
    begun: list[LivePerson] = []
    async with nothing_left():
        async with served("--models", "standin", runs=tmp_path) as server:
            url = server.url
            talks = [
                asyncio.create_task(spoken_to_until_the_end(url, seed, begun))
                for seed in range(TALKERS)
            ]
            await until(lambda: len(begun) == TALKERS)
            killed_at = asyncio.get_running_loop().time()
            server.process.kill()
            assert await asyncio.gather(*talks) == [0] * TALKERS  # without a word
            await asyncio.to_thread(server.process.wait, 30)
        assert len(list(left_behind(tmp_path))) == TALKERS
        async with served_at(url, tmp_path):
            returned = await asyncio.gather(
                *(come_back(url, 100 + seed) for seed in range(TALKERS))
            )
            await until(lambda: not list(left_behind(tmp_path)))
    found = folders(tmp_path)
    assert len(found) == 2 * TALKERS and [verify(each) for each in found] == [[]] * len(found)
    for person in begun:
        kept_in_order(tmp_path, person, until=killed_at - MOST_LOST_SEC)
        session = read(next(each for each in found if each.name == person.session_id))
        assert session.state == "repaired"
        assert session.ended and session.ended.why == "crashed"
    for person in returned:
        kept_in_order(tmp_path, person)


async def test_a_second_signal_hurries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTUNE_DRAIN_SEC", "600")
    # The stand-in says what it heard: a long turn has a long answer in one sentence.
    async with served("--models", "standin", runs=tmp_path) as server:
        async with talking(server.url, "?attune=1") as talker:
            await consent(talker, **ALL)
            await talker.ask(6.0, 0.3)
            sending = asyncio.create_task(_hush(talker))
            await talker.until("response.output_audio.delta")
            server.process.send_signal(signal.SIGTERM)
            await talker.until("attune.closing")
            server.process.send_signal(signal.SIGTERM)
            assert await farewell(talker) == 1001
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        await asyncio.to_thread(server.process.wait, 30)
    (done,) = talker.of("response.done")
    assert done["response"]["status"] == "cancelled"
    assert [verify(each) for each in folders(tmp_path)] == [[]]
