"""Comparing what contestants understand, of genres they learned from and of others."""

from collections.abc import Sequence
from io import StringIO

import pytest
from rich.console import Console

from models.percept import Affect
from models.tuning.emobank import GENRES, Perspective, Sentence, genre
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


def test_an_unknown_genre_is_told() -> None:
    with pytest.raises(ValueError, match="no genre 'poems'"):
        asked_about([], ["poems"], 10)


def test_scales_are_summed_up_and_a_sentence_stands_or_falls_as_one() -> None:
    right, wrong = [Guess("x", 0, 1.0), Guess("x", 4, 5.0)] * 5, [Guess("x", 0, 5.0)] * 10
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
