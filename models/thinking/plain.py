"""Answering without thinking first: the reply model alone, for tests and comparison."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from models import prompt
from models.protocols import Responder
from models.thinking.noticing import notice
from models.thinking.plan import Intent, ReplyPlan, Said
from models.thinking.remarks import remark
from models.types import Turn

NOTHING = ReplyPlan(Said(Intent.SHARES, "an answer"))


class PlainThinker:
    """A Thinker that plans nothing: the model reads what was heard, and its words are passed on."""

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan:
        return NOTHING

    def prompt(self, instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
        return prompt.messages(instructions, dialogue)

    async def answer(
        self,
        plan: ReplyPlan,
        instructions: str,
        dialogue: Sequence[Turn],
        responder: Responder,
        max_tokens: int,
    ) -> AsyncGenerator[str, None]:
        heard = remark(notice(dialogue[-1].percept)) if dialogue else ""
        asked = prompt.messages(instructions, dialogue, note=f"[{heard}]" if heard else "")
        async with aclosing(responder.respond(asked, max_tokens)) as tokens:
            async for token in tokens:
                yield token
