"""What is kept of a conversation over the wire: exactly what was allowed, exactly where it was."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import httpx2
import numpy as np
import orjson
import pytest
import soundfile
from numpy.typing import NDArray

from models.audio import decode_pcm16, encode_pcm16
from models.types import WIRE_RATE
from server.recording.folder import SessionFolder
from server.sessions.format import AUDIO_FILE, EVENTS_FILE, SESSION_FILE, Line, SessionFile
from tests.serving import serving
from tests.talker import HUSH, VOICE, Talker, play_until, talking

ALL = {"transcript": True, "audio": True, "research": True}
NOTHING = {"transcript": False, "audio": False, "research": False}

Pcm = NDArray[np.int16]


@asynccontextmanager
async def recorded(runs: Path, query: str = "?attune=1") -> AsyncGenerator[Talker, None]:
    """A talker with a server that keeps its sessions here, and has kept them at the end."""
    async with (
        serving(recording={"runs": str(runs)}) as (url, _),
        talking(url, query) as talker,
    ):
        yield talker


async def consent(talker: Talker, **scopes: Any) -> dict[str, Any]:
    await talker.send("attune.consent", **scopes)
    return await talker.until("attune.recording")


def noise(seconds: float, seed: int, level: float = VOICE) -> NDArray[np.float32]:
    """A voice, to the stand-in ear, that is like no other."""
    samples = np.random.default_rng(seed).uniform(-1, 1, round(seconds * WIRE_RATE))
    return (level * samples).astype(np.float32)


def folders(runs: Path) -> list[Path]:
    return list(runs.glob("????-??-??/sess_*"))  # beside them lie marks of what is being changed


def full(*_: Any) -> NoReturn:
    """Writes to a disk that has no room."""
    raise OSError(28, "No space left on device")


def folder(runs: Path) -> Path:
    (found,) = folders(runs)
    return found


def record(runs: Path) -> SessionFile:
    return SessionFile.model_validate_json((folder(runs) / SESSION_FILE).read_bytes())


def lines(runs: Path) -> list[Line]:
    written = (folder(runs) / EVENTS_FILE).read_bytes().splitlines()
    return [Line.model_validate(orjson.loads(line)) for line in written]


def kinds(runs: Path) -> list[str]:
    return [line.event["type"] for line in lines(runs)]


def channels(runs: Path) -> tuple[Pcm, Pcm]:
    with (folder(runs) / AUDIO_FILE).open("rb") as stored:
        samples, rate = soundfile.read(stored, dtype="int16", always_2d=True)
    assert rate == WIRE_RATE and samples.shape[1] == 2
    return samples[:, 0], samples[:, 1]


def pcm(samples: NDArray[np.float32]) -> Pcm:
    return np.frombuffer(encode_pcm16(samples), "<i2").astype(np.int16)


async def test_a_client_that_never_mentions_consent_leaves_nothing_on_the_disk(
    tmp_path: Path,
) -> None:
    async with recorded(tmp_path) as talker:
        await talker.ask()
        await play_until(talker, "response.done")
    assert not folders(tmp_path)


async def test_refusing_keeps_timings_and_no_word_sound_or_percept(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        told = await consent(talker, **NOTHING, name="Ada Lovelace")
        assert told["recording"] is False and told["scopes"] == []
        await talker.update(instructions="Call me Zanzibar.")
        await talker.ask()
        await play_until(talker, "response.done")
    assert not (folder(tmp_path) / AUDIO_FILE).exists()
    assert "attune.timing" in kinds(tmp_path)
    assert "attune.percept" not in kinds(tmp_path)
    everything = b"".join(file.read_bytes() for file in folder(tmp_path).iterdir())
    for word in (b"heard you", b"Zanzibar", b"Ada", b"Lovelace", b"python"):
        assert word not in everything
    session = record(tmp_path)
    assert (session.speaker, session.client, session.prompts) == (None, None, None)


async def test_the_user_is_kept_sample_for_sample_from_the_consent_on(tmp_path: Path) -> None:
    before, after = noise(0.7, 1), noise(3.2501, 2)
    async with recorded(tmp_path) as talker:
        await talker.send_audio(before)
        await consent(talker, **ALL)
        await talker.send_audio(after)
        await talker.settle()
    user, _ = channels(tmp_path)
    assert not user[: len(before)].any()
    np.testing.assert_array_equal(user[len(before) :], pcm(after))
    audio = record(tmp_path).audio
    assert audio and audio.recorded_from == len(before) and audio.samples == len(user)


async def test_words_plans_percepts_and_timings_lie_in_the_log_with_their_positions(
    tmp_path: Path,
) -> None:
    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
        await talker.ask()
        await play_until(talker, "response.done")
    logged = lines(tmp_path)
    assert [line.n for line in logged] == list(range(len(logged)))
    assert [line.at for line in logged] == sorted(line.at for line in logged)
    for kind in (
        "conversation.item.input_audio_transcription.completed",
        "attune.percept",
        "attune.style",
        "attune.timing",
        "response.output_audio_transcript.done",
        "response.done",
    ):
        assert kind in kinds(tmp_path), kind
    heard = [line for line in logged if line.event["type"] == "input_audio_buffer.append"]
    spans = [line.event["samples"] for line in heard]
    assert spans[0][0] == 0 and all(a[1] == b[0] for a, b in zip(spans, spans[1:], strict=False))
    assert b'"delta":"' not in (folder(tmp_path) / EVENTS_FILE).read_bytes().split(b"transcript")[0]


async def test_percepts_and_plans_are_logged_for_a_stock_client_that_is_told_of_neither(
    tmp_path: Path,
) -> None:
    async with recorded(tmp_path, query="") as talker:
        await talker.send("attune.consent", **ALL)
        await talker.ask()
        await play_until(talker, "response.done")
    assert {"attune.percept", "attune.style", "attune.timing"} <= set(kinds(tmp_path))


async def test_the_reply_lies_where_it_sounded(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        await talker.update(attune={"binary": True})
        await consent(talker, **ALL)
        await talker.ask()
        await play_until(talker, "response.done")
        await talker.say(HUSH, 8.0)
        await talker.settle()
    _, reply = channels(tmp_path)
    sent = np.concatenate([decode_pcm16(frame[8:]) for frame in talker.audio])
    (turn,) = [turn for turn in record(tmp_path).turns if turn.role == "assistant"]
    assert turn.end - turn.start == len(sent) and not turn.interrupted
    np.testing.assert_array_equal(reply[turn.start : turn.end], pcm(sent))
    assert not reply[: turn.start].any() and not reply[turn.end :].any()


async def test_an_interrupted_reply_ends_where_playback_stopped(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        await talker.update(attune={"binary": True})
        await consent(talker, **ALL)
        await talker.ask()
        await play_until(talker, "response.content_part.added")
        await talker.say(HUSH, 0.6)
        await talker.say(VOICE, 1.5)
        cut = await play_until(talker, "conversation.item.truncated")
        await talker.say(HUSH, 10.0)
        await talker.settle()
    _, reply = channels(tmp_path)
    first = next(turn for turn in record(tmp_path).turns if turn.role == "assistant")
    assert first.interrupted
    heard = cut["audio_end_ms"] * WIRE_RATE // 1000
    assert abs((first.end - first.start) - heard) < WIRE_RATE // 1000 + 1
    assert reply[first.start : first.end].any()
    assert not reply[first.end : first.end + WIRE_RATE // 4].any()


async def test_playback_reports_move_the_reply_to_where_it_was_really_heard(
    tmp_path: Path,
) -> None:
    late = 3_000  # samples the client waited before it began to play
    async with recorded(tmp_path) as talker:
        await talker.update(attune={"binary": True})
        await consent(talker, **ALL)
        await talker.ask()
        created = await play_until(talker, "response.output_item.added")
        captured = round(talker.sent_seconds * WIRE_RATE)

        async def report(played: int) -> None:
            await talker.send(
                "attune.playback",
                response_id=created["response_id"],
                item_id=created["item"]["id"],
                played_samples=played,
                input_samples=captured + late + played,
            )

        await report(480)
        await play_until(talker, "response.done")
        sent = np.concatenate([decode_pcm16(frame[8:]) for frame in talker.audio])
        await talker.say(HUSH, 0.5)
        await report(len(sent))
        await talker.say(HUSH, 8.0)
        await talker.settle()
    _, reply = channels(tmp_path)
    begin = captured + late
    np.testing.assert_array_equal(reply[begin : begin + len(sent)], pcm(sent))
    assert not reply[:begin].any()


async def test_withdrawing_takes_away_what_was_kept_and_says_so(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
        await talker.ask()
        await play_until(talker, "response.done")
        told = await consent(talker, **{**ALL, "audio": False, "transcript": False})
        assert told["recording"] is False
        await talker.settle()
    assert not (folder(tmp_path) / AUDIO_FILE).exists()
    everything = b"".join(file.read_bytes() for file in folder(tmp_path).iterdir())
    assert b"heard you" not in everything and b"attune.percept" not in everything
    (stone,) = record(tmp_path).tombstones
    assert stone.what == ["transcript", "percepts", "audio"] and stone.why == "revoked"


async def test_withdrawing_only_the_sound_leaves_the_words(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
        await talker.ask()
        await play_until(talker, "response.done")
        await consent(talker, **{**ALL, "audio": False})
    assert not (folder(tmp_path) / AUDIO_FILE).exists()
    assert b"heard you" in (folder(tmp_path) / EVENTS_FILE).read_bytes()


async def test_sound_allowed_again_is_kept_from_then_on_only(tmp_path: Path) -> None:
    first, second, third = noise(1.0, 1), noise(1.0, 2), noise(1.0, 3)
    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
        await talker.send_audio(first)
        await consent(talker, **NOTHING)
        await talker.send_audio(second)
        await consent(talker, **ALL)
        await talker.send_audio(third)
        await talker.settle()
    user, _ = channels(tmp_path)
    assert not user[: 2 * WIRE_RATE].any()
    np.testing.assert_array_equal(user[2 * WIRE_RATE :], pcm(third))


async def test_a_name_is_kept_as_a_pseudonym_that_is_the_same_next_time(tmp_path: Path) -> None:
    async with recorded(tmp_path / "one") as talker:
        await consent(talker, **ALL, name="Ada  Lovelace")
    key = next((tmp_path / "one").glob(".speaker-key"))
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / ".speaker-key").write_bytes(key.read_bytes())
    async with recorded(tmp_path / "two") as talker:
        await consent(talker, **ALL, name="ada lovelace")
    one, two = record(tmp_path / "one"), record(tmp_path / "two")
    assert one.speaker and one.speaker == two.speaker
    everything = b"".join(f.read_bytes() for f in folder(tmp_path / "one").iterdir())
    assert b"lovelace" not in everything.lower()


async def test_the_record_tells_how_it_was_made(tmp_path: Path) -> None:
    capture = {"echo_cancellation": True, "auto_gain_control": False, "sample_rate": 48_000}
    async with recorded(tmp_path) as talker:
        await talker.update(attune={"capture": capture}, instructions="Be brief.")
        await consent(talker, **ALL)
    session = record(tmp_path)
    assert session.state == "finished" and session.software.startswith("attune ")
    assert session.ended and session.ended.why == "hung_up"
    assert session.client and session.client.user_agent
    assert session.client.capture.echo_cancellation is True
    assert session.client.capture.sample_rate == 48_000
    assert session.prompts and session.prompts.instructions == "Be brief."
    assert session.profile == "standin" and session.models["responder"].backend == "standin"
    assert session.allowed and session.allowed.research


async def test_the_talker_is_given_a_secret_of_which_only_a_hash_is_kept(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
    (told,) = talker.of("attune.session")
    everything = b"".join(file.read_bytes() for file in folder(tmp_path).iterdir())
    assert told["id"] == folder(tmp_path).name
    assert told["secret"].encode() not in everything
    assert record(tmp_path).secret_sha256


async def test_no_word_and_no_sound_is_ever_in_a_log_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL, name="Lovelace")
        await talker.send(
            "conversation.item.create",
            item={
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": "Zanzibar is my secret."}],
            },
        )
        await talker.send("response.create")
        await play_until(talker, "response.done")
        await talker.ask()
        await play_until(talker, "response.done")
        await consent(talker, **NOTHING)
    said = "\n".join(record.getMessage() for record in caplog.records)
    ours = [r for r in caplog.records if r.name.startswith(("server", "models", "attune"))]
    assert ours, "there are log lines to look at"
    for secret in ("Zanzibar", "heard you", "Lovelace"):
        assert secret not in "\n".join(record.getMessage() for record in ours)
    assert talker.of("attune.session")[0]["secret"] not in said


async def test_where_nothing_is_recorded_the_client_is_told(tmp_path: Path) -> None:
    off = {"runs": str(tmp_path), "enabled": False}
    async with serving(recording=off) as (url, _), talking(url, "?attune=1") as talker:
        told = await consent(talker, **ALL)
        assert told["recording"] is False and told["reason"] == "off"
        await talker.ask()
        await play_until(talker, "response.done")
    assert not folders(tmp_path)


async def test_a_disk_that_fails_ends_the_recording_and_not_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
        await talker.ask()
        monkeypatch.setattr("os.pwrite", full)
        told = await asyncio.wait_for(_until_stopped(talker), 20)
        assert told["recording"] is False and told["reason"] == "disk_full"
        await talker.ask()
        await play_until(talker, "response.done")
        monkeypatch.undo()
    assert record(tmp_path).stopped[0].reason == "disk_full"


async def _until_stopped(talker: Talker) -> dict[str, Any]:
    while True:
        await talker.say(HUSH, 0.2)
        for event in await talker.settle():
            if event["type"] == "attune.recording":
                return event
        await asyncio.sleep(0.05)


async def test_consent_that_says_only_half_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        await talker.send("attune.consent", audio=True)
        refused = await talker.until("error")
        assert refused["error"]["param"] == "transcript"
    assert not folders(tmp_path)


def over_http(url: str, talker: Talker) -> httpx2.AsyncClient:
    """The talker's way to what is kept of their own session."""
    base = url.replace("ws://", "http://").removesuffix("/v1/realtime")
    (told,) = talker.of("attune.session")
    headers = {"Authorization": f"Bearer {told['secret']}"}
    return httpx2.AsyncClient(base_url=f"{base}/api/sessions/", headers=headers)


async def test_what_is_deleted_while_the_conversation_goes_on_stays_deleted(tmp_path: Path) -> None:
    async with (
        serving(recording={"runs": str(tmp_path)}) as (url, _),
        talking(url, "?attune=1") as talker,
    ):
        await consent(talker, **ALL)
        await talker.ask()
        await play_until(talker, "response.done")
        async with over_http(url, talker) as http:
            answer = await http.delete(talker.of("attune.session")[0]["id"])
        assert answer.status_code == 200, answer.text
        await talker.ask()
        await play_until(talker, "response.done")
        told = await consent(talker, **ALL)
        assert told["recording"] is False and told["reason"] == "deleted"
    assert [file.name for file in folder(tmp_path).iterdir()] == [SESSION_FILE]
    assert record(tmp_path).state == "deleted"


async def test_one_who_withdraws_before_a_slow_disk_has_made_the_folder_is_heeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = threading.Event()
    create = SessionFolder.create

    def slowly(runs: Path, session: SessionFile) -> SessionFolder:
        allowed.wait(20)
        return create(runs, session)

    monkeypatch.setattr(SessionFolder, "create", slowly)
    async with (
        serving(recording={"runs": str(tmp_path)}) as (url, _),
        talking(url, "?attune=1") as talker,
    ):
        await consent(talker, **ALL)
        asyncio.get_running_loop().call_later(0.3, allowed.set)
        async with over_http(url, talker) as http:
            session_id = talker.of("attune.session")[0]["id"]
            answer = await http.post(f"{session_id}/consent", json={"audio": False})
        assert answer.status_code == 200, answer.text
    held = record(tmp_path).allowed
    assert held and held.transcript and not held.audio


async def test_consent_may_be_narrowed_over_http_while_the_conversation_goes_on(
    tmp_path: Path,
) -> None:
    async with (
        serving(recording={"runs": str(tmp_path)}) as (url, _),
        talking(url, "?attune=1") as talker,
    ):
        await consent(talker, **ALL)
        await talker.ask()
        await play_until(talker, "response.done")
        async with over_http(url, talker) as http:
            session_id = talker.of("attune.session")[0]["id"]
            answer = await http.post(f"{session_id}/consent", json={"audio": False})
        assert answer.status_code == 200, answer.text
        told = await talker.until("attune.recording")
        assert told["scopes"] == ["transcript", "research"] and told["recording"]
        await talker.ask()
        await play_until(talker, "response.done")
    assert not (folder(tmp_path) / AUDIO_FILE).exists()
    assert b"heard you" in (folder(tmp_path) / EVENTS_FILE).read_bytes()
    assert record(tmp_path).tombstones[0].what == ["audio"]


async def test_a_turn_that_began_before_the_consent_leaves_no_word_and_nor_does_its_reply(
    tmp_path: Path,
) -> None:
    async with recorded(tmp_path) as talker:
        await talker.say(VOICE, 1.0)
        await consent(talker, **ALL)
        await talker.say(HUSH, 1.0)
        await play_until(talker, "response.done")
        written = next(iter(talker.of("response.output_audio_transcript.done")))["transcript"]
        assert "heard you" in written
        await talker.settle()
    log = (folder(tmp_path) / EVENTS_FILE).read_bytes()
    assert b"heard you" not in log and b"acknowledgement" not in log
    assert b"attune.percept" not in log and b"response.done" in log


async def test_the_next_turn_and_its_reply_are_kept(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        await talker.say(VOICE, 1.0)
        await consent(talker, **ALL)
        await talker.say(HUSH, 1.0)
        await play_until(talker, "response.done")
        await talker.say(HUSH, 8.0)
        await talker.ask()
        await play_until(talker, "response.done")
    log = (folder(tmp_path) / EVENTS_FILE).read_bytes()
    assert b"heard you" in log and b"acknowledgement" in log and b"attune.percept" in log


async def test_what_was_withdrawn_is_not_brought_back_by_asking_for_the_item_again(
    tmp_path: Path,
) -> None:
    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
        await talker.ask()
        await play_until(talker, "response.done")
        item = talker.of("input_audio_buffer.committed")[0]["item_id"]
        words = talker.of("conversation.item.input_audio_transcription.completed")[0]["transcript"]
        await consent(talker, **NOTHING)
        await consent(talker, **ALL)
        await talker.send("conversation.item.retrieve", item_id=item)
        await talker.until("conversation.item.retrieved")
    log = (folder(tmp_path) / EVENTS_FILE).read_bytes()
    assert words.encode() not in log and b"conversation.item.retrieved" in log


async def speak(talker: Talker, samples: Pcm) -> None:
    """Send sound at the pace it is spoken, in pieces of 20 ms, as our own client does."""
    loop, piece = asyncio.get_running_loop(), WIRE_RATE // 50
    begin = loop.time()
    for offset in range(0, len(samples), piece):
        await asyncio.sleep(begin + offset / WIRE_RATE - loop.time())
        await talker.append(samples[offset : offset + piece].tobytes())


async def test_after_a_pause_of_the_microphone_sound_in_small_pieces_lies_after_the_pause(
    tmp_path: Path,
) -> None:
    muted = 0.8
    before, after = pcm(noise(0.6, 1)), pcm(noise(1.0, 2))
    async with (
        serving(recording={"runs": str(tmp_path)}, clock="wall") as (url, _),
        talking(url, "?attune=1") as talker,
    ):
        await consent(talker, **ALL)
        await speak(talker, before)
        await asyncio.sleep(muted)
        await speak(talker, after)
        await talker.settle()
    user, _ = channels(tmp_path)
    first, second = _place(user, before), _place(user, after)
    pause = second - first - len(before)
    assert muted - 0.1 < pause / WIRE_RATE < muted + 0.4
    audio = record(tmp_path).audio
    assert audio and audio.gaps[-1][1] == second


def _place(channel: Pcm, sought: Pcm) -> int:
    """Where a stretch of sound lies, whole."""
    (found,) = [
        int(at)
        for at in np.flatnonzero(channel == sought[0])
        if np.array_equal(channel[at : at + len(sought)], sought)
    ]
    return found


async def test_push_to_talk_with_a_pause_is_one_turn_from_its_first_sample(tmp_path: Path) -> None:
    async with (
        serving(recording={"runs": str(tmp_path)}, clock="wall") as (url, _),
        talking(url, "?attune=1") as talker,
    ):
        await talker.update(audio={"input": {"turn_detection": None}})
        await consent(talker, **ALL)
        await speak(talker, pcm(noise(0.5, 1)))
        await asyncio.sleep(0.5)
        await speak(talker, pcm(noise(0.5, 2)))
        await talker.send("input_audio_buffer.commit")
        await talker.until("input_audio_buffer.committed")
        await talker.settle()
    user, _ = channels(tmp_path)
    (turn,) = record(tmp_path).turns
    sounding = np.flatnonzero(user)
    assert turn.start == sounding[0] and turn.end == sounding[-1] + 1


async def test_an_item_id_of_any_kind_harms_nobody(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        for name in ("event_1", "conv_1", "sess_1", "resp_1"):
            content = [{"type": "input_text", "text": f"Zanzibar {name}"}]
            item = {"id": name, "type": "message", "role": "user", "content": content}
            await talker.send("conversation.item.create", item=item)
            await talker.until("conversation.item.done")
        await consent(talker, **ALL)
        for name in ("event_1", "conv_1", "sess_1", "resp_1"):
            await talker.send("conversation.item.retrieve", item_id=name)
            await talker.until("conversation.item.retrieved")
    assert b"Zanzibar" not in (folder(tmp_path) / EVENTS_FILE).read_bytes()


async def test_a_reply_asked_for_about_something_of_before_is_not_kept(tmp_path: Path) -> None:
    async with recorded(tmp_path) as talker:
        content = [{"type": "input_text", "text": "Zanzibar"}]
        item = {"id": "old", "type": "message", "role": "user", "content": content}
        await talker.send("conversation.item.create", item=item)
        await talker.until("conversation.item.done")
        await consent(talker, **ALL)
        content = [{"type": "input_text", "text": "Timbuktu"}]
        item = {"id": "new", "type": "message", "role": "user", "content": content}
        await talker.send("conversation.item.create", item=item)
        about = [{"type": "item_reference", "id": "old"}]
        await talker.send("response.create", response={"input": about})
        await play_until(talker, "response.done")
    log = (folder(tmp_path) / EVENTS_FILE).read_bytes()
    assert b"Zanzibar" not in log and b"Timbuktu" in log and b'"old"' not in log


async def test_withdrawal_is_confirmed_only_once_it_has_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    withdraw = SessionFolder.withdraw

    def slowly(self: SessionFolder, session: SessionFile) -> None:
        time.sleep(0.5)
        withdraw(self, session)
        happened.append("erased")

    monkeypatch.setattr(SessionFolder, "withdraw", slowly)
    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
        await talker.ask()
        told = await consent(talker, **NOTHING)
        assert happened == ["erased"] and told["scopes"] == []


async def test_a_mistake_of_the_recorder_ends_the_recording_and_not_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: Any) -> None:
        raise KeyError("Zanzibar")

    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
        monkeypatch.setattr("server.recording.origins.Origins.allow", mistaken)
        told = await asyncio.wait_for(_until_stopped(talker), 20)
        assert told["reason"] == "recorder_error"
        await talker.ask()
        await play_until(talker, "response.done")


async def test_a_name_does_no_harm_where_no_pseudonym_can_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.recording.desk.key_for", full)
    async with recorded(tmp_path) as talker:
        told = await consent(talker, **ALL, name="Ada")
        assert told["recording"]
    assert record(tmp_path).speaker is None


async def test_the_reply_to_a_turn_of_before_the_consent_is_not_heard_in_the_recording(
    tmp_path: Path,
) -> None:
    async with recorded(tmp_path) as talker:
        await talker.say(VOICE, 1.0)
        await consent(talker, **ALL)
        await talker.say(HUSH, 1.0)
        await play_until(talker, "response.done")
        await talker.say(HUSH, 8.0)
        await talker.settle()
    _, reply = channels(tmp_path)
    assert not reply.any()


async def test_consent_that_is_flipped_without_end_is_refused_but_can_be_withdrawn(
    tmp_path: Path,
) -> None:
    async with recorded(tmp_path) as talker:
        for _ in range(16):
            await consent(talker, **ALL)
            await consent(talker, **NOTHING)
        await talker.send("attune.consent", **ALL)
        refused = await talker.until("error", "attune.recording")
        assert refused["error"]["code"] == "too_many_consents"
        await consent(talker, **NOTHING)
    session = record(tmp_path)
    assert session.allowed and not session.allowed.audio


async def test_a_withdrawal_happens_though_the_recorder_makes_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: Any) -> None:
        raise KeyError("Zanzibar")

    async with recorded(tmp_path) as talker:
        await consent(talker, **ALL)
        await talker.ask()
        await talker.settle()
        monkeypatch.setattr("server.recording.user_track.UserTrack.settle", mistaken)
        await talker.send("attune.consent", **NOTHING)
        told = await talker.until("attune.recording")
        while told["scopes"]:
            told = await talker.until("attune.recording")
    session = record(tmp_path)
    assert session.state == "finished" and session.allowed and not session.allowed.transcript
    assert not (folder(tmp_path) / AUDIO_FILE).exists()


async def test_a_fault_before_the_consent_is_told_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: Any) -> None:
        raise KeyError("Zanzibar")

    async with recorded(tmp_path) as talker:
        with monkeypatch.context() as patch:
            patch.setattr("server.recording.user_track.UserTrack.arrived", mistaken)
            await talker.say(HUSH, 0.2)
            await talker.settle()
        told = await consent(talker, **ALL)
        assert told["recording"] is False and told["reason"] == "recorder_error"


async def test_a_session_can_be_deleted_at_once_though_the_disk_has_not_caught_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = SessionFolder.create

    def slowly(runs: Path, session: SessionFile) -> SessionFolder:
        time.sleep(0.7)
        return create(runs, session)

    monkeypatch.setattr(SessionFolder, "create", slowly)
    async with serving(recording={"runs": str(tmp_path)}) as (url, _):
        async with talking(url, "?attune=1") as talker:
            await consent(talker, **ALL)
            await talker.ask()
            await talker.settle()
        async with over_http(url, talker) as http:
            answer = await http.delete(talker.of("attune.session")[0]["id"])
        assert answer.status_code == 200, answer.text
    assert record(tmp_path).state == "deleted"
