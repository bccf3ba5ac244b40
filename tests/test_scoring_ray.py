"""The same scoring on a local Ray cluster of two processes."""

import builtins
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from server.scoring import instruments
from server.scoring.analyses import every
from server.scoring.errors import ScoringError
from server.scoring.results import Results
from server.scoring.running import score
from server.scoring.settings import Settings
from tests import counting_instrument
from tests.made_sessions import Exchange, made_session


@pytest.fixture(autouse=True)
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(counting_instrument.COUNT, str(tmp_path / "counted"))
    monkeypatch.setattr(instruments, "MODULES", {"counting": counting_instrument.__name__})
    monkeypatch.setattr(every, "MODULES", {})


def test_without_ray_it_says_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without_ray(name: str, *rest: Any, **more: Any) -> Any:
        if name == "ray":
            raise ImportError
        return real(name, *rest, **more)

    made_session(tmp_path / "runs")
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(ScoringError, match=r"\.\[ray\]"):
        score([tmp_path / "runs"], tmp_path / "out", Settings(draws=100), ray="local")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray's own
def test_ray_finds_what_one_process_finds_and_nothing_is_measured_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for nth in range(6):
        made_session(
            tmp_path / "runs", turns=[Exchange(user=f"Number {nth}.")] * 2,
            session_id=f"sess_{nth:020x}",
        )  # fmt: skip
    on_ray = _scored(tmp_path, "a", ray="local")
    counted = _counted(tmp_path)
    assert set(counted.values()) == {1} and len(counted) == 12
    _scored(tmp_path, "b")
    assert _counted(tmp_path) == counted
    monkeypatch.setenv(counting_instrument.VERSION, "2")
    here = _scored(tmp_path, "c")
    assert set(_counted(tmp_path).values()) == {2}
    assert on_ray.exchanges == here.exchanges
    assert on_ray.metrics == here.metrics


def _scored(tmp_path: Path, name: str, **how: Any) -> Results:
    told = score([tmp_path / "runs"], tmp_path / name, Settings(draws=100), report=False, **how)
    return Results.model_validate_json(told.read_bytes())


def _counted(tmp_path: Path) -> Counter[str]:
    return Counter((tmp_path / "counted").read_text().splitlines())
