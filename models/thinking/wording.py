"""A reply model's words on their way to being said."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from models.protocols import Responder
from models.thinking.guards import unlooped
from models.thinking.plan import REMEMBERED
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
