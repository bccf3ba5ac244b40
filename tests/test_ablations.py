"""Whose emotion is worth learning: which arms learn from what, and how they are compared."""

import json
import subprocess
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from models.tuning import ablations
from models.tuning.ablations import ARMS, FOLDS, Run, summed_up, table
from models.tuning.emobank import GENRES, of_genres
from models.tuning.evaluation.understanding import main as understanding
from tests.empty_emobank import empty_emobank


def figures(taught: float, others: float) -> dict[str, Any]:
    def row(r: float) -> dict[str, Any]:
        return {"r": {"mean": r}, "accuracy": {"value": r / 2}}

    sides = ("writer", "reader")
    return {
        "emobank": {
            "taught": {side: row(taught) for side in sides},
            "others": {side: row(others) for side in sides},
        }
    }


def options(command: list[str]) -> dict[str, str]:
    return dict(each.split("=", 1) for each in command if each.startswith("--") and "=" in each)


def test_every_fold_names_genres_of_emobank_and_leaves_some_out() -> None:
    for fold in FOLDS:
        assert not of_genres([], fold)  # an unknown one is an error
        assert len({*GENRES} - {*fold}) > 0


def test_both_sides_are_learned_from_as_many_examples_and_from_as_many_sentences() -> None:
    learned = {}
    for arm in ARMS:
        train, _ = Run(arm, 1, Path("x")).commands(Path("bank"), 400, 30)
        told = options(train)
        learned[arm.name] = (told["--perspectives"], told["--sentences"], told["--seed"])
    assert learned == {
        "none": ("none", "400", "8"),
        "writer": ("writer", "400", "8"),
        "reader": ("reader", "400", "8"),
        "both, as many examples": ("both", "200", "8"),
        "both, as many sentences": ("both", "400", "8"),
    }


def test_an_arm_is_asked_about_the_genres_it_learned_from_and_not_taught_twice(
    tmp_path: Path,
) -> None:
    run = Run(ARMS[1], 0, tmp_path)
    train, ask = run.commands(Path("bank"), 400, 30)
    assert [each for each in train if each in FOLDS[0]] == list(FOLDS[0])
    assert [each for each in ask if each in FOLDS[0]] == list(FOLDS[0])
    (tmp_path / "understand").mkdir()
    (tmp_path / "understand" / "adapter_model.sha256").touch()
    assert list(run.commands(Path("bank"), 400, 30)) == [ask]


def test_folds_are_told_as_a_mean_and_each() -> None:
    found = summed_up([figures(0.4, 0.2), figures(0.6, 0.1)])
    assert found["taught: writer"]["r"] == {"mean": 0.5, "folds": [0.4, 0.6]}
    assert found["others: reader"]["accuracy"] == {"mean": 0.075, "folds": [0.1, 0.05]}
    shown = Console(width=300, record=True, file=StringIO())
    shown.print(table({"writer": found}))
    assert "0.15 (0.10-0.20)" in shown.export_text()


def test_all_arms_of_all_folds_are_made_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def run(command: list[str], **_: Any) -> None:
        if understanding.__module__ not in command:
            made.append(options(command)["--perspectives"])
            return
        name = options(command)["--contestant"].partition("=")[0]
        told = {name: figures(0.5, 0.3 if name == "reader" else 0.1)}
        Path(options(command)["--out"]).write_text(json.dumps(told))

    monkeypatch.setattr(subprocess, "run", run)
    bank = empty_emobank(tmp_path / "bank")
    app = typer.Typer()
    app.command()(ablations.main)
    done = CliRunner().invoke(app, ["--emobank", str(bank), "--out", str(tmp_path), "--folds", "2"])
    assert done.exit_code == 0, done.output
    assert sorted(made) == sorted(["none", "writer", "reader", "both", "both"] * 2)
    kept = json.loads((tmp_path / "ablations.json").read_text())
    assert kept["arms"]["reader"]["others: writer"]["r"] == {"mean": 0.3, "folds": [0.3, 0.3]}
    assert kept["made"]["folds"] == [list(fold) for fold in FOLDS[:2]]
