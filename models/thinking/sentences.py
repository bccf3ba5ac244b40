"""A reply model's words, a whole sentence at a time, and how sure it was of each."""

import re
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from statistics import fmean

from models.protocols import Responder
from models.types import Token, Turn

SENTENCE = re.compile(r"""\s*(.+?[.!?]["'”’)]*)(?=\s|$)""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    whole: bool  # rather than broken off where the model had to stop
    sureness: float | None  # the mean log-probability of its tokens; None if that was not told

    @property
    def asks(self) -> bool:
        return self.text.rstrip("\"'”’)").endswith("?")


class Weighing:
    """A Responder that remembers how likely another found its own words."""

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._tokens: list[Token] = []

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        async with aclosing(self._responder.respond(dialogue, max_tokens)) as tokens:
            async for token in tokens:
                if isinstance(token, Token):
                    self._tokens.append(token)
                yield token

    def sureness(self, begun: str = "") -> float | None:
        """The mean since it was last asked for, but for what the next sentence has begun with."""
        end, left = len(self._tokens), len(begun)
        while end and left > 0:
            end -= 1
            left -= len(self._tokens[end])
        weights = [token.logprob for token in self._tokens[:end]]
        self._tokens = self._tokens[end:]
        return fmean(weights) if weights else None


async def sentences(
    words: AsyncIterable[str], weighing: Weighing | None = None
) -> AsyncGenerator[Sentence, None]:
    """Each as soon as the next begins; what was said of how sure the model was goes with it."""

    def sureness(begun: str = "") -> float | None:
        return weighing.sureness(begun) if weighing else None

    text = ""
    async for word in words:
        text += word
        while (found := SENTENCE.match(text)) and found.end() < len(text):
            text = text[found.end() :]
            yield Sentence(found[1], True, sureness(text.lstrip()))
    if text.strip():
        yield Sentence(text.strip(), bool(SENTENCE.match(text)), sureness())
