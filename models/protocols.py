"""The verbs of the dialogue. A backend is any class with the right method."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from models.percept import Percept
from models.types import AudioChunk, Samples, SpokenChunk, Turn


class VoiceActivity(Protocol):
    """Probability that one FRAME at EAR_RATE holds a voice. Stateful: one per conversation."""

    def __call__(self, frame: Samples) -> float: ...


class VoiceDetector(Protocol):
    """One shared model that opens a VoiceActivity for every conversation."""

    def open(self) -> VoiceActivity: ...


class TurnJudge(Protocol):
    """Probability that the speaker, now silent, has finished. Audio ends with the silence."""

    async def finished(self, audio: AudioChunk) -> float: ...


class Transcriber(Protocol):
    """The words of an utterance; empty when there are none."""

    async def transcribe(self, audio: AudioChunk) -> str: ...


class Attention(Protocol):
    """One stretch of speech, listened to as it grows.

    Each call brings the whole stretch so far, at EAR_RATE; what has been worked out of its
    beginning is kept. Once they are known, the words that were said in it may be brought along. A
    call may be given up, and the next one made while a thread is still busy with it. A glance is
    for while it still grows: cheaper, and allowed to be a second behind.
    """

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept: ...

    async def glance(self, audio: AudioChunk) -> Percept: ...


class Perceiver(Protocol):
    """One shared model that opens an Attention for every stretch of speech."""

    def attend(self) -> Attention: ...


# Streaming verbs are plain `def`: an async generator function *returns* its
# generator, it is not a coroutine that returns one.
class Responder(Protocol):
    """The reply's text, a token or so at a time. Closing the stream stops the model."""

    def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]: ...


class Speaker(Protocol):
    """The sound of one clause, opening without silence; speed 1.0 is the voice's own."""

    def speak(self, clause: str, speed: float) -> AsyncGenerator[SpokenChunk, None]: ...


@dataclass(frozen=True, slots=True)
class Models:
    """One backend for each role, shared by all conversations."""

    voice_detector: VoiceDetector
    turn_judge: TurnJudge
    transcriber: Transcriber
    perceiver: Perceiver
    responder: Responder
    speaker: Speaker
    close: Callable[[], None]
