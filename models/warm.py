"""Using every model once, so that the first person to speak does not wait for caches to fill."""

from contextlib import aclosing

import numpy as np

from models.protocols import Models
from models.types import EAR_RATE, FRAME, AudioChunk, Turn


async def warm(models: Models) -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, 2 * EAR_RATE).astype(np.float32)
    models.voice_detector.open()(noise[:FRAME])
    await models.turn_judge.finished(AudioChunk(noise))
    await models.transcriber.transcribe(AudioChunk(noise))
    await models.perceiver.attend().perceive(AudioChunk(noise), "Hello.")
    async with aclosing(models.responder.respond([Turn("user", "Hello.")], 4)) as tokens:
        async for _ in tokens:
            pass
    async with aclosing(models.speaker.speak("Hello there.", 1.0)) as chunks:
        async for _ in chunks:
            pass
