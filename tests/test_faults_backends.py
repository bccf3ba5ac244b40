"""Backends that fail in every way: who asked is told, others notice nothing, nothing is lost."""

import asyncio
import json
import threading
import urllib.error
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from models.asr_openai import OpenAITranscriber
from models.guarded import PATIENCE, Patience, guarded
from models.protocols import Models
from models.responder_vllm import VllmResponder
from models.speaker_openai import OpenAISpeaker
from models.types import AudioChunk
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
    Fault,
    Role,
    faulty,
)
from tests.nothing_left import nothing_left, own_temporary_files
from tests.serving import serving, standins
from tests.talker import HUSH, Event, Talker, play_until, talking
from tests.test_app import get, until

pytestmark = pytest.mark.slow

SOON_SEC = 0.5
HOUSEHOLD = ("scribe", "binder")  # threads that the server starts with its first recording
FAILED = "conversation.item.input_audio_transcription.failed"
ROLES: tuple[Role, ...] = ("responder", "speaker", "transcriber")


def asking(url: str) -> Models:
    """Ears, mind and voice behind a URL, and little patience with them."""
    return standins(
        transcriber=OpenAITranscriber(url, "m", timeout_sec=SOON_SEC),
        responder=VllmResponder(
            url, "m", first_token_sec=SOON_SEC, stall_sec=SOON_SEC, retries=0, temperature=0
        ),
        speaker=OpenAISpeaker(url, "m", "v", timeout_sec=SOON_SEC),
    )


@asynccontextmanager
async def two(
    models: Models, runs: Path
) -> AsyncGenerator[tuple[str, House, Talker, Talker], None]:
    """Two who talk and are recorded; all is given back, and both recordings are whole."""
    with own_temporary_files(runs.parent / "passing"):
        async with (
            nothing_left(),
            serving(models, recording={"runs": str(runs)}) as (url, house),
            nothing_left(*HOUSEHOLD),
        ):
            async with talking(url, "?attune=1") as one, talking(url, "?attune=1") as other:
                for talker in (one, other):
                    await consent(talker)
                yield url, house, one, other
            await asyncio.to_thread(finished, runs, 2)
    assert not problems(runs)


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


async def ready_again(house: House) -> None:
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
        await ready_again(house)
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
        await ready_again(house)
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


# ---- models in our own process


class Stuck:
    """A Transcriber and Speaker whose thread hangs, while told to, for whoever comes next."""

    def __init__(self) -> None:
        self.worker = Worker("stuck")
        self.free = threading.Event()
        self.free.set()

    async def transcribe(self, audio: AudioChunk) -> str:
        await self.worker.run(self.free.wait)
        return await standins().transcriber.transcribe(audio)


async def test_a_model_that_hangs_in_its_thread_ends_no_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = {**PATIENCE, "transcriber": Patience(SOON_SEC)}
    monkeypatch.setattr("server.house.guarded", partial(guarded, patience=brief))
    stuck = Stuck()
    async with two(standins(transcriber=stuck), tmp_path / "runs") as (url, house, one, other):
        assert (await turn(one, LOUD))["status"] == "completed"
        stuck.free.clear()
        try:
            told_plainly(one, await turn(one, LOUD), "transcriber")
            status, body = await ready(url)
            assert status == 503
            assert body["unable"] == [{"role": "transcriber", "state": "hung", "needed": True}]
            assert (await turn(other, SOFT))["status"] == "failed"
        finally:
            stuck.free.set()
        await ready_again(house)
        assert (await turn(one, LOUD))["status"] == "completed"
        assert (await turn(other, SOFT))["status"] == "completed"
        stuck.worker.close()
