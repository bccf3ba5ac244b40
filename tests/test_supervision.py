"""Backends that the server looks after: started again when they die or hang, and never left."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import dedent
from urllib.request import urlopen

import psutil
import pytest

from models.backoff import Backoff
from server.config import ROOT, BackendProcess
from server.readiness import Backend
from server.supervision import Supervision

SOON = Backoff(first_sec=0.05, longest_sec=0.2)
# Answers with its own id; hangs, or dies, when told to; leaves a child in a session of its own.
BACKEND = dedent("""
    import http.server, os, subprocess, sys
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    print("a secret" if "ATTUNE_OPERATOR_TOKEN" in os.environ else "no secret", flush=True)
    print("x" * int(os.environ.get("TALKS", "1")), flush=True)
    hangs = False
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            global hangs
            if self.path == "/die": os._exit(3)
            if self.path == "/hang": hangs = True
            while hangs and self.path == "/health": pass
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"{os.getpid()} {child.pid}".encode())
        def log_message(self, *_): pass
    http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
""")


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that tells nobody when it happens."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class Looked:
    """A backend on a port, and who answers there."""

    def __init__(self, log: Path, **settings: object) -> None:
        self.port = free_port()
        self.process = BackendProcess.model_validate(
            {
                "command": [sys.executable, "-c", BACKEND, str(self.port)],
                "ready": f"{self.url}/health",
                "check_sec": 0.05,
                "patience_sec": 0.5,
                "misses": 2,
                "log": log,
                **settings,
            }
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, path: str = "/health") -> list[int]:
        """The ids of the process and of its child; none if nobody answers."""
        try:
            with urlopen(self.url + path, timeout=1) as answer:
                return [int(number) for number in answer.read().split()]
        except OSError:
            return []


def alive(*processes: int) -> bool:
    return any(map(_is_alive, processes))


def _is_alive(process: int) -> bool:
    try:
        return bool(psutil.Process(process).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:  # it may go while it is looked at
        return False


@pytest.fixture
def looked(tmp_path: Path) -> Looked:
    return Looked(tmp_path / "backend.log")


@pytest.fixture
def kept(looked: Looked) -> Iterator[Supervision]:
    with Supervision({"tts": looked.process}, SOON).at_work() as supervision:
        supervision.wait_until_up()
        assert [each.state for each in supervision.backends] == ["up"]
        yield supervision


@pytest.mark.parametrize(
    "how",
    ["killed", *(pytest.param(each, marks=pytest.mark.slow) for each in ("dies", "hangs"))],
)
def test_a_backend_that_dies_or_hangs_is_started_again(
    how: str, looked: Looked, kept: Supervision
) -> None:
    first = looked.ask()
    if how == "killed":
        os.kill(first[0], signal.SIGKILL)
    else:
        looked.ask("/die" if how == "dies" else "/hang")
    until(lambda: bool(looked.ask()) and looked.ask() != first)
    until(lambda: kept.backends[0].state == "up")
    assert kept.backends[0].restarts >= 1
    assert not alive(*first)


def test_what_it_started_ends_with_it_and_it_ends_with_us(looked: Looked) -> None:
    with Supervision({"tts": looked.process}, SOON).at_work() as kept:
        kept.wait_until_up()
        there = looked.ask()
        assert alive(*there)
    assert not alive(*there) and not looked.ask()
    assert kept.backends[0].state == "stopped"


def test_every_change_of_its_state_is_told(looked: Looked) -> None:
    told: list[tuple[str, int]] = []

    def note(backends: Sequence[Backend]) -> None:
        told.extend((each.state, each.restarts) for each in backends)

    with Supervision({"tts": looked.process}, SOON, note).at_work() as kept:
        kept.wait_until_up()
        os.kill(looked.ask()[0], signal.SIGKILL)
        until(lambda: told.count(("up", 1)) == 1)
    life = [("starting", 0), ("up", 0), ("waiting", 1), ("starting", 1), ("up", 1), ("stopped", 1)]
    assert told == life


@pytest.mark.slow
def test_its_output_is_kept_up_to_a_limit_and_it_knows_no_secret_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTUNE_OPERATOR_TOKEN", "0123456789abcdef")
    log = tmp_path / "logs" / "tts.log"
    looked = Looked(log, log_mb=0.2, env={"TALKS": "1000000"})
    with Supervision({"tts": looked.process}, SOON).at_work() as kept:
        kept.wait_until_up()
        until(lambda: log.with_name("tts.log.1").exists())
    written = sum(file.stat().st_size for file in log.parent.iterdir())
    assert 0 < written <= 200_000
    quiet = Looked(tmp_path / "quiet.log")
    with Supervision({"tts": quiet.process}, SOON).at_work() as kept:
        kept.wait_until_up()
        until(lambda: "secret" in (tmp_path / "quiet.log").read_text())
    assert "no secret" in (tmp_path / "quiet.log").read_text()


@pytest.mark.slow
def test_a_command_that_cannot_be_run_is_tried_again_and_keeps_nobody_waiting(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    looked = Looked(log, command=[str(tmp_path / "nothing")])
    with Supervision({"tts": looked.process}, SOON).at_work() as kept:
        kept.wait_until_up()
        assert kept.backends[0].restarts >= 3
    assert "No such file" in log.read_text()


@pytest.mark.slow
def test_no_backend_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    looked = Looked(tmp_path / "log")
    port = free_port()
    settings = tmp_path / "attune.toml"
    settings.write_text(
        f"""
        [backends.tts]
        command = {json.dumps(looked.process.command)}
        ready = "{looked.process.ready}"
        log = "{tmp_path}/log"
        """
    )
    server = subprocess.Popen(
        [sys.executable, "-m", "server", "--config", str(settings), "--models", "standin"]
        + ["--port", str(port)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: _answers(f"http://127.0.0.1:{port}/ready"))
        there = looked.ask()
        assert alive(*there)
    finally:
        server.kill()
        server.wait()
    until(lambda: not alive(*there))


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as answer:
            return b'"backends":[{"name":"tts","state":"up","restarts":0}]' in answer.read()
    except OSError:
        return False
