"""Words that a reply shares with its reference, as benchmarks of replies count them.

BLEU is by sentence with smoothing method 1, over NLTK's tokens of the lower-cased text; sentences
are found untaught, so that a full stop after an abbreviation is a token of its own. ROUGE-L is F1
without stemming. METEOR has no WordNet here: it knows words and stems, but no synonyms, and is not
to be compared with figures that do.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from nltk.tokenize import NLTKWordTokenizer
from nltk.tokenize.punkt import PunktSentenceTokenizer
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from nltk.translate.meteor_score import single_meteor_score
from rouge_score.rouge_scorer import RougeScorer


class _NoSynonyms:
    """What METEOR asks of a WordNet, answered with nothing."""

    def synsets(self, word: str) -> list[Any]:
        return []


def bleu4(reply: str, reference: str) -> float:
    if not reply.strip():
        return 0.0
    smooth = SmoothingFunction().method1
    return float(sentence_bleu([_tokens(reference)], _tokens(reply), smoothing_function=smooth))


def rouge_l(reply: str, reference: str) -> float:
    return float(_rouge().score(reference, reply)["rougeL"].fmeasure)


def meteor(reply: str, reference: str) -> float:
    words = reply.lower().split()
    if not words:
        return 0.0
    return float(single_meteor_score(reference.lower().split(), words, wordnet=_NoSynonyms()))


MEASURES = {"bleu4": bleu4, "rouge_l": rouge_l, "meteor_nosyn": meteor}


def overlap(pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """The mean over replies and their references of each measure, from 0 to 1; silence is 0."""
    return {
        name: round(sum(measure(*pair) for pair in pairs) / max(1, len(pairs)), 4)
        for name, measure in MEASURES.items()
    }


def _tokens(text: str) -> list[str]:
    words = NLTKWordTokenizer()
    parts = PunktSentenceTokenizer().tokenize(text.lower())
    return [token for part in parts for token in words.tokenize(part)]


@cache
def _rouge() -> Any:
    return RougeScorer(["rougeL"], use_stemmer=False)
