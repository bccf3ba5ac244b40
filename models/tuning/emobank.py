"""EmoBank: sentences with the valence, arousal and dominance their writers and readers are given.

EmoBank is by Buechel and Hahn (EACL 2017), CC BY-SA 4.0. It is not part of this project: adapters
that learned from it are kept in files of their own, under the same licence.
"""

import csv
import random
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from models.percept import Affect

# A step of each scale in words: from the left edge on. People hardly ever leave the middle of a
# scale from 1 to 5: the words follow how often each value is given, not the scale's halves.
EDGES = (2.6, 2.85, 3.15, 3.4)
VALENCE = ("unhappy", "rather unhappy", "neither happy nor unhappy", "rather happy", "happy")
AROUSAL = ("calm", "rather calm", "neither calm nor excited", "rather excited", "excited")
DOMINANCE = (
    "helpless",
    "rather helpless",
    "neither in charge nor helpless",
    "rather in charge",
    "in charge",
)

OTHER = "other"
GENRES: Mapping[str, Sequence[str]] = tomllib.loads(
    Path(__file__).with_name("genres.toml").read_text("utf-8")
)


class Perspective(StrEnum):
    """Whose emotion."""

    WRITER = "writer"
    READER = "reader"


class Sides(StrEnum):
    """Whose emotion is learned."""

    BOTH = "both"
    WRITER = "writer"
    READER = "reader"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Sentence:
    id: str
    split: str
    text: str
    felt: Mapping[Perspective, Affect]


def check(folder: Path) -> None:
    """Before anything is made for it: a FileNotFoundError in plain words if it is not there."""
    for name in ("emobank", *Perspective):
        if not (folder / f"{name}.csv").is_file():
            raise FileNotFoundError(f"{folder} is not EmoBank's folder: it has no {name}.csv")


def read(folder: Path) -> list[Sentence]:
    """All sentences that both sides have rated."""
    check(folder)
    sides = {side: _ratings(folder / f"{side}.csv") for side in Perspective}
    with (folder / "emobank.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Sentence(
            row["id"], row["split"], row["text"].strip(), {s: sides[s][row["id"]] for s in sides}
        )
        for row in rows
        if all(row["id"] in ratings for ratings in sides.values())
    ]


def _ratings(file: Path) -> dict[str, Affect]:
    with file.open(encoding="utf-8", newline="") as rows:
        return {
            row["id"]: Affect(float(row["V"]), float(row["A"]), float(row["D"]))
            for row in csv.DictReader(rows)
        }


def in_words(felt: Affect) -> str:
    said = ", ".join(
        names[step(value)]
        for names, value in (
            (VALENCE, felt.valence),
            (AROUSAL, felt.arousal),
            (DOMINANCE, felt.dominance),
        )
    )
    return f"{said[0].upper()}{said[1:]}."


def step(value: float) -> int:
    """Which of the five words a value gets."""
    return sum(value >= edge for edge in EDGES)


def genre(sentence: str) -> str:
    """By the beginning of a sentence's id."""
    return next(
        (name for name, starts in GENRES.items() if sentence.startswith(tuple(starts))), OTHER
    )


def of_genres(sentences: Sequence[Sentence], names: Collection[str]) -> list[Sentence]:
    """Those of these genres alone; of all if none is named."""
    if unknown := [name for name in names if name not in (*GENRES, OTHER)]:
        known = ", ".join((*GENRES, OTHER))
        raise ValueError(f"EmoBank has no genre {unknown[0]!r}; it has: {known}.")
    return [each for each in sentences if not names or genre(each.id) in names]


def sampled(sentences: Sequence[Sentence], split: str, most: int, seed: int) -> list[Sentence]:
    """Some of a split's sentences, by chance, in their own order."""
    found = [each for each in sentences if each.split == split]
    chosen = set(random.Random(seed).sample(range(len(found)), min(most, len(found))))
    return [each for at, each in enumerate(found) if at in chosen]
