"""A text as the tokens that BLEU counts: what NLTK's `word_tokenize` makes of it.

That needs a model of sentence ends that is not part of the package. Where NLTK's data folders have
it, it is used. Otherwise the same algorithm runs untaught, with the abbreviations below: a sentence
ends at every other full stop. The two differ only where a full stop stands after an abbreviation
that one of them does not know, and then by one token for two: "approx." or "approx" ".".
"""

from collections.abc import Callable

Tokenize = Callable[[str], list[str]]

ABBREVIATIONS = (
    "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "gen", "col", "capt", "lt", "sgt", "rev",
    "hon", "gov", "sen", "rep", "vs", "no", "vol", "fig", "co", "corp", "inc", "ltd", "ave", "e.g",
    "i.e", "a.m", "p.m", "u.s", "u.k", "u.n", "d.c", "ph.d", "jan", "feb", "aug", "sept", "oct",
    "nov", "dec",
)  # fmt: skip


def tokenizer() -> tuple[str, Tokenize]:
    """With a name that says which it is."""
    from nltk.tokenize import NLTKWordTokenizer, punkt_model_available, word_tokenize
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    if punkt_model_available():
        return "punkt", word_tokenize
    known = PunktParameters()
    known.abbrev_types = set(ABBREVIATIONS)
    sentences, words = PunktSentenceTokenizer(known), NLTKWordTokenizer()

    def tokenize(text: str) -> list[str]:
        return [token for part in sentences.tokenize(text) for token in words.tokenize(part)]

    return "untaught", tokenize
