"""Setting the server up: where a value may come from, which wins, and what a bad one says."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from typer import Typer
from typer.testing import CliRunner

from server import __main__ as program
from server import config, launch
from server.config import ROOT

PLAIN = {"host": "127.0.0.1", "port": 7860, "profile": "embedded", "clock": "wall", "seats": 64}


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of whoever runs the tests: neither variables nor a file."""
    for name in os.environ:
        ours = name in ("HOST", "PORT") or name.startswith("ATTUNE_")
        if ours and name != "ATTUNE_RECORDING__RUNS":  # nobody's own recordings are touched
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def told(settings: config.Config) -> dict[str, Any]:
    return settings.model_dump(include=set(PLAIN))


def test_nothing_set_is_the_embedded_profile_on_loopback() -> None:
    settings = config.read()
    assert told(settings) == PLAIN
    assert settings.on_loopback


def test_host_and_port_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "0.0.0.0")
    monkeypatch.setenv("PORT", "8000")
    settings = config.read()
    assert told(settings) == {**PLAIN, "host": "0.0.0.0", "port": 8000}
    assert not settings.on_loopback


def test_everything_else_has_a_prefix_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTUNE_PROFILE", "standin")
    monkeypatch.setenv("ATTUNE_SEATS", "3")
    monkeypatch.setenv("ATTUNE_ORIGINS", "https://a.example, https://b.example")
    monkeypatch.setenv("ATTUNE_MODELS__SPEAKER__BACKEND", "hibari")
    settings = config.read()
    assert told(settings) == {**PLAIN, "profile": "standin", "seats": 3}
    assert settings.origins == ["https://a.example", "https://b.example"]
    assert config.choices(settings)["speaker"].backend == "hibari"
    assert config.choices(settings)["responder"].backend == "standin"


FILE = """
port = 7001
profile = "standin"
origins = ["https://a.example"]

[models.turn_judge]
backend = "standin"
options = { probability = 0.25 }
"""


def test_a_file_is_read_where_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(FILE)
    settings = config.read(file)
    assert told(settings) == {**PLAIN, "port": 7001, "profile": "standin"}
    assert settings.origins == ["https://a.example"]
    assert config.choices(settings)["turn_judge"].options == {"probability": 0.25}


def test_a_file_named_attune_toml_is_read_by_itself(tmp_path: Path) -> None:
    (tmp_path / "attune.toml").write_text("seats = 5")
    assert config.read().seats == 5


def test_flags_win_over_the_environment_and_it_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "attune.toml").write_text("host = '::1'\nport = 7001\nseats = 1\nclock = 'samples'")
    monkeypatch.setenv("PORT", "7002")
    monkeypatch.setenv("ATTUNE_SEATS", "2")
    flags = {"seats": "3", "clock": None}
    assert told(config.read(flags=flags)) == {
        "host": "::1",  # the file
        "port": 7002,  # the environment
        "seats": 3,  # the flag
        "clock": "samples",  # a flag not given is none
        "profile": "embedded",
    }


@pytest.mark.parametrize("how", ["file", "environment", "of the role"])
def test_the_weights_of_perception_reach_its_backend(
    how: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    role = "[models.perceiver]\nbackend = 'attune'\n"
    if how == "file":
        role += "[perception]\nweights = 'research'"
    elif how == "of the role":
        role += "options = { weights = 'research' }"
    else:
        monkeypatch.setenv("ATTUNE_PERCEPTION__WEIGHTS", "research")
    (tmp_path / "attune.toml").write_text(role)
    chosen = config.choices(config.read())["perceiver"]
    assert (chosen.backend, chosen.options) == ("attune", {"weights": "research"})


def test_perception_may_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTUNE_MODELS__PERCEIVER__BACKEND", "off")
    chosen = config.choices(config.read())["perceiver"]
    assert (chosen.backend, chosen.options) == ("off", {})


# ---- what cannot be used


def start(*flags: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the program, up to loading the models."""
    app = Typer()
    app.command()(program.main)
    ran = CliRunner().invoke(app, flags)
    return ran.exit_code, ran.stdout, ran.stderr


@pytest.mark.parametrize(
    ("variables", "file", "flags", "said"),
    [
        ({"PORT": "abc"}, "", [], "PORT = 'abc' will not do"),
        ({"PORT": "99999"}, "", [], "less than or equal to 65535"),
        ({}, "port = 'abc'", [], "PORT = 'abc' will not do"),
        ({}, "", ["--port", "abc"], "PORT = 'abc' will not do"),
        ({}, "", ["--port", "99999"], "less than or equal to 65535"),
        ({}, "", ["--seats", "0"], "seats = '0' will not do"),
        ({}, "", ["--processes", "0"], "processes = '0' will not do"),
        ({}, "", ["--processes", "many"], "processes = 'many' will not do"),
        ({"HOST": ""}, "", [], "HOST = '' will not do"),
        (
            {"HOST": "no.such.host.invalid"},
            "insecure = true",
            [],
            "cannot listen on no.such.host.invalid:7860",
        ),
        ({"HOST": "192.0.2.1"}, "", ["--insecure"], "cannot listen on 192.0.2.1:7860"),
        ({}, "colour = 'red'", [], "unknown setting 'colour'; the settings are: host, port"),
        ({"ATTUNE_COLOUR": "red"}, "", [], "unknown variable 'ATTUNE_COLOUR'; the settings are"),
        ({"ATTUNE_PORT": "1"}, "", [], "unknown variable 'ATTUNE_PORT'; the settings are: HOST"),
        ({"ATTUNE_MODELS": "{"}, "", [], "no JSON"),
        ({}, "port = ", [], "attune.toml is not valid TOML"),
        ({}, "", ["--config", "absent.toml"], "absent.toml: No such file"),
        ({}, "", ["--config", "."], ".: Is a directory"),
        ({}, "", ["--models", "x"], "unknown profile 'x'; choose one of: embedded, gpu, standin"),
        ({}, "[models.speaker]\nbackend = 'x'", [], "unknown speaker backend 'x'; choose one of"),
        ({}, "[models.nose]\nbackend = 'x'", [], "unknown role 'nose'; choose one of"),
        ({}, "[models.speaker]", [], "models.speaker.backend"),
        (
            {},
            "[models.speaker]\nbackend = 'standin'\noptions = { pitch = 1 }",
            [],
            "unknown option of speaker backend 'standin' 'pitch'; choose one of: word_sec",
        ),
        ({}, "[perception]\nweight = 'x'", [], "unknown setting 'perception.weight'"),
        ({}, "[perception]\nweights = ''", [], "perception.weights = '' will not do"),
        (
            {},
            "[perception]\nweights = 'x'",
            [],
            "unknown option of perceiver backend 'standin' 'weights'; choose one of: delay_sec",
        ),
        ({}, "", ["--clock", "sun"], "clock = 'sun' will not do"),
        ({}, "", ["--clock", "samples", "--host", "0.0.0.0"], "needs a loopback host"),
    ],
)
def test_a_bad_value_is_one_clear_line(
    variables: dict[str, str],
    file: str,
    flags: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if file:
        (tmp_path / "attune.toml").write_text(file)
    if "--models" not in flags:
        flags = [*flags, "--models", "standin"]
    if not {"HOST", "PORT"} & variables.keys() and "--port" not in flags and "port" not in file:
        flags += ["--port", "0"]

    def started(main: Any) -> None:
        main.close()
        raise AssertionError("it started all the same")

    monkeypatch.setattr(launch, "uvloop_run", started)
    code, out, err = start(*flags)
    assert (code, out) == (2, "")
    assert err.startswith("attune: ") and err.count("\n") == 1, err
    assert said in err


# ---- the program itself


async def program_says(*flags: str) -> tuple[int, str]:
    """The program as people start it, until it ends by itself."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server", "--models", "standin", *flags),
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, err.decode()


async def test_a_port_in_use_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, err = await program_says("--port", str(port))
    assert code == 2
    assert err == (
        f"attune: cannot listen on 127.0.0.1:{port}: Address already in use; "
        "choose others with HOST and PORT\n"
    )


async def test_the_program_says_where_it_listens_and_leaves_when_asked() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "server", "--models", "standin", "--port", "0"),
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    line = (await process.stderr.readline()).decode().strip()
    assert "Attune listens on http://127.0.0.1:" in line
    _, writer = await asyncio.open_connection("127.0.0.1", int(line.rpartition(":")[2]))
    writer.close()
    process.send_signal(signal.SIGINT)
    rest = (await process.stderr.read()).decode()
    assert "Traceback" not in rest
    assert await process.wait() in (0, -signal.SIGINT)
