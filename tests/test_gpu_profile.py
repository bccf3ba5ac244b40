"""The gpu profile chooses what there is, in words that are known: read, not loaded."""

import ast
import re
from pathlib import Path

import pytest
import yaml

from models.errors import BackendError
from models.registry import BACKENDS, Choice, build, read

ROOT = Path(__file__).parents[1]
PROFILE = ROOT / "profiles" / "gpu.toml"


def keywords(backend: str) -> set[str]:
    """What a backend's constructor takes, from its source: importing it may need packages."""
    module, name = backend.split(":")
    tree = ast.parse((ROOT / module.replace(".", "/")).with_suffix(".py").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            (node,) = [
                n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"
            ]
        if isinstance(node, ast.FunctionDef) and node.name in (name, "__init__"):
            return {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)} - {
                "self"
            }
    raise AssertionError(f"{backend} is not there")


def test_every_role_is_chosen_with_options_its_backend_knows() -> None:
    choices = read(PROFILE)
    assert choices.keys() == BACKENDS.keys()
    for role, choice in choices.items():
        assert choice.backend in BACKENDS[role]
        assert choice.options.keys() <= keywords(BACKENDS[role][choice.backend])


def test_the_other_ways_are_known_as_well(tmp_path: Path) -> None:
    """What stands commented out, each in a profile of its own."""
    tables = re.findall(r"(?m)^# (\[models\.(?:.+\n)+)", PROFILE.read_text("utf-8"))
    assert len(tables) == 3
    for table in tables:
        (tmp_path / "other.toml").write_text(table.replace("\n# ", "\n"), "utf-8")
        for role, choice in read(tmp_path / "other.toml").items():
            assert choice.options.keys() <= keywords(BACKENDS[role][choice.backend])


def test_replies_have_priorities_only_where_every_server_we_tell_to_start_heeds_them() -> None:
    assert read(PROFILE)["responder"].options["priority"] is True
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    assert "--scheduling-policy=priority" in compose["services"]["vllm"]["command"]
    commands = 0
    for page in ("gpu", "scaling", "operations", "deploy"):
        told = (ROOT / "docs" / f"{page}.md").read_text("utf-8").replace("\\\n", " ")
        for line in told.splitlines():
            serves_replies = re.search(r"""vllm"?,? "?serve"?,? "?(?!openai/whisper)\S""", line)
            if serves_replies and "--omni" not in line:
                assert re.search(r"""--scheduling-policy"?,? "?priority""", line), (page, line)
                commands += 1
    assert commands >= 5


def test_a_voice_whose_weights_are_not_there_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(BackendError) as caught:
        build("speaker", Choice("kokoro", {"folder": str(tmp_path)}))
    assert str(caught.value) == (
        "onnx-community/Kokoro-82M-v1.0-ONNX is not on this machine: run .venv/bin/hf download "
        f"onnx-community/Kokoro-82M-v1.0-ONNX voices/af_heart.bin --local-dir {tmp_path}"
    )


def test_a_voice_of_another_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="'jf_alpha' does not speak English"):
        build("speaker", Choice("kokoro", {"folder": str(tmp_path), "voice": "jf_alpha"}))


def test_a_file_that_is_no_voice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "voices").mkdir()
    (tmp_path / "voices" / "af_heart.bin").write_bytes(b"12345678")
    with pytest.raises(BackendError, match=r"voices/af_heart.bin in .* is no voice of Kokoro's"):
        build("speaker", Choice("kokoro", {"folder": str(tmp_path)}))
