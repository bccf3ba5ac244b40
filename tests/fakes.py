"""Stand-ins that show what a test is about: words by loudness, and models that wait."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from models.errors import BackendError
from models.perceiver_off import unknown
from models.percept import Percept
from models.standin import StandinSpeaker
from models.style import Style
from models.types import EAR_RATE, FRAME, AudioChunk, SpokenChunk, Turn

SPEECH, HUM, COUGH = 0.3, 0.2, 0.1  # levels of the test's tones


def loudest(audio: AudioChunk) -> float:
    """The level of the test's noise where it is loudest, as it was before it was resampled."""
    frames = audio.samples[: len(audio.samples) // FRAME * FRAME].reshape(-1, FRAME)
    passed = 0.8  # of the noise's amplitude, below the ear's 7.6 kHz of its 12
    return float(np.sqrt((frames**2).mean(axis=1).max(initial=0.0))) / passed


class SaysByLevel:
    """A Transcriber: a loud tone is speech, a softer one a hum, a soft one no words at all."""

    def __init__(self, speech: str = "please tell me more") -> None:
        self.speech = speech
        self.asked = 0

    async def transcribe(self, audio: AudioChunk) -> str:
        self.asked += 1
        level = loudest(audio)
        if level > (SPEECH + HUM) / 2:
            return self.speech
        return "Mm-hmm." if level > (HUM + COUGH) / 2 else ""


class Reciter:
    """A Responder that always has twenty words to say, and knows how many are listening."""

    def __init__(self) -> None:
        self.open = 0
        self.asked: list[list[Turn]] = []
        self.read: list[str] = []  # what it was only to read, ahead of time

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        if max_tokens == 1:
            self.read.append(dialogue[-1].text)
            return
        self.asked.append([turn for turn in dialogue if turn.role != "system"])
        self.open += 1
        try:
            for number in range(1, 21):
                await asyncio.sleep(0)
                yield f"w{number} "
        finally:
            self.open -= 1


class Mute:
    """A Speaker that makes no sound until it may."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.may_speak = asyncio.Event()

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        self.asked.set()
        await self.may_speak.wait()
        async for chunk in StandinSpeaker().speak(clause, style):
            yield chunk


class Hesitant:
    """A TurnJudge that is told what to think."""

    def __init__(self, *verdicts: float) -> None:
        self.verdicts = list(verdicts)
        self.asked = 0

    async def finished(self, audio: AudioChunk) -> float:
        self.asked += 1
        return self.verdicts.pop(0) if len(self.verdicts) > 1 else self.verdicts[0]


def known(**dimensions: Any) -> Percept:
    """A percept in which only these are known, each under its field's name."""
    nothing = unknown(1.0)
    named = {"nonverbal" if name == "events" else name for name in dimensions}
    return replace(
        nothing, **dimensions, unknown=tuple(n for n in nothing.unknown if n not in named)
    )


@dataclass(frozen=True, slots=True)
class Brought:
    """What a perceiver was brought to listen to."""

    attention: "Sad"
    seconds: float
    words: str


class Sadness:
    """A Perceiver that hears everybody sad, takes the time it is given, and fails if told to."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.may_join = asyncio.Event()  # once it has the words
        self.may_join.set()
        self.joins = asyncio.Event()  # it has begun to
        self.given_up = asyncio.Event()
        self.error: BackendError | None = None
        self.brought: list[Brought] = []

    def attend(self) -> "Sad":
        return Sad(self)

    def times(self, *, joined: bool) -> list[float]:
        """How many seconds it was brought each time, with words or without."""
        return [brought.seconds for brought in self.brought if bool(brought.words) == joined]


@dataclass(eq=False, slots=True)
class Sad:
    perceiver: Sadness
    busy: int = 0

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self.perceive(audio)

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        assert audio.rate == EAR_RATE
        assert not self.busy, "it is not asked while it still listens"
        self.perceiver.brought.append(Brought(self, audio.duration, words))
        self.busy += 1
        try:
            await self.perceiver.may_answer.wait()
            if words:
                self.perceiver.joins.set()
                await self.perceiver.may_join.wait()
            if self.perceiver.error:
                raise self.perceiver.error
        except asyncio.CancelledError:
            self.perceiver.given_up.set()
            raise
        finally:
            self.busy -= 1
        return replace(known(emotion={"sad": 0.9, "neutral": 0.1}), seconds=audio.duration)


class Scripted:
    """A Responder that goes on from what a reply begins with, as it was told."""

    def __init__(self, *tokens: str, after: Mapping[str, str] | None = None) -> None:
        self._tokens = tokens
        self._after = after or {}
        self.asked: list[Sequence[Turn]] = []
        self.open = 0

    async def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        self.asked.append(dialogue)
        self.open += 1
        try:
            begun = dialogue[-1].text if dialogue[-1].role == "assistant" else ""
            for end, rest in self._after.items():
                if begun.endswith(end):
                    yield rest
                    return
            for token in self._tokens:
                await asyncio.sleep(0)
                yield token
        finally:
            self.open -= 1
