"""Backends that fail in every way: who asked is told, others notice nothing, nothing is lost."""

import asyncio
import json
import threading
import urllib.error
from base64 import b64decode
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from models.asr_openai import OpenAITranscriber
from models.guarded import PATIENCE, Patience, guarded
from models.protocols import Models
from models.responder_vllm import VllmResponder
from models.speaker_openai import OpenAISpeaker
from models.style import Style
from models.types import WIRE_RATE, AudioChunk, SpokenChunk, Turn
from models.worker import Worker
from server.house import House
from server.recording.verify import verify
from server.reply import APOLOGY, RESTING, UNHEARD
from server.sessions.format import SESSION_FILE, SessionFile
from tests.fault_server import (
    FAULTS,
    LOUD,
    LOUD_SAYS,
    SOFT,
    SOFT_SAYS,
    WORD_SEC,
    Fault,
    FaultServer,
    Role,
    Slowness,
    faulty,
)
from tests.live_person import kept_in_order, live
from tests.nothing_left import nothing_left, own_temporary_files
from tests.serving import serving, standins
from tests.talker import HUSH, Event, Talker, play_until, talking
from tests.test_app import get, until

pytestmark = [pytest.mark.slow, pytest.mark.alone]

SOON_SEC = 0.5
PATIENT_SEC = 8.0
HOUSEHOLD = ("scribe", "binder")  # threads that the server starts with its first recording
FAILED = "conversation.item.input_audio_transcription.failed"
ROLES: tuple[Role, ...] = ("responder", "speaker", "transcriber")


def asking(url: str, within: float = SOON_SEC) -> Models:
    """Ears, mind and voice behind a URL, and little patience with them unless told."""
    return standins(
        transcriber=OpenAITranscriber(url, "m", timeout_sec=within),
        responder=VllmResponder(
            url, "m", first_token_sec=within, stall_sec=within, retries=0, temperature=0
        ),
        speaker=OpenAISpeaker(url, "m", "v", timeout_sec=within),
    )


@asynccontextmanager
async def recorded(
    models: Models, runs: Path, count: int = 2, but: Sequence[str] = (), **settings: Any
) -> AsyncGenerator[tuple[str, House], None]:
    """A server in which so many talk; all is given back, and their recordings are whole."""
    with own_temporary_files(runs.parent / "passing"):
        async with (
            nothing_left(*but),
            serving(models, recording={"runs": str(runs)}, **settings) as (url, house),
            nothing_left(*HOUSEHOLD, *but),
        ):
            yield url, house
            await asyncio.to_thread(finished, runs, count)
    assert not problems(runs)


@asynccontextmanager
async def two(
    models: Models, runs: Path, but: Sequence[str] = ()
) -> AsyncGenerator[tuple[str, House, Talker, Talker], None]:
    """Two who talk and are recorded, with nothing left behind but threads of these names."""
    async with (
        recorded(models, runs, but=but) as (url, house),
        talking(url, "?attune=1") as one,
        talking(url, "?attune=1") as other,
    ):
        for talker in (one, other):
            await consent(talker)
        yield url, house, one, other


async def consent(talker: Talker) -> None:
    await talker.send("attune.consent", transcript=True, audio=True, research=True)
    await talker.until("attune.recording")


def finished(runs: Path, count: int) -> None:
    """Wait until so many sessions lie whole on the disk."""
    for _ in range(2_000):
        files = runs.glob(f"*/sess_*/{SESSION_FILE}")
        states = [SessionFile.model_validate_json(file.read_bytes()).state for file in files]
        if states.count("finished") >= count:
            return
        threading.Event().wait(0.01)
    raise AssertionError("the sessions were not finished")


def problems(runs: Path) -> list[str]:
    """What is wrong with the sessions on the disk."""
    files = runs.glob(f"*/sess_*/{SESSION_FILE}")
    return [problem for file in files for problem in verify(file.parent)]


async def turn(talker: Talker, level: float) -> Event:
    """Say something, and listen until it was answered in one way or another."""
    await talker.say(level, 1.0)
    await talker.say(HUSH, 1.0)
    done = await play_until(talker, "response.done")
    await talker.say(HUSH, 8.0)  # until the last of it has sounded
    await talker.settle()
    response: Event = done["response"]
    return response


def said(response: Event) -> str:
    parts = [part for item in response["output"] for part in item["content"]]
    return "".join(part["transcript"] for part in parts)


def answered(response: Event, words: str) -> bool:
    return bool(response["status"] == "completed" and said(response).endswith(f"{words}."))


def told_plainly(talker: Talker, response: Event, role: Role) -> None:
    problem = response["status_details"]["error"]
    assert response["status"] == "failed" and problem["code"] == "model_error"
    assert problem["message"].endswith(".") and "Traceback" not in problem["message"]
    assert [e for e in talker.of("error") if e["error"]["code"] == "model_error"]
    match role:
        case "responder":
            assert said(response).endswith((APOLOGY, RESTING))
        case "transcriber":
            assert said(response) == UNHEARD
            assert talker.of(FAILED)


async def ready(url: str) -> tuple[int, dict[str, Any]]:
    try:
        status, body = await get(url, "/ready")
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())
    return status, json.loads(body)


async def ready_again(house: House, peer: FaultServer | None = None) -> None:
    """Once what a peer was asked while it failed has failed, too."""
    await until(lambda: not (peer and peer.answering))
    await until(lambda: all(each.state == "closed" for each in house.breakers.values()))


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("fault", FAULTS)
async def test_who_asked_a_failing_backend_is_told_and_the_other_is_answered(
    role: Role, fault: Fault, tmp_path: Path
) -> None:
    async with faulty() as peer, two(asking(peer.url), tmp_path / "runs") as (_, house, one, other):
        peer.role, peer.fault = role, fault
        failed, fine = await asyncio.gather(turn(one, LOUD), turn(other, SOFT))
        assert peer.failed
        assert answered(fine, SOFT_SAYS)
        if fault == "drip":  # slow, and alive
            assert answered(failed, LOUD_SAYS)
        else:
            told_plainly(one, failed, role)
        peer.fault = None
        await ready_again(house, peer)
        assert answered(await turn(one, LOUD), LOUD_SAYS)
        assert answered(await turn(other, SOFT), SOFT_SAYS)


@pytest.mark.parametrize("role", ROLES)
async def test_a_dead_backend_is_not_waited_for_and_found_again_by_itself(
    role: Role, tmp_path: Path
) -> None:
    async with (
        faulty() as peer,
        two(asking(peer.url), tmp_path / "runs") as (url, house, one, other),
    ):
        peer.role, peer.fault, peer.everybody = role, "hang", True
        told_plainly(one, await turn(one, LOUD), role)
        assert house.breakers[role].state != "closed"
        status, body = await ready(url)
        assert status == 503 and not body["ready"]
        assert body["unable"] == [{"role": role, "state": "hung", "needed": True}]
        assert peer.url not in json.dumps(body)
        asked = peer.asked[role]
        told_plainly(other, await turn(other, SOFT), role)
        assert peer.asked[role] <= asked + 3  # what tried it meanwhile, and no turn
        peer.fault = None
        await ready_again(house, peer)
        assert (await ready(url))[0] == 200
        assert answered(await turn(one, LOUD), LOUD_SAYS)
        assert answered(await turn(other, SOFT), SOFT_SAYS)


async def test_a_backend_that_is_away_is_told_of_and_used_once_it_is_there(tmp_path: Path) -> None:
    async with faulty() as peer:
        port = int(peer.url.split(":")[2].split("/")[0])
    away = f"http://127.0.0.1:{port}/v1"
    async with two(asking(away), tmp_path / "runs") as (_, house, one, other):
        for talker, level in ((one, LOUD), (other, SOFT)):
            response = await turn(talker, level)
            assert response["status"] == "failed" and talker.of(FAILED)
        async with faulty(port):
            await ready_again(house)
            assert answered(await turn(one, LOUD), LOUD_SAYS)
            assert answered(await turn(other, SOFT), SOFT_SAYS)


# ---- in real time


SLOW: tuple[tuple[Role, Slowness], ...] = (
    ("responder", "late"),
    ("transcriber", "late"),
    ("speaker", "late"),
    ("speaker", "half_pace"),
)


@pytest.mark.parametrize(("role", "slowness"), SLOW)
async def test_a_slow_backend_answers_in_its_own_time_and_keeps_nobody_else(
    role: Role, slowness: Slowness, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    async with (
        faulty() as peer,
        recorded(asking(peer.url, PATIENT_SEC), runs, clock="wall") as (url, house),
    ):
        async with live(url, 1) as one, live(url, 2) as other:
            assert answered(await one.turn(LOUD), LOUD_SAYS)
            whole = sounded(one.talker)
            peer.role, peer.fault = role, slowness
            waits = asyncio.create_task(one.turn(LOUD))
            fine = await other.turn(SOFT)
            assert not waits.done() and answered(fine, SOFT_SAYS)
            assert answered(await waits, LOUD_SAYS) and peer.failed
            # All of it was said, however long it took.
            assert sounded(one.talker) == pytest.approx(2 * whole, abs=WORD_SEC)
            assert answered(await other.turn(SOFT), SOFT_SAYS)
        assert all(breaker.opened == 0 for breaker in house.breakers.values())
    for person in (one, other):
        kept_in_order(runs, person)


def sounded(talker: Talker) -> float:
    """Seconds of sound that were sent to somebody."""
    pieces = talker.of("response.output_audio.delta")
    return sum(len(b64decode(piece["delta"])) for piece in pieces) / 2 / WIRE_RATE


# ---- models in our own process


T = TypeVar("T")


class Stuck:
    """A Transcriber, Responder and Speaker whose one thread hangs, while told to, for whoever
    comes next: at once, or after some pieces."""

    def __init__(self, after: int = 0) -> None:
        self.worker = Worker("stuck")
        self.free = threading.Event()
        self.free.set()
        self._after = after
        self._bare = standins()

    async def transcribe(self, audio: AudioChunk) -> str:
        await self.worker.run(self.free.wait)
        return await self._bare.transcriber.transcribe(audio)

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        tokens = [token async for token in self._bare.responder.respond(dialogue, max_tokens)]
        async with aclosing(self.worker.stream(self._given(tokens))) as given:
            async for token in given:
                yield token

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        chunks = [chunk async for chunk in self._bare.speaker.speak(clause, style)]
        async with aclosing(self.worker.stream(self._given(chunks))) as given:
            async for chunk in given:
                yield chunk

    def _given(self, pieces: Sequence[T]) -> Generator[T, None, None]:
        yield from pieces[: self._after]
        self.free.wait()
        yield from pieces[self._after :]


STUCK: tuple[tuple[Role, int], ...] = (
    ("transcriber", 0),
    ("responder", 0),
    ("responder", 3),
    ("speaker", 0),
    ("speaker", 3),
)


@pytest.mark.parametrize(("role", "after"), STUCK)
async def test_a_model_that_hangs_in_its_thread_ends_no_conversation(
    role: Role, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = {**PATIENCE, role: Patience(SOON_SEC, SOON_SEC)}
    monkeypatch.setattr("server.house.guarded", partial(guarded, patience=brief))
    stuck = Stuck(after)
    async with two(standins(**{role: stuck}), tmp_path / "runs") as (url, house, one, other):
        assert (await turn(one, LOUD))["status"] == "completed"
        stuck.free.clear()
        try:
            told_plainly(one, await turn(one, LOUD), role)
            status, body = await ready(url)
            assert status == 503
            assert body["unable"] == [{"role": role, "state": "hung", "needed": True}]
            told_plainly(other, await turn(other, SOFT), role)
        finally:
            stuck.free.set()
        await ready_again(house)
        assert (await turn(one, LOUD))["status"] == "completed"
        assert (await turn(other, SOFT))["status"] == "completed"
        stuck.worker.close()
