"""Which of several ways to go on fits the plan best."""

import re
from collections.abc import Sequence

from models.perception.words import shared_encoder
from models.thinking.guards import apologises, pretends, refuses, stale
from models.thinking.plan import ReplyPlan, Strategy
from models.worker import Worker

NEAR = 0.4  # in meaning to what was said, to be preferred to a written sentence
ECHO = 0.9  # so near is only what was said, once more
LONGEST = 22  # words
FITS = 0.1  # what a question is worth where one is planned

# A small model that speaks of itself, or quotes, has lost the thread.
_ODD = re.compile(r"""\bI\b|(?<!tell )(?<!let )\bme\b|\bus\b|["“”]""")


class Ranking:
    """A sentence encoder in its own thread, asked how near sentences are to each other."""

    def __init__(self) -> None:
        self._encoder = shared_encoder()
        self._worker = Worker("ranking")

    async def best(
        self, plan: ReplyPlan, words: str, candidates: Sequence[str], recent: Sequence[str]
    ) -> str | None:
        """The best that may be said at all; None where a written sentence would do better."""
        decent = [one for one in candidates if acceptable(one, plan, recent)]
        if not decent:
            return None
        matter = " ".join(words.split()[-40:])
        nearness = await self._worker.run(lambda: self._encoder.nearness(matter, decent))
        asks = Strategy.QUESTION in plan.strategies
        scores = {
            one: near + FITS * (asks and one.endswith("?"))
            for one, near in zip(decent, nearness, strict=True)
            if NEAR <= near < ECHO
        }
        return max(scores, key=lambda one: scores[one], default=None)

    def close(self) -> None:
        self._worker.close()


def acceptable(sentence: str, plan: ReplyPlan, recent: Sequence[str]) -> bool:
    """Whether a sentence may be said: whole, short, honest, and not said before."""
    words = sentence.split()
    return (
        2 < len(words) <= LONGEST
        and re.search(r"[.!?]$", sentence) is not None
        and not _ODD.search(sentence)
        and not (refuses(sentence) or pretends(sentence) or stale(sentence))
        and not (apologises(sentence) and apologises(plan.acknowledgement))
        and all(sentence not in said for said in recent)
    )
