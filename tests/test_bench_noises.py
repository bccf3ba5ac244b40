"""Sounds of one's own over a reply: which are taken, and what is told of them."""

from pathlib import Path

import numpy as np
import pytest
import soundfile
import typer
from typer.testing import CliRunner

from server.bench import noises
from server.bench.barge import Attempt
from server.bench.noises import chosen, figures, read
from server.client import CallError


def attempt(name: str, held: bool, given_up: bool) -> Attempt:
    return Attempt(name, "noise", 100.04 if held else None, None, held, held, given_up, 0, "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind in ("cough", "door"):
        (tmp_path / kind).mkdir()
        for number in range(3):
            burst = np.random.default_rng(number).standard_normal(5 * 16_000) * 0.1
            soundfile.write(tmp_path / kind / f"{number}.wav", burst, 16_000)
    (tmp_path / "door" / "about.txt").write_text("not a sound")
    return tmp_path


def test_of_every_kind_as_many_are_taken_and_always_the_same(folder: Path) -> None:
    taken = chosen(folder, 2, 7)
    assert sorted(file.parent.name for file in taken) == ["cough", "cough", "door", "door"]
    assert chosen(folder, 2, 7) == taken
    assert len(chosen(folder, 0, 7)) == 6


def test_a_long_sound_is_cut(folder: Path) -> None:
    said = read(folder / "door" / "0.wav")
    assert (said.name, len(said.samples)) == ("0.wav", 4 * 24_000)


def test_shares_are_told_of_all_and_of_each_kind_without_what_fell_into_a_gap() -> None:
    found = figures(
        [
            ("cough", attempt("a", held=True, given_up=True)),
            ("cough", attempt("b", held=False, given_up=False)),
            ("door", attempt("c", held=True, given_up=False)),
            ("door", None),
        ]
    )
    assert found["void"] == 1
    assert found["kinds"]["all"]["given_up"] == {"rate": 0.3333, "n": 3}
    assert found["kinds"]["cough"]["held"] == {"rate": 0.5, "n": 2}
    assert found["kinds"]["door"] == {
        "held": {"rate": 1.0, "n": 1},
        "given_up": {"rate": 0.0, "n": 1},
    }
    assert [each["silence_ms"] for each in found["attempts"]] == [100.0, None, 100.0]


def test_a_folder_without_sounds_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CallError):
        chosen(tmp_path, 0, 7)
    app = typer.Typer()
    app.command()(noises.main)
    done = CliRunner().invoke(app, [str(tmp_path)])
    assert done.exit_code == 1
    assert "Traceback" not in done.output
