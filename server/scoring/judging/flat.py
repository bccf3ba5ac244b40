"""The words of a reply again, in the voice that spoke it, with nothing planned for it."""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing

import httpx2
import orjson

from models.errors import BackendError
from models.protocols import Speaker
from models.registry import Choice, build
from models.types import AudioChunk
from models.weights import WeightsError
from server.scoring.exchange import Exchange
from server.scoring.judging.hosts import beside_us
from server.scoring.score import Passing, Unscored
from server.sessions.format import ModelUsed

ROLE = "speaker"
NOT_TOLD = "the record names no voice"
NO_VOICE = "the voice that spoke is not here"
ELSEWHERE = "the voice that spoke is on another machine"
ANOTHER = "the voice here is another version of the one that spoke"
NO_ANSWER = "failed: the voice did not speak"
MOST_LETTERS = 2000


class FlatVoices:
    """Built when first needed, since most scoring never does; the last one is kept."""

    def __init__(self) -> None:
        self._last: tuple[bytes, Speaker | Unscored] | None = None

    def said(self, exchange: Exchange) -> AudioChunk:
        """What was heard of the reply, spoken flatly."""
        used = exchange.conversation.session.models.get(ROLE)
        if used is None:
            raise Unscored(NOT_TOLD)
        words = exchange.reply_words()
        if len(words) > MOST_LETTERS:
            raise Unscored("the reply is too long to be said again")
        voice = self._voice(used)
        try:
            # A thread of its own, since whoever scores may be in an event loop already.
            with ThreadPoolExecutor(1) as thread:
                chunks = thread.submit(asyncio.run, _spoken(voice, words)).result()
        except BackendError as error:
            raise Passing(NO_ANSWER) from error
        if not chunks:
            raise Unscored("nothing in the reply can be spoken")
        return AudioChunk.join(chunks)

    def _voice(self, used: ModelUsed) -> Speaker:
        key = orjson.dumps(used.model_dump(), option=orjson.OPT_SORT_KEYS)
        if self._last is None or self._last[0] != key:
            self._close()
            self._last = key, _found(used)
        voice = self._last[1]
        if isinstance(voice, Unscored):
            raise voice
        return voice

    def _close(self) -> None:
        if self._last is not None and (close := getattr(self._last[1], "close", None)):
            close()


def _found(used: ModelUsed) -> Speaker | Unscored:
    """The Speaker of the record, or why there is none."""
    # A record may come from anywhere: what was said goes to no machine that it names.
    url = used.options.get("url")
    if url is not None and not _is_ours(str(url)):
        return Unscored(ELSEWHERE)
    choice = Choice(used.backend, used.options)
    try:
        _refuse_fetching(choice)
        if not _is_same(used, choice):
            return Unscored(ANOTHER)
        voice: Speaker = build(ROLE, choice)
        return voice
    except (BackendError, WeightsError, ValueError, TypeError, OSError):  # options are as recorded
        return Unscored(NO_VOICE)


def _is_ours(url: str) -> bool:
    try:
        return beside_us(httpx2.URL(url))
    except httpx2.InvalidURL:
        return False


def _refuse_fetching(choice: Choice) -> None:
    """OSError where hibari would go to the hub for a voice: scoring downloads nothing."""
    if choice.backend == "hibari":
        from hibari.voices import voice_path

        voice_path(choice.options.get("voice", "heart"), download_missing=False)


def _is_same(used: ModelUsed, choice: Choice) -> bool:
    """Whether no file of the voice here is known to be another than the one that spoke."""
    from models.provenance import describe

    here = {file.name: file.sha256 for file in describe({ROLE: choice})[ROLE].files}
    return all(
        file.sha256 == known
        for file in used.files
        if file.sha256 and (known := here.get(file.name))
    )


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
