"""Several processes behind one port: conversations in each, and processes that are killed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import orjson
import psutil
import pytest
import pytest_asyncio
import soundfile
from prometheus_client.parser import text_string_to_metric_families
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, ConnectionClosedError

from models.audio import encode_pcm16, resample
from models.types import WIRE_RATE
from server.config import ROOT
from tests.leaving import cut, returned
from tests.many_processes import WAIT_SEC, Many, kill, many, until
from tests.talker import HUSH, VOICE, Talker, play_until, sound, talking
from tests.test_supervision import free_port

SPEECH = Path(__file__).parent / "data" / "speech" / "118-121721-0000.ogg"
ALL = {"transcript": True, "audio": True, "research": True}
SEATS = 3
# A reply takes long enough to be broken off before it is heard.
SLOW = """
profile = "standin"
[models.responder]
backend = "standin"
options = { first_delay_sec = 0.5 }
"""

# Ears of somebody else. They listen once they may, and note who of the server is left when they
# are told to stop.
EARS = """
import http.server, pathlib, os, psutil, signal, sys, time
port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
def stop(*_):
    for parent in psutil.Process().parents()[2:3]:
        (folder / "left").write_text(str(len(parent.children())))
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
with (folder / "starts").open("a") as starts:
    print(os.getpid(), file=starts)
while not (folder / "may_listen").exists():
    time.sleep(0.02)
class Ears(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"text": "hello there"}')
    do_GET = do_POST = answer
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", port), Ears).serve_forever()
"""

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Many, None]:
    folder = tmp_path_factory.mktemp("many")
    (folder / "slow.toml").write_text(SLOW)
    flags = ("--config", str(folder / "slow.toml"), "--clock", "samples", "--seats", str(SEATS))
    async with many(folder, *flags) as found:
        yield found


async def introduced(talker: Talker) -> dict[str, Any]:
    """The session's id and secret, as it is told."""
    told = [each for each in talker.events if each["type"] == "attune.session"]
    return told[0] if told else await talker.until("attune.session")


async def pair(server: Many, stack: AsyncExitStack) -> dict[str, tuple[Talker, dict[str, Any]]]:
    """Two who talk, by the fronts they talk in."""
    found = {}
    for _ in range(2):
        talker = await stack.enter_async_context(talking(server.wire, "?attune=1"))
        told = await introduced(talker)
        found[server.home_of(told["id"])] = talker, told
    assert set(found) == {"front 0", "front 1"}
    return found


async def replied(talker: Talker) -> str:
    await talker.ask()
    status: str = (await play_until(talker, "response.done"))["response"]["status"]
    return status


async def refused(server: Many) -> bool:
    async with connect(server.wire) as socket:
        told = orjson.loads(await socket.recv())
    return bool(told["type"] == "error" and told["error"]["code"] == "session_limit_reached")


async def until_free(server: Many) -> None:
    async def free() -> bool:
        return not (await server.system())["seats"]["taken"]

    await until(free)


async def test_two_who_talk_are_answered_by_two_fronts_and_counted_as_one_server(
    server: Many,
) -> None:
    async with AsyncExitStack() as stack:
        talkers = await pair(server, stack)
        for talker, _ in talkers.values():
            assert await replied(talker) == "completed"
        await stack.enter_async_context(talking(server.wire))
        assert await refused(server) and await refused(server)
        for _ in range(2):  # whichever front answers
            told = await server.system()
            seats = {"taken": SEATS, "free": 0, "total": SEATS, "most": SEATS, "waiting": 0}
            assert told["seats"] == seats
            assert told["conversations"]["opened"] == SEATS
            assert told["conversations"]["refused"] == 2 and told["conversations"]["replies"] == 2
            taken = {each["name"]: each["seats_taken"] for each in told["processes"]}
            assert sorted(taken.values()) == [0, 1, 2] and taken["models"] == 0
            assert {each["ever"]["n"] for each in told["stages"]} == {2}
    await until_free(server)


async def test_a_lost_client_comes_back_to_its_conversation_through_whichever_front(
    server: Many,
) -> None:
    """Connections are handed out in turn, so that of four some land in the other front."""
    async with AsyncExitStack() as stack:
        for talker, told in (await pair(server, stack)).values():
            for _ in range(4):
                cut(talker)
                talker = await stack.enter_async_context(returned(server.wire, talker))
                assert (await introduced(talker))["id"] == told["id"]
                assert await replied(talker) == "completed"
    await until_free(server)


async def test_withdrawing_and_deleting_reach_a_conversation_in_another_front(
    server: Many,
) -> None:
    async with AsyncExitStack() as stack:
        talkers = await pair(server, stack)
        for talker, _ in talkers.values():
            await talker.send("attune.consent", **ALL)
            await talker.until("attune.recording")
            assert await replied(talker) == "completed"
        listed = (await server.get("/api/sessions")).json()["sessions"]
        ids = {told["id"] for _, told in talkers.values()}
        assert ids <= {each["id"] for each in listed}
        for talker, told in talkers.values():
            own = {"Authorization": f"Bearer {told['secret']}"}
            path = f"/api/sessions/{told['id']}"
            less = {"audio": False}
            answer = await server.ask("POST", f"{path}/consent", headers=own, json=less)
            assert answer.status_code == 200, answer.text
            assert answer.json()["consent"] == {**ALL, "audio": False}
            assert "audio" not in (await talker.until("attune.recording"))["scopes"]
            gone = await server.ask("DELETE", path, headers=own)
            assert gone.status_code == 200, gone.text
            assert (await talker.until("attune.recording"))["reason"] == "deleted"
            assert await replied(talker) == "completed"
    await until_free(server)


async def test_what_has_one_home_is_found_from_every_front(server: Many) -> None:
    for _ in range(4):
        assert (await server.get("/api/arena/leaderboard")).json()["systems"]
        assert (await server.get("/api/exports")).json()["state"] == "over"
        assert (await server.get("/api/reports")).status_code == 200
        missing = await server.get("/api/exports", headers={})
        assert missing.status_code == 401
        assert (await server.ask("POST", "/within/tally")).status_code == 404


async def test_a_round_of_the_arena_is_voted_on_from_any_front(server: Many) -> None:
    turn = encode_pcm16(np.concatenate([sound(VOICE, 1.0), sound(HUSH, 1.0)]))
    for voted in (1, 2):  # whichever front is asked first
        headers = {"Content-Type": "audio/pcm"}
        told = await server.ask("POST", "/api/arena/rounds", content=turn, headers=headers)
        last = orjson.loads(told.text.splitlines()[-1])
        assert last["type"] == "ready", last
        path, own = f"/api/arena/rounds/{last['round_id']}", f"Bearer {last['secret']}"
        for side in "ab":
            heard = await server.get(f"{path}/answers/{side}", headers={"Authorization": own})
            assert heard.content[:4] == b"RIFF"
        vote = {"headers": {"Authorization": own}, "json": {"vote": "a"}}
        assert (await server.ask("POST", f"{path}/vote", **vote)).status_code == 200
        assert (await server.get("/api/arena/leaderboard")).json()["rounds"] == voted


async def test_a_front_that_is_killed_takes_only_its_own_conversations_and_comes_back(
    server: Many,
) -> None:
    async with AsyncExitStack() as stack:
        talkers = await pair(server, stack)
        (lost, told), (left, _) = talkers["front 1"], talkers["front 0"]
        await lost.send("attune.consent", **ALL)
        await lost.until("attune.recording")
        assert await replied(lost) == "completed"
        before = server.pids()["front 1"]
        kill(before)

        async def back() -> bool:
            return server.pids()["front 1"] != before

        await until(back)
        assert await replied(left) == "completed"
        assert (await server.system())["seats"]["taken"] == 1
        again = await stack.enter_async_context(talking(server.wire, "?attune=1"))
        assert server.home_of((await introduced(again))["id"]) == "front 1"
        assert await replied(again) == "completed"
        path = f"/api/sessions/{told['id']}"

        async def whole() -> bool:
            state: str = (await server.get(path)).json()["session"]["state"]
            return state == "repaired"

        await until(whole)
    await until_free(server)


async def in_line(server: Many, stack: AsyncExitStack) -> Talker:
    """Somebody who waits for a seat, as they have been told."""
    socket = await stack.enter_async_context(connect(f"{server.wire}?attune=1"))
    talker = Talker(socket)
    await talker.until("attune.queue")
    return talker


async def moved_up(talker: Talker, place: int) -> None:
    """Told so; that they are where they were is told again and again."""
    async with asyncio.timeout(WAIT_SEC):
        while talker.of("attune.queue")[-1]["position"] != place:
            await talker.until("attune.queue")


def two_seats(folder: Path) -> AbstractAsyncContextManager[Many]:
    """One in each front, so that those who wait come to each in turn."""
    return many(folder, "--models", "standin", "--clock", "samples", "--seats", "2")


async def test_who_waits_in_several_fronts_waits_in_one_line_and_is_let_in_by_age(
    tmp_path: Path,
) -> None:
    async with two_seats(tmp_path) as server, AsyncExitStack() as stack:
        leaving = [each for each, _ in (await pair(server, stack)).values()]
        line = [await in_line(server, stack) for _ in range(4)]
        assert [each.of("attune.queue")[0]["position"] for each in line] == [1, 2, 3, 4]
        assert await refused(server)  # who cannot wait does not pass them
        for _ in range(2):  # whichever front is asked
            told = (await server.system())["seats"]
            assert told["waiting"] == 4 and told["free"] == 0
            assert (await counted(server, "gauge"))["attune_queue[]"] == 4
        fronts = []
        while line:  # whoever was let in leaves first: the next waits in the other front
            await leaving.pop().socket.close()
            first, *line = line
            async with asyncio.timeout(WAIT_SEC):
                await first.until("session.created")
            leaving.append(first)
            fronts.append(server.home_of((await introduced(first))["id"]))
            for place, each in enumerate(line, start=1):
                await moved_up(each, place)
                assert not each.of("session.created")
        assert fronts.count("front 0") == fronts.count("front 1") == 2


async def test_a_front_that_dies_holds_nobody_up_who_waits_in_another(tmp_path: Path) -> None:
    async with two_seats(tmp_path) as server, AsyncExitStack() as stack:
        await pair(server, stack)
        line = [await in_line(server, stack) for _ in range(2)]
        kill(server.pids()["front 0"])  # with its seat, and somebody who waits
        async with asyncio.timeout(WAIT_SEC):
            reading = (each.until("session.created") for each in line)
            first, second = await asyncio.gather(*reading, return_exceptions=True)
        left = line[isinstance(first, ConnectionClosed)]
        assert {type(first), type(second)} == {ConnectionClosedError, dict}
        assert server.home_of((await introduced(left))["id"]) == "front 1"


async def counted(server: Many, *kinds: str) -> dict[str, float]:
    """Every counter, or what is of another kind, as the front tells it that happens to be asked."""
    kinds = kinds or ("counter", "histogram")
    told = (await server.get("/metrics")).text
    families = text_string_to_metric_families(told)
    return {
        f"{each.name}{sorted(each.labels.items())}": each.value
        for family in families
        for each in family.samples
        if family.type in kinds and not family.name.startswith("process_")
    }


async def test_no_counter_falls_while_fronts_are_killed_and_their_successors_count_on(
    server: Many,
) -> None:
    opened, replies = "attune_sessions_opened_total[]", "attune_replies_total[]"
    seen: dict[str, float] = {}

    async def look() -> dict[str, float]:
        told = await counted(server)
        fallen = {
            name: (told.get(name), most) for name, most in seen.items() if told.get(name, 0) < most
        }
        assert not fallen
        seen.update(told)
        return told

    for name in ("front 1", "front 0"):
        async with AsyncExitStack() as stack:
            for talker, _ in (await pair(server, stack)).values():
                assert await replied(talker) == "completed"
        await until_free(server)
        before = await look()
        assert before[opened] >= 2 and before[replies] >= 2
        pid = server.pids()[name]
        kill(pid)
        async with asyncio.timeout(WAIT_SEC):
            while server.pids()[name] == pid:
                told = await look()  # whichever front is asked
                assert told[opened] == before[opened] and told[replies] == before[replies]
        for _ in range(4):  # so that each front is asked
            await look()
        async with AsyncExitStack() as stack:
            for talker, _ in (await pair(server, stack)).values():
                assert await replied(talker) == "completed"
        await until_free(server)
        for _ in range(4):
            told = await look()
            assert told[opened] == before[opened] + 2 and told[replies] == before[replies] + 2


async def test_a_model_process_that_is_killed_costs_a_reply_and_no_conversation(
    server: Many,
) -> None:
    async with AsyncExitStack() as stack:
        talkers = await pair(server, stack)
        before = server.pids()["models"]
        for talker, _ in talkers.values():
            await talker.send("response.create")
            await talker.until("response.created")
        kill(before)
        for talker, _ in talkers.values():
            done = await talker.until("response.done")
            assert done["response"]["status"] == "failed"

        async def back() -> bool:
            is_other = server.pids().get("models", before) != before
            return is_other and (await server.get("/ready")).status_code == 200

        await until(back)
        for talker, _ in talkers.values():
            assert await replied(talker) == "completed"
    await until_free(server)


@pytest.mark.timeout(600)
async def test_processes_that_hang_are_ended_and_started_again(server: Many) -> None:
    async with AsyncExitStack() as stack:
        talkers = await pair(server, stack)
        (lost, _), (left, _) = talkers["front 1"], talkers["front 0"]
        before = server.pids()
        for name in ("models", "front 1"):
            os.kill(before[name], signal.SIGSTOP)

        async def back() -> bool:
            now = server.pids()
            replaced = all(
                now.get(each, 0) not in (0, before[each]) for each in before if each != "front 0"
            )
            return replaced and (await server.get("/ready")).status_code == 200

        await until(back)
        told = server.log.read_text()
        for name in ("models", "front 1"):
            assert f"{name}: no sign of life, it is ended" in told
        assert server.pids()["front 0"] == before["front 0"]
        with pytest.raises(ConnectionClosed):
            await replied(lost)
        assert await replied(left) == "completed"
        again = await stack.enter_async_context(talking(server.wire, "?attune=1"))
        assert server.home_of((await introduced(again))["id"]) == "front 1"
        assert await replied(again) == "completed"
    await until_free(server)


async def test_a_parent_told_to_stop_ends_all_and_leaves_recordings_whole(tmp_path: Path) -> None:
    async with many(tmp_path, "--models", "standin", "--clock", "samples") as server:
        children = server.parent.children()
        assert len(children) == 3
        async with AsyncExitStack() as stack:
            talkers = await pair(server, stack)
            for talker, _ in talkers.values():
                await talker.send("attune.consent", **ALL)
                await talker.until("attune.recording")
                assert await replied(talker) == "completed"
            server.parent.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(server.parent.wait, 30) == 0
        assert not psutil.wait_procs(children, 1)[1]
    files = sorted((tmp_path / "runs").rglob("session.json"))
    states = [orjson.loads(file.read_bytes())["state"] for file in files]
    whys = [orjson.loads(file.read_bytes())["ended"]["why"] for file in files]
    assert states == ["finished"] * 2 and whys == ["server_stopped"] * 2
    assert "Traceback" not in server.log.read_text()


def ears_by_url(folder: Path) -> Path:
    """Settings of a server that looks after the ears."""
    port, settings = free_port(), folder / "ears.toml"
    settings.write_text(
        f"""
        profile = "standin"
        [models.transcriber]
        backend = "openai"
        options = {{ url = "http://127.0.0.1:{port}/v1", model = "m" }}
        [backends.ears]
        command = {json.dumps([sys.executable, "-c", EARS, str(port), str(folder)])}
        ready = "http://127.0.0.1:{port}/v1/models"
        check_sec = 0.1
        log = "{folder}/ears.log"
        """
    )
    return settings


async def test_a_backend_that_is_killed_comes_back_and_every_front_tells_the_truth_meanwhile(
    tmp_path: Path,
) -> None:
    may_listen = tmp_path / "may_listen"
    may_listen.touch()
    flags = ("--config", str(ears_by_url(tmp_path)), "--clock", "samples")
    async with many(tmp_path, *flags) as server, AsyncExitStack() as stack:

        async def both() -> list[httpx2.Response]:
            """Connections are handed out in turn, so that of four each front gets some."""
            return [await server.get("/ready") for _ in range(4)]

        def starts() -> list[int]:
            return [int(line) for line in (tmp_path / "starts").read_text().split()]

        assert all(each.json()["ready"] for each in await both())
        names = [each["name"] for each in (await server.system())["processes"]]
        assert names == ["front 0", "front 1", "models", "backends"]
        talkers = await pair(server, stack)
        for talker, _ in talkers.values():
            assert await replied(talker) == "completed"

        may_listen.unlink()
        kill(starts()[0])

        async def away() -> bool:
            return all(each.status_code == 503 for each in await both())

        await until(away)
        for each in await both():
            told = each.json()
            assert [unable["role"] for unable in told["unable"]] == ["transcriber"]
            assert told["backends"] == [{"name": "ears", "state": "starting", "restarts": 1}]

        may_listen.touch()

        async def back() -> bool:
            return all(each.status_code == 200 for each in await both())

        await until(back)
        for each in await both():
            assert each.json()["backends"] == [{"name": "ears", "state": "up", "restarts": 1}]
        assert len(starts()) == 2  # however many processes there are, it is started once
        for talker, _ in talkers.values():
            assert await replied(talker) == "completed"

        last = psutil.Process(starts()[1])
        server.parent.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(server.parent.wait, 60) == 0
        assert not last.is_running()
    assert (tmp_path / "left").read_text() == "1"  # fronts and models had gone before it
    assert "Traceback" not in server.log.read_text()


async def test_no_backend_outlives_a_parent_or_who_looks_after_it_and_it_is_started_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "may_listen").touch()
    async with many(tmp_path, "--config", str(ears_by_url(tmp_path))) as server:

        def newest() -> int:
            return int((tmp_path / "starts").read_text().split()[-1])

        first = psutil.Process(newest())
        _, looks_after, parent = first.parents()[:3]
        assert parent == server.parent
        kill(looks_after.pid)

        async def another() -> bool:
            (told,) = (await server.get("/ready")).json()["backends"]
            is_other = newest() != first.pid and psutil.pid_exists(newest())
            is_up = told["state"] == "up" and told["restarts"] == 1
            return is_other and is_up and not first.is_running()

        await until(another)
        second = psutil.Process(newest())
        kill(server.parent.pid)
        _, alive = await asyncio.to_thread(psutil.wait_procs, [second], 40)
        assert not alive


async def test_a_front_full_of_lines_turns_nobody_away_while_another_has_room(
    tmp_path: Path,
) -> None:
    few = 8  # in each front; one of them for who comes from this machine
    async with (
        many(tmp_path, "--models", "standin", ATTUNE_LIMITS__CONNECTIONS=str(few)) as server,
        talking(server.wire),
        AsyncExitStack() as stack,
    ):
        for _ in range(2 * few - 1):  # with who talks, as many as there may be
            assert b"200" in await line(server, stack)


async def line(server: Many, stack: AsyncExitStack) -> bytes:
    """One that has spoken and stays: how it was answered."""
    url = httpx2.URL(server.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    stack.callback(writer.close)
    writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    async with asyncio.timeout(WAIT_SEC):
        return await reader.readline()


def sockets(folder: Path) -> list[Path]:
    """Where processes that were told to keep their sockets here do so."""
    return list(folder.glob("attune-*"))


async def test_no_process_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    async with many(tmp_path, "--models", "standin", TMPDIR=str(tmp_path)) as server:
        children = server.parent.children()
        assert sockets(tmp_path)
        kill(server.parent.pid)
        gone, alive = await asyncio.to_thread(psutil.wait_procs, children, 40)
        assert len(gone) == 3 and not alive
        assert not sockets(tmp_path)


async def test_settings_that_cannot_be_used_are_told_in_a_line(tmp_path: Path) -> None:
    def told(*flags: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "server", "--port", "0", "--processes", "2", *flags]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    unfit = tmp_path / "unfit.toml"
    unfit.write_text('profile = "standin"\n[models.speaker]\nbackend = "none"\n')
    answer = await asyncio.to_thread(told, "--config", str(unfit))
    assert answer.returncode == 2
    assert answer.stderr.startswith("attune: unknown speaker backend 'none'")
    assert answer.stderr.count("\n") == 1


async def test_two_fronts_share_one_set_of_real_models(tmp_path: Path) -> None:
    samples, rate = soundfile.read(SPEECH, dtype="float32")
    speech = resample(samples, rate, WIRE_RATE)
    used = {}
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        folder.mkdir()
        async with (
            many(folder, "--clock", "samples", processes=processes) as server,
            AsyncExitStack() as stack,
        ):
            for _ in range(processes):
                talker = await stack.enter_async_context(talking(server.wire, "?attune=1"))
                await talker.send_audio(speech)
                done = await play_until(talker, "response.done")
                assert done["response"]["status"] == "completed"
                heard = talker.of("conversation.item.input_audio_transcription.completed")
                assert "stitch" in heard[0]["transcript"].lower()
                assert [each for each in talker.of("attune.percept") if each["final"]]
            family = [server.parent, *server.parent.children()]
            used[processes] = sum(each.memory_full_info().pss for each in family)
    print({count: round(size / 2**20) for count, size in used.items()}, "MB")
    assert used[2] < 1.5 * used[1]  # far from twice: the weights are there once
