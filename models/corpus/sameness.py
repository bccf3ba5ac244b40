"""How much a set of texts repeats itself."""

import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

OPENING = 3  # words
SAMPLED = 200  # texts compared with one another for self-BLEU: all would take hours


def words(text: str) -> list[str]:
    return re.findall(r"[\w']+", text.lower())


def grams(text: str, size: int) -> list[tuple[str, ...]]:
    said = words(text)
    return [tuple(said[at : at + size]) for at in range(len(said) - size + 1)]


def distinct(texts: Iterable[str], size: int) -> float:
    """The share of runs of so many words that are like no other."""
    counts = Counter(gram for text in texts for gram in grams(text, size))
    return len(counts) / max(1, counts.total())


def openings(texts: Sequence[str], size: int = OPENING) -> Counter[str]:
    """How often texts begin with the same words."""
    return Counter(" ".join(words(text)[:size]) for text in texts)


def self_bleu(texts: Sequence[str], sampled: int = SAMPLED, seed: int = 0) -> float:
    """How well each text is told by the others, by BLEU-4: 0 not at all, 1 word for word."""
    chosen = random.Random(seed).sample(list(texts), min(sampled, len(texts)))
    split = [words(text) for text in chosen]
    smooth = SmoothingFunction().method1
    scores: list[float] = [
        sentence_bleu(split[:at] + split[at + 1 :], text, smoothing_function=smooth)
        for at, text in enumerate(split)
        if text
    ]
    return sum(scores) / max(1, len(scores))
