"""EmoBank by likelihood: the likeliest of five words for each scale, of the writer and the reader.

The answer is formed as it is taught, a scale at a time, each after what was chosen before. Ways to
go on are weighed whole and with the sign that ends them, for one may be another's beginning.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.percept import Affect
from models.tuning.emobank import AROUSAL, DOMINANCE, VALENCE, Perspective, Sentence, genre, step
from models.tuning.evaluation.intervals import figure
from models.tuning.evaluation.weighing import Weigher
from models.tuning.examples import ASKED, UNDERSTAND
from models.types import Turn

FEWEST = 3  # sentences of which a correlation can be told
SCALES: Mapping[str, tuple[Sequence[str], Callable[[Affect], float]]] = {
    "valence": (VALENCE, lambda felt: felt.valence),
    "arousal": (AROUSAL, lambda felt: felt.arousal),
    "dominance": (DOMINANCE, lambda felt: felt.dominance),
}


@dataclass(frozen=True, slots=True)
class Guess:
    """One sentence on one scale: the step that was chosen, and what people felt."""

    genre: str
    chosen: int
    expected: float  # the mean of the steps, each as likely as it was found to be
    felt: float

    @property
    def right(self) -> float:
        return float(self.chosen == step(self.felt))


def guesses(
    sentences: Sequence[Sentence],
    side: Perspective,
    weigher: Weigher,
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, list[Guess]]:
    found: dict[str, list[Guess]] = {scale: [] for scale in SCALES}
    for number, sentence in enumerate(sentences, 1):
        turns = [Turn("system", UNDERSTAND), Turn("user", f"{sentence.text} {ASKED[side]}")]
        begun = ""
        for scale, (words, of) in SCALES.items():
            ways = [_going_on(begun, word, scale) for word in words]
            weights = weigher.endings(turns, begun, ways)
            chosen = max(range(len(ways)), key=weights.__getitem__)
            begun += ways[chosen]
            felt = of(sentence.felt[side])
            found[scale].append(Guess(genre(sentence.id), chosen, _mean_step(weights), felt))
        report(number)
    return found


def _mean_step(weights: Sequence[float]) -> float:
    """Who always chooses the middle may still lean to where it should: this tells."""
    chances = np.exp(np.array(weights) - max(weights))
    return float(chances @ np.arange(len(chances)) / chances.sum())


def _going_on(begun: str, word: str, scale: str) -> str:
    said = f" {word}" if begun else f"{word[0].upper()}{word[1:]}"
    return said + ("." if scale == "dominance" else ",")


def figures(found: Mapping[str, Sequence[Guess]], seed: int) -> dict[str, Any]:
    """For each scale overall and by genre: how often right, and how well it goes along."""
    return {
        scale: {**_counted(rows, seed), "genres": _by_genre(rows, seed)}
        for scale, rows in found.items()
    }


def _by_genre(rows: Sequence[Guess], seed: int) -> dict[str, Any]:
    genres = defaultdict(list)
    for row in rows:
        genres[row.genre].append(row)
    return {name: _counted(some, seed) for name, some in sorted(genres.items())}


def _counted(rows: Sequence[Guess], seed: int) -> dict[str, Any]:
    steps = Counter(step(row.felt) for row in rows)
    return {
        "accuracy": figure([[row.right] for row in rows], seed),
        "commonest": round(max(steps.values(), default=0) / max(1, len(rows)), 4),
        "r": pearson([row.expected for row in rows], [row.felt for row in rows]),
    }


def pearson(some: Sequence[float], others: Sequence[float]) -> float | None:
    """None where one side never changes, or there are too few."""
    if len(some) < FEWEST or len({*some}) == 1 or len({*others}) == 1:
        return None
    return round(float(np.corrcoef(some, others)[0, 1]), 4)
