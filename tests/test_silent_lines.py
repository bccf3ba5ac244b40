"""Lines that are held open for nothing: they are closed, counted, and never cost a talker anything.

The server is taken in from the port as the program's own is. What has to come in time is waited for
in hundredths of a second here.
"""

import asyncio
import logging
import resource
import socket
import ssl
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psutil
import pytest
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from server import app, budgets, crowd, http_lines, launch, open_files
from server.bench.process import family, served
from server.config import Config
from server.crowd import Crowd, Place
from server.http_streams import Streamed
from server.limits import Limits
from server.processes.neighbours import inner_door
from server.vitals import Vitals
from tests.made_certificate import made_certificate
from tests.nothing_left import Held
from tests.serving import UNMEASURED, standins
from tests.talker import talking

MB = 1 << 20
HEAD, STALL, LOOK = 0.3, 0.5, 0.02
PATIENCE_SEC = 30.0
POST = b"POST /said HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
UPGRADE = (
    b"GET /v1/realtime HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
)

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Open:
    """A server, and all who come to it."""

    port: int
    application: FastAPI
    lines: Crowd

    @property
    def vitals(self) -> Vitals:
        vitals: Vitals = self.application.state.house.vitals
        return vitals

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/v1/realtime"

    async def line(self, said: bytes = b"", *, come_from: str = "127.0.0.1") -> Stream:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, local_addr=(come_from, 0)
        )
        writer.write(said)
        return reader, writer

    async def taken(self, count: int) -> None:
        """So many have come in by now."""
        async with asyncio.timeout(PATIENCE_SEC):
            while len(self.lines) != count:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.005)

    async def all_spoken(self) -> None:
        """Everybody who came in has said something by now."""
        async with asyncio.timeout(PATIENCE_SEC):
            while self.lines.silent:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.005)

    async def status(self, path: str) -> int:
        async with httpx2.AsyncClient(trust_env=False) as client:
            return (await client.get(f"http://127.0.0.1:{self.port}{path}")).status_code


async def ended(line: Stream) -> bytes:
    """What came until the server hung up; it does, or this fails."""
    reader, writer = line
    got = b""
    async with asyncio.timeout(PATIENCE_SEC):
        with suppress(ConnectionError):
            got = await reader.read()
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()
    return got


async def leave(line: Stream) -> None:
    line[1].close()
    with suppress(ConnectionError):
        await line[1].wait_closed()


@asynccontextmanager
async def no_socket_left() -> AsyncGenerator[None, None]:
    """Theirs and ours are closed, whoever closed them."""
    before = Held.now().open["socket"]
    yield
    async with asyncio.timeout(PATIENCE_SEC):
        while Held.now().open["socket"] > before:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.02)


@asynccontextmanager
async def opened(
    routes: Callable[[FastAPI], None] = lambda _: None, **settings: Any
) -> AsyncGenerator[Open, None]:
    given = {"profile": "standin", "clock": "samples", "admission": UNMEASURED, **settings}
    chosen = Config.model_validate(given)
    application = app.create(standins(), chosen)
    routes(application)
    door = launch.bind("127.0.0.1", 0)
    lines, up = launch.crowd(application, chosen), asyncio.Event()
    server = launch.Server(launch.web(application, chosen), lines, lambda _: up.set())
    serving = asyncio.create_task(server.serve(sockets=[door]))
    try:
        await up.wait()
        yield Open(door.getsockname()[1], application, lines)
    finally:
        server.should_exit = True
        await serving


@pytest.fixture
def in_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_lines, "HEAD_SEC", HEAD)
    monkeypatch.setattr(http_lines, "STALL_SEC", STALL)
    monkeypatch.setattr(http_lines, "LOOK_SEC", LOOK)


def with_routes(application: FastAPI) -> None:
    """What takes a body, and what answers with more than a line holds."""

    @application.post("/said")
    async def said(request: Request) -> int:
        return len(await request.body())

    @application.get("/much")
    async def much() -> Response:
        return Response(bytes(40 * MB))

    @application.get("/pieces")
    async def pieces() -> StreamingResponse:
        async def without_end() -> AsyncIterator[bytes]:
            while True:
                yield bytes(MB)
                await asyncio.sleep(0)

        return StreamingResponse(without_end())

    @application.get("/streamed")
    async def streamed() -> Streamed:
        async def told() -> AsyncGenerator[bytes, None]:
            try:
                for _ in range(40):
                    yield bytes(MB)
            finally:
                application.state.source_closed = True

        return Streamed(b"", told(), "audio/flac")


# ---- lines on which nothing comes


@pytest.mark.usefixtures("in_haste")
async def test_a_line_on_which_no_whole_head_comes_is_closed_and_given_back() -> None:
    async with opened() as server, no_socket_left():
        silent = [await server.line() for _ in range(5)]
        halves = [await server.line(b"GET /health HTTP/1.1\r\nHost: loc") for _ in range(5)]
        await server.taken(10)
        for line in (*silent, *halves):
            assert await ended(line) == b""
        assert len(server.lines) == 0


@pytest.mark.usefixtures("in_haste")
async def test_a_head_that_comes_in_crumbs_is_not_waited_for_and_a_second_one_neither() -> None:
    async def crumbs(line: Stream) -> None:
        with suppress(ConnectionError):
            for each in b"GET /health HTTP/1.1\r\nX: " + b"y" * 1000:
                line[1].write(bytes([each]))
                await line[1].drain()
                await asyncio.sleep(LOOK)

    async with opened() as server:
        first = await server.line()
        second = await server.line(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await second[0].readuntil(b"}")
        sending = [asyncio.create_task(crumbs(line)) for line in (first, second)]
        for line in (first, second):
            await ended(line)
        for each in sending:
            each.cancel()
        await asyncio.gather(*sending, return_exceptions=True)
        await server.taken(0)


@pytest.mark.usefixtures("in_haste")
async def test_a_body_that_stops_coming_ends_its_line_and_one_that_goes_on_is_heard_out() -> None:
    async with opened(with_routes) as server, no_socket_left():
        steady = await server.line(POST.replace(b"100", b"65536") + b"\r\n")
        parts = 0
        for _ in range(2):  # the steady one lasts longer than a body may stall
            stalled = await server.line(POST + b"\r\nno more")
            while not stalled[0].at_eof():
                steady[1].write(bytes(1024))
                parts += 1
                with suppress(TimeoutError):
                    assert await asyncio.wait_for(stalled[0].read(1), STALL / 5) == b""
            await leave(stalled)
        steady[1].write(bytes(65536 - parts * 1024))
        assert (await asyncio.wait_for(steady[0].readuntil(b"65536"), 10)).startswith(b"HTTP/1.1 2")
        await leave(steady)


@pytest.mark.usefixtures("in_haste")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("audio/speech", "application/json"),
        ("audio/transcriptions", "multipart/form-data; boundary=xx"),
        ("realtime/client_secrets", "application/json"),
    ],
)
async def test_a_body_that_stops_coming_is_no_failure_of_ours(
    path: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    head = POST.replace(b"/said", f"/v1/{path}".encode()) + f"Content-Type: {kind}\r\n".encode()
    with caplog.at_level(logging.DEBUG, "server.http_refusals"):
        async with opened() as server:
            assert await ended(await server.line(head + b"\r\n--xx\r\nContent")) == b""
            async with asyncio.timeout(PATIENCE_SEC):
                while "has gone" not in caplog.text and "failed" not in caplog.text:  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


@pytest.mark.usefixtures("in_haste")
@pytest.mark.parametrize("path", ["/much", "/pieces", "/streamed"])
async def test_a_line_on_which_no_answer_is_taken_is_closed(path: str) -> None:
    async with opened(with_routes) as server, no_socket_left():
        unread = socket.socket()
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        unread.connect(("127.0.0.1", server.port))
        unread.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await server.taken(1)
        await server.taken(0)
        unread.close()
        if path == "/streamed":
            async with asyncio.timeout(PATIENCE_SEC):
                while not hasattr(server.application.state, "source_closed"):  # noqa: ASYNC110
                    await asyncio.sleep(0.005)


@pytest.mark.usefixtures("in_haste")
async def test_an_answer_that_is_taken_slowly_is_told_to_its_end() -> None:
    async with opened(with_routes) as server:
        silent = await server.line()
        reader, writer = await server.line(b"GET /much HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"content-length: 41943040" in head
        for _ in range(10):  # two seconds: four times as long as nothing may be taken
            await reader.readexactly(4 * MB)
            await asyncio.sleep(STALL * 0.4)
        await ended(silent)
        await leave((reader, writer))


@pytest.mark.usefixtures("in_haste")
@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("path", ["/much", "/streamed"])
async def test_an_answer_that_is_taken_little_by_little_is_told_on(
    path: str, tls: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So little that the system, which holds megabytes of it, asks for more only now and then."""
    monkeypatch.setattr(http_lines, "STALL_SEC", 1.0)
    cert, key = made_certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=str(cert))
    seen = threading.Event()

    def little_by_little(port: int) -> None:
        with ExitStack() as held:
            line = held.enter_context(socket.create_connection(("localhost", port)))
            if tls:
                line = held.enter_context(trusted.wrap_socket(line, server_hostname="localhost"))
            line.settimeout(PATIENCE_SEC)
            line.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            while not seen.wait(0.05):
                assert line.recv(10_000)

    async with opened(with_routes, **({"tls_cert": cert, "tls_key": key} if tls else {})) as server:
        reading = asyncio.create_task(asyncio.to_thread(little_by_little, server.port))
        try:
            await server.taken(1)
            await asyncio.sleep(3.0)  # three times as long as nothing may be taken
            assert len(server.lines) == 1
        finally:
            seen.set()
            await reading


@pytest.mark.usefixtures("in_haste")
async def test_what_a_neighbour_takes_is_up_to_whoever_it_is_for(tmp_path: Path) -> None:
    chosen = Config.model_validate(
        {"profile": "standin", "clock": "samples", "admission": UNMEASURED}
    )
    application = app.create(standins(), chosen)
    with_routes(application)
    door = inner_door(tmp_path, 0)
    server = uvicorn.Server(launch.web(application, chosen, tls=False))
    serving = asyncio.create_task(server.serve(sockets=[door]))
    try:
        while not server.started:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)
        reader, writer = await asyncio.open_unix_connection(door.getsockname())
        writer.write(b"GET /streamed HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        await asyncio.sleep(3 * STALL)
        assert len(await reader.read()) > 40 * MB
        await leave((reader, writer))
    finally:
        server.should_exit = True
        await serving


@pytest.mark.usefixtures("in_haste")
async def test_whoever_waits_long_for_an_answer_is_not_cut_off() -> None:
    go_on = asyncio.Event()

    def routes(application: FastAPI) -> None:
        @application.post("/said")
        async def said(request: Request) -> int:
            await go_on.wait()  # with a body that nobody has asked for yet
            return len(await request.body())

        @application.get("/quiet")
        async def quiet() -> StreamingResponse:
            async def told() -> AsyncIterator[bytes]:
                yield b"first;"
                await go_on.wait()
                yield b"last."

            return StreamingResponse(told())

    async with opened(routes) as server:
        body = bytes(300_000)  # more than is taken in before it is asked for
        long = POST.replace(b"100", b"%d" % len(body))
        asks = await server.line(long + b"Expect: 100-continue\r\n\r\n")
        sends = await server.line(long + b"\r\n" + body)
        quiet = await server.line(b"GET /quiet HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await quiet[0].readuntil(b"first;")
        for _ in range(2):  # each as long as a body may stall
            await ended(await server.line(POST + b"\r\n"))
        assert len(server.lines) == 3
        go_on.set()
        await quiet[0].readuntil(b"last.")
        await sends[0].readuntil(b"300000")
        await asks[0].readuntil(b"100 Continue")
        asks[1].write(body)
        await asks[0].readuntil(b"300000")
        for line in (asks, sends, quiet):
            await leave(line)


@pytest.mark.usefixtures("in_haste")
async def test_a_conversation_that_is_silent_is_none_of_that() -> None:
    async with opened() as server, talking(server.url) as talker:
        for _ in range(2):
            await ended(await server.line())
        assert await talker.settle() == []
        assert len(server.lines) == 1
        await talker.socket.close()
        await server.taken(0)


@pytest.mark.parametrize(
    "head",
    [
        UPGRADE.replace(b"GET", b"POST"),
        UPGRADE + b"Content-Length: 10\r\n",
        UPGRADE + b"".join(b"X%d: a\r\n" % n for n in range(130)),
        UPGRADE + b"X: " + b"a" * 9000 + b"\r\n",
    ],
    ids=["another method", "a body", "many lines", "a long line"],
)
async def test_a_head_that_asks_for_a_handshake_and_is_none_is_refused_and_given_back(
    head: bytes,
) -> None:
    async with opened() as server, no_socket_left():
        assert (await ended(await server.line(head + b"\r\n"))).startswith(b"HTTP/1.1 400")
        await server.taken(0)


# ---- more lines than there is room for


async def test_whoever_has_been_silent_longest_makes_way_and_talkers_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_lines, "HEAD_SEC", 300.0)  # nobody leaves for another reason
    async with opened(limits={"connections": 8}) as server, talking(server.url) as talker:
        async with no_socket_left():
            crowd = [await server.line() for _ in range(50)]
            for line in crowd[:43]:
                assert await ended(line) == b""
            assert await server.status("/ready") == 200
            assert await talker.settle() == []
            assert server.vitals.refusals["connections"] == 44
            for line in crowd[43:]:
                await leave(line)
        await server.taken(1)


async def test_where_all_have_spoken_newcomers_are_turned_away_until_somebody_leaves() -> None:
    async with opened(with_routes, limits={"connections": 8}) as server:
        async with talking(server.url) as talker:
            busy = [await server.line(POST + b"\r\n") for _ in range(7)]
            await server.taken(8)
            await server.all_spoken()
            told = await ended(await server.line())
            assert told.startswith(b"HTTP/1.1 503") and b"Retry-After" in told
            assert await server.status("/ready") == 503
            assert server.vitals.refusals["connections"] == 2
            assert await talker.settle() == []
            await leave(busy.pop())
            await server.taken(7)
            assert await server.status("/ready") == 200
            for line in busy:
                await leave(line)
        await server.taken(0)


async def test_strangers_leave_this_machine_its_places(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other, third = "127.0.0.2", "127.0.0.3", "127.0.0.4"  # this machine's, but for this test
    monkeypatch.setattr(budgets, "is_this_machine", lambda address: address == "127.0.0.1")
    limits = {"connections": 16, "address_connections": 100}
    async with opened(with_routes, limits=limits) as server:
        busy = [await server.line(POST + b"\r\n", come_from=one) for _ in range(7)]
        await server.taken(7)
        await server.all_spoken()
        assert b"503" in await ended(await server.line(come_from=one))
        busy += [await server.line(POST + b"\r\n", come_from=other) for _ in range(7)]
        await server.taken(14)
        await server.all_spoken()
        assert b"503" in await ended(await server.line(come_from=third))
        assert server.vitals.refusals["address_connections"] == 1
        assert server.vitals.refusals["connections"] == 1
        assert await server.status("/ready") == 200
        for line in busy:
            await leave(line)


async def test_whoever_says_no_hello_where_there_is_tls_is_counted_and_makes_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_lines, "HEAD_SEC", 0.3)
    cert, key = made_certificate(tmp_path)
    trusted = ssl.create_default_context(cafile=str(cert))
    limits = {"connections": 8}
    async with opened(tls_cert=cert, tls_key=key, limits=limits) as server, no_socket_left():
        silent = [await server.line() for _ in range(20)]
        await ended(silent[0])
        async with httpx2.AsyncClient(verify=trusted, trust_env=False) as client:
            answer = await client.get(f"https://localhost:{server.port}/ready")
            assert answer.status_code == 200
        for line in silent[1:]:
            await ended(line)
        await server.taken(0)


# ---- counted


def speaking(lines: Crowd, address: str) -> Place:
    place = lines.enter(address)
    assert place, "there was no room"
    place.heard()
    return place


def people(count: int) -> list[str]:
    return [f"203.0.113.{n}" for n in range(count)]


def test_an_address_has_its_share_and_others_have_theirs() -> None:
    vitals = Vitals()
    lines = Crowd(Limits(connections=80, address_connections=3), vitals=vitals)
    one, other = people(2)
    places = [speaking(lines, one) for _ in range(3)]
    assert lines.enter(one) is None and lines.enter(other)
    assert vitals.refusals["address_connections"] == 1
    for place in places[:1] * 2:  # twice is once
        place.leave()
    assert speaking(lines, one) and lines.enter(one) is None
    for n in range(1, 4):
        speaking(lines, f"2001:db8::{n}")
    assert lines.enter("2001:db8::4") is None


def test_at_a_full_address_its_own_silent_lines_make_way_and_no_others() -> None:
    lines = Crowd(Limits(connections=80, address_connections=3))
    one, other = people(2)
    gone: list[str] = []
    for name, address in {"other": other, "first": one, "second": one}.items():
        place = lines.enter(address)
        assert place
        place.hang_up = partial(gone.append, name)
    for _ in range(3):
        speaking(lines, one)
    assert gone == ["first", "second"]
    assert lines.enter(one) is None and len(lines) == 4


def test_a_proxys_lines_are_not_one_persons() -> None:
    lines = Crowd(Limits(connections=80, address_connections=3), proxies=["10.0.0.0/8"])
    for _ in range(20):
        speaking(lines, "10.1.2.3")


@pytest.mark.parametrize(
    ("named", "seen"),
    [("10.0.0.0/8", "::ffff:10.1.2.3"), ("10.1.2.3", "::ffff:10.1.2.3")]
    + [("::ffff:10.0.0.0/104", "10.1.2.3"), ("2001:db8::/32", "2001:db8::1")],
)
def test_a_proxy_is_known_however_the_socket_writes_its_address(named: str, seen: str) -> None:
    limits = Limits(connections=80, address_connections=3)
    lines = Crowd(limits, proxies=[named])
    for _ in range(20):
        speaking(lines, seen)
    for _ in range(3):
        speaking(lines, "::ffff:11.1.2.3")
    assert lines.enter("::ffff:11.1.2.3") is None


def test_lines_leave_half_of_the_files_and_some_of_them_to_this_machine() -> None:
    lines = Crowd(Limits(), files=200)
    for address in people(250):
        if place := lines.enter(address):
            place.heard()
    assert len(lines) == 88
    for _ in range(50):
        if place := lines.enter("127.0.0.1"):
            place.heard()
    assert len(lines) == 200 // crowd.FILES_SHARE == 100


def test_how_much_room_there_is_is_told_whenever_it_changes() -> None:
    told: list[int] = []
    lines = Crowd(Limits(connections=8))  # one of them for who comes from this machine
    lines.tell_room(told.append)
    places = [lines.enter(address) for address in people(7)]
    assert told == [7, 6, 5, 4, 3, 2, 1, 0]
    for place in places:
        assert place and told[-1] == 0  # whoever is silent would make way
        place.heard()
        place.heard()
    assert told[-1] == -1 and lines.enter("203.0.113.9") is None
    here = lines.enter("127.0.0.1")
    assert here and told[-1] == 0
    here.heard()
    assert told[-1] == -2 and lines.enter("127.0.0.1") is None
    here.leave()
    assert told[-1] == -1
    for place in places:
        assert place
        place.leave()
    assert told[-1] == 7


def test_as_many_files_as_are_needed_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: asked.append(both))
    for now in ((1024, 4096), (1024, resource.RLIM_INFINITY), (1024, 1 << 20), (1 << 20, 1 << 20)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, now=now: now)
        open_files.ask_for_enough()
    enough = open_files.ENOUGH
    assert asked == [(4096, 4096), (enough, resource.RLIM_INFINITY), (enough, 1 << 20)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert open_files.allowed() is None


# ---- the program itself


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
async def test_with_few_files_silent_lines_take_none_that_a_talkers_recording_needs(
    processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTUNE_PROCESSES", str(processes))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
    monkeypatch.setattr(open_files, "ENOUGH", 200)
    try:
        async with served("--models", "standin", runs=tmp_path) as server:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            await _crowd_out(server.url, server.process, processes)
            assert server.problems == []
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def _crowd_out(url: str, process: psutil.Process, processes: int) -> None:
    def files() -> int:
        return sum(each.num_fds() for each in family(process))

    where = urlsplit(url)
    assert where.hostname and where.port
    async with talking(url, "?attune=1") as talker:
        await talker.send("attune.consent", transcript=True, audio=True, research=True)
        assert (await talker.until("attune.recording"))["recording"]
        before = files()
        crowd = [await asyncio.open_connection(where.hostname, where.port) for _ in range(300)]
        async with httpx2.AsyncClient(trust_env=False) as client:
            for _ in range(2 * processes):
                answer = await client.get(
                    f"http://{where.netloc}/ready", headers={"Connection": "close"}
                )
                assert answer.status_code == 200
        await talker.ask()
        assert (await talker.until("response.done"))["response"]["status"] == "completed"
        assert not [told for told in talker.of("attune.recording") if not told["recording"]]
        for line in crowd:
            with suppress(ConnectionError):
                async with asyncio.timeout(30):
                    assert await line[0].read() == b""
            await leave(line)
        assert files() <= before + 2
