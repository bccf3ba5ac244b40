"""Choosing backends by name."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from models import registry
from models.errors import BackendError
from models.registry import BACKENDS, Choice, build, load, read
from models.standin import StandinJudge
from models.types import AudioChunk

PROFILES = Path(__file__).parents[1] / "profiles"
STANDINS = {role: Choice("standin") for role in BACKENDS} | {"thinker": Choice("plain")}


async def test_options_are_the_constructors_keywords() -> None:
    judge = build("turn_judge", Choice("standin", {"probability": 0.25}))
    assert isinstance(judge, StandinJudge)
    assert await judge.finished(AudioChunk(np.zeros(16_000, np.float32))) == 0.25


@pytest.mark.parametrize(
    ("role", "choice", "sentence"),
    [
        ("cook", Choice("x"), "unknown role 'cook'; choose one of: voice_detector, turn_judge, "),
        ("speaker", Choice("x"), "unknown speaker backend 'x'; choose one of: hibari, "),
        (
            "speaker",
            Choice("standin", {"sped": 1}),
            "unknown option of speaker backend 'standin' 'sped'; choose one of: word_sec, ",
        ),
        (
            "voice_detector",
            Choice("standin", {"a": 1}),
            "unknown option of voice_detector backend 'standin' 'a'; choose one of: (there are",
        ),
    ],
)
def test_an_unknown_name_lists_the_known_ones(role: str, choice: Choice, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        build(role, choice)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("package", "remedy"), [("torch", "pip install '.[gpu]'"), ("xllamacpp", "pip install '.'")]
)
def test_a_missing_package_says_what_to_install(
    package: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(module: str) -> None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=f"{package}.inner")

    monkeypatch.setattr(registry, "import_module", missing)
    with pytest.raises(BackendError) as caught:
        build("responder", Choice("llamacpp"))
    assert caught.value.role == "responder"
    assert f"needs the package '{package}': run {remedy}" in str(caught.value)


def test_importing_the_registry_loads_no_backend() -> None:
    heavy = ["xllamacpp", "hibari", "onnxruntime", "models.standin"]
    check = f"import sys, models.registry; sys.exit(any(m in sys.modules for m in {heavy}))"
    subprocess.run([sys.executable, "-c", check], check=True, cwd=PROFILES.parent)


@pytest.mark.parametrize("profile", sorted(PROFILES.glob("*.toml")), ids=lambda path: path.stem)
def test_a_profile_chooses_a_known_backend_for_every_role(profile: Path) -> None:
    choices = read(profile)
    assert choices.keys() == BACKENDS.keys()
    assert all(choice.backend in BACKENDS[role] for role, choice in choices.items())


def test_a_role_without_a_backend_is_named() -> None:
    with pytest.raises(ValueError, match="no backend chosen for: speaker"):
        load({role: choice for role, choice in STANDINS.items() if role != "speaker"})


def test_a_choice_for_an_unknown_role_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown role 'cook'"):
        load({**STANDINS, "cook": Choice("standin")})


class Closing:
    """A backend that writes down that it was closed."""

    closed: list[str] = []

    def __init__(self, name: str) -> None:
        self._name = name

    def close(self) -> None:
        self.closed.append(self._name)


class Failing:
    """A backend that cannot be built."""

    def __init__(self) -> None:
        raise BackendError("speaker", "no voice")


@pytest.fixture
def closing(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    backends = {
        **BACKENDS,
        "transcriber": {"closing": f"{__name__}:Closing"},
        "responder": {"closing": f"{__name__}:Closing"},
        "speaker": {**BACKENDS["speaker"], "failing": f"{__name__}:Failing"},
    }
    monkeypatch.setattr(registry, "BACKENDS", backends)
    monkeypatch.setattr(Closing, "closed", [])
    return Closing.closed


def two_that_close(speaker: str) -> dict[str, Choice]:
    ear, mind = Choice("closing", {"name": "ear"}), Choice("closing", {"name": "mind"})
    return {**STANDINS, "transcriber": ear, "responder": mind, "speaker": Choice(speaker)}


def test_closing_the_models_closes_each_backend_that_can_be_closed(closing: list[str]) -> None:
    models = load(two_that_close("standin"))
    assert closing == []
    models.close()
    assert sorted(closing) == ["ear", "mind"]


def test_if_one_cannot_be_built_those_already_built_are_closed(closing: list[str]) -> None:
    with pytest.raises(BackendError, match="no voice"):
        load(two_that_close("failing"))
    assert sorted(closing) == ["ear", "mind"]
