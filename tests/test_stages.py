"""What each stage is good for: which arms learn what, who answers, and how they are compared."""

import json
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from models.tuning import stages
from models.tuning.stages import ARMS, CONTESTANTS, Round, Size, summed_up, table
from tests.empty_emobank import empty_emobank

SIZE = Size(scripts=300, understood=100, sentences=200, asked=40)


def figures(value: float) -> dict[str, Any]:
    row = {"value": value, "low": value - 0.1, "high": value + 0.1}
    steering = {"all": row, "follows": row}
    told = {"plan": {"steering": steering, "steering_by_all": steering, "similarity": row}}
    return {"told": told, "chat": {"untold": {"sane": row}}}


def options(command: list[str]) -> dict[str, str]:
    parted = (each.partition("=") for each in command if each.startswith("--"))
    return {name: value for name, _, value in parted}


def test_arms_differ_in_the_first_stage_alone() -> None:
    learned = {}
    for arm in ARMS:
        told = options(Round(8, Path("x")).training(arm, Path("bank"), SIZE) or [])
        assert (told["--scripts"], told["--seed"], "--stage" in told) == ("300", "8", False)
        learned[arm.name] = told.get("--perspectives"), "--skip-understanding" in told
    assert learned == {
        "no first stage": (None, True),
        "corpus alone": ("none", False),
        "writer": ("writer", False),
        "reader": ("reader", False),
        "both": ("both", False),
    }


def test_contestants_wear_what_they_have_learned_by_then() -> None:
    worn = {}
    for who in CONTESTANTS:
        asked = options(Round(7, Path("x")).asking(who, SIZE))
        name, _, adapters = asked["--contestant"].partition("=")
        assert asked["--limit"] == "40"
        worn[name] = adapters
    assert worn == {
        "untaught": "",
        "understanding alone": "x/both/understand",
        "understanding and replies": "x/both/understand,x/both/reply",
        "no first stage": "x/no-first-stage/empathy",
        "corpus alone": "x/corpus-alone/understand,x/corpus-alone/empathy",
        "writer": "x/writer/understand,x/writer/empathy",
        "reader": "x/reader/understand,x/reader/empathy",
        "both": "x/both/understand,x/both/empathy",
    }


def test_what_is_told_of_them_is_what_the_evaluation_keeps() -> None:
    kept = Path(__file__).parents[1] / "docs/readings/evaluation/plan-and-think.json"
    of_one = json.loads(kept.read_text("utf-8"))["contestants"]["tuned"]
    found = summed_up([of_one])
    assert found["goes the way of its cue"]["mean"] == pytest.approx(0.67, abs=0.01)
    assert found["both replies together"]["mean"] == pytest.approx(0.81, abs=0.01)
    assert found["plain questions"]["mean"] == 0.75


def test_one_round_is_told_with_its_interval_and_more_with_least_and_most() -> None:
    shown = Console(width=300, record=True, file=StringIO())
    shown.print(table({"one": summed_up([figures(0.5)])}))
    shown.print(table({"two": summed_up([figures(0.5), figures(0.8)])}))
    text = shown.export_text()
    assert "0.50 (0.40-0.60)" in text and "0.65 (0.50-0.80)" in text


def test_all_are_taught_once_and_asked_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught: list[str] = []

    def run(command: list[str], **_: Any) -> None:
        told = options(command)
        out = Path(told["--out"])
        if "models.train_reply" in command:
            taught.append(told.get("--perspectives", "skipped"))
            (out / "empathy").mkdir(parents=True)
            (out / "empathy" / "adapter_model.sha256").touch()
            return
        name = told["--contestant"].partition("=")[0]
        kept = {"contestants": {name: figures(0.7 if name == "both" else 0.5)}}
        (out / "evaluation.json").write_text(json.dumps(kept))

    monkeypatch.setattr(subprocess, "run", run)
    bank = empty_emobank(tmp_path / "bank")
    app = typer.Typer()
    app.command()(stages.main)
    for _ in range(2):
        done = CliRunner().invoke(
            app, ["--emobank", str(bank), "--out", str(tmp_path), "--seeds", "2"]
        )
        assert done.exit_code == 0, done.output
    assert sorted(taught) == sorted(["skipped", "none", "writer", "reader", "both"] * 2)
    kept = json.loads((tmp_path / "stages.json").read_text())
    assert kept["contestants"]["both"]["both replies together"]["mean"] == 0.7
    assert kept["made"]["seeds"] == [7, 8]
