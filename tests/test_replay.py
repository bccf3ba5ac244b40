"""A recorded user once more before a live server, the same to the sample."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import soundfile
from numpy.typing import NDArray

from models.types import WIRE_RATE
from server.client import CallError
from server.consent import Consent
from server.sessions import replay as replaying
from server.sessions.format import AUDIO_FILE, EVENTS_FILE, SESSION_FILE, SessionFile
from server.sessions.library import Library
from server.sessions.replay import ReplayError, replay
from server.sessions.stored import StoredSession
from tests.made_sessions import made_session
from tests.serving import serving
from tests.talker import HUSH, VOICE, play_until, sound, talking

ALL = {"transcript": True, "audio": True, "research": True}
IDS = re.compile(r"(event|item|resp|conv|sess)_[0-9a-f]{16,}")

Pcm = NDArray[np.int16]


@asynccontextmanager
async def keeping(runs: Path, **settings: Any) -> AsyncGenerator[str, None]:
    """A server that keeps its sessions here; what was recorded is whole once it is gone."""
    async with serving(recording={"runs": str(runs)}, **settings) as (url, _):
        yield url


async def recorded(runs: Path, **scopes: bool) -> str:
    """Somebody who says something before they consent, and then asks, interrupts, and leaves."""
    async with keeping(runs) as url, talking(url, "?attune=1") as talker:
        await talker.update(instructions="Be brief.")
        await talker.say(HUSH, 0.35)
        await talker.send("attune.consent", **(scopes or ALL))
        told = await talker.until("attune.recording")
        await talker.ask(voice=1.4)
        await play_until(talker, "response.output_audio_transcript.delta")
        await talker.ask(voice=1.2)
        await talker.send_audio(sound(VOICE, 0.4501))  # and is gone in mid-turn
        await talker.settle()
        return str(told["session_id"])


async def replayed(runs: Path, source: str) -> str:
    async with keeping(runs) as url:
        return await replay(stored(runs, source), url, realtime=False)


def stored(runs: Path, session_id: str) -> StoredSession:
    with Library.open(str(runs)) as library:
        return library.session(session_id)


def channels(runs: Path, session_id: str) -> tuple[Pcm, Pcm]:
    (folder,) = runs.glob(f"*/{session_id}")
    samples, _ = soundfile.read(folder / AUDIO_FILE, dtype="int16", always_2d=True)
    return samples[:, 0], samples[:, 1]


def log(runs: Path, session_id: str) -> list[dict[str, Any]]:
    """The log with ids by the order of their first use, and without what walls and clocks say."""
    (folder,) = runs.glob(f"*/{session_id}")
    names: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        return names.setdefault(found[0], f"{found[1]}-{len(names)}")

    lines = []
    for raw in (folder / EVENTS_FILE).read_text("utf-8").splitlines():
        line = orjson.loads(IDS.sub(named, raw))
        del line["wall"]
        for real in ("stages_ms", "overhead_ms", "expires_at"):  # real time, on any clock
            line["event"].pop(real, None)
        lines.append(line)
    return lines


async def test_a_replay_is_heard_sample_for_sample_and_says_whose_it_is(tmp_path: Path) -> None:
    source = await recorded(tmp_path)
    again = await replayed(tmp_path, source)
    assert again != source
    before, after = stored(tmp_path, source).file(), stored(tmp_path, again).file()
    assert before.audio and before.audio.recorded_from == round(0.35 * WIRE_RATE)
    assert after.audio and after.audio.recorded_from == 0
    assert after.replay_of == source
    assert after.prompts and after.prompts.instructions == "Be brief."
    user, _ = channels(tmp_path, source)
    said = user[before.audio.recorded_from :]
    heard, reply = channels(tmp_path, again)
    np.testing.assert_array_equal(heard[: len(said)], said)
    assert not heard[len(said) :].any()
    # The turn in which the person was gone is answered this time, and to the end.
    assert np.abs(reply[len(said) :]).max() > 1000
    assert not reply[-WIRE_RATE:].any()


async def test_two_replays_are_the_same_but_for_ids_and_the_time_of_day(tmp_path: Path) -> None:
    source = await recorded(tmp_path)
    first, second = await replayed(tmp_path, source), await replayed(tmp_path, source)
    for one, other in zip(log(tmp_path, first), log(tmp_path, second), strict=True):
        assert one == other
    for heard, again in zip(channels(tmp_path, first), channels(tmp_path, second), strict=True):
        np.testing.assert_array_equal(heard, again)


async def test_a_replay_has_exactly_the_scopes_of_its_source(tmp_path: Path) -> None:
    source = made_session(tmp_path, consent="audio,research", turns=1)
    again = stored(tmp_path, await replayed(tmp_path, source)).file()
    assert [(word.transcript, word.audio, word.research) for word in again.consent] == [
        (False, True, True)
    ]
    assert again.prompts is None


def file_of(runs: Path, session_id: str) -> Path:
    (folder,) = runs.glob(f"*/{session_id}")
    return folder / SESSION_FILE


async def test_a_replay_may_keep_less_than_its_source_and_never_more(tmp_path: Path) -> None:
    source = made_session(tmp_path, consent="transcript,audio", turns=1)
    async with serving(recording={"runs": str(tmp_path)}) as (url, _):
        session = stored(tmp_path, source)
        less = Consent(transcript=True, research=True)
        again = await replay(session, url, realtime=False, consent=less)
    last = stored(tmp_path, again).file().allowed
    assert last and (last.transcript, last.audio, last.research) == (True, False, False)


async def test_what_may_not_be_replayed_is_refused_before_anybody_is_called(
    tmp_path: Path,
) -> None:
    words_only = made_session(tmp_path, consent="transcript,research")
    withdrawn = made_session(tmp_path, consent="transcript,audio")
    live = made_session(tmp_path, consent="transcript,audio", state="recording")
    record = SessionFile.model_validate_json(file_of(tmp_path, withdrawn).read_bytes())
    assert record.allowed
    refused = record.allowed.model_copy(update={"audio": False, "wall": datetime.now(UTC)})
    changed = record.model_copy(update={"consent": [*record.consent, refused]})
    file_of(tmp_path, withdrawn).write_text(changed.model_dump_json(), "utf-8")
    nowhere = "ws://127.0.0.1:9/v1/realtime"
    for session_id, said in (
        (words_only, "its sound may not be kept, or is not"),
        (withdrawn, "its sound may not be kept, or is not"),
        (live, "is still being recorded"),
    ):
        with pytest.raises(ReplayError, match=said) as refusal:
            await replay(stored(tmp_path, session_id), nowhere, realtime=False)
        assert str(refusal.value).startswith(session_id)


async def test_a_server_that_would_keep_nothing_of_it_is_told_of_in_a_sentence(
    tmp_path: Path,
) -> None:
    source = made_session(tmp_path / "runs")
    off = {"runs": str(tmp_path / "others"), "enabled": False}
    async with serving(recording=off) as (url, _):
        with pytest.raises(ReplayError, match="not be recorded: no: recording is switched off"):
            await replay(stored(tmp_path / "runs", source), url, realtime=False)
    with pytest.raises(CallError, match="cannot reach ws://127"):
        await replay(
            stored(tmp_path / "runs", source), "ws://127.0.0.1:9/v1/realtime", realtime=False
        )


@pytest.mark.slow
async def test_at_the_pace_of_speech_it_takes_as_long_as_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "QUIET_SEC", 0.5)
    source = made_session(tmp_path, turns=1)
    begun = asyncio.get_running_loop().time()
    async with keeping(tmp_path, clock="wall") as url:
        again = await replay(stored(tmp_path, source), url, realtime=True)
    took = asyncio.get_running_loop().time() - begun
    audio = stored(tmp_path, source).file().audio
    assert audio and took > audio.samples / WIRE_RATE
    user, heard = channels(tmp_path, source)[0], channels(tmp_path, again)[0]
    np.testing.assert_array_equal(heard[: len(user)], user)


def test_what_a_person_allows_now_is_what_a_replay_may_keep(tmp_path: Path) -> None:
    source = made_session(tmp_path, consent="audio,research")
    assert replaying.allowed(stored(tmp_path, source).file()) == Consent(False, True, True)
