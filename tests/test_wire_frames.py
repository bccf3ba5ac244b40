"""However the bytes of a client are cut, the same messages come out of them, and in order."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from websockets.asyncio.client import connect
from websockets.frames import Frame, Opcode
from websockets.utils import apply_mask

from server import app, link, wire_frames
from server.config import Config
from server.wire_frames import _payload
from tests.serving import running, serving, standins


@dataclass(frozen=True, slots=True)
class Bytes:
    """A WebSocket of which nothing is hidden."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def frame(self) -> tuple[int, bytes]:
        """The next frame of the server's: its opcode and payload."""
        header = await self.reader.readexactly(2)
        while (place := _payload(header, 0)) is None:
            header += await self.reader.readexactly(1)
        return header[0] & 0x0F, await self.reader.readexactly(place[1] - place[0])

    async def refused(self) -> list[str]:
        """The names of the mistakes that were answered, up to the one called `last`."""
        names: list[str] = []
        async with asyncio.timeout(20):
            while "last" not in names:
                opcode, payload = await self.frame()
                if opcode == Opcode.TEXT and (told := orjson.loads(payload))["type"] == "error":
                    names.append(told["error"]["event_id"])
        return names

    async def closed(self) -> int:
        """The code with which the server closes."""
        async with asyncio.timeout(20):
            while (frame := await self.frame())[0] != Opcode.CLOSE:
                pass
        return int.from_bytes(frame[1][:2], "big")


@asynccontextmanager
async def bare(url: str) -> AsyncGenerator[Bytes, None]:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    asked = (
        f"GET {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    writer.write(asked.encode())
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    try:
        yield Bytes(reader, writer)
    finally:
        writer.close()


def mistake(name: str, **more: Any) -> bytes:
    return orjson.dumps({"type": "mistake", "event_id": name, **more})


def framed(data: bytes, opcode: Opcode = Opcode.TEXT, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=True)


async def test_frames_in_one_piece_and_cut_at_every_byte_are_the_same_messages() -> None:
    async with serving() as (url, _), bare(url) as talker:
        talker.writer.write(framed(mistake("a")) + framed(mistake("b", fill="x" * 200)))
        for byte in framed(mistake("c", fill="x" * 130)) + framed(mistake("last")):
            talker.writer.write(bytes([byte]))
            await asyncio.sleep(0.0005)  # so that it is read alone
        assert await talker.refused() == ["a", "b", "c", "last"]


async def test_a_message_in_pieces_with_a_ping_between_them_is_one_message() -> None:
    async with serving() as (url, _), bare(url) as talker:
        whole = mistake("pieces")
        talker.writer.write(framed(mistake("before")))
        talker.writer.write(framed(whole[:9], fin=False))
        talker.writer.write(framed(b"still there?", Opcode.PING))
        talker.writer.write(framed(whole[9:], Opcode.CONT) + framed(mistake("last")))
        assert await talker.refused() == ["before", "pieces", "last"]


async def test_a_large_message_among_small_ones_keeps_its_place() -> None:
    async with serving() as (url, _), bare(url) as talker:
        large = framed(mistake("large", fill="x" * 3_000_000))
        talker.writer.write(framed(mistake("small")) + large + framed(mistake("last")))
        assert await talker.refused() == ["small", "large", "last"]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (framed(b"\xff\xfe"), 1007),
        (Frame(Opcode.TEXT, mistake("unmasked")).serialize(mask=False), 1002),
        (b"\x82\xff" + (1 << 40).to_bytes(8, "big") + b"mask", 1009),
        (b"\xf1\x80mask", 1002),  # bits that nobody agreed on
    ],
    ids=["no text", "unmasked", "endless", "reserved bits"],
)
async def test_what_breaks_the_protocol_ends_the_connection_with_its_code(
    sent: bytes, code: int
) -> None:
    async with serving() as (url, _), bare(url) as talker:
        talker.writer.write(framed(mistake("last")))
        assert await talker.refused() == ["last"]  # the session has begun to listen
        talker.writer.write(sent)
        assert await talker.closed() == code


async def test_a_message_that_memory_is_too_small_for_ends_only_its_senders_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def as_far_as_memory_goes(data: bytes, mask: bytes) -> bytes:
        if len(data) > 2_000:
            raise MemoryError
        return apply_mask(data, mask)

    monkeypatch.setattr(wire_frames, "apply_mask", as_far_as_memory_goes)
    async with serving(resume_sec=0) as (url, house), bare(url) as other:
        async with bare(url) as talker:
            talker.writer.write(framed(mistake("last")))
            assert await talker.refused() == ["last"]
            talker.writer.write(framed(mistake("large", fill="x" * 3_000)))
            assert await talker.closed() == 1011
            with pytest.raises(asyncio.IncompleteReadError):
                await talker.frame()  # and then the line is cut
        other.writer.write(framed(mistake("last")))
        assert await other.refused() == ["last"]
        async with asyncio.timeout(20):
            while len(house.sessions) > 1:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.005)


async def test_after_a_mistake_in_the_protocol_nothing_more_is_read() -> None:
    async with serving() as (url, house), bare(url) as talker:
        talker.writer.write(framed(mistake("last")))
        await talker.refused()
        talker.writer.write(b"\x81\x00" * 100_000)  # not masked, each of them
        assert await talker.closed() == 1002
        async with bare(url) as other:  # nobody else has waited for it
            other.writer.write(framed(mistake("last")))
            assert await other.refused() == ["last"]


async def test_who_pings_as_fast_as_they_can_is_hung_up_on() -> None:
    async with serving(resume_sec=0) as (url, house), bare(url) as talker:
        talker.writer.write(framed(mistake("last")))
        await talker.refused()
        talker.writer.write(framed(b"there?", Opcode.PING) * 50)
        for _ in range(50):
            assert (await talker.frame())[0] == Opcode.PONG
        talker.writer.write(framed(b"", Opcode.PING) * 5_000)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            async with asyncio.timeout(20):
                while True:
                    await talker.frame()


async def test_who_cuts_a_message_into_crumbs_without_end_is_hung_up_on() -> None:
    async with serving(resume_sec=0, ping_sec=300) as (url, _), bare(url) as talker:
        talker.writer.write(framed(mistake("last")))
        await talker.refused()
        whole = mistake("crumbs", fill="x" * 400)
        talker.writer.write(framed(whole[:1], fin=False))
        for byte in whole[1:-1]:
            talker.writer.write(framed(bytes([byte]), Opcode.CONT, fin=False))
        talker.writer.write(framed(whole[-1:], Opcode.CONT) + framed(mistake("last")))
        assert await talker.refused() == ["crumbs", "last"]  # to some it is the way to send
        talker.writer.write(framed(b"x", fin=False))
        talker.writer.write(framed(b"", Opcode.CONT, fin=False) * 50_000)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            async with asyncio.timeout(20):
                while True:
                    await talker.frame()


async def test_a_large_message_in_large_pieces_is_taken() -> None:
    async with serving() as (url, _), bare(url) as talker:
        whole = mistake("large", fill="x" * 3_000_000)
        pieces = [whole[at : at + 1024] for at in range(0, len(whole), 1024)]
        talker.writer.write(framed(pieces[0], fin=False))
        for piece in pieces[1:]:
            talker.writer.write(framed(piece, Opcode.CONT, fin=False))
        talker.writer.write(framed(b"", Opcode.CONT) + framed(mistake("last")))
        assert await talker.refused() == ["large", "last"]


async def test_what_a_large_message_costs_grows_no_faster_than_it_does() -> None:
    """However small the pieces are in which it comes: nothing is put together again and again."""

    async def seconds(size: int) -> float:
        async with serving() as (url, _), bare(url) as talker:
            large = framed(mistake("large", fill="x" * size))
            began = time.process_time()
            for at in range(0, len(large), 4096):
                talker.writer.write(large[at : at + 4096])
                await talker.writer.drain()
                await asyncio.sleep(0)
            talker.writer.write(framed(mistake("last")))
            assert await talker.refused() == ["large", "last"]
            return time.process_time() - began

    small, large = await seconds(500_000), await seconds(4_000_000)
    assert large < 30 * small  # eight times as much; put together each time it would be sixty-four


async def test_a_client_that_compresses_is_understood_and_understands() -> None:
    config = Config.model_validate({"clock": "samples", "profile": "standin"})
    application = app.create(standins(), config)
    async with (
        running(application, compressed=True) as port,
        connect(f"ws://127.0.0.1:{port}/v1/realtime", compression="deflate") as socket,
    ):
        await socket.send(mistake("squeezed", fill="x" * 10_000).decode())
        async with asyncio.timeout(20):
            while (told := orjson.loads(await socket.recv()))["type"] != "error":
                pass
        assert told["error"]["event_id"] == "squeezed"


async def test_a_flood_waits_in_the_socket_and_none_of_it_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "INBOX", 4)
    async with serving() as (url, _), bare(url) as talker:
        names = [str(number) for number in range(400)]
        talker.writer.write(b"".join(framed(mistake(name, fill="x" * 500)) for name in names))
        talker.writer.write(framed(mistake("last")))
        assert await talker.refused() == [*names, "last"]
