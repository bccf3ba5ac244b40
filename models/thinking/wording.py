"""A reply model's words on their way to being said."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from models.protocols import Responder
from models.thinking.guards import pretends, refuses, unlooped
from models.thinking.plan import REMEMBERED
from models.thinking.sentences import Sentence
from models.types import Turn
from models.unmarked import plain


def ours(dialogue: Sequence[Turn]) -> list[str]:
    """Our own last turns, the latest last."""
    return [turn.text for turn in dialogue if turn.role == "assistant"][-REMEMBERED:]


def theirs(dialogue: Sequence[Turn]) -> str:
    """What is to be answered."""
    return next((turn.text for turn in reversed(dialogue) if turn.role == "user"), "")


async def sensible(
    responder: Responder, asked: Sequence[Turn], max_tokens: int
) -> AsyncGenerator[str, None]:
    """The model's own words, without marks and circles."""
    async with (
        aclosing(responder.respond(asked, max_tokens)) as tokens,
        aclosing(plain(tokens)) as marked_off,
        aclosing(unlooped(marked_off)) as words,
    ):
        async for word in words:
            yield word


async def honest(
    found: AsyncGenerator[Sentence, None], most: int | None = None
) -> AsyncGenerator[str, None]:
    """The first sentences, or all, up to one that refuses or pretends."""
    given = 0
    async with aclosing(found):
        async for sentence in found:
            if given == most or dishonest(sentence):
                return
            yield sentence.text
            given += 1


def dishonest(sentence: Sentence) -> bool:
    return refuses(sentence.text) or pretends(sentence.text)
