"""The roles as a front has them: the work is done in the model process.

Every call is a connection of its own, so that giving one up is hanging up, a model process that
dies breaks off what it was doing and nothing else, and the next call finds its successor.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from models.due import due
from models.errors import BackendError
from models.percept import Percept
from models.protocols import Attention
from models.style import Style
from models.types import AudioChunk, SpokenChunk, Turn
from server.processes import messages
from server.processes.messages import BUFFER, Message, Unreadable

GONE = "The models are being started again; please try again in a moment."
MORE = b"+"
THERE_SEC = 2.0

Connected = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Line:
    """To the model process."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def there(self) -> bool:
        """Whether somebody answers."""
        try:
            async with asyncio.timeout(THERE_SEC):
                await self.ask("model", "card", Message())
        except (BackendError, TimeoutError):
            return False
        return True

    async def ask(self, role: str, do: str, question: Message) -> Message:
        async with aclosing(self.stream(role, do, question)) as items:
            async for item in items:
                return item
        raise BackendError(role, GONE)

    async def stream(self, role: str, do: str, question: Message) -> AsyncGenerator[Message, None]:
        # The clock is the machine's, and the same in all its processes.
        question.head |= {"role": role, "do": do, "due": due()}
        async with self._connected(role) as (reader, writer):
            writer.write(question.packed())
            while True:
                try:
                    item = await messages.receive(reader)
                except (OSError, asyncio.IncompleteReadError, Unreadable) as error:
                    raise BackendError(role, GONE) from error
                if item.head.get("end"):
                    _raise_what_failed(item)
                    return
                yield item
                if not writer.is_closing():  # else reading tells that it has gone
                    writer.write(MORE)

    @asynccontextmanager
    async def _connected(self, role: str) -> AsyncGenerator[Connected, None]:
        try:
            reader, writer = await asyncio.open_unix_connection(self.path, limit=BUFFER)
        except OSError as error:
            raise BackendError(role, GONE) from error
        try:
            yield reader, writer
        finally:
            writer.close()


def _raise_what_failed(end: Message) -> None:
    if sentence := end.head.get("sentence"):
        raise BackendError(str(end.head["role"]), str(sentence))


class RemoteJudge:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def finished(self, audio: AudioChunk) -> float:
        told = await self._line.ask("turn_judge", "finished", messages.of_sound(audio))
        return float(told.head["chance"])


class RemoteTranscriber:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def transcribe(self, audio: AudioChunk) -> str:
        told = await self._line.ask("transcriber", "transcribe", messages.of_sound(audio))
        return str(told.head["text"])


class RemotePerceiver:
    """With the name of its weights and their licence, which pages show."""

    def __init__(self, line: Line, card: dict[str, Any]) -> None:
        self._line = line
        self.weights: str | None = card.get("weights")
        self.licence: str | None = card.get("licence")

    def attend(self) -> Attention:
        return RemoteAttention(self._line)


class RemoteAttention:
    def __init__(self, line: Line) -> None:
        self._line = line
        self._name = uuid4().hex

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        return await self._ask("perceive", messages.of_sound(audio, words=words))

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self._ask("glance", messages.of_sound(audio))

    async def _ask(self, do: str, question: Message) -> Percept:
        question.head["attention"] = self._name
        return messages.percept_in(await self._line.ask("perceiver", do, question))


class RemoteResponder:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        # Those that hear are served elsewhere, and asked by the fronts themselves.
        silent = [Turn(turn.role, turn.text, turn.percept) for turn in dialogue]
        asked = messages.of_dialogue(silent, max_tokens)
        async with aclosing(self._line.stream("responder", "respond", asked)) as items:
            async for item in items:
                yield messages.token_in(item)


class RemoteSpeaker:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        asked = messages.of_clause(clause, style)
        async with aclosing(self._line.stream("speaker", "speak", asked)) as items:
            async for item in items:
                yield messages.spoken_in(item)
