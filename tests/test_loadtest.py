"""Scripted people, what they make of what they saw, and a line that mixes them up."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest
import soundfile
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request as HttpRequest
from websockets.http11 import Response as HttpResponse

from models import registry
from models.audio import decode_pcm16
from models.protocols import Speaker
from models.types import WIRE_RATE, Samples
from server.bench.barge import BROWSER_PIECE_SEC
from server.bench.listener import Listener
from server.bench.microphone import Microphone
from server.bench.process import served
from server.bench.sounds import Sound
from server.client import Call, CallError, Piece
from server.config import PROFILES, ROOT
from server.loadtest import speech
from server.loadtest.__main__ import MARKS_ENOUGH, lines, verdict
from server.loadtest.ids import Ids, shared
from server.loadtest.marks import FIRST, MOST, SECOND, carries, mark, others, sentences
from server.loadtest.report import cross_talk, report
from server.loadtest.run import Plan, run
from server.loadtest.script import Person, arrival, people, steps
from server.loadtest.seen import Seen
from server.loadtest.speech import Repertoire, Saying
from server.loadtest.talker import Talker
from server.loadtest.turn import Interruption, Said, TurnSeen, seen
from server.loadtest.usage import Glance, Unseen, Watch, glancing
from tests.serving import serving

Event = dict[str, Any]
UNWATCHED = {"cpu_percent": None, "memory_mb": None, "why": "nobody looked"}
SEED = 141  # three people: all write, then two take the word and the third reads slowly


# -- marks -----------------------------------------------------------------------------------


def test_no_two_talkers_share_a_mark_and_the_first_twenty_share_no_word() -> None:
    assert len({mark(talker) for talker in range(MOST)}) == MOST
    words = [word for talker in range(20) for word in mark(talker)]
    assert len(set(words)) == len(words) == len(FIRST) + len(SECOND)


def test_a_talker_is_known_by_every_sentence_it_says_and_by_no_others() -> None:
    everybody = [mark(talker) for talker in range(60)]
    for own in everybody:
        for said in sentences(own):
            assert carries(said.upper(), own)
            assert others(said, own, everybody) == []
    assert others("The Purple, purple PIANO!", mark(0), everybody) == [("purple", "piano")]
    assert others("purple castles", mark(0), everybody) == []


# -- scripts ---------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_people_and_another_gives_others() -> None:
    def script(seed: int, number: int) -> list[Any]:
        person = people(5, seed, 0.2, False)[number]
        return [arrival(person), *islice(steps(person), 20)]

    assert script(1, 2) == script(1, 2)
    assert script(1, 2) != script(1, 3)
    assert script(1, 2) != script(2, 2)


def test_a_script_soon_has_all_that_people_do() -> None:
    [person] = people(1, 0, 1.0, False)
    some = list(islice(steps(person), 12))
    assert {step.saying for step in some} == {"marked", "plain"}
    assert {step.over for step in some} == {None, "barge_in", "backchannel"}
    assert [step.stall_sec > 0 for step in some[:5]] == [False, True, False, False, True]
    assert len({step.pause_sec for step in some}) == 12


def test_only_slow_readers_stall_and_there_is_one_unless_nobody_shall() -> None:
    assert [sum(p.slow for p in people(n, 0, 0.1, False)) for n in (1, 3, 10, 40)] == [1, 1, 1, 4]
    assert not any(person.slow for person in people(10, 0, 0.0, False))
    assert not any(step.stall_sec for step in islice(steps(Person(0, 0)), 30))


def test_with_standins_marks_are_written_and_nobody_takes_the_word_in_writing() -> None:
    for number in range(10):
        some = list(islice(steps(Person(number, 0, standin=True)), 40))
        assert {step.saying for step in some} == {"written", "plain"}
        assert {step.over for step in some} == {None, "barge_in"}
        for step, following in zip(some, some[1:], strict=False):
            assert step.over != "barge_in" or following.saying != "written"


def test_what_was_laid_into_the_folder_is_what_each_talker_says(tmp_path: Path) -> None:
    tone = np.ones(10, np.float32)
    common = Saying("plain", Sound("common", "recorded", tone, 1, 9))
    own = [Saying("marked", Sound(f"of {n}", "synthesised", n * tone, 0, 10), n) for n in (0, 1)]
    speech.keep([common, *own], tmp_path)
    second = Repertoire(tmp_path, 1)
    assert [second.pick("marked", place).name for place in range(3)] == ["of 1"] * 3
    found = second.pick("plain", 7)
    assert (found.name, found.kind, found.start, found.end) == ("common", "recorded", 1, 9)
    assert np.array_equal(found.samples, tone)


# -- recordings of one's own -----------------------------------------------------------------

OWN_RATE = 16_000
OWN = {"a.wav": (300, 0.4), "deep/b.FLAC": (500, 0.6)}  # Hz and seconds of a tone


@pytest.fixture
def own_speech(tmp_path: Path) -> Path:
    """A folder with two recordings, and a file that is none."""
    folder = tmp_path / "own"
    for name, (hertz, seconds) in OWN.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        time_sec = np.arange(round(seconds * OWN_RATE)) / OWN_RATE
        soundfile.write(folder / name, 0.3 * np.sin(2 * np.pi * hertz * time_sec), OWN_RATE)
    (folder / "notes.txt").write_text("no sound")
    return folder


def test_a_folder_of_ones_own_is_read_whole_each_file_a_turn(own_speech: Path) -> None:
    found = speech.own(own_speech)
    assert [(each.name, each.kind) for each in found] == [(name, "recorded") for name in OWN]
    for each, (_, seconds) in zip(found, OWN.values(), strict=True):
        assert len(each.samples) == pytest.approx(seconds * WIRE_RATE, abs=2)
        assert 0 <= each.start < each.end <= len(each.samples)


def test_a_folder_without_recordings_or_with_a_broken_one_is_told_in_a_sentence(
    tmp_path: Path,
) -> None:
    with pytest.raises(CallError, match=r"no \.wav, \.flac, \.ogg file in"):
        speech.own(tmp_path)
    (tmp_path / "torn.wav").write_bytes(b"RIFF\xff\xff")
    with pytest.raises(CallError, match=r"cannot read .*torn\.wav"):
        speech.own(tmp_path)


@pytest.mark.usefixtures("at_once")
async def test_recordings_of_ones_own_are_said_and_arrive(
    own_speech: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tone: Speaker = registry.build("speaker", registry.read(PROFILES / "standin.toml")["speaker"])
    voice = SimpleNamespace(speak=tone.speak, close=lambda: None)
    with monkeypatch.context() as quickly:  # our own voice takes long to say all it has to
        quickly.setattr(registry, "build", lambda role, choice: voice)
        said = await speech.spoken(1, own_speech, 0)
    mine = [each for each in said if each.use != "plain" or each.sound.name in OWN]
    assert len(mine) < len(said)  # ours are said besides
    speech.keep(mine, tmp_path)
    person = Person(0, 6)  # a recording comes first, and goes over the line in frames
    step = next(steps(person))
    assert step.saying == "plain"
    first = Repertoire(tmp_path, 0).pick("plain", step.place)
    async with serving(clock="wall") as (url, _), overheard(f"{url}?attune=1") as (line, frames):
        until = time.monotonic() + 60
        talker = Talker(person, line, None, Repertoire(tmp_path, 0), until)
        talking = asyncio.create_task(talker.run())
        try:
            async with asyncio.timeout(30):
                while len(frames) * BROWSER_PIECE_SEC < 2:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.02)
        finally:
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)
    arrived = decode_pcm16(b"".join(frames))
    assert loudest_hertz(arrived) == pytest.approx(OWN[first.name][0], abs=5)


def loudest_hertz(samples: Samples) -> float:
    return float(np.abs(np.fft.rfft(samples)).argmax() * WIRE_RATE / len(samples))


async def test_with_standins_recordings_of_ones_own_are_refused_in_a_sentence(
    own_speech: Path,
) -> None:
    async with serving() as (url, _):
        with pytest.raises(CallError, match="--speech cannot be used here"):
            await run(Plan(url, 1, 0.05, speech=own_speech))


# -- what came of a turn ---------------------------------------------------------------------


def conversation() -> tuple[Call, Listener]:
    call = Call(None)  # type: ignore[arg-type]
    return call, Listener(call, Microphone(call.append, 0.04))


def told(call: Call, at: float, kind: str, **fields: Any) -> None:
    call.events.append({"type": kind, **fields})
    call.times.append(at)


def sounds(call: Call, at: float, response: str, seconds: float = 1.0) -> None:
    call.pieces.append(Piece(at, np.full(round(seconds * WIRE_RATE), 0.1, np.float32), response))


def done(call: Call, at: float, response: str, status: str = "completed") -> None:
    told(call, at, "response.done", response={"id": response, "status": status})


def turn(**changed: Any) -> Said:
    """A turn whose voice lasted from 1.0 to 2.0."""
    return replace(Said("marked", "x", 1.0, 2.0, 0, 0, frozenset()), **changed)


def test_a_turn_is_timed_from_its_true_end_to_the_first_audible_sample() -> None:
    call, listener = conversation()
    told(call, 2.3, "input_audio_buffer.committed")
    told(call, 2.4, "attune.timing", response_id="a", stages_ms={"gate": 1.0}, overhead_ms=1)
    quiet = np.zeros(WIRE_RATE // 10, np.float32)
    call.pieces.append(Piece(2.4, quiet, "a"))
    sounds(call, 2.45, "a")
    told(call, 2.5, "attune.timing", response_id="a", stages_ms={"gate": 2.0}, overhead_ms=3)
    told(call, 3.0, "response.output_audio_transcript.done", response_id="a", transcript="Hi.")
    done(call, 3.0, "a")
    found = seen(turn(), call, listener)
    assert found.latency_ms == pytest.approx(450)
    assert (found.stages_ms, found.overhead_ms, found.reply) == ({"gate": 2.0}, 3, "Hi.")
    assert (found.commits, found.replies, found.sounded, found.underruns) == (1, 1, 1, 0)
    assert not (found.missed or found.double or found.early)


def test_a_reply_before_the_end_is_early_and_is_not_what_is_timed() -> None:
    call, listener = conversation()
    sounds(call, 1.5, "a", 0.1)
    done(call, 1.7, "a", "cancelled")
    sounds(call, 2.5, "b")
    found = seen(turn(), call, listener)
    assert found.early and found.latency_ms == pytest.approx(500)


def test_what_was_taken_for_two_turns_or_for_none_is_told() -> None:
    call, listener = conversation()
    assert seen(turn(), call, listener).missed
    for at in (1.5, 2.3):
        told(call, at, "input_audio_buffer.committed")
    sounds(call, 2.5, "a")
    done(call, 3.5, "a")
    found = seen(turn(), call, listener)
    assert found.double and not found.missed


def test_whoever_takes_the_word_times_the_old_replys_silence_and_the_new_ones_sound() -> None:
    call, listener = conversation()
    sounds(call, 0.0, "old", 5.0)
    listener.catch_up()
    spoken = Sound("x", "recorded", np.zeros(WIRE_RATE, np.float32), 0, WIRE_RATE)
    said = turn(pieces=1, before=frozenset({"old"}), interrupted=(spoken, listener.player))
    told(call, 1.2, "attune.hold")
    told(call, 1.6, "input_audio_buffer.speech_started")
    done(call, 1.6, "old", "cancelled")
    sounds(call, 1.7, "old")  # was under way
    sounds(call, 2.6, "new")
    found = seen(said, call, listener)
    assert found.interruption and not found.interruption.void
    assert found.interruption.silence_ms == pytest.approx(220)
    assert found.interruption.decision_ms == pytest.approx(600)
    assert found.latency_ms == pytest.approx(600) and not found.early


def test_a_reply_given_up_for_a_hum_is_told_and_what_follows_is_no_second_turn() -> None:
    call, listener = conversation()
    told(call, 2.3, "input_audio_buffer.committed")
    sounds(call, 2.5, "a")
    hum = Sound("hum", "backchannel", np.zeros(10, np.float32), 0, 10)
    said = turn(aside=(hum, 3.0), aside_events=1)
    assert seen(said, call, listener).hum_gave_up is False
    told(call, 3.5, "input_audio_buffer.committed")
    done(call, 3.5, "a", "cancelled")
    found = seen(said, call, listener)
    assert found.hum_gave_up is True and not found.double


# -- the report ------------------------------------------------------------------------------


def answered(heard: str = "", reply: str = "", **more: Any) -> TurnSeen:
    plain = TurnSeen("marked", "x", 100.0, answered=True, commits=1, replies=1, sounded=1)
    return replace(plain, heard=heard, reply=reply, **more)


def talkers(*turns: list[TurnSeen]) -> list[Seen]:
    return [Seen(number, False, turns=list(some)) for number, some in enumerate(turns)]


def test_talkers_who_are_told_only_their_own_are_not_mixed_up() -> None:
    own = [[answered(*[sentences(mark(n))[0]] * 2)] for n in range(3)]
    found = cross_talk(talkers(*own), standin=False)
    assert found["n"] == 0 and found["checked"]["texts"] == 3
    assert found["own_mark_heard"]["rate"] == found["answered_about_it"]["rate"] == 1.0


@pytest.mark.parametrize("where", ["heard", "reply"])
def test_anothers_mark_in_what_was_heard_or_answered_is_cross_talk(where: str) -> None:
    leaked = answered(**{where: f"well, the {' '.join(mark(1))}"})
    found = cross_talk(talkers([leaked], [answered()]), standin=False)
    assert found["n"] == found["by_words"] == 1
    [case] = found["cases"]
    assert case == {"talker": 0, "in": where, "mark": "purple piano", "of": [1]}


def test_an_id_told_to_two_talkers_is_cross_talk_and_so_is_one_that_never_began() -> None:
    first, second = Ids(), Ids()
    for ids in (first, second):
        ids.note({"type": "response.created", "response": {"id": "resp_1"}})
        ids.note({"type": "response.output_audio.delta", "response_id": "resp_1"})
    assert shared([first.own, second.own]) == 1 and not first.strays
    second.note({"type": "response.output_audio_transcript.done", "response_id": "resp_2"})
    both = [Seen(0, False, ids=first), Seen(1, False, ids=second)]
    assert cross_talk(both, standin=False)["n"] == 2


def test_alone_nobody_can_be_mixed_up_and_that_is_said() -> None:
    found = cross_talk(talkers([answered()]), standin=False)
    assert found["n"] is None and found["why"]


def test_turns_that_a_slow_reader_delayed_itself_do_not_count_as_slow_answers() -> None:
    some = [answered(latency_ms=100.0), answered(latency_ms=9000.0, stalled=True, underruns=9)]
    found = report(talkers(some), False, {})["overall"]
    assert found["latency_ms"]["p99"] == 100.0 and found["latency_ms"]["n"] == 1
    assert found["underruns"] == {"n": 0, "replies": 1}
    assert found["slow_readers"]["delayed_turns"] == 1


def test_a_report_counts_what_went_wrong_over_all_talkers_and_of_each() -> None:
    taken = Interruption(80, 400, False, False)
    everybody = talkers(
        [answered(), answered(commits=2), answered(interruption=taken)],
        [answered(answered=False, latency_ms=None), answered(saying="written", commits=0)],
    )
    everybody[1].lost, everybody[1].errors = 1, ["rate_limit"]
    found = report(everybody, False, {"talkers": 2})
    turns = found["overall"]["turns"]
    assert (turns["taken"], turns["missed"], turns["double"], turns["written"]) == (4, 1, 1, 1)
    assert found["overall"]["errors"] == {"rate_limit": 1} and found["overall"]["lost"] == 1
    assert found["overall"]["barge_in"]["to_silence_ms"]["p50"] == 80
    assert [person["turns"]["taken"] for person in found["people"]] == [3, 1]
    assert verdict(found) is None


def test_a_run_without_an_answer_or_with_talkers_mixed_up_is_a_failure() -> None:
    nothing = report(talkers([], []), False, {})
    assert "no turn was answered" in (verdict(nothing) or "")
    leaked = report(talkers([answered("purple piano")], [answered()]), False, {})
    assert "mixed up" in (verdict(leaked) or "")
    assert [person["cross_talk"] for person in leaked["people"]] == [1, 0]


def written(reply: str, **more: Any) -> TurnSeen:
    return answered(reply=reply, saying="written", commits=0, **more)


STANDIN = {"profile": "standin", "talkers": 2, "minutes": 1.0, "server": UNWATCHED}


@pytest.mark.parametrize(
    ("turn", "fails"),
    [
        (written("I heard you, you said nothing."), True),
        (written("", answered=False), True),
        (written("I heard you, you said the yellow elephant."), False),
        (written("I heard", over="barge_in"), False),
    ],
)
def test_standins_that_answer_about_something_else_fail_the_run(
    turn: TurnSeen, fails: bool
) -> None:
    own = written("I heard you, you said the yellow elephant.")
    found = report(talkers([own, turn, answered(saying="plain")]), True, STANDIN)
    problem = verdict(found) or ""
    assert ("was answered with it" in problem) == fails
    assert ("50% (n 2)" in problem) == fails


@pytest.mark.parametrize(
    ("heard", "count", "fails"),
    [(0, MARKS_ENOUGH, True), (0, MARKS_ENOUGH - 1, False), (3, MARKS_ENOUGH, False)],
)
def test_real_ears_may_mishear_many_marks_and_not_nearly_all(
    heard: int, count: int, fails: bool
) -> None:
    """What a reply names is told, and no more: a small model need not repeat anything."""
    some = [answered("the yellow elephant" if n < heard else "hm") for n in range(count)]
    found = report(talkers(some), False, STANDIN | {"profile": "embedded"})
    assert ("spoken marks were heard" in (verdict(found) or "")) == fails
    told = f"marks      heard {heard / count:.0%} (n {count}), answered about 0% (n {count})"
    assert told in lines(found)


# -- the server's use of its machine ---------------------------------------------------------


async def test_this_very_process_is_found_by_a_port_it_listens_on() -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        found = await asyncio.to_thread(glancing(f"ws://127.0.0.1:{port}/x", None))
    assert found.memory_mb > 10 and found.cpu_sec > 0 and found.processes


async def test_what_cannot_be_seen_is_null_with_a_reason() -> None:
    watch = Watch(glancing("ws://far.example/v1/realtime", None))
    await watch.look()
    told = watch.report()
    assert told["cpu_percent"] is None and "another machine" in told["why"]
    with pytest.raises(Unseen):
        glancing("ws://127.0.0.1:1/x", None)()


def test_a_share_of_a_core_is_time_used_over_time_passed() -> None:
    watch = Watch(lambda: Glance(0, 0, 1))
    watch._seen = [(0.0, Glance(5.0, 100, 1)), (1.0, Glance(5.9, 140, 1)), (4.0, Glance(6, 120, 1))]
    found = watch.report()
    assert (found["cpu_percent"], found["cpu_percent_most"], found["cpu_sec"]) == (25.0, 90.0, 1.0)
    assert found["memory_mb"] == {"first": 100, "last": 120, "most": 140}


# -- on the wire -----------------------------------------------------------------------------


async def sent_out(
    url: str, folder: Path, count: int, enough: Callable[[list[Seen]], bool]
) -> list[Seen]:
    """So many people to a server of stand-ins, until they have seen enough."""
    await asyncio.to_thread(speech.keep, speech.noises(0), folder)
    until = time.monotonic() + 60
    some = [Person(number, 0, standin=True) for number in range(count)]
    talkers = [Talker(each, url, None, Repertoire(folder, each.number), until) for each in some]
    seen = [talker.seen for talker in talkers]
    talking = [asyncio.create_task(talker.run()) for talker in talkers]
    try:
        async with asyncio.timeout(30):
            while not enough(seen):  # noqa: ASYNC110 - talkers tell nobody what they see
                await asyncio.sleep(0.02)
    finally:
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)
    return seen


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody comes at once, and tries again at once."""
    monkeypatch.setattr("server.loadtest.talker.arrival", lambda person: 0.0)
    monkeypatch.setattr("server.loadtest.talker.RETRY_SEC", 0.1)


@pytest.mark.usefixtures("at_once")
async def test_a_talker_without_a_seat_is_refused_and_tries_again(tmp_path: Path) -> None:
    async with serving(clock="wall", seats=1, admission={"queue": 0}) as (url, _):
        everybody = await sent_out(
            url, tmp_path, 2, lambda seen: max(each.refused for each in seen) >= 2
        )
    assert sorted(bool(each.refused) for each in everybody) == [False, True]
    assert [each.lost for each in everybody] == [0, 0]
    found = report(everybody, True, {})["overall"]
    assert found["refused"] >= 2 and set(found["errors"]) == {"session_limit_reached"}


@pytest.mark.usefixtures("at_once")
async def test_a_server_that_is_not_there_is_an_error_of_every_talker(tmp_path: Path) -> None:
    nowhere = "ws://127.0.0.1:1/v1/realtime"
    [alone] = await sent_out(nowhere, tmp_path, 1, lambda seen: len(seen[0].errors) >= 2)
    assert alone.errors and set(alone.errors) == {"cannot_connect"} and not alone.connect_ms


@pytest.mark.usefixtures("at_once")
async def test_a_refusal_over_http_is_told_by_its_number(tmp_path: Path) -> None:
    def refuse(near: ServerConnection, request: HttpRequest) -> HttpResponse:
        return near.respond(401, "Who are you?")

    async with serve(lambda near: near.close(), "127.0.0.1", 0, process_request=refuse) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        url = f"ws://127.0.0.1:{port}/v1/realtime"
        [alone] = await sent_out(url, tmp_path, 1, lambda seen: bool(seen[0].errors))
    assert set(alone.errors) == {"http_401"}


@asynccontextmanager
async def queueing(port_of: str) -> AsyncGenerator[str, None]:
    """A server before the server, which makes everybody wait for a while."""

    async def attend(near: ServerConnection) -> None:
        for position in (2, 1):
            waiting = {"type": "attune.queue", "position": position, "estimate_sec": 0.1}
            await near.send(orjson.dumps(waiting).decode())
            await asyncio.sleep(0.1)
        async with connect(port_of, max_size=None) as far:
            await joined(near, far)

    async with serve(attend, "127.0.0.1", 0, max_size=None) as server:
        yield f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/v1/realtime"


async def joined(
    near: ServerConnection, far: ClientConnection, frames: list[bytes] | None = None
) -> None:
    """Pass everything on, both ways, until one hangs up; frames to the far end are taken down."""

    async def pump(source: Any, sink: Any) -> None:
        try:
            async for message in source:
                if frames is not None and sink is far and isinstance(message, bytes):
                    frames.append(message)
                await sink.send(message)
        except ConnectionClosed:
            pass

    async with asyncio.TaskGroup() as group:
        ways = [group.create_task(pump(near, far)), group.create_task(pump(far, near))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        await far.close()
        await near.close()


@pytest.mark.usefixtures("at_once")
async def test_waiting_in_a_queue_is_told_apart_from_connecting(tmp_path: Path) -> None:
    async with serving(clock="wall") as (url, _), queueing(f"{url}?attune=1") as queue:
        [alone] = await sent_out(queue, tmp_path, 1, lambda seen: bool(seen[0].connect_ms))
    assert alone.positions == [2, 1] and not alone.errors
    [waited], [connected], [opened] = alone.queued_sec, alone.connect_ms, alone.opened_ms
    assert waited >= 0.2 and connected >= opened
    assert report([alone], True, {})["overall"]["queue"]["worst_position"] == 2


@asynccontextmanager
async def overheard(port_of: str) -> AsyncGenerator[tuple[str, list[bytes]], None]:
    """A line to a server, and the frames that went over it to there."""
    frames: list[bytes] = []

    async def attend(near: ServerConnection) -> None:
        async with connect(port_of, max_size=None) as far:
            await joined(near, far, frames)

    async with serve(attend, "127.0.0.1", 0, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}/v1/realtime", frames


class Mixed:
    """A line with a fault: every reply's words go to whoever was connected before."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._said: dict[int, str] = {}  # by connection, what it was last told

    async def attend(self, near: ServerConnection) -> None:
        number = len(self._said)
        self._said[number] = ""
        far = await connect(f"{self._url}?attune=1", max_size=None)
        async with far, asyncio.TaskGroup() as group:
            group.create_task(self._up(near, far))
            group.create_task(self._down(near, far, number))

    def ready(self, near: ServerConnection, request: HttpRequest) -> HttpResponse | None:
        """Also here one may ask which models there are."""
        return near.respond(200, '{"profile": "standin"}') if request.path == "/ready" else None

    async def _up(self, near: ServerConnection, far: ClientConnection) -> None:
        try:
            async for message in near:
                await far.send(message)
        except ConnectionClosed:
            pass
        await far.close()

    async def _down(self, near: ServerConnection, far: ClientConnection, number: int) -> None:
        try:
            async for message in far:
                await near.send(self._changed(message, number))
        except ConnectionClosed:
            pass
        await near.close()

    def _changed(self, message: str | bytes, number: int) -> str | bytes:
        if isinstance(message, bytes) or '"response.output_audio_transcript.done"' not in message:
            return message
        event: Event = orjson.loads(message)
        own, self._said[number] = event["transcript"], event["transcript"]
        other = next((said for n, said in self._said.items() if n != number and said), own)
        return orjson.dumps({**event, "transcript": other}).decode()


@pytest.mark.slow
async def test_a_slow_reader_and_a_barge_in_and_a_line_that_mixes_talkers_up() -> None:
    async with served("--models", "standin", "--seats", "8") as server:
        sound = await run(Plan(server.url, 3, 0.25, seed=SEED, slow_share=0.3))
        mixed = Mixed(server.url)
        line = serve(mixed.attend, "127.0.0.1", 0, max_size=None, process_request=mixed.ready)
        async with line as listening:
            port = next(iter(listening.sockets)).getsockname()[1]
            faulty = await run(Plan(f"ws://127.0.0.1:{port}/v1/realtime", 3, 0.25, seed=SEED))
        assert not server.problems
    overall = sound["overall"]
    assert sound["profile"] == "standin" and verdict(sound) is None
    assert overall["turns"]["taken"] >= 4 and overall["turns"]["missed"] == 0
    assert overall["cross_talk"]["n"] == 0 and overall["cross_talk"]["checked"]["texts"] >= 4
    assert overall["cross_talk"]["answered_about_it"]["rate"] == 1.0
    assert overall["slow_readers"]["stalls"] >= 1 and overall["lost"] == 0
    assert overall["barge_in"]["n"] + overall["barge_in"]["void"] >= 1
    assert sound["server"]["cpu_sec"] > 0 and sound["server"]["memory_mb"]["most"] > 20
    assert overall["errors"] == {}
    assert faulty["overall"]["cross_talk"]["by_words"] >= 1
    assert "mixed up" in (verdict(faulty) or "")


@pytest.mark.slow
async def test_the_command_writes_what_it_found_and_says_what_is_wrong(tmp_path: Path) -> None:
    out = tmp_path / "out.json"

    async def command(*options: str) -> tuple[int | None, str]:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "server.loadtest", *options),
            cwd=ROOT,
            env={**os.environ, "LOADTEST_TOKEN": "secret-of-the-operator"},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, problem = await child.communicate()
        return child.returncode, problem.decode()

    async with served("--models", "standin") as server:
        code, said = await command(
            "--url", server.url, "--talkers", "2", "--minutes", "0.1", "--out", str(out)
        )
    assert code == 0, said
    found = json.loads(out.read_text("utf-8"))
    assert found["talkers"] == 2 and len(found["people"]) == 2
    assert "secret-of-the-operator" not in out.read_text("utf-8") + said
    code, said = await command("--url", "http://127.0.0.1:1")
    assert code == 1 and "no address of a WebSocket" in said and "Traceback" not in said
