"""A real server, and clients that mean no good: it goes on, in bounded memory, for the others."""

import asyncio
import os
import re
import socket
import struct
import zlib
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from server.bench.process import Served, served
from tests.talker import Talker, talking

pytestmark = pytest.mark.slow

MB = 1 << 20
# A message may be 24 MiB, and is held twice while it is read and decoded.
ROOM = 200 * MB
# What uvicorn says of a client that breaks the protocol, and of nothing it sent.
OWN_FAULT = re.compile(r"Invalid (HTTP request|UTF-8 sequence) received")


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncGenerator[Served, None]:
    async with served("--models", "standin", runs=tmp_path) as started:
        yield started
        assert [line for line in started.problems if not OWN_FAULT.search(line)] == []


def memory(server: Served) -> int:
    return int(server.process.memory_info().rss)


async def is_well(server: Served) -> None:
    """Somebody else is still answered, and nobody is left behind."""
    async with asyncio.timeout(30), talking(server.url) as talker:
        item = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "are you well"}],
        }
        await talker.send("conversation.item.create", item=item)
        await talker.send("response.create", response={"output_modalities": ["text"]})
        done = await talker.until("response.done")
        assert done["response"]["status"] == "completed"


def raw(server: Served) -> socket.socket:
    where = urlsplit(server.url)
    assert where.hostname and where.port
    line = socket.create_connection((where.hostname, where.port), 10)
    line.settimeout(10)
    return line


def opened(server: Served, *headers: str) -> socket.socket:
    """A WebSocket by hand."""
    line = raw(server)
    where = urlsplit(server.url)
    key = b64encode(os.urandom(16)).decode()
    asked = [
        f"GET {where.path}?attune=1 HTTP/1.1",
        f"Host: {where.netloc}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        *headers,
    ]
    line.sendall("\r\n".join([*asked, "", ""]).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += line.recv(4096)
    assert answer.startswith(b"HTTP/1.1 101"), answer
    assert b"permessage-deflate" not in answer.lower()
    return line


def frame(first: int, payload: bytes, claimed: int | None = None) -> bytes:
    """A masked frame; its length may be a lie."""
    length = len(payload) if claimed is None else claimed
    if length < 126:
        head = struct.pack("!BB", first, 0x80 | length)
    elif length < 1 << 16:
        head = struct.pack("!BBH", first, 0x80 | 126, length)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, length)
    return head + b"\0\0\0\0" + payload


def closed(line: socket.socket) -> bytes:
    """All that comes until the server hangs up."""
    got = b""
    with suppress(ConnectionError):
        while piece := line.recv(1 << 16):
            got += piece
    return got


async def test_a_message_of_100_mb_ends_only_its_own_conversation(server: Served) -> None:
    before = memory(server)
    async with connect(server.url, max_size=None, compression=None) as huge:
        with pytest.raises(ConnectionClosed) as ended:
            await huge.send("x" * 100 * MB)
            async for _ in huge:
                pass
        assert ended.value.rcvd is not None and ended.value.rcvd.code == 1009
    await is_well(server)
    assert memory(server) - before < ROOM


async def test_a_frame_that_claims_an_exabyte_is_not_waited_for(server: Served) -> None:
    line = opened(server)
    line.sendall(frame(0x82, b"x" * 1000, claimed=1 << 60))
    await asyncio.to_thread(closed, line)
    line.close()
    await is_well(server)


async def test_compressed_frames_are_not_taken_so_there_is_no_bomb(server: Served) -> None:
    before = memory(server)
    line = opened(server, "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits")
    bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = bomb.compress(b"0" * 200 * MB) + bomb.flush()
    line.sendall(frame(0xC1, packed))
    await asyncio.to_thread(closed, line)
    line.close()
    await is_well(server)
    assert memory(server) - before < ROOM


async def test_fragments_without_end_do_not_pile_up(server: Served) -> None:
    before = memory(server)

    def flood() -> None:
        line = opened(server)
        with suppress(ConnectionError, TimeoutError):
            line.sendall(frame(0x01, b"x" * MB))
            for _ in range(200):
                line.sendall(frame(0x00, b"x" * MB))
        line.close()

    await asyncio.to_thread(flood)
    await is_well(server)
    assert memory(server) - before < ROOM


async def test_noise_in_place_of_a_request_is_shrugged_off(server: Served) -> None:
    def noise(seed: int) -> None:
        line = raw(server)
        with suppress(ConnectionError, TimeoutError):
            line.sendall(bytes((seed * 31 + n * 7919) % 256 for n in range(20_000)))
            line.shutdown(socket.SHUT_WR)
            closed(line)
        line.close()

    for seed in range(20):
        await asyncio.to_thread(noise, seed)
    await is_well(server)


async def test_noise_in_an_open_socket_ends_that_one(server: Served) -> None:
    for seed in range(20):
        line = opened(server)
        with suppress(ConnectionError):
            line.sendall(bytes((seed * 131 + n * 7907) % 256 for n in range(5_000)))
            line.shutdown(socket.SHUT_WR)
        await asyncio.to_thread(closed, line)
        line.close()
    await is_well(server)


async def test_text_that_is_no_text_ends_that_one(server: Served) -> None:
    line = opened(server)
    line.sendall(frame(0x81, b"\xff\xfe\xfd"))
    got = await asyncio.to_thread(closed, line)
    line.close()
    assert struct.pack("!H", 1007) in got
    await is_well(server)


async def test_ten_thousand_items_are_refused_beyond_the_limit_in_bounded_memory(
    server: Served,
) -> None:
    before = memory(server)
    async with asyncio.timeout(120), connect(server.url, max_size=None) as socket_:
        talker = Talker(socket_)
        await talker.until("conversation.created")
        refused = await many_items(talker, 10_000)
        assert refused["conversation_too_long"] + refused["rate_limit_exceeded"] > 0
        await talker.settle()
    await is_well(server)
    assert memory(server) - before < ROOM


async def test_the_largest_items_are_refused_beyond_the_limit_in_bounded_memory(
    server: Served,
) -> None:
    before = memory(server)
    async with asyncio.timeout(120), connect(server.url, max_size=None) as socket_:
        talker = Talker(socket_)
        await talker.until("conversation.created")
        refused = await many_items(talker, 400, parts=16, letters=64_000)
        assert refused["conversation_too_long"] > 20 and refused["rate_limit_exceeded"] > 0
        assert memory(server) - before < ROOM  # while it holds them
        await talker.settle()
    await is_well(server)


async def test_settings_of_20_mb_are_refused_and_nobody_keeps_them(server: Served) -> None:
    before = memory(server)
    async with talking(server.url) as talker:
        for size, codes in (
            (4 * MB, {"settings_too_long"}),
            (20 * MB, {"message_too_long", "rate_limit_exceeded"}),
            (20 * MB, {"message_too_long", "rate_limit_exceeded"}),
        ):
            error = (await talker.update(tools=[{"description": "x" * size}]))["error"]
            assert error["code"] in codes
            await asyncio.sleep(1.1)  # of a second refusal it would not be told at once
        assert (await talker.update(tools=[]))["session"]["tools"] == []
    await is_well(server)
    assert memory(server) - before < ROOM


async def test_20_mb_of_small_objects_keep_nobody_waiting_in_bounded_memory(
    server: Served,
) -> None:
    """To read them took four seconds and half a gigabyte."""
    before, worked = memory(server), cpu_seconds(server)
    crowd = '{"type":"session.update","session":{"tools":[%s1]}}' % ('{"a":[1,2]},' * 1_700_000)
    most = 0
    async with talking(server.url) as rude, talking(server.url) as other:
        for _ in range(5):
            sending = asyncio.create_task(rude.socket.send(crowd))
            while not sending.done():
                await other.settle()
                most = max(most, memory(server))
            await sending
        error = (await rude.until("error"))["error"]
        assert error["code"] == "message_too_long"
        assert (await other.update(instructions="Hm"))["session"]["instructions"] == "Hm"
    await is_well(server)
    assert cpu_seconds(server) - worked < 5
    assert most - before < ROOM


def cpu_seconds(server: Served) -> float:
    times = server.process.cpu_times()
    return float(times.user + times.system)


async def many_items(
    talker: Talker, count: int, parts: int = 1, letters: int = 1000
) -> dict[str, int]:
    refused = {"conversation_too_long": 0, "rate_limit_exceeded": 0}
    content = [{"type": "input_text", "text": "x" * letters}] * parts
    item = {"type": "message", "role": "user", "content": content}

    async def read() -> None:
        while True:
            event = await talker.next()
            if event["type"] == "error" and event["error"]["code"] in refused:
                refused[event["error"]["code"]] += 1
            if event["type"] == "error" and event["error"]["event_id"] == "last":
                return
            talker.events.clear()

    reading = asyncio.create_task(read())
    for _ in range(count):
        await talker.send("conversation.item.create", item=item)
    while not reading.done():
        await talker.send("nonsense", event_id="last")
        await asyncio.wait([reading], timeout=0.5)
    await reading
    return refused


async def test_deep_json_is_refused(server: Served) -> None:
    async with talking(server.url) as talker:
        for deep in (100, 5_000, 1_000_000):
            message = (
                '{"type":"session.update","session":' + '{"a":' * deep + "1" + "}" * deep + "}"
            )
            await talker.socket.send(message)
            error = (await talker.until("error"))["error"]
            assert error["type"] == "invalid_request_error"


async def test_a_client_that_floods_and_never_reads_is_let_go_while_others_talk(
    server: Served,
) -> None:
    before = memory(server)
    line = opened(server)
    line.setblocking(False)
    mistake = frame(0x81, orjson.dumps({"type": "nonsense", "event_id": "x" * 500}))
    for _ in range(5):
        with suppress(BlockingIOError, ConnectionError):
            while True:
                line.send(mistake)
        await is_well(server)
    line.close()
    assert memory(server) - before < ROOM
    await is_well(server)


async def test_many_who_connect_and_say_nothing_leave_nothing_behind(server: Served) -> None:
    lines: list[ClientConnection] = []
    for _ in range(40):
        lines.append(await connect(server.url))
    files = server.process.num_fds()
    for line in lines:
        await line.close()
    await is_well(server)
    assert server.process.num_fds() <= files - 30
