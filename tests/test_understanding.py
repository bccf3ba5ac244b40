"""Comparing what contestants understand, of genres they learned from and of others."""

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from models import adapter_files
from models.percept import Affect
from models.tuning.emobank import GENRES, OTHER, Perspective, Sentence, genre
from models.tuning.evaluation import understanding
from models.tuning.evaluation.emotions import Guess
from models.tuning.evaluation.understanding import asked_about, summed_up, table, understood
from models.types import Turn


def sentence(name: str, number: int, split: str = "test", valence: float = 3.0) -> Sentence:
    felt = {Perspective.WRITER: Affect(valence, 3.0, 3.0), Perspective.READER: Affect(3, 3, 3)}
    return Sentence(f"{GENRES[name][0]}_{number}", split, f"Sentence {number}.", felt)


def test_as_many_sentences_are_of_the_taught_genres_as_of_the_others() -> None:
    bank = [sentence(name, n) for name in ("letters", "fiction", "blogs") for n in range(20)]
    bank += [sentence("letters", n, "train") for n in range(100, 120)]
    found = asked_about(bank, ["letters", "blogs"], 15)
    assert {genre(each.id) for each in found["taught"]} == {"letters", "blogs"}
    assert {genre(each.id) for each in found["others"]} == {"fiction"}
    assert [len(each) for each in found.values()] == [15, 15]
    assert {each.split for some in found.values() for each in some} == {"test"}


@pytest.mark.parametrize("named", [[], [*GENRES, OTHER]])
def test_where_there_are_no_other_genres_none_are_asked_about(named: list[str]) -> None:
    bank = [sentence("letters", n) for n in range(5)]
    assert {where: len(some) for where, some in asked_about(bank, named, 9).items()} == {
        "taught": 5
    }


def test_an_unknown_genre_is_told() -> None:
    with pytest.raises(ValueError, match="no genre 'poems'"):
        asked_about([], ["poems"], 10)


def test_scales_are_summed_up_and_a_sentence_stands_or_falls_as_one() -> None:
    right = [Guess("x", 0, 0.1, 1.0), Guess("x", 4, 3.9, 5.0)] * 5
    wrong = [Guess("x", 0, 0.1, 5.0)] * 10
    found = summed_up({"valence": right, "arousal": wrong})
    assert found["accuracy"]["value"] == 0.5
    assert (found["accuracy"]["n"], found["accuracy"]["groups"]) == (20, 10)
    assert found["r"] == {"valence": 1.0, "arousal": None, "mean": 0.5}


class KnowsWriters:
    """A Weigher that finds happy likelier where the writer is asked about."""

    def answers(self, turns: Sequence[Turn], answers: Sequence[str]) -> list[float]:
        raise AssertionError

    def endings(self, turns: Sequence[Turn], begun: str, endings: Sequence[str]) -> list[float]:
        wanted = "Happy," if "wrote" in turns[-1].text else "Unhappy,"
        neither = ("Neither", " neither")
        return [
            2.0 if each == wanted else 1.0 if each.startswith(neither) else 0.0 for each in endings
        ]


def test_both_sides_of_both_kinds_of_genre_are_asked_about_and_shown() -> None:
    happy = {"taught": [sentence("letters", n, valence=4.5) for n in range(4)], "others": []}
    found = understood(KnowsWriters(), happy, "it", Console(quiet=True))
    assert found["taught"]["writer"]["accuracy"]["value"] == 1.0
    assert found["taught"]["reader"]["accuracy"]["value"] == pytest.approx(2 / 3, abs=1e-3)
    assert found["others"]["writer"]["accuracy"] is None
    shown = Console(width=300, record=True, file=StringIO())
    shown.print(table({"it": {"emobank": found, "replies": {"follows": None}}}))
    assert "100% (100%-100%, n 12), r 0.00" in shown.export_text()


# ---- the command


class Asking:
    """The command on a small EmoBank, with who was asked of what base."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out, self.bank = folder / "figures.json", folder / "emobank"
        self.asked: list[tuple[str, str, str]] = []
        self.bank.mkdir()
        (folder / "base.gguf").write_bytes(b"base")
        self.base = str(folder / "base.gguf")
        self.rated(3.0)
        monkeypatch.setattr(understanding, "_weigher", self._weigher)

    def rated(self, valence: float) -> None:
        names = [f"{GENRES[name][0]}_{n}" for name in ("letters", "blogs") for n in range(4)]
        texts = [f"{name},test,3,3,3,Sentence {name}." for name in names]
        (self.bank / "emobank.csv").write_text("\n".join(["id,split,V,A,D,text", *texts]))
        for side in Perspective:
            felt = [f"{name},{valence},3.0,3.0" for name in names]
            (self.bank / f"{side}.csv").write_text("\n".join(["id,V,A,D", *felt]))

    def _weigher(self, who: Any, base: str, device: str, threads: int) -> KnowsWriters:
        self.asked.append((who.name, base, device))
        return KnowsWriters()

    def __call__(self, contestant: str, *options: str) -> str:
        app = typer.Typer()
        app.command()(understanding.main)
        told = ["--contestant", contestant, "--out", str(self.out), "--emobank", str(self.bank)]
        told += ["--scripts", "0", "--base", self.base, *options]
        ran = CliRunner().invoke(app, told, env={"COLUMNS": "300"})
        assert ran.exit_code == 0, ran.output
        return ran.stdout

    @property
    def found(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out.read_text("utf-8"))
        return found


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asking:
    return Asking(tmp_path, monkeypatch)


def worn(folder: Path, numbers: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / adapter_files.FILE).write_bytes(numbers)
    (folder / adapter_files.CONFIG).write_text("{}")
    adapter_files.seal(folder)
    return folder


def test_figures_are_kept_until_something_else_is_asked_or_someone_else(
    asking: Asking, tmp_path: Path
) -> None:
    who = f"it={worn(tmp_path / 'adapter', b'numbers')}"
    genres = ("--genre", "letters")
    asking(who, *genres)
    assert {*asking.found["it"]["emobank"]} == {"taught", "others"}
    asking(who, *genres)
    assert len(asking.asked) == 1
    asking(who, "--genre", "blogs")
    asking(who, "--genre", "blogs", "--sentences", "2")
    asking(who)
    assert len(asking.asked) == 4
    asking.rated(4.5)
    asking(who)
    assert len(asking.asked) == 5
    worn(tmp_path / "adapter", b"other numbers")
    asking(who)
    assert len(asking.asked) == 6
    Path(asking.base).write_bytes(b"another base")
    asking(who)
    assert len(asking.asked) == 7
    assert asking.found["it"]["emobank"]["taught"]["writer"]["accuracy"]["n"] == 3 * 8


def test_who_was_asked_something_else_is_not_set_beside(asking: Asking) -> None:
    asking("before=", "--genre", "letters")
    shown = asking("now=", "--genre", "blogs")
    assert "now" in shown and "before" not in shown and "others: writer" in shown
    assert {*asking.found} == {"before", "now"}
    assert "before" in asking("again=", "--genre", "letters")


def test_where_no_genre_is_named_all_are_asked_about_once(asking: Asking) -> None:
    shown = asking("it=")
    assert "taught: writer" in shown and "others" not in shown
    assert {*asking.found["it"]["emobank"]} == {"taught"}


def test_figures_that_do_not_say_what_was_asked_are_made_anew(asking: Asking) -> None:
    asking("it=")
    whole = asking.found
    asking.out.write_text(json.dumps({"it": {**whole["it"], "asked": None}}))
    asking("it=")
    assert len(asking.asked) == 2 and asking.found == whole


def test_another_base_can_be_asked(asking: Asking) -> None:
    asking("it=", "--base", "someone/large", "--device", "cuda")
    assert asking.asked == [("it", "someone/large", "cuda")]
    asking("it=", "--base", "someone/larger")
    assert len(asking.asked) == 2
