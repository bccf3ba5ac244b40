"""Whether a turn may be a child's: asked only where nothing of one may be kept."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from models.audio import resample
from models.protocols import Perceiver
from models.thinking.noticing import is_child
from models.types import EAR_RATE, WIRE_RATE, AudioChunk, Samples
from server.private_log import where

log = logging.getLogger(__name__)

PATIENCE_SEC = 20.0


async def may_be_child(
    perceiver: Perceiver, voice: Samples, heard: Iterable[Mapping[str, Any]] = ()
) -> bool:
    """By the server's own ear, and by what systems heard; yes also where that cannot be told."""
    if any(is_child(each.get("age", {}), each.get("unknown", ())) for each in heard):
        return True
    try:
        async with asyncio.timeout(PATIENCE_SEC):
            audio = await asyncio.to_thread(resample, voice, WIRE_RATE, EAR_RATE)
            percept = await perceiver.attend().perceive(AudioChunk(audio, EAR_RATE))
    except Exception as error:
        log.error("a turn could not be listened to, and is not kept: %s", where(error))
        return True
    return not percept.age or "age" in percept.unknown or is_child(percept.age, percept.unknown)
