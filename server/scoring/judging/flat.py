"""The words of a reply again, in the voice that spoke it, with nothing planned for it."""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

from models.protocols import Speaker
from models.types import AudioChunk
from server.scoring.exchange import Exchange
from server.scoring.score import Unscored
from server.sessions.format import ModelUsed

NO_VOICE = "the voice that spoke is not here"
BACKEND = "hibari"
OWN_VOICE = "heart"  # the one that is shipped; another would have to be fetched
MOST_LETTERS = 2000


class FlatVoices:
    """Loaded when first needed, since most scoring never does."""

    def __init__(self) -> None:
        self._flat: Speaker | None = None

    def said(self, exchange: Exchange) -> AudioChunk:
        """What was heard of the reply, spoken flatly."""
        speaker = exchange.conversation.session.models.get("speaker")
        if speaker is None or speaker.backend != BACKEND or _voice(speaker) != OWN_VOICE:
            raise Unscored(NO_VOICE)
        words = exchange.reply_words()
        if len(words) > MOST_LETTERS:
            raise Unscored("the reply is too long to be said again")
        # A thread of its own, since whoever scores may be in an event loop already.
        with ThreadPoolExecutor(1) as thread:
            chunks = thread.submit(asyncio.run, _spoken(self._voice(), words)).result()
        if not chunks:
            raise Unscored("nothing in the reply can be spoken")
        return AudioChunk.join(chunks)

    def _voice(self) -> Speaker:
        if self._flat is None:
            from models.speaker_hibari import Hibari
            from server.arena.flat_voice import FlatVoice

            self._flat = FlatVoice(Hibari())
        return self._flat


async def _spoken(voice: Speaker, words: str) -> list[AudioChunk]:
    """Clause by clause, as live replies are."""
    from models.clauses import clauses
    from models.style import PLAIN

    chunks: list[AudioChunk] = []
    async with aclosing(clauses(_whole(words))) as parts:
        async for clause in parts:
            async with aclosing(voice.speak(clause, PLAIN)) as spoken:
                chunks += [chunk.audio async for chunk in spoken]
    return chunks


async def _whole(words: str) -> AsyncGenerator[str, None]:
    yield words


def _voice(speaker: ModelUsed) -> str:
    return str(speaker.options.get("voice", OWN_VOICE))
