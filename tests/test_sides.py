"""Whose emotion carries over: what is left out, and who is said to be better."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.percept import Affect
from models.tuning.emobank import GENRES, Perspective, Sentence

pytest.importorskip("torch")
from models.tuning import sides
from models.tuning.sides import ARMS, Bank, compared, folds, likeness, table

STARTS = [starts[0] for starts in GENRES.values()]


def bank(told: float) -> Bank:
    """Readers' feelings can be seen in a sentence; writers' are so far the same, else noise."""
    chance = np.random.default_rng(0)
    size = 40 * len(STARTS)
    read = chance.uniform(2, 4, (size, 3))
    felt = told * read + (1 - told) * chance.uniform(2, 4, (size, 3))
    splits = ("train", "train", "train", "test")
    sentences = [
        Sentence(
            f"{STARTS[at % len(STARTS)]}{at}",
            splits[at // len(STARTS) % len(splits)],
            "",
            {Perspective.READER: Affect(*read[at]), Perspective.WRITER: Affect(*felt[at])},
        )
        for at in range(size)
    ]
    states = np.concatenate([read, chance.standard_normal((size, 5))], axis=1)
    return Bank.of(sentences, states.astype(np.float32))


def test_each_genre_is_left_out_once_and_nothing_asked_was_learned_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned: list[NDArray[np.intp]] = []

    def none(bank: Bank, arm: sides.Arm, rows: NDArray[np.intp], seed: int) -> object:
        learned.append(rows)
        return dict.fromkeys(Perspective, bank.felt[Perspective.WRITER])

    monkeypatch.setattr(sides, "learned", none)
    whole = bank(1.0)
    found = folds(whole, 1, lambda done, of: None)
    assert [fold.genre for fold in found] == list(GENRES)
    for fold, rows in zip(found, learned[:: len(ARMS)], strict=True):
        assert {*whole.genres[fold.asked["others"]]} == {fold.genre}
        assert fold.genre not in whole.genres[fold.asked["taught"]]
        assert {*whole.splits[fold.asked["taught"]]} == {"test"}
        assert not {*rows} & ({*fold.asked["taught"]} | {*fold.asked["others"]})


def test_what_can_be_seen_is_learned_and_the_side_that_is_noise_is_no_help() -> None:
    whole = bank(0.0)
    found = compared(whole, folds(whole, 1, lambda done, of: None))
    reader = found["others: reader"]
    assert reader["reader"]["r"]["value"] > 0.8
    assert reader["writer"]["against its own side alone"]["high"] < 0  # surely worse
    assert reader["reader"]["against its own side alone"] == {"value": 0, "low": 0, "high": 0}
    assert reader["n"] == len(whole.states)
    assert table(found).row_count == len(ARMS)


def test_the_same_seed_learns_the_same() -> None:
    whole, rows = bank(0.5), np.arange(0, 200)
    once, again, other = (sides.learned(whole, ARMS[-1], rows, seed) for seed in (1, 1, 2))
    assert np.array_equal(once[Perspective.READER], again[Perspective.READER])
    assert not np.array_equal(once[Perspective.READER], other[Perspective.READER])


def test_a_sentence_that_is_drawn_twice_counts_twice() -> None:
    chance = np.random.default_rng(1)
    said, felt = chance.standard_normal((2, 6, 3)).astype(np.float32)
    drawn = [0, 0, 2, 3, 5, 5]
    (r,) = likeness(said, felt, np.array([[2.0, 0, 1, 1, 0, 2]]))
    straight = [np.corrcoef(said[drawn, at], felt[drawn, at])[0, 1] for at in range(3)]
    assert r == pytest.approx(np.mean(straight), abs=1e-5)


@pytest.mark.slow
def test_the_packaged_network_reads_sentences_once(tmp_path: Path) -> None:
    import csv

    from typer import Typer
    from typer.testing import CliRunner

    rows = [
        (f"{start}{at}", split, f"I am {word} today, number {at}.", mood)
        for start in STARTS[:2]
        for at, split in enumerate(("train", "train", "train", "test", "test", "test"))
        for word, mood in (("so happy", 4.0 + at / 100), ("so sad", 2.0 - at / 100))
    ]
    for name in ("emobank", "reader", "writer"):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "split", "V", "A", "D", "text"])
            for place, (key, split, text, mood) in enumerate(rows):
                writer.writerow([f"{key}_{place}", split, mood, mood, mood, text])
    app = Typer()
    app.command()(sides.main)
    asked = ["--emobank", str(tmp_path), "--out", str(tmp_path / "out"), "--seeds", "1"]
    assert CliRunner().invoke(app, asked).exit_code == 0
    found = json.loads((tmp_path / "out" / "sides.json").read_text())["sides"]
    assert found["others: writer"]["writer"]["r"]["value"] > 0.8
    (states,) = (tmp_path / "out").glob("states-*.npy")
    read = states.stat().st_mtime_ns
    assert CliRunner().invoke(app, asked).exit_code == 0
    assert states.stat().st_mtime_ns == read
