"""Exports over HTTP: what is in them, who may have them, and that nothing of them stays behind."""

import asyncio
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pyarrow.parquet as pq
import pytest

from server import export_desk, export_download
from server.access import Access
from server.app import may_connect
from server.config import Config
from server.consent import Consent
from server.export_download import COMMAND, NICE, ROOM, ROOT
from server.export_process import BEGUN, NoRoom, Order, make
from server.exports_api import router
from server.openapi import DescribedApp
from server.recording.lock import Lock
from server.sessions.export.making import Form, Wanted, export
from server.sessions.library import Library
from tests.made_sessions import STARTED, made_session
from tests.serving import running

TOKEN, SECRET = "the operator's own token", "a secret of the talker's own"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}
BIG = 40_000_000  # bytes: more than the network holds between us


@dataclass
class Place:
    runs: Path
    library: Library
    client: httpx2.AsyncClient

    def made(self, **how: Any) -> str:
        session_id = made_session(self.runs, secret=SECRET, **how)
        self.library.sync()
        return session_id

    async def export(self, form: str = "parquet", **more: Any) -> httpx2.Response:
        body = {"format": form, **more}
        return await self.client.post("/api/exports", json=body, headers=OPERATOR)

    async def progress(self) -> Any:
        return (await self.client.get("/api/exports", headers=OPERATOR)).json()

    async def until(self, **told: Any) -> None:
        async with asyncio.timeout(20):
            while not told.items() <= (await self.progress()).items():  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    @property
    def left(self) -> list[Path]:
        """What lies about of exports."""
        return list((self.runs / ROOM).rglob("*"))

    @property
    def registered(self) -> list[str]:
        """The kinds of everything that is noted to have been made of sessions."""
        return [json.loads(each.read_text())["kind"]
                for each in (self.runs / "derived").glob("*/*.json")]  # fmt: skip


@asynccontextmanager
async def asking(
    runs: Path, command: Sequence[str] = COMMAND, *, on_a_port: bool = False
) -> AsyncGenerator[Place, None]:
    library, app = Library.open(str(runs)), DescribedApp()
    allowed = partial(may_connect, config=Config())
    app.include_router(router(library, str(runs), None, Access(TOKEN), allowed, command))
    async with AsyncExitStack() as opened:
        if on_a_port:
            port = await opened.enter_async_context(running(app))
            client = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}")
        else:
            await opened.enter_async_context(app.router.lifespan_context(app))
            transport = httpx2.ASGITransport(app)
            client = httpx2.AsyncClient(transport=transport, base_url="http://localhost")
        async with client:
            yield Place(runs, library, client)
    library.close()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test need not make way for others."""
    monkeypatch.setattr(export_download, "NICE", 0)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, ...]:
    """Instead of a real export: packs the ids it is given, and how it was called."""
    return instead(tmp_path, "pack()")


def instead(tmp_path: Path, body: str) -> tuple[str, ...]:
    script = tmp_path / "instead.py"
    script.write_text(f"""
import json, os, sys, time, zipfile
order = json.loads(sys.stdin.readline())
folder = os.path.dirname(order["out"])
def tell(**news): print(json.dumps(news), flush=True)
def wait(): tell(state="making", done=1, total=7); sys.stdin.readline()
def begin():
    with open(folder + "/{BEGUN}", "w") as file:
        for each in order["ids"]:
            print(json.dumps(dict(id=each, scopes=["transcript", "audio", "research"])), file=file)
def pack(more=0):
    begin()
    about = dict(ids=order["ids"], nice=os.getpriority(os.PRIO_PROCESS, 0),
                 secret="ATTUNE_OPERATOR_TOKEN" in os.environ)
    with zipfile.ZipFile(order["out"] + ".zip", "x") as file:
        file.writestr("about.json", json.dumps(about))
        file.writestr("more", bytes(more))
    tell(sessions=order["ids"], left_out=0)
{body}
""")
    return sys.executable, "-S", "-E", str(script)


def unzipped(answer: httpx2.Response) -> zipfile.ZipFile:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    assert len(answer.content) == int(answer.headers["content-length"])
    return zipfile.ZipFile(io.BytesIO(answer.content))


def about(answer: httpx2.Response) -> Any:
    return json.loads(unzipped(answer).read("about.json"))


def code(answer: httpx2.Response) -> Any:
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    return answer.status_code, answer.json()["error"]["code"]


# ---- what is in it


async def test_an_export_holds_what_the_command_would_hand_out_and_is_listed_on_deletion(
    runs: Path, tmp_path: Path
) -> None:
    async with asking(runs) as place:
        given = [place.made(), place.made(consent="transcript,research")]
        withheld = [place.made(consent="transcript,audio"), place.made(consent="none")]
        answer = await place.export()
        file = unzipped(answer)
        name = answer.headers["content-disposition"].split('"')[1]
        file.extractall(tmp_path / "unpacked")
        assert place.left == []
        assert place.registered == ["export"]
        wanted = Wanted(Form.PARQUET, tmp_path / "by-command")
        export([*given, *withheld], place.library.session, wanted, place.library.derived)

        got, by_command = tmp_path / "unpacked" / name.removesuffix(".zip"), wanted.out
        listed = [sorted(each.name for each in where.iterdir()) for where in (got, by_command)]
        assert listed[0] == listed[1]
        assert set((got / "sessions.txt").read_text().split()) == set(given)
        rows = [sorted(pq.read_table(where / "exchanges.parquet").to_pylist(), key=str)
                for where in (got, by_command)]  # fmt: skip
        assert rows[0] == rows[1]
        assert len(rows[0]) > 0
        assert place.library.delete(given[0]).exports == [f"download://{name}", str(by_command)]
        assert place.library.delete(withheld[0]).exports == []


async def test_where_nothing_may_go_out_the_answer_says_why(runs: Path) -> None:
    async with asking(runs) as place:
        assert code(await place.export()) == (409, "nothing_to_export")
        place.made(consent="transcript,audio")
        answer = await place.export("wav")
        assert code(answer) == (409, "nothing_to_export")
        sentence = "There is nothing to export: 1 × no consent to research."
        assert answer.json()["error"]["message"] == sentence
        assert (place.left, place.registered) == ([], [])


async def test_the_filter_is_that_of_the_list(runs: Path, command: Sequence[str]) -> None:
    async with asking(runs, command) as place:
        ours = place.made(responder="vllm")
        place.made(responder="llamacpp")
        found = about(await place.export(filter={"model": "vllm", "since": f"{STARTED:%Y-%m-%d}"}))
        assert found["ids"] == [ours]
        assert len(about(await place.export())["ids"]) == 2
        misspelt = await place.export(filter={"modle": "vllm"})
        assert code(misspelt) == (400, "invalid_value")
        assert code(await place.export("mp3")) == (400, "invalid_value")


async def test_it_is_made_behind_everybody_who_talks_and_without_the_operators_token(
    runs: Path, command: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTUNE_OPERATOR_TOKEN", TOKEN)
    monkeypatch.setattr(export_download, "NICE", NICE)
    async with asking(runs, command) as place:
        place.made()
        told = about(await place.export())
        assert told["nice"] >= NICE
        assert told["secret"] is False


async def test_only_the_operator_exports(runs: Path, command: Sequence[str]) -> None:
    async with asking(runs, command) as place:
        place.made()
        for who in ({}, {"Authorization": f"Bearer {SECRET}"}):
            body = {"format": "parquet"}
            answer = await place.client.post("/api/exports", json=body, headers=who)
            assert code(answer) == (401, "invalid_token")
            assert (await place.client.get("/api/exports", headers=who)).status_code == 401


def test_no_export_takes_the_last_room_on_the_disk(runs: Path) -> None:
    session_id = made_session(runs)
    (folder := runs / ROOM / "one").mkdir(parents=True)
    order = Order(runs=str(runs), spool=None, out=folder / "one", form=Form.WAV,
                  all_consented=False, spare=1 << 60, ids=[session_id])  # fmt: skip
    with Library.open(str(runs)) as library, pytest.raises(NoRoom):
        make(order, library, lambda **_: None)


async def test_a_process_that_fails_is_told_in_a_sentence(runs: Path, tmp_path: Path) -> None:
    for body, expected in (
        ("tell(problem='no_room')", (503, "no_room")),
        ("tell(problem='failed', where='nowhere')", (500, "export_failed")),
        ("sys.exit(3)", (500, "export_failed")),
    ):
        async with asking(runs, instead(tmp_path, body)) as place:
            place.made()
            assert code(await place.export()) == expected
            assert place.left == []


# ---- one at a time, and gone afterwards


async def test_a_second_export_is_asked_to_come_again_and_the_first_goes_on(
    runs: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    waits = f"tell(state='making', done=1, total=7)\nwhile not os.path.exists({str(go)!r}):"
    async with asking(runs, instead(tmp_path, f"{waits} time.sleep(0.01)\npack()")) as place:
        place.made()
        first = asyncio.create_task(place.export())
        await place.until(done=1)
        assert await place.progress() == {"state": "making", "done": 1, "total": 7}
        assert code(await place.export()) == (429, "export_running")
        go.touch()
        assert about(await first)
        assert about(await place.export())
        assert (await place.progress())["state"] == "over"


async def test_hanging_up_stops_what_is_being_made_and_leaves_nothing(
    runs: Path, tmp_path: Path
) -> None:
    command = instead(tmp_path, "begin(); wait()")
    async with asking(runs, command, on_a_port=True) as place:
        place.made()
        asked_for = asyncio.create_task(place.export())
        await place.until(done=1)
        assert place.left
        asked_for.cancel()
        await place.until(state="over")
        assert (place.left, place.registered) == ([], [])


async def test_hanging_up_while_it_is_sent_leaves_nothing_but_the_note_that_it_went_out(
    runs: Path, tmp_path: Path
) -> None:
    command = instead(tmp_path, f"pack({BIG})")
    async with asking(runs, command, on_a_port=True) as place:
        place.made()
        body = {"format": "wav"}
        post = place.client.stream("POST", "/api/exports", json=body, headers=OPERATOR)
        async with post as answer:
            assert answer.status_code == 200
            assert place.left
        await place.until(state="over")
        assert place.left == []
        assert place.registered == ["export"]


async def test_a_server_that_stops_takes_the_export_with_it(runs: Path, tmp_path: Path) -> None:
    async with asking(runs, instead(tmp_path, "begin(); wait()")) as place:
        place.made()
        asked_for = asyncio.create_task(place.export())
        await place.until(done=1)
    assert code(await asked_for) == (409, "stopped")
    assert place.left == []


def test_the_process_ends_with_the_server_that_wanted_it(runs: Path) -> None:
    session_id = made_session(runs)
    (folder := runs / ROOM / "one").mkdir(parents=True)
    os.mkfifo(folder / BEGUN)  # writing there waits for a reader, who never comes
    order = Order(runs=str(runs), spool=None, out=folder / "one", form=Form.WAV,
                  all_consented=False, spare=0, ids=[session_id])  # fmt: skip
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, cwd=ROOT) as process:
        process.communicate(order.model_dump_json().encode() + b"\n", timeout=30)
        assert process.returncode == 1


async def test_what_a_killed_server_left_goes_when_the_next_one_starts(runs: Path) -> None:
    session_id = made_session(runs)
    left, held = runs / ROOM / "left", runs / ROOM / "held"
    with Library.open(str(runs)) as library:
        for folder in (left, held):
            folder.mkdir(parents=True)
            begun = {"id": session_id, "scopes": ["research"]}
            (folder / BEGUN).write_text(json.dumps(begun) + "\n{torn")
            library.derived.begun(str(folder / folder.name), session_id)
    lock = Lock.take(held)  # another server is at work
    async with asking(runs) as place:
        assert not left.exists()
        assert held.exists()
        assert place.library.derived.exports(session_id) == [str(held / "held")]
    lock.abandon()


# ---- to be fetched by a browser


async def test_a_ticket_hands_it_out_once_and_without_a_token(
    runs: Path, command: Sequence[str]
) -> None:
    async with asking(runs, command) as place:
        session_id = place.made()
        answer = await place.export(ticket=True)
        assert answer.status_code == 201
        made = answer.json()
        assert (made["sessions"], made["left_out"]) == (1, 0)
        assert place.library.derived.exports(session_id) == []  # nobody has it yet
        assert code(await place.export()) == (429, "export_running")
        wrong = await place.client.get("/api/exports/a-guess")
        assert code(wrong) == (404, "export_not_found")
        fetched = await place.client.get(made["address"])
        assert len(unzipped(fetched).namelist()) == 2
        assert len(fetched.content) == made["bytes"]
        assert made["name"] in fetched.headers["content-disposition"]
        assert place.library.derived.exports(session_id) == [f"download://{made['name']}"]
        assert code(await place.client.get(made["address"])) == (404, "export_not_found")
        assert place.left == []


async def test_what_nobody_fetches_in_time_is_gone(
    runs: Path, command: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_desk, "VALID_SEC", 0.05)
    async with asking(runs, command) as place:
        place.made()
        made = (await place.export(ticket=True)).json()
        await place.until(state="over")
        assert code(await place.client.get(made["address"])) == (404, "export_not_found")
        assert place.registered == []


@pytest.mark.parametrize("is_deleted", [True, False])
async def test_what_somebody_takes_back_before_it_is_fetched_does_not_go_out(
    runs: Path, command: Sequence[str], is_deleted: bool
) -> None:
    async with asking(runs, command) as place:
        session_id = place.made()
        made = (await place.export(ticket=True)).json()
        if is_deleted:
            place.library.delete(session_id)
        else:
            place.library.revoke(session_id, Consent(transcript=True, research=True))
        assert code(await place.client.get(made["address"])) == (409, "session_changed")
        assert place.left == []
        assert "export" not in place.registered
