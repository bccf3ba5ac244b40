"""Faults of the line: frames cut in half, clients that answer nothing, clocks that jump."""

import asyncio
import os
import socket
import time
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_bytes
from struct import pack
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import orjson
import pytest

from models.types import WIRE_RATE
from server import link
from server.recording.folder import verify
from server.sessions.format import SESSION_FILE, SessionFile
from tests.leaving import nothing_left, returned, until
from tests.serving import serving, standins
from tests.talker import HUSH, VOICE, Talker, talking
from tests.talker import sound as noise
from tests.test_recording import ALL, channels, consent, folders, pcm, record

pytestmark = pytest.mark.slow

TEXT, BINARY = 1, 2


class RawClient:
    """A WebSocket client of bare bytes, which answers nothing by itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, kind: int, payload: bytes, share: float = 1.0) -> None:
        """A frame, or the first part of one."""
        mask = token_bytes(4)
        keyed = (np.frombuffer(payload, np.uint8) ^ np.resize([*mask], len(payload))).astype("u1")
        frame = pack(">BBQ", 0x80 | kind, 0x80 | 127, len(payload)) + mask + keyed.tobytes()
        self.writer.write(frame[: round(len(frame) * share)])
        await self.writer.drain()

    async def tell(self, kind: str, **fields: Any) -> None:
        await self.send(TEXT, orjson.dumps({"type": kind, **fields}))

    async def until(self, told: bytes) -> None:
        """Wait until the server has said something with these words in it."""
        said = b""
        async with asyncio.timeout(20):
            while told not in said:
                said = said[-len(told) :] + await self.reader.read(4096)


@asynccontextmanager
async def raw(url: str) -> AsyncGenerator[RawClient, None]:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    writer.write(
        f"GET {address.path}?attune=1 HTTP/1.1\r\nHost: {address.netloc}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {b64encode(token_bytes(16)).decode()}\r\n\r\n".encode()
    )
    client = RawClient(reader, writer)
    await client.until(b"attune.session")
    try:
        yield client
    finally:
        writer.transport.abort()


@asynccontextmanager
async def beside(url: str) -> AsyncGenerator[Talker, None]:
    """Somebody else, who is answered before what happens within and after it."""
    async with talking(url, "?attune=1") as other:
        # A stand-in takes any pause for the end of a turn, and a busy machine leaves some.
        patient = {"type": "server_vad", "silence_duration_ms": 700}
        await other.update(audio={"input": {"turn_detection": patient}})
        await answered(other)
        yield other
        await answered(other)


async def answered(talker: Talker) -> None:
    """A turn, at the pace of speech, and all of its answer."""
    speaking = asyncio.create_task(_speak(talker))
    done = await talker.until("response.done")
    await speaking
    assert done["response"]["status"] == "completed"
    await talker.settle()


async def _speak(talker: Talker) -> None:
    for step in range(25):
        await talker.say(VOICE if step < 5 else HUSH, 0.1)
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("share", [0.01, 0.5])
async def test_a_frame_cut_in_half_costs_that_frame_alone(tmp_path: Path, share: float) -> None:
    settings: dict[str, Any] = {
        "clock": "wall",
        "recording": {"runs": str(tmp_path)},
        "resume_sec": 0.05,
    }
    async with nothing_left(), serving(**settings) as (url, house), beside(url) as other:
        async with raw(url) as client:
            await client.tell(
                "session.update", session={"type": "realtime", "attune": {"binary": True}}
            )
            await client.tell("attune.consent", **ALL)
            await client.until(b"attune.recording")
            heard = noise(VOICE, 1.0)
            await client.send(BINARY, pcm(heard).tobytes())
            await client.until(b"input_audio_buffer.speech_started")
            await client.send(BINARY, pcm(noise(VOICE, 0.5)).tobytes(), share)
            await answered(other)
            assert len(house.sessions) == 2
        await until(lambda: len(house.sessions) == 1)
    session = record(tmp_path)
    assert session.ended and session.ended.why == "lost"
    assert [verify(each) for each in folders(tmp_path)] == [[]]
    sound = channels(tmp_path)[0]
    np.testing.assert_array_equal(sound[: len(heard)], pcm(heard))
    assert not sound[len(heard) :].any()


async def test_a_client_that_answers_no_ping_is_let_go() -> None:
    settings: dict[str, Any] = {"clock": "wall", "ping_sec": 0.5, "resume_sec": 0.1}
    async with (
        serving(**settings) as (url, house),
        nothing_left(),
        beside(url) as other,
        raw(url),
    ):
        assert len(house.sessions) == 2
        await answered(other)
        await until(lambda: len(house.sessions) == 1)


async def test_a_client_that_answers_no_ping_may_come_back() -> None:
    """A phone without a network says nothing, and is soon there again."""
    settings: dict[str, Any] = {"clock": "wall", "ping_sec": 0.5, "resume_sec": 30}
    async with serving(**settings) as (url, house), nothing_left(), beside(url) as other:
        before = set(house.talks)
        async with talking(url, "?attune=1") as lost:
            await lost.until("attune.session")
            (talk,) = house.talks - before
            lost.socket.transport.pause_reading()  # and so it answers none
            await answered(other)
            await until(lambda: talk.link.socket is None)
            async with returned(url, lost) as back:
                assert back.of("attune.resumed")
                await answered(other)


async def test_a_client_that_reads_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connection looks alive, and takes nothing more once all buffers are full."""
    async with (
        serving(clock="wall", resume_sec=0.1) as (url, house),
        nothing_left(),
        beside(url) as other,
        raw(url) as client,
    ):
        monkeypatch.setattr(link, "SEND_TIMEOUT_SEC", 0.5)
        sound = b64encode(bytes(2 * 1024 * 1024)).decode()
        content = [{"type": "input_audio", "audio": sound, "transcript": "long"}]
        item = {"id": "long", "type": "message", "role": "user", "content": content}
        await client.tell("conversation.item.create", item=item)
        await client.until(b"conversation.item.done")
        for _ in range(6):
            await client.tell("conversation.item.retrieve", item_id="long")
        await answered(other)
        await until(lambda: len(house.sessions) == 1)


class _Jumping(datetime):
    """A wall clock somebody sets an hour forward, and two back."""

    count = 0

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        cls.count += 1
        hours = (0, 1, -1)[cls.count // 20 % 3]
        return datetime.now(tz or UTC) + timedelta(hours=hours)


async def test_a_wall_clock_that_jumps_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = time.time
    monkeypatch.setattr(time, "time", lambda: true() + (0, 3600, -3600)[int(true() * 5) % 3])
    monkeypatch.setattr("server.recording.recorder.datetime", _Jumping)
    settings: dict[str, Any] = {"clock": "wall", "recording": {"runs": str(tmp_path)}}
    async with (
        nothing_left(),
        serving(standins(), **settings) as (url, _),
        talking(url, "?attune=1") as one,
        talking(url, "?attune=1") as other,
    ):
        for talker in (one, other):
            await consent(talker, **ALL)
        await asyncio.gather(answered(one), answered(other))
    assert _Jumping.count > 20
    for talker in (one, other):
        _kept_whole(tmp_path, talker)


def _kept_whole(runs: Path, talker: Talker) -> None:
    """All that was sent lies in the recording, as long as it took."""
    (kept,) = runs.glob(f"*/{talker.of('attune.recording')[0]['session_id']}")
    assert verify(kept) == []
    session = SessionFile.model_validate_json((kept / SESSION_FILE).read_bytes())
    assert session.audio and session.ended
    sent = talker.sent_seconds * WIRE_RATE
    gaps = sum(end - begin for begin, end in session.audio.gaps)
    assert abs(session.audio.samples - sent - gaps) < WIRE_RATE / 4


@pytest.mark.slow
async def test_a_hundred_lost_clients_leave_nothing_behind(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "recording": {"runs": str(tmp_path)},
        "resume_sec": 0.05,
        "seats": 200,
    }
    async with nothing_left(), serving(**settings) as (url, house):

        async def one(number: int) -> None:
            async with raw(url) as client:
                await client.tell("attune.consent", **ALL)
                audio = b64encode(pcm(noise(VOICE, 0.3)).tobytes()).decode()
                for _ in range(number % 4):
                    await client.tell("input_audio_buffer.append", audio=audio)
                await client.send(TEXT, os.urandom(200), (number % 10) / 10)

        for begin in range(0, 100, 20):
            await asyncio.gather(*(one(begin + each) for each in range(20)))
        await until(lambda: not house.sessions)
        # A server that stops does not wait long for the disk, and mends the rest at its next start.
        await until(lambda: all(map(is_finished, folders(tmp_path))))
    assert not [each for each in folders(tmp_path) if verify(each)]


def is_finished(folder: Path) -> bool:
    try:
        kept = SessionFile.model_validate_json((folder / SESSION_FILE).read_bytes())
    except FileNotFoundError:  # it is being moved to where it will stay
        return False
    return kept.state == "finished"
