"""Sound at the border: wire formats to float32 and back, and sample rates."""

import wave
from io import BytesIO

import numpy as np
import soxr
from numpy.typing import NDArray

from models.types import Samples

_FULL_SCALE = 32_768.0  # the 16-bit value that float 1.0 stands for

# G.711 cuts each half of the range into 8 segments of 16 steps; a code's low seven bits are
# segment and step. All values below are on the 16-bit scale.
_Levels = NDArray[np.int64]
_CODES = np.arange(128, dtype=np.int64)
_SEGMENT, _STEP = _CODES // 16, _CODES % 16

_MULAW_FLOORS = 4 * (((16 + _STEP) << (_SEGMENT + 1)) - 33)
_MULAW_LEVELS = 4 * (((33 + 2 * _STEP) << _SEGMENT) - 33)

_ALAW_SHIFT = np.maximum(_SEGMENT, 1) + 3  # the two lowest segments have steps of one size
_ALAW_FLOORS = (np.where(_SEGMENT > 0, 16, 0) + _STEP) << _ALAW_SHIFT
_ALAW_LEVELS = _ALAW_FLOORS + 2 ** (_ALAW_SHIFT - 1)


def decode_pcm16(data: bytes) -> Samples:
    """Little-endian 16-bit samples; raises ValueError when half a sample is left over."""
    # A power of two: to multiply is as exact as to divide, and makes no copy in between.
    decoded: Samples = np.frombuffer(data, "<i2") * np.float32(1 / _FULL_SCALE)
    return decoded


def encode_pcm16(samples: Samples) -> bytes:
    """Little-endian 16-bit samples; what is too loud is clipped, never wrapped round."""
    return _scaled(samples).astype("<i2").tobytes()


def decode_mulaw(data: bytes) -> Samples:
    """G.711 µ-law, one byte a sample."""
    return _MULAW_DECODED[np.frombuffer(data, np.uint8)]


def encode_mulaw(samples: Samples) -> bytes:
    """G.711 µ-law, one byte a sample."""
    return _companded(samples, _MULAW_FLOORS, positive=0xFF, negative=0x7F)


def decode_alaw(data: bytes) -> Samples:
    """G.711 A-law, one byte a sample."""
    return _ALAW_DECODED[np.frombuffer(data, np.uint8)]


def encode_alaw(samples: Samples) -> bytes:
    """G.711 A-law, one byte a sample."""
    return _companded(samples, _ALAW_FLOORS, positive=0xD5, negative=0x55)


def resample(samples: Samples, from_rate: int, to_rate: int) -> Samples:
    """The whole of a sound at another rate."""
    if from_rate == to_rate:
        return samples
    out: Samples = soxr.resample(samples, from_rate, to_rate)
    return out


class Resampler:
    """A sound at another rate, piece by piece: the pieces join without a seam."""

    def __init__(self, from_rate: int, to_rate: int) -> None:
        self._rates = (from_rate, to_rate)
        self._stream = self._open()

    def push(self, samples: Samples) -> Samples:
        """What can be given out so far; the filter holds back some milliseconds."""
        return self._run(samples, last=False)

    def flush(self) -> Samples:
        """The rest. The next push begins a new sound."""
        rest = self._run(np.zeros(0, np.float32), last=True)
        self._stream = self._open()
        return rest

    def _open(self) -> soxr.ResampleStream | None:
        from_rate, to_rate = self._rates
        if from_rate == to_rate:
            return None
        return soxr.ResampleStream(from_rate, to_rate, 1, dtype="float32")

    def _run(self, samples: Samples, *, last: bool) -> Samples:
        if self._stream is None:
            return samples
        out: Samples = self._stream.resample_chunk(samples, last=last)
        return out


def _scaled(samples: Samples) -> Samples:
    """Whole numbers on the 16-bit scale, as floats, in an array of our own."""
    scaled: Samples = samples * np.float32(_FULL_SCALE)
    np.rint(scaled, out=scaled)
    np.maximum(scaled, np.float32(-_FULL_SCALE), out=scaled)
    return np.minimum(scaled, np.float32(_FULL_SCALE - 1), out=scaled)


def _companded(samples: Samples, floors: _Levels, *, positive: int, negative: int) -> bytes:
    scaled = _scaled(samples)
    steps = np.searchsorted(floors, np.abs(scaled), side="right") - 1
    codes = steps.astype(np.uint8) ^ np.where(scaled < 0, negative, positive).astype(np.uint8)
    return codes.tobytes()


def _decoded(levels: _Levels, *, positive: int, negative: int) -> Samples:
    table = np.empty(256, np.float32)
    table[_CODES ^ positive] = levels / _FULL_SCALE
    table[_CODES ^ negative] = -levels / _FULL_SCALE
    return table


_MULAW_DECODED = _decoded(_MULAW_LEVELS, positive=0xFF, negative=0x7F)
_ALAW_DECODED = _decoded(_ALAW_LEVELS, positive=0xD5, negative=0x55)


def wav(samples: Samples, rate: int) -> bytes:
    """A whole WAV file, PCM16, mono."""
    file = BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(encode_pcm16(samples))
    return file.getvalue()
