"""Speech as files: raw and WAV as it is made, the others once all of it is there."""

import asyncio
import io
import struct
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Literal

import numpy as np
import soundfile

from models.audio import encode_pcm16
from models.types import WIRE_RATE, Samples

Format = Literal["mp3", "opus", "flac", "wav", "pcm"]
MEDIA: dict[Format, str] = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
CONTAINERS: dict[Format, tuple[str, str]] = {
    "mp3": ("MP3", "MPEG_LAYER_III"),
    "opus": ("OGG", "OPUS"),
    "flac": ("FLAC", "PCM_16"),
}
UNKNOWN = 0xFFFFFFFF  # a size that readers take for "until the end"
WAV_HEADER = struct.pack(
    "<4sI4s4sIHHIIHH4sI",
    *(b"RIFF", UNKNOWN, b"WAVE", b"fmt ", 16, 1, 1, WIRE_RATE, 2 * WIRE_RATE, 2, 16),
    *(b"data", UNKNOWN),
)


async def encoded(
    speech: AsyncGenerator[Samples, None], form: Format
) -> AsyncGenerator[bytes, None]:
    """The speech's bytes, in order."""
    header = WAV_HEADER if form == "wav" else b""
    async with aclosing(speech):
        if form in CONTAINERS:
            made = [samples async for samples in speech]
            if made:
                yield await asyncio.to_thread(partial(_file, made, *CONTAINERS[form]))
            return
        async for samples in speech:
            yield header + encode_pcm16(samples)
            header = b""


def _file(made: Sequence[Samples], container: str, codec: str) -> bytes:
    file = io.BytesIO()
    with soundfile.SoundFile(
        file, "w", WIRE_RATE, channels=1, format=container, subtype=codec
    ) as sound:
        for samples in made:
            sound.write(np.clip(samples, -1, 1))
    return file.getvalue()
