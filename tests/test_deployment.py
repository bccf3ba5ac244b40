"""The image and what is around it: every path, command, setting and name they use is there."""

import asyncio
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from server import app
from server.config import Config, choices, read
from server.healthcheck import main as healthcheck
from tests.image_steps import copied, steps, words
from tests.serving import running, standins

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
LINTER = shutil.which("hadolint", path=Path(sys.executable).parent)
OURS = ("attune-cpu", "attune-gpu")


def known_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def test_everything_the_image_copies_is_there_and_sent_to_the_engine() -> None:
    sent = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    for step in steps(DOCKERFILE):
        if step.name != "COPY" or (found := copied(step.rest, {})) is None:
            continue
        for source in found[0]:
            assert (ROOT / source).exists(), source
            assert f"!{source.split('/')[0]}" in sent, f"{source} is left out by .dockerignore"


def test_everything_the_server_imports_is_in_the_image() -> None:
    copied_folders = {step.rest.split()[0] for step in steps(DOCKERFILE) if step.name == "COPY"} | {
        "profiles"
    }
    assert {"models", "server", "ui", "profiles"} <= copied_folders


def test_weights_are_fetched_with_all_that_fetching_imports() -> None:
    """They are a stage of their own, before the sources: what it copies is all there is."""
    (rest,) = [s.rest for s in steps(DOCKERFILE) if s.name == "COPY" and "weights.py" in s.rest]
    brought = set(words(rest))
    wanted = ["models/weights.py"]
    for file in wanted:
        assert file in brought
        found = re.findall(
            r"^\s*from models(?:\.(\w+))? import (\w+)", (ROOT / file).read_text(), re.M
        )
        wanted += {f"models/{module or name}.py" for module, name in found} - {*wanted}


def test_every_command_and_setting_of_the_image_exists() -> None:
    modules = re.findall(r"python -m (\w+(?:\.\w+)*)", DOCKERFILE.replace('", "', " "))
    assert {"models.weights", "server.healthcheck", "ui"} <= set(modules)
    for module in set(modules) - {"venv"}:
        assert known_module(module), module
    settings = re.findall(r"\bATTUNE_(\w+)=", DOCKERFILE)
    known = {name.upper() for name in Config.model_fields} | {"CACHE"}
    for name in settings:
        assert name.split("__")[0] in known, name


def test_the_image_does_not_run_as_root_and_says_how_it_is() -> None:
    last = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    by_name = {step.name: step.rest for step in steps(f"FROM {last}")}
    assert by_name["USER"] not in ("root", "0")
    assert words(by_name["CMD"]) == ["python", "-m", "ui"]
    assert "server.healthcheck" in by_name["HEALTHCHECK"]


@pytest.mark.skipif(LINTER is None, reason="no hadolint for this kind of machine")
def test_the_linter_of_dockerfiles_has_nothing_to_say() -> None:
    said = subprocess.run([str(LINTER), ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, "")


def test_what_compose_mounts_and_reads_is_there_and_what_it_names_is_declared() -> None:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("./"):
                assert (ROOT / source).exists(), (name, source)
            else:
                assert source in COMPOSE["volumes"], (name, source)
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"]), name
        assert set(service.get("depends_on", [])) <= set(SERVICES), name
        assert "build" in service or ":" in service["image"], f"{name} runs whatever is newest"


def test_compose_publishes_nothing_beyond_this_machine() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_compose_knows_our_settings() -> None:
    known = {f"ATTUNE_{name.upper()}" for name in Config.model_fields} | {"HF_HOME"}
    for name in OURS:
        for variable in SERVICES[name]["environment"]:
            assert variable.split("__")[0] in known, variable


def test_the_settings_for_gpus_are_the_profiles_with_other_addresses() -> None:
    chosen = choices(read(ROOT / "deploy/attune.gpu.toml"))
    profile = choices(Config(profile="gpu"))
    for role in ("responder", "speaker"):
        ours, theirs = chosen[role].options, profile[role].options
        assert {**ours, "url": None} == {**theirs, "url": None}
    hosts = {str(chosen[role].options["url"]).split("/")[2] for role in ("responder", "speaker")}
    ports = {"vllm": "8000", "tts": "8091"}
    assert hosts == {f"{name}:{port}" for name, port in ports.items()}
    for name, port in ports.items():
        assert f":{port}/" in SERVICES[name]["healthcheck"]["test"][-1]
    scraped = (ROOT / "deploy/prometheus/prometheus.yml").read_text("utf-8")
    assert all(host in scraped for host in hosts)


async def test_the_healthcheck_asks_the_server_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    application = app.create(standins(), Config(profile="standin", clock="samples"))
    async with running(application) as port:
        monkeypatch.setenv("PORT", str(port))
        assert await asyncio.to_thread(healthcheck) == 0
    assert await asyncio.to_thread(healthcheck) == 1
    assert capsys.readouterr().err == "attune does not answer\n"
