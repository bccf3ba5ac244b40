"""Using every model once, so that the first person to speak does not wait for caches to fill."""

import logging
from contextlib import aclosing

import numpy as np

from models.errors import BackendError
from models.protocols import Models
from models.style import PLAIN
from models.types import EAR_RATE, FRAME, AudioChunk, Turn

log = logging.getLogger(__name__)


async def warm(models: Models) -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, 2 * EAR_RATE).astype(np.float32)
    models.voice_detector.open()(noise[:FRAME])
    await models.turn_judge.finished(AudioChunk(noise))
    await models.transcriber.transcribe(AudioChunk(noise))
    await models.perceiver.attend().perceive(AudioChunk(noise), "Hello.")
    hello = Turn("user", "Hello.", audio=AudioChunk(noise))
    try:
        async with aclosing(models.responder.respond([hello], 4)) as tokens:
            async for _ in tokens:
                pass
    except BackendError as error:  # one that is served elsewhere may still be on its way
        log.warning("the reply model is not ready: %s", error)
    async with aclosing(models.speaker.speak("Hello there.", PLAIN)) as chunks:
        async for _ in chunks:
            pass
