"""Every role with an end to patience, and a breaker: a hang ends as a failure does."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TypeVar

from models.breaker import Attempt, Breaker
from models.errors import BackendError, Crowded, Hung, OutOfOrder, UnfitInput
from models.in_line import counted
from models.perceiver_off import Off
from models.percept import Percept
from models.protocols import (
    Attention,
    Models,
    Perceiver,
    Responder,
    Speaker,
    Thinker,
    Transcriber,
    TurnJudge,
    VoiceActivity,
    VoiceDetector,
)
from models.style import Style
from models.thinking.plan import ReplyPlan
from models.types import AudioChunk, Samples, SpokenChunk, Turn
from models.vad_batch import Joinable

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a role may keep us waiting, in seconds. Servers' own limits are mostly shorter.

    A line in which we ourselves let calls wait for their turn has a limit of its own, and takes
    nothing from this.
    """

    first: float  # for the answer, or its beginning
    further: float = 0.0  # between any two pieces of it


PATIENCE: Mapping[str, Patience] = {
    "voice_detector": Patience(0.0),  # called within a frame, so nobody can wait for it
    "turn_judge": Patience(5.0),
    "transcriber": Patience(15.0),
    "perceiver": Patience(10.0),
    "thinker": Patience(40.0, 40.0),  # the reply model works within it
    "responder": Patience(20.0, 10.0),
    "speaker": Patience(15.0, 15.0),
}
NAMES: Mapping[str, str] = {
    "voice_detector": "voice detection",
    "turn_judge": "judge of turns",
    "transcriber": "speech recognition",
    "perceiver": "perception",
    "thinker": "planning of replies",
    "responder": "reply model",
    "speaker": "voice",
}


class Guard:
    """What stands before one role's backend."""

    def __init__(self, role: str, patience: Patience, breaker: Breaker) -> None:
        self._role = role
        self._patience = patience
        self.breaker = breaker

    def enter(self) -> Attempt:
        if attempt := self.breaker.attempt():
            return attempt
        raise OutOfOrder(
            self._role,
            f"The {NAMES[self._role]} is out of order just now; it is tried again by itself.",
        )

    async def call(self, work: Callable[[], Awaitable[T]]) -> T:
        attempt = self.enter()
        try:
            result = await self._within(self._patience.first, work())
        except BaseException as error:
            self._note(attempt, error, alive=False)
            raise
        attempt.succeeded()
        return result

    async def stream(
        self, source: Callable[[], AsyncGenerator[T, None]]
    ) -> AsyncGenerator[T, None]:
        """The source's items; only the time it takes to make them counts."""
        attempt = self.enter()
        within, came = self._patience.first, False
        try:
            async with aclosing(source()) as items:
                while True:
                    try:
                        item = await self._within(within, anext(items))
                    except StopAsyncIteration:
                        break
                    within, came = self._patience.further, True
                    yield item
        except BaseException as error:
            self._note(attempt, error, alive=came)
            raise
        attempt.succeeded()

    async def _within(self, seconds: float, work: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(seconds) as limit:
                with counted(limit, seconds):
                    return await work
        except TimeoutError as error:
            if not limit.expired():  # it is the backend's own, and no hang of ours
                raise
            what = f"The {NAMES[self._role]} did not answer within {seconds:g} seconds."
            raise Hung(self._role, what) from error

    def _note(self, attempt: Attempt, error: BaseException, *, alive: bool) -> None:
        match error:
            case UnfitInput():
                attempt.succeeded()
            case Crowded():
                attempt.left()
            case BackendError() if error.role != self._role:  # of a role that works within ours
                attempt.left()
            case Exception():
                attempt.failed(hung=isinstance(error, Hung))
            case _:  # cancelled, or closed
                attempt.left(alive=alive)


class _Detector:
    def __init__(self, bare: VoiceDetector, breaker: Breaker) -> None:
        self._bare = bare
        self._breaker = breaker

    def open(self) -> VoiceActivity:
        voice = self._bare.open()
        if isinstance(voice, Joinable):
            return _JoinedVoice(voice, voice.soon, self._breaker)
        return _Voice(voice, self._breaker)


class _Voice:
    """Asked for every frame: a failure is noted, and so is the first frame that went well."""

    def __init__(self, bare: VoiceActivity, breaker: Breaker) -> None:
        self._bare = bare
        self._breaker = breaker
        self._well = False

    def __call__(self, frame: Samples) -> float:
        try:
            voice = self._bare(frame)
        except Exception:
            self._breaker.told(well=False)
            raise
        self._went_well()
        return voice

    def _went_well(self) -> None:
        if not self._well:
            self._well = True
            self._breaker.told(well=True)


class _JoinedVoice(_Voice):
    """One that can be asked together with others."""

    def __init__(
        self,
        bare: VoiceActivity,
        soon: Callable[[Samples], "asyncio.Future[float]"],
        breaker: Breaker,
    ) -> None:
        super().__init__(bare, breaker)
        self._soon = soon

    def soon(self, frame: Samples) -> "asyncio.Future[float]":
        answer = self._soon(frame)
        answer.add_done_callback(self._noted)
        return answer

    def _noted(self, answer: "asyncio.Future[float]") -> None:
        if answer.cancelled():
            return
        if answer.exception():
            self._breaker.told(well=False)
        else:
            self._went_well()


@dataclass(frozen=True, slots=True)
class _Judge:
    bare: TurnJudge
    guard: Guard

    async def finished(self, audio: AudioChunk) -> float:
        return await self.guard.call(lambda: self.bare.finished(audio))


@dataclass(frozen=True, slots=True)
class _Transcriber:
    bare: Transcriber
    guard: Guard

    async def transcribe(self, audio: AudioChunk) -> str:
        return await self.guard.call(lambda: self.bare.transcribe(audio))


@dataclass(frozen=True, slots=True)
class _Perceiver:
    bare: Perceiver
    guard: Guard

    def attend(self) -> Attention:
        return _Attention(self.bare.attend(), self.guard)


@dataclass(frozen=True, slots=True)
class _Attention:
    bare: Attention
    guard: Guard

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        return await self.guard.call(lambda: self.bare.perceive(audio, words))

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self.guard.call(lambda: self.bare.glance(audio))


@dataclass(frozen=True, slots=True)
class _Responder:
    bare: Responder
    guard: Guard

    @property
    def hears(self) -> bool:
        return hears(self.bare)

    def respond(self, dialogue: Sequence[Turn], max_tokens: int) -> AsyncGenerator[str, None]:
        return self.guard.stream(lambda: self.bare.respond(dialogue, max_tokens))


@dataclass(frozen=True, slots=True)
class _Thinker:
    bare: Thinker
    guard: Guard

    @property
    def strength(self) -> object:
        return getattr(self.bare, "strength", None)

    async def think(
        self, dialogue: Sequence[Turn], responder: Responder, instructions: str = ""
    ) -> ReplyPlan:
        return await self.guard.call(lambda: self.bare.think(dialogue, responder, instructions))

    def prompt(self, instructions: str, dialogue: Sequence[Turn]) -> list[Turn]:
        return self.bare.prompt(instructions, dialogue)

    def answer(
        self,
        plan: ReplyPlan,
        instructions: str,
        dialogue: Sequence[Turn],
        responder: Responder,
        max_tokens: int,
    ) -> AsyncGenerator[str, None]:
        return self.guard.stream(
            lambda: self.bare.answer(plan, instructions, dialogue, responder, max_tokens)
        )


@dataclass(frozen=True, slots=True)
class _Speaker:
    bare: Speaker
    guard: Guard

    def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        return self.guard.stream(lambda: self.bare.speak(clause, style))


def hears(responder: Responder) -> bool:
    """Whether it takes the sound itself, and can do without the words."""
    return bool(getattr(responder, "hears", False))


def breakers() -> dict[str, Breaker]:
    return {role: Breaker() for role in PATIENCE}


def guarded(
    models: Models,
    kept: Mapping[str, Breaker],
    patience: Mapping[str, Patience] = PATIENCE,
) -> Models:
    """The same models, which none of their users waits for in vain."""
    guards = {role: Guard(role, patience[role], breaker) for role, breaker in kept.items()}
    perceiver = models.perceiver
    if not isinstance(perceiver, Off):  # by which others know that nobody listens
        perceiver = _Perceiver(perceiver, guards["perceiver"])
    return replace(
        models,
        voice_detector=_Detector(models.voice_detector, kept["voice_detector"]),
        turn_judge=_Judge(models.turn_judge, guards["turn_judge"]),
        transcriber=_Transcriber(models.transcriber, guards["transcriber"]),
        perceiver=perceiver,
        thinker=_Thinker(models.thinker, guards["thinker"]),
        responder=_Responder(models.responder, guards["responder"]),
        speaker=_Speaker(models.speaker, guards["speaker"]),
    )
