"""How replies are spoken: how long, how alike, and with what nobody should hear."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from models.corpus.sameness import distinct, openings, self_bleu, words
from models.thinking.guards import circles, pretends, refuses

MOST_SENTENCES = 3  # of a reply that is spoken

_SENTENCE = re.compile(r"[^.!?…]*\w[^.!?…]*(?:[.!?…]+|$)")
_MARKUP = re.compile(r"[*_#`~|<>{}\[\]]|^\s*(?:[-•]|\d+[.)])\s|https?://|[\U0001F300-\U0001FAFF]")


def sentences(text: str) -> int:
    return len(_SENTENCE.findall(text))


def marked(text: str) -> bool:
    """Whether it has signs that are for eyes alone."""
    return bool(_MARKUP.search(text))


def loops(text: str) -> bool:
    """Whether it goes in circles anywhere, not only at its end."""
    said = words(text)
    return any(circles(" ".join(said[:end])) for end in range(2, len(said) + 1))


def manner(replies: Sequence[str], seed: int) -> dict[str, Any]:
    """Means and shares over all replies."""
    opening, times = (openings(replies).most_common(1) or [("", 0)])[0]
    many = max(1, len(replies))

    def share(holds: Callable[[str], bool]) -> float:
        return round(sum(map(holds, replies)) / many, 4)

    return {
        "n": len(replies),
        "words": round(sum(len(words(reply)) for reply in replies) / many, 2),
        "silent": share(lambda reply: not words(reply)),
        "over three sentences": share(lambda reply: sentences(reply) > MOST_SENTENCES),
        "markup": share(marked),
        "loops": share(loops),
        "refuses": share(refuses),
        "pretends": share(pretends),
        "distinct-1": round(distinct(replies, 1), 4),
        "distinct-2": round(distinct(replies, 2), 4),
        "self-BLEU": round(self_bleu(replies, seed=seed), 4),
        "commonest opening": {"words": opening, "share": round(times / many, 4)},
    }
