"""Using each role once, with as little as will do: to warm it, or to see whether it works."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing

import numpy as np

from models.protocols import Models
from models.style import PLAIN
from models.types import EAR_RATE, FRAME, AudioChunk, Turn

NOISE = np.random.default_rng(0).normal(0, 0.01, 2 * EAR_RATE).astype(np.float32)
HELLO = Turn("user", "Hello.", audio=AudioChunk(NOISE))


async def _detect(models: Models) -> None:
    models.voice_detector.open()(NOISE[:FRAME])


async def _judge(models: Models) -> None:
    await models.turn_judge.finished(AudioChunk(NOISE))


async def _transcribe(models: Models) -> None:
    await models.transcriber.transcribe(AudioChunk(NOISE))


async def _perceive(models: Models) -> None:
    await models.perceiver.attend().perceive(AudioChunk(NOISE), "Hello.")


async def _think(models: Models) -> None:
    await models.thinker.think([HELLO], models.responder)


async def _respond(models: Models) -> None:
    async with aclosing(models.responder.respond([HELLO], 4)) as tokens:
        async for _ in tokens:
            pass


async def _speak(models: Models) -> None:
    async with aclosing(models.speaker.speak("Hello there.", PLAIN)) as chunks:
        async for _ in chunks:
            pass


TRIALS: Mapping[str, Callable[[Models], Awaitable[None]]] = {
    "voice_detector": _detect,
    "turn_judge": _judge,
    "transcriber": _transcribe,
    "perceiver": _perceive,
    "thinker": _think,
    "responder": _respond,
    "speaker": _speak,
}
