"""The verbs of the dialogue. A backend is any class with the right method."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from models.percept import Percept
from models.style import Style
from models.thinking.plan import ReplyPlan
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
    """The reply's text, a token or so at a time. Closing the stream stops the model. Where the
    engine tells how likely it found a token, that is a `models.types.Token`.

    A dialogue that ends with the assistant is one whose reply has begun: the stream goes on from
    there, without repeating it.
    """

    def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]: ...


class Thinker(Protocol):
    """From words and percepts to a plan of the reply, and from the plan to its words."""

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan: ...

    def prompt(self, instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
        """What the responder will be asked, as far as that is known before there is a plan.

        Nothing where it will not be asked at all.
        """
        ...

    def answer(
        self,
        plan: ReplyPlan,
        instructions: str,
        dialogue: Sequence[Turn],
        responder: Responder,
        max_tokens: int,
    ) -> AsyncGenerator[str, None]:
        """The reply's words after the plan's acknowledgement, a token or more at a time."""
        ...


class Speaker(Protocol):
    """The sound of one clause, opening without silence, as nearly in the style as it can."""

    def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]: ...


@dataclass(frozen=True, slots=True)
class Models:
    """One backend for each role, shared by all conversations."""

    voice_detector: VoiceDetector
    turn_judge: TurnJudge
    transcriber: Transcriber
    perceiver: Perceiver
    thinker: Thinker
    responder: Responder
    speaker: Speaker
    close: Callable[[], None]
