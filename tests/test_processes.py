"""Several processes behind one port: each of the parts, without starting any."""

import asyncio
import io
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager, redirect_stderr
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import orjson
import pytest
import typer
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

from models import registry
from models.errors import BackendError
from models.percept import Affect, Conflict, Moment, Percept, Prosody
from models.registry import Choice
from models.style import PLAIN, REPLY_EMOTIONS, Style
from models.types import EAR_RATE, AudioChunk, SpokenChunk, Token, Turn
from server.__main__ import Bare
from server.chores import Chores
from server.config import PROFILES, BackendProcess, Config
from server.consent import Consent
from server.crowd import Crowd
from server.launch import launch
from server.limits import Limits
from server.percentiles import Digest
from server.processes import ledger as ledgers
from server.processes import messages, parent
from server.processes.forwarding import Forwarding
from server.processes.handing import Doorman, taken_in
from server.processes.heartbeat import LOOKS, Heartbeats
from server.processes.ledger import Ledger, entered
from server.processes.messages import Message
from server.processes.model_process import ATTENTION_SEC, Attentions, Listening, ModelHouse
from server.processes.neighbours import Neighbours, inner_door
from server.processes.notice_board import NoticeBoard
from server.processes.remote import (
    Line,
    RemoteJudge,
    RemotePerceiver,
    RemoteResponder,
    RemoteSpeaker,
    RemoteTranscriber,
)
from server.processes.seating import SharedSeats, Table
from server.processes.shared_models import is_own
from server.processes.together import Everywhere, Together
from server.readiness import Backend
from server.seats import OwnSeats, Seats
from server.sessions.library import StillRecording
from server.tally import StageTally, Tally
from server.vitals import Vitals
from tests.fakes import Mute, Reciter, Sadness, Scripted, known
from tests.serving import standins
from ui.__main__ import WithPages

few = settings(max_examples=12, deadline=None)
figures = st.floats(allow_nan=False, allow_infinity=False)
perhaps = st.none() | figures
chances = st.dictionaries(st.text(max_size=12), figures, max_size=4)
affects = st.builds(Affect, figures, figures, figures)
percepts = st.builds(
    Percept,
    **dict.fromkeys(
        ("emotion", "gender", "age", "events", "environment", "physiological", "volume", "speed"),
        chances,
    ),
    expressed=st.none() | affects,
    perceived=st.none() | affects,
    prosody=st.builds(
        Prosody,
        **{each.name: perhaps for each in fields(Prosody) if each.name != "speech_seconds"},
        speech_seconds=figures,
    ),
    unknown=st.lists(st.text(max_size=9), max_size=3).map(tuple),
    moments=st.lists(
        st.builds(Moment, st.text(max_size=9), figures, figures, figures), max_size=2
    ).map(tuple),
    conflict=st.none() | st.builds(Conflict, st.text(max_size=9), st.text(max_size=9), figures),
    seconds=figures,
    weights=st.text(max_size=9),
)
styles = st.builds(
    Style,
    emotion=st.sampled_from(REPLY_EMOTIONS),
    target=affects,
    pace=figures,
    pitch=figures,
    breath=figures,
    stress=st.lists(st.text(max_size=9), max_size=3).map(tuple),
    contour=st.sampled_from(("own", "fall", "level", "rise")),
)
sounds = st.builds(
    AudioChunk,
    st.lists(st.floats(width=32), max_size=40).map(lambda each: np.array(each, np.float32)),
    st.sampled_from((EAR_RATE, 24_000, 8_000)),
)
turns = st.builds(
    Turn,
    st.sampled_from(("system", "user", "assistant")),
    st.text(max_size=30),
    st.none() | percepts,
    st.none() | sounds,
)


def across(message: Message) -> Message:
    """As the other side gets it."""

    data, prefix = message.packed(), messages.SIZES.size
    head, body = messages.sizes(data[:prefix])
    assert len(data) == prefix + head + body
    return messages.opened(data[prefix : prefix + head], data[prefix + head :])


def same_sound(one: AudioChunk | None, other: AudioChunk | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.rate == other.rate and np.array_equal(one.samples, other.samples, equal_nan=True)


@few
@given(percepts)
def test_a_percept_comes_across_as_it_was(percept: Percept) -> None:
    assert messages.percept_in(across(messages.of_percept(percept))) == percept


@few
@given(st.text(max_size=30), styles)
def test_a_clause_and_its_style_come_across_as_they_were(clause: str, style: Style) -> None:
    assert messages.clause_in(across(messages.of_clause(clause, style))) == (clause, style)


@few
@given(sounds, st.text(max_size=20))
def test_sound_comes_across_to_the_last_bit(sound: AudioChunk, text: str) -> None:
    spoken = messages.spoken_in(across(messages.of_spoken(SpokenChunk(sound, text))))
    assert spoken.text == text and same_sound(spoken.audio, sound)
    assert spoken.audio.samples.flags.writeable


@few
@given(st.lists(turns, max_size=4), st.integers(1, 4096))
def test_a_dialogue_comes_across_with_its_percepts_and_sound(
    dialogue: list[Turn], limit: int
) -> None:
    came, max_tokens = messages.dialogue_in(across(messages.of_dialogue(dialogue, limit)))
    assert max_tokens == limit
    assert [replace(each, audio=None) for each in came] == [
        replace(each, audio=None) for each in dialogue
    ]
    assert all(same_sound(a.audio, b.audio) for a, b in zip(came, dialogue, strict=True))


@pytest.mark.parametrize(
    ("head", "body"), [(b"{", b""), (b"[]", b""), (b"\xff", b"")], ids=("cut", "list", "bytes")
)
def test_a_message_that_is_none_is_told_from_one(head: bytes, body: bytes) -> None:
    with pytest.raises(messages.Unreadable):
        messages.opened(head, body)


def test_nobody_is_made_to_read_a_message_without_end() -> None:
    with pytest.raises(messages.Unreadable):
        messages.sizes(messages.SIZES.pack(1 << 31, 0))


# --- the roles, at the other end of a socket


@asynccontextmanager
async def served(folder: Path, **roles: Any) -> AsyncGenerator[Line, None]:
    async with Listening(ModelHouse(standins(**roles)), folder / "models"):
        yield Line(folder / "models")


async def until(condition: Any) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.005)


def noise(seconds: float = 1.0) -> AudioChunk:
    return AudioChunk(
        np.random.default_rng(1).normal(0, 0.2, round(seconds * EAR_RATE)).astype("f4")
    )


async def test_every_role_answers_over_the_socket_as_it_does_here(tmp_path: Path) -> None:
    here, sound = standins(), noise()
    dialogue = [Turn("user", "hello there", known(emotion={"sad": 1.0}), sound)]
    async with served(tmp_path) as line:
        assert await RemoteJudge(line).finished(sound) == await here.turn_judge.finished(sound)
        heard = await RemoteTranscriber(line).transcribe(sound)
        assert heard and heard == await here.transcriber.transcribe(sound)
        attention = RemotePerceiver(line, {}).attend()
        assert await attention.perceive(sound, "hi") == await here.perceiver.attend().perceive(
            sound
        )
        assert await attention.glance(sound) == await here.perceiver.attend().glance(sound)
        said = [token async for token in RemoteResponder(line).respond(dialogue, 50)]
        assert said == [token async for token in here.responder.respond(dialogue, 50)]
        spoken = [chunk async for chunk in RemoteSpeaker(line).speak("one two three", PLAIN)]
        wanted = [chunk async for chunk in here.speaker.speak("one two three", PLAIN)]
        assert [each.text for each in spoken] == [each.text for each in wanted]
        pairs = zip(spoken, wanted, strict=True)
        assert all(same_sound(one.audio, other.audio) for one, other in pairs)


async def test_how_likely_a_token_was_comes_across_with_it(tmp_path: Path) -> None:
    async with served(tmp_path, responder=Scripted("well", Token(" yes", -0.25))) as line:
        said = [t async for t in RemoteResponder(line).respond([Turn("user", "hello")], 50)]
    assert said == ["well", " yes"]
    assert [getattr(token, "logprob", None) for token in said] == [None, -0.25]


async def test_a_stream_given_up_by_a_front_is_closed_in_the_model_process(tmp_path: Path) -> None:
    reciter = Reciter()
    async with served(tmp_path, responder=reciter) as line:
        stream = RemoteResponder(line).respond([Turn("user", "hello")], 50)
        assert await anext(stream) == "w1 "
        await until(lambda: reciter.open)
        await stream.aclose()
        await until(lambda: not reciter.open)


async def test_a_stream_nobody_reads_is_made_only_a_little_ahead(tmp_path: Path) -> None:
    made: list[int] = []

    class Eager:
        async def respond(
            self, dialogue: Sequence[Turn], max_tokens: int
        ) -> AsyncGenerator[str, None]:
            for number in range(1000):
                made.append(number)
                yield f"{number} "

    async with (
        served(tmp_path, responder=Eager()) as line,
        aclosing(RemoteResponder(line).respond([Turn("user", "hello")], 50)) as stream,
    ):
        for _ in range(3):
            await anext(stream)
        await RemoteJudge(line).finished(noise())  # the other process has had its turn since
        assert len(made) <= 10


async def test_a_call_given_up_by_a_front_is_given_up_in_the_model_process(tmp_path: Path) -> None:
    sadness = Sadness()
    sadness.may_answer.clear()
    async with served(tmp_path, perceiver=sadness) as line:
        asking = asyncio.create_task(RemotePerceiver(line, {}).attend().perceive(noise()))
        await until(lambda: sadness.brought)
        asking.cancel()
        async with asyncio.timeout(20):
            await sadness.given_up.wait()


async def test_what_was_worked_out_of_a_stretch_is_kept_for_its_next_call(tmp_path: Path) -> None:
    sadness = Sadness()
    async with served(tmp_path, perceiver=sadness) as line:
        perceiver = RemotePerceiver(line, {})
        one, other = perceiver.attend(), perceiver.attend()
        for attention in (one, other, one):
            await attention.glance(noise())
        first, second, third = (each.attention for each in sadness.brought)
        assert first is third and first is not second


def test_a_stretch_nobody_asks_about_any_more_is_forgotten() -> None:
    now = [0.0]
    attentions = Attentions(replace(standins(), perceiver=Sadness()), lambda: now[0])
    first = attentions.of("a")
    now[0] = ATTENTION_SEC + 1
    attentions.of("b")
    assert len(attentions) == 1
    assert attentions.of("a") is not first


async def test_what_a_model_says_of_its_failure_reaches_the_front(tmp_path: Path) -> None:
    sadness = Sadness()
    sadness.error = BackendError("perceiver", "It is too loud in here.")
    async with served(tmp_path, perceiver=sadness) as line:
        with pytest.raises(BackendError, match="too loud") as told:
            await RemotePerceiver(line, {}).attend().perceive(noise())
    assert told.value.role == "perceiver"


async def test_a_model_that_breaks_is_a_failed_call_and_no_more(tmp_path: Path) -> None:
    class Broken:
        async def transcribe(self, audio: AudioChunk) -> str:
            raise ZeroDivisionError("and what was said")

    async with served(tmp_path, transcriber=Broken()) as line:
        with pytest.raises(BackendError) as told:
            await RemoteTranscriber(line).transcribe(noise())
        assert "said" not in str(told.value)
        assert await RemoteJudge(line).finished(noise()) == 1.0


async def test_a_model_process_that_goes_breaks_off_its_calls_and_is_found_again(
    tmp_path: Path,
) -> None:
    mute = Mute()
    async with served(tmp_path, speaker=mute) as line:
        assert await line.there()
        speaking = asyncio.create_task(anext(RemoteSpeaker(line).speak("hello", PLAIN)))
        await mute.asked.wait()
    with pytest.raises(BackendError, match="started again"):
        await speaking
    with pytest.raises(BackendError, match="started again"):
        await RemoteTranscriber(line).transcribe(noise())
    assert not await line.there()
    async with served(tmp_path):
        assert await line.there()
        assert await RemoteTranscriber(line).transcribe(noise())


async def test_many_calls_at_the_same_moment_are_all_answered(tmp_path: Path) -> None:
    async with served(tmp_path) as line:
        calls = (RemoteJudge(line).finished(noise(0.05)) for _ in range(300))
        assert await asyncio.gather(*calls) == [1.0] * 300


async def test_nonsense_on_the_socket_hurts_nobody(tmp_path: Path) -> None:
    async with served(tmp_path) as line:
        for data in (b"GET / HTTP/1.1\r\n\r\n", Message({"do": "speak"}).packed(), b"\0" * 4):
            reader, writer = await asyncio.open_unix_connection(line.path)
            writer.write(data)
            writer.write_eof()
            async with asyncio.timeout(20):
                await reader.read()
            writer.close()
        assert await RemoteJudge(line).finished(noise()) == 1.0


def test_only_roles_with_weights_are_shared() -> None:
    embedded = registry.read(PROFILES / "embedded.toml")
    own = {role for role, choice in embedded.items() if is_own(role, choice)}
    assert own == {"voice_detector", "thinker"}
    gpu = registry.read(PROFILES / "gpu.toml")
    own = {role for role, choice in gpu.items() if is_own(role, choice)}
    assert own == {"voice_detector", "thinker", "responder", "speaker"}
    assert is_own("perceiver", Choice("off"))


# --- seats, and who is sent where


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(seats=3, fronts=2, queue=3, lock=tmp_path / "lock")


@pytest.mark.parametrize("shared", [True, False])
def test_seats_are_taken_once_and_given_back(table: Table, shared: bool) -> None:
    seats: Seats = SharedSeats(table, 0) if shared else OwnSeats(3)
    assert [seats.take(f"sess_{n}") for n in range(4)] == [True, True, True, False]
    assert seats.taken == 3 and seats.here == {"sess_0", "sess_1", "sess_2"}
    seats.give_back("sess_1")
    seats.give_back("sess_1")
    seats.give_back("sess_7")
    assert seats.taken == 2 and seats.take("sess_3") and not seats.take("sess_4")


@pytest.mark.parametrize("shared", [True, False])
def test_of_the_free_seats_one_is_kept_for_each_older_ticket(table: Table, shared: bool) -> None:
    seats: Seats = SharedSeats(table, 0) if shared else OwnSeats(3)
    first, second, third = (seats.line_up(3) for _ in range(3))
    assert seats.spare == 0 and not seats.take("sess_new")
    assert seats.take("sess_3", third) and not seats.take("sess_new")
    assert seats.take("sess_2", second) and not seats.take("sess_new")
    assert seats.take("sess_1", first) and seats.taken == 3
    seats.give_back("sess_2")
    last = seats.line_up(3)
    assert seats.spare == 0 and not seats.take("sess_new")
    seats.give_back("sess_1")
    assert seats.spare == 1 and seats.take("sess_new") and seats.take("sess_4", last)


def test_seats_are_counted_over_all_fronts(table: Table) -> None:
    here, there = SharedSeats(table, 0), SharedSeats(table, 1)
    assert here.take("sess_a") and there.take("sess_b") and there.take("sess_c")
    assert not here.take("sess_d") and here.taken == there.taken == 3
    assert table.talking() == [1, 2]
    assert table.owner("sess_b") == 1 and table.owner("sess_d") is None
    there.give_back("sess_a")  # not theirs to give
    assert table.taken == 3
    table.clear(1)  # the front died
    assert here.take("sess_d") and table.everyone() == [(0, "sess_a"), (0, "sess_d")]


def test_how_backends_are_is_read_in_another_process_than_it_is_written_in() -> None:
    board = NoticeBoard(["vllm", "tts"])
    assert [each.state for each in board.backends] == ["stopped", "stopped"]
    told = [
        Backend(name="vllm", state="up", restarts=0),
        Backend(name="tts", state="waiting", restarts=7),
    ]
    child = os.fork()
    if not child:
        board.write(told)
        os._exit(0)
    os.waitpid(child, 0)
    assert board.backends == told
    board.all_stopped()
    assert [(each.state, each.restarts) for each in board.backends] == [
        ("stopped", 0),
        ("stopped", 7),
    ]


def test_restarts_are_counted_on_when_whoever_looks_after_backends_is_replaced() -> None:
    board = NoticeBoard(["vllm", "tts"])
    board.write([Backend(name="vllm", state="up", restarts=3), *board.backends[1:]])
    for lives in (1, 2):
        board.all_restart()
        assert [each.restarts for each in board.backends] == [3 + lives, lives]
        child = os.fork()
        if not child:  # the successor counts from nothing
            board.write([Backend(name=name, state="up", restarts=0) for name in ("vllm", "tts")])
            os._exit(0)
        os.waitpid(child, 0)
        assert [(each.state, each.restarts) for each in board.backends] == [
            ("up", 3 + lives),
            ("up", lives),
        ]


def test_where_no_backend_is_looked_after_none_is_told_of() -> None:
    assert NoticeBoard([]).backends == []


def test_fronts_stop_first_then_the_models_and_backends_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = BackendProcess(command=["true"], ready="http://127.0.0.1:9/health")
    config = Config(profile="standin", processes=2, backends={"tts": kept})
    house = parent.Parent(Bare(), config, socket.socket(), tmp_path)
    told: list[str] = []

    def note(member: parent.Member, sign: signal.Signals) -> None:
        if member.pid:
            assert sign == signal.SIGTERM
            told.append(member.name)

    monkeypatch.setattr(parent, "_tell", note)
    members = {each.name: each for each in house._members}
    for number, member in enumerate(members.values()):
        member.pid = number + 1
    house._stop()
    order = [told.copy()]
    for gone in ("front 1", "front 0", "models"):
        told.clear()
        members[gone].pid = 0
        house._end()
        order.append(told.copy())
    assert order == [["front 0", "front 1"], [], ["models"], ["backends"]]
    house._let_go()


class Watched:
    """A parent of three whose looks are a second apart, without waiting for them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        config = Config(profile="standin", processes=2)
        self.house = parent.Parent(Bare(), config, socket.socket(), folder)
        self.members = {each.name: each for each in self.house._members}
        self.killed: list[str] = []
        for number, member in enumerate(self.members.values()):
            member.pid, member.ready = number + 1, True
        monkeypatch.setattr(parent, "_tell", self._told)

    def _told(self, member: parent.Member, sign: signal.Signals) -> None:
        assert sign == signal.SIGKILL  # who is stopped hears no other
        self.killed.append(member.name)

    def look(self, times: int, *alive: str) -> None:
        """Meanwhile these show that they are alive."""
        for _ in range(times):
            for name in alive:
                self.house._heartbeats.beat(self.house._place(self.members[name]))
            self.house._look_at = 0.0
            self.house._end_who_hangs()


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Watched, None, None]:
    made = Watched(tmp_path, monkeypatch)
    yield made
    made.house._let_go()


def test_who_gives_no_sign_of_life_is_ended_once_and_the_others_are_not(watched: Watched) -> None:
    watched.look(5 * LOOKS, *watched.members)
    watched.look(LOOKS - 1, "front 0")
    assert watched.killed == []
    watched.look(1, "front 0")
    assert watched.killed == ["models", "front 1"]
    watched.look(1, "front 0")
    assert watched.killed == ["models", "front 1"]  # until it is buried


def test_who_starts_slowly_or_is_late_now_and_then_is_not_ended(watched: Watched) -> None:
    models = watched.members["models"]
    models.ready = False  # it loads
    watched.look(20 * LOOKS, "front 0", "front 1")
    models.ready = True
    for _ in range(5):
        watched.look(LOOKS - 1, "front 0", "front 1")
        watched.look(1, *watched.members)
    assert watched.killed == []
    watched.house._stops = 1  # then there is another time by which all must have ended
    watched.look(2 * LOOKS)
    assert watched.killed == []


async def test_a_loop_that_goes_round_shows_it_to_the_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("server.processes.heartbeat.BEAT_SEC", 0.0)
    heartbeats = Heartbeats(2)
    async with heartbeats.beating(1):
        for _ in range(2 * LOOKS):
            for _ in range(3):
                await asyncio.sleep(0)
            assert not heartbeats.hangs(1)
    assert [heartbeats.hangs(1) for _ in range(LOOKS + 1)][-1]  # it has left its loop


def test_a_heartbeat_is_seen_in_another_process() -> None:
    heartbeats = Heartbeats(1)
    for _ in range(2 * LOOKS):
        child = os.fork()
        if not child:
            heartbeats.beat(0)
            os._exit(0)
        os.waitpid(child, 0)
        assert not heartbeats.hangs(0)


class Halls:
    """Fronts that take in what they are handed when told to."""

    def __init__(self, count: int) -> None:
        self.talking = [0] * count
        self.adopted = [0] * count
        self.room = [100] * count
        self.doorman = Doorman(
            lambda: self.talking, self.adopted.__getitem__, self.room.__getitem__, count
        )
        self.ends: list[socket.socket] = []
        for number in range(count):
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            ours.setblocking(False)
            theirs.setblocking(False)
            self.doorman.opened(number, ours)
            self.ends += [ours, theirs]

    def arrive(self) -> None:
        ours, theirs = socket.socketpair()
        self.doorman.receive([ours])
        theirs.close()

    def taken_in(self, front: int) -> int:
        found = taken_in(self.ends[2 * front + 1])
        for connection in found:
            assert connection is not None, "none was lost"
            connection.close()
        self.adopted[front] += len(found)
        return len(found)

    def close(self) -> None:
        for end in (*self.ends, *self.doorman.waiting):
            end.close()


@pytest.fixture
def halls() -> Any:
    made = Halls(2)
    yield made
    made.close()


def test_who_comes_is_sent_where_fewest_talk(halls: Halls) -> None:
    halls.talking[:] = [3, 0]
    for _ in range(3):
        halls.arrive()
    assert (halls.taken_in(0), halls.taken_in(1)) == (0, 3)


def test_many_who_come_at_once_are_spread_evenly(halls: Halls) -> None:
    for _ in range(6):
        halls.arrive()
    assert (halls.taken_in(0), halls.taken_in(1)) == (3, 3)


def test_a_front_that_takes_nothing_in_gets_no_more_than_the_others(halls: Halls) -> None:
    for _ in range(12):
        halls.arrive()
        halls.taken_in(1)
    assert halls.taken_in(0) == 1


def test_a_front_without_room_is_passed_by_while_another_has_some(halls: Halls) -> None:
    halls.talking[:] = [3, 0]
    halls.room[:] = [5, 2]
    for _ in range(4):  # at once: those on their way count as if they had come in
        halls.arrive()
    assert (halls.taken_in(0), halls.taken_in(1)) == (2, 2)
    halls.room[1] = 0
    halls.arrive()
    assert (halls.taken_in(0), halls.taken_in(1)) == (1, 0)


def test_where_no_front_has_room_who_comes_is_sent_where_somebody_may_make_way(
    halls: Halls,
) -> None:
    halls.talking[:] = [3, 0]
    for theirs in (-1, -2):
        halls.room[:] = [0, theirs]
        halls.arrive()
        assert (halls.taken_in(0), halls.taken_in(1)) == (1, 0)
    halls.room[:] = [-1, -2]
    halls.arrive()
    assert (halls.taken_in(0), halls.taken_in(1)) == (1, 0)
    halls.room[:] = [-2, -2]
    halls.arrive()  # to be turned away there
    assert (halls.taken_in(0), halls.taken_in(1)) == (0, 1)


def test_how_much_room_a_front_has_is_seen_in_another_process(table: Table) -> None:
    child = os.fork()
    if not child:
        lines = Crowd(Limits(connections=8))
        lines.tell_room(lambda room: table.room.__setitem__(1, room))
        assert lines.enter("192.0.2.1")
        os._exit(0)
    os.waitpid(child, 0)
    assert table.room.tolist() == [0, 6]
    assert table.adopted.tolist() == [0, 0] and table.talking() == [0, 0]


def test_who_comes_while_no_front_is_there_waits_for_one(halls: Halls) -> None:
    for number in (0, 1):
        halls.doorman.closed(number)
    halls.arrive()
    assert len(halls.doorman.waiting) == 1
    halls.doorman.opened(1, halls.ends[2])
    halls.doorman.receive([])
    assert not halls.doorman.waiting and halls.taken_in(1) == 1


# --- what fronts ask of each other


def test_counts_add_up_over_processes() -> None:
    ours = Vitals()
    ours.opened, ours.replies = 2, 1
    ours.failed("speaker")
    ours.replied({"speech_end": 0.0, "first_audio": 500.0}, 3.0)
    theirs = Tally(opened=3, stages={"first_audio": StageTally(Digest(), Digest())})
    theirs.stages["first_audio"].ever.add(100.0)
    theirs.failures.update({"speaker": 2, "responder": 1})
    whole = Tally.of(ours).joined([Tally.from_json(_plain(theirs.to_json()))])
    assert whole.opened == 5 and whole.replies == 2
    assert whole.failures == {"speaker": 3, "responder": 1}
    assert whole.stages["first_audio"].ever.count == 2
    assert whole.stages["first_audio"].ever.percentiles((0.5, 0.99)) == [
        pytest.approx(100.0, rel=0.01),
        pytest.approx(500.0, rel=0.01),
    ]
    assert ours.stages["first_audio"].ever.count == 1


def a_front(number: int, table: Table, ledger: Ledger, neighbour: "Asked") -> Together:
    line: Any = None
    others: Any = neighbour
    return Together(number, table, ledger, Chores.NONE, line, others)


def replies(tally: Tally) -> tuple[int, int, int, int]:
    """What was counted in four of the ways in which we count."""
    stage = tally.stages["first_audio"].ever.count if tally.stages else 0
    return tally.replies, tally.failures["speaker"], tally.percepts.count, stage


def counted_once() -> Tally:
    vitals = Vitals()
    vitals.failed("speaker")
    vitals.perceived(80.0)
    vitals.replied({"speech_end": 0.0, "first_audio": 500.0}, 3.0)
    vitals.stalled(40.0)
    tally = Tally.of(vitals)
    tally.waiting, tally.not_ready, tally.unable["speaker"] = 1, 1, 1
    return tally


async def test_what_a_front_told_is_counted_on_by_its_successor(table: Table) -> None:
    ledger, silent = Ledger(2), Asked(None)
    for lives in (1, 2, 3):
        front = a_front(1, table, ledger, silent)
        told = front.kept(counted_once())
        assert replies(told) == (lives,) * 4
        assert (told.waiting, told.not_ready, told.unable["speaker"]) == (1, 1, 1)
    assert replies(a_front(1, table, ledger, silent).kept(Tally())) == (3,) * 4
    assert replies(a_front(0, table, ledger, silent).kept(Tally())) == (0,) * 4


async def test_of_a_front_that_is_gone_all_others_tell_what_anybody_was_told(table: Table) -> None:
    ledger, other = Ledger(2), Asked(None)
    here, there = (a_front(number, table, ledger, other) for number in (0, 1))
    there.kept(counted_once())  # somebody who asked it was told
    (told,) = await here.tallies()
    assert replies(told) == (1,) * 4 and told.worst_stall_ms == 40.0
    assert (told.waiting, told.not_ready, told.unable["speaker"]) == (0, 0, 0)
    other.answer = _plain(there.kept(counted_once()).to_json())
    assert [each.waiting for each in await here.tallies()] == [1]
    there.kept(counted_once().joined([counted_once()]))
    other.answer = None
    (told,) = await here.tallies()
    assert replies(told) == (2,) * 4
    # How it was is what it said last to us: it may be there, and slow.
    assert (told.waiting, told.not_ready, told.unable["speaker"]) == (1, 1, 1)
    assert told.stages["first_audio"].lately.count == 1


def test_an_entry_in_which_a_front_was_killed_is_none_and_the_one_before_stands() -> None:
    ledger = Ledger(2)

    class Half:
        """Memory to which whoever writes does not come to the end."""

        memory = ledger._memory

        def __setitem__(self, where: slice, what: bytes) -> None:
            begin, half = where.start, len(what) // 2
            self.memory[begin : begin + half] = what[:half]
            os._exit(0)

    for opened in (1, 2, 3):
        ledger.write(1, Tally(opened=opened))
        child = os.fork()
        if not child:
            ledger._memory = Half()  # type: ignore[assignment]
            ledger.write(1, Tally(opened=1_000_000, replies=1_000_000))
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert [ledger.read(front).opened for front in (0, 1)] == [0, opened]


async def test_what_is_counted_is_noted_again_and_again_though_nobody_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledgers, "ENTRY_SEC", 0.001)
    ledger = Ledger(1)
    opened = iter(range(1, 1_000_000))
    async with entered(lambda: ledger.write(0, Tally(opened=next(opened)))):
        await until(lambda: ledger.read(0).opened >= 3)


def _plain(told: Any) -> Any:
    return orjson.loads(orjson.dumps(told))


class Here:
    running = ("sess_here",)

    def __init__(self) -> None:
        self.asked: list[tuple[str, Consent | None]] = []

    async def forget(self, session_id: str, consent: Consent | None) -> bool:
        self.asked.append((session_id, consent))
        return True

    async def written(self, session_id: str) -> None:
        self.asked.append((session_id, None))


class Asked:
    """Neighbours who answer what they are told to."""

    others = (1,)

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    async def ask(
        self, front: int, what: str, patience_sec: float = 1.0, **told: Any
    ) -> dict[str, Any] | None:
        self.asked.append((front, what, told))
        return self.answer

    async def ask_all(self, what: str, **told: Any) -> list[dict[str, Any]]:
        self.asked.append((what, told))
        return []


async def test_a_conversation_is_told_to_forget_in_the_front_that_holds_it(table: Table) -> None:
    table.take(0, "sess_here")
    table.take(1, "sess_there")
    here, asked = Here(), Asked({"found": True})
    live = Everywhere(here, 0, table, asked)  # type: ignore[arg-type]
    assert set(live.running) == {"sess_here", "sess_there"}
    assert await live.forget("sess_here", None) and not asked.asked
    left = Consent(transcript=True, audio=False, research=False)
    assert await live.forget("sess_there", left)
    (front, what, told) = asked.asked[0]
    assert (front, what, told["session_id"]) == (1, "forget", "sess_there")
    assert Consent(**told["consent"]) == left
    asked.answer = {"found": True, "still_recording": "the disk is slow"}
    with pytest.raises(StillRecording):
        await live.forget("sess_there", None)
    asked.answer = None  # it was killed
    assert not await live.forget("sess_there", None)
    await live.written("sess_over")
    assert asked.asked[-1] == ("written", {"session_id": "sess_over"})


async def answered(app: Forwarding, path: str, server: tuple[str, int | None]) -> list[Any]:
    """What an application says to a request that came in by this door."""
    sent: list[Any] = []

    async def receive() -> AsgiMessage:
        if not any(each["type"] == "asked" for each in sent):
            sent.append({"type": "asked"})
            return {"type": "http.request", "body": b"", "more_body": False}
        await asyncio.Event().wait()
        raise AssertionError("nobody hangs up")

    async def send(message: AsgiMessage) -> None:
        sent.append(message)

    await app(asking(path, server), receive, send)
    return [each for each in sent if each["type"] != "asked"]


def asking(path: str, server: tuple[str, int | None]) -> Scope:
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
        "client": None,  # as of one who has hung up again
        "server": server,
    }


class FrontlessServer(uvicorn.Server):
    """Serves a socket, and leaves signals to the tests."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def says(word: str) -> Any:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": word})

    return app


async def test_what_is_private_is_answered_to_neighbours_only(tmp_path: Path) -> None:
    neighbours = Neighbours(tmp_path, 1, 2)
    app = Forwarding(says("public"), neighbours, says("private"), home=0)
    (told,) = await answered(app, "/within/forget", (neighbours.own_door, None))
    assert told["type"] == "private"
    for door in (("127.0.0.1", 7860), ("127.0.0.1", None)):
        (told,) = await answered(app, "/within/forget", door)
        assert told["type"] == "public"


async def test_nobody_outside_reaches_what_is_private_by_a_detour(tmp_path: Path) -> None:
    """On its way to the front at home an address is tidied up, and becomes another."""
    asked: list[str] = []

    async def private(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(scope["path"])
        await PlainTextResponse("private")(scope, receive, send)

    async def public(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("public")(scope, receive, send)

    home = Forwarding(public, Neighbours(tmp_path, 0, 2), private, home=0)
    server = FrontlessServer(uvicorn.Config(home, log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[inner_door(tmp_path, 0)]))
    await until(lambda: server.started)
    neighbours = Neighbours(tmp_path, 1, 2)
    try:
        other = Forwarding(public, neighbours, private, home=0)
        for path in ("/api/arena/../../within/forget", "/api/arena/x/../../../within/tally"):
            told = await answered(other, path, ("127.0.0.1", 7860))
            assert told[1]["body"] == b"public"
        # Nor would it be private if it got there.
        forged = {"x-attune-client": "192.0.2.7 5000"}
        await neighbours.client(0).post("/within/forget", headers=forged)
        assert asked == []
        assert await neighbours.client(0).post("/within/tally") and asked == ["/within/tally"]
    finally:
        await neighbours.close()
        server.should_exit = True
        await serving


async def test_a_request_that_was_passed_on_keeps_its_clients_address(tmp_path: Path) -> None:
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["client"])
        await PlainTextResponse(scope["client"][0])(scope, receive, send)

    home = Forwarding(app, Neighbours(tmp_path, 0, 2), says("private"), home=0)
    server = FrontlessServer(uvicorn.Config(home, log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[inner_door(tmp_path, 0)]))
    await until(lambda: server.started)
    neighbours = Neighbours(tmp_path, 1, 2)
    try:
        other = Forwarding(says("public"), neighbours, says("private"), home=0)
        outside = httpx2.ASGITransport(other, client=("192.0.2.7", 5000))
        forged = {"x-attune-client": "127.0.0.1 1"}
        async with httpx2.AsyncClient(transport=outside, base_url="http://here") as client:
            told = await client.get("/api/arena/leaderboard", headers=forged)
        assert told.text == "192.0.2.7" and seen == [("192.0.2.7", 5000)]
    finally:
        await neighbours.close()
        server.should_exit = True
        await serving


async def test_who_hangs_up_before_all_was_passed_on_is_no_failure_of_a_neighbour(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    home = Forwarding(app, Neighbours(tmp_path, 0, 2), says("private"), home=0)
    server = FrontlessServer(uvicorn.Config(home, log_level="warning", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[inner_door(tmp_path, 0)]))
    await until(lambda: server.started)
    neighbours = Neighbours(tmp_path, 1, 2)
    come: list[AsgiMessage] = [
        {"type": "http.request", "body": b"half", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive() -> AsgiMessage:
        return come.pop(0)

    async def send(message: AsgiMessage) -> None:
        raise AssertionError("nobody is there to be answered")

    by = {"method": "POST", "client": ("192.0.2.7", 5000)}
    scope = {**asking("/api/arena/rounds", ("127.0.0.1", 7860)), **by}
    try:
        await Forwarding(says("public"), neighbours, says("private"), home=0)(scope, receive, send)
        assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []
    finally:
        await neighbours.close()
        server.should_exit = True
        await serving


async def test_what_has_one_home_is_refused_for_a_while_if_nobody_is_there(tmp_path: Path) -> None:
    app = Forwarding(says("public"), Neighbours(tmp_path, 1, 2), says("private"), home=0)
    start, body = await answered(app, "/api/arena/leaderboard", ("127.0.0.1", 7860))
    assert start["status"] == 503 and b"restarting" in body["body"]
    at_home = Forwarding(says("public"), Neighbours(tmp_path, 0, 2), says("private"), home=0)
    (told,) = await answered(at_home, "/api/arena/leaderboard", ("127.0.0.1", 7860))
    assert told["type"] == "public"


def test_a_system_that_cannot_fork_says_so_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    flags = {"profile": "standin", "port": "0", "processes": "2"}
    told = io.StringIO()
    with redirect_stderr(told), pytest.raises(typer.Exit) as ended:
        launch(Bare(), None, flags)
    assert ended.value.exit_code == 2 and "processes = 1 is all" in told.getvalue()


def test_the_operators_key_is_made_before_processes_part(
    capsys: pytest.CaptureFixture[str],
) -> None:
    served = WithPages(open_browser=False)
    settings = served.prepared(Config(profile="standin"))
    served.opened("http://127.0.0.1:7860")
    assert settings.operator_token is not None
    assert settings.operator_token.get_secret_value() in capsys.readouterr().out
    assert served.prepared(settings) == settings
