"""A data set's clips as they are played: read whatever their headers say."""

from io import BytesIO
from pathlib import Path
from struct import pack_into, unpack_from

import numpy as np
import soundfile

from models.audio import resample
from models.types import WIRE_RATE, Samples
from server.scoring.bench.errors import ItemError

AUDIBLE = 10 ** (-50 / 20)  # full scale is 1


def read_clip(file: Path) -> Samples:
    """Mono at WIRE_RATE."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise ItemError(f"its audio cannot be read: {error.strerror}") from None
    try:
        samples, rate = soundfile.read(BytesIO(mended(data)), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError:
        raise ItemError("its audio is in no form that can be read") from None
    if not len(samples) or not np.isfinite(samples).all():
        raise ItemError("its audio holds no sound")
    return resample(np.ascontiguousarray(samples.mean(axis=1)), rate, WIRE_RATE)


def mended(data: bytes) -> bytes:
    """A WAV file whose header tells the length there is; what was streamed often tells another.

    A length that reaches beyond the end, or that is nought, or after which no further chunk
    follows, is wrong: all that is left is sound.
    """
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        return data
    at = _chunk(data, 12, b"data")
    if at is None:
        return data
    told, left = unpack_from("<I", data, at + 4)[0], len(data) - at - 8
    if 0 < told <= left and _chunks_follow(data, at + 8 + told + told % 2):
        return data
    whole = bytearray(data)
    pack_into("<I", whole, at + 4, left)
    pack_into("<I", whole, 4, len(data) - 8)
    return bytes(whole)


def last_audible(samples: Samples) -> int:
    """Behind the last sample one could hear; all of it where it is never so loud."""
    loud = np.flatnonzero(np.abs(samples) > AUDIBLE)
    return int(loud[-1]) + 1 if len(loud) else len(samples)


def _chunk(data: bytes, at: int, name: bytes) -> int | None:
    while at + 8 <= len(data):
        if data[at : at + 4] == name:
            return at
        size = unpack_from("<I", data, at + 4)[0]
        at += 8 + size + size % 2
    return None


def _chunks_follow(data: bytes, at: int) -> bool:
    """Whether what follows is nothing but whole chunks."""
    while at + 8 <= len(data):
        if not data[at : at + 4].isascii() or not data[at : at + 4].decode().isprintable():
            return False
        size = unpack_from("<I", data, at + 4)[0]
        at += 8 + size + size % 2
    return len(data) - at <= 1
