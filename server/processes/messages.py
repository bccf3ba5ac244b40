"""What goes between a front and the model process: a JSON head, and sound as it is."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import TypeAdapter

from models.percept import Percept
from models.style import Style
from models.types import AudioChunk, SpokenChunk, Token, Turn

SIZES = Struct("<II")  # bytes of the head, and of what follows it
MOST_HEAD = 16 * 1024 * 1024
MOST_BODY = 512 * 1024 * 1024
BUFFER = 1 << 20

_PERCEPT: TypeAdapter[Percept] = TypeAdapter(Percept)
_STYLE: TypeAdapter[Style] = TypeAdapter(Style)


class Unreadable(Exception):
    """Not a message of ours."""


@dataclass(slots=True)
class Message:
    """The head names what is in it; arrays lie one behind the other in the body."""

    head: dict[str, Any] = field(default_factory=dict)
    body: bytes = b""

    def packed(self) -> bytes:
        head = orjson.dumps(self.head)
        return b"".join((SIZES.pack(len(head), len(self.body)), head, self.body))


async def receive(reader: asyncio.StreamReader) -> Message:
    """The next one; IncompleteReadError where the far end has gone."""
    head, body = sizes(await reader.readexactly(SIZES.size))
    return opened(await reader.readexactly(head), await reader.readexactly(body))


def sizes(prefix: bytes) -> tuple[int, int]:
    head, body = SIZES.unpack(prefix)
    if head > MOST_HEAD or body > MOST_BODY:
        raise Unreadable(f"a message of {head} and {body} bytes")
    return head, body


def opened(head: bytes, body: bytes) -> Message:
    try:
        told = orjson.loads(head)
    except ValueError as error:
        raise Unreadable("a head that is no JSON") from error
    if not isinstance(told, dict):
        raise Unreadable("a head that names nothing")
    return Message(told, body)


# --- each of the nouns, there and back. What orjson writes of a dataclass, pydantic reads.


def of_sound(sound: AudioChunk, **more: Any) -> Message:
    return Message({"rate": sound.rate, **more}, array_bytes(sound.samples))


def sound_in(message: Message) -> AudioChunk:
    return AudioChunk(array_in(message), int(message.head["rate"]))


def array_bytes(array: NDArray[np.float32]) -> bytes:
    return np.ascontiguousarray(array, "<f4").tobytes()


def array_in(message: Message) -> NDArray[np.float32]:
    """Its own copy: whoever gets sound may write into it."""
    if len(message.body) % 4:
        raise Unreadable("a piece of a number")
    return np.frombuffer(message.body, "<f4").astype(np.float32)


def of_percept(percept: Percept) -> Message:
    return Message({"percept": percept})


def percept_in(message: Message) -> Percept:
    return _PERCEPT.validate_python(message.head["percept"])


def of_clause(clause: str, style: Style) -> Message:
    return Message({"clause": clause, "style": style})


def clause_in(message: Message) -> tuple[str, Style]:
    return str(message.head["clause"]), _STYLE.validate_python(message.head["style"])


def of_spoken(chunk: SpokenChunk) -> Message:
    return of_sound(chunk.audio, text=chunk.text)


def spoken_in(message: Message) -> SpokenChunk:
    return SpokenChunk(sound_in(message), str(message.head["text"]))


def of_dialogue(dialogue: Sequence[Turn], max_tokens: int) -> Message:
    """Sound and all: a piece of the body for each turn that has any."""
    turns: list[dict[str, Any]] = []
    body: list[bytes] = []
    for turn in dialogue:
        told: dict[str, Any] = {"role": turn.role, "text": turn.text, "percept": turn.percept}
        if turn.audio is not None:
            body.append(array_bytes(turn.audio.samples))
            told |= {"rate": turn.audio.rate, "bytes": len(body[-1])}
        turns.append(told)
    return Message({"turns": turns, "max_tokens": max_tokens}, b"".join(body))


def dialogue_in(message: Message) -> tuple[list[Turn], int]:
    turns: list[Turn] = []
    at = 0
    for told in message.head["turns"]:
        audio = None
        if (size := told.get("bytes")) is not None:
            audio = sound_in(Message(told, message.body[at : at + size]))
            at += size
        percept = told["percept"] and _PERCEPT.validate_python(told["percept"])
        turns.append(Turn(told["role"], told["text"], percept, audio))
    return turns, int(message.head["max_tokens"])


def of_token(token: str) -> Message:
    weighed = {"logprob": token.logprob} if isinstance(token, Token) else {}
    return Message({"token": str(token), **weighed})


def token_in(message: Message) -> str:
    text, logprob = str(message.head["token"]), message.head.get("logprob")
    return text if logprob is None else Token(text, float(logprob))
