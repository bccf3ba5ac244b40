"""Session audio to and from what the client speaks: PCM16, µ-law or A-law."""

from models.audio import (
    Resampler,
    decode_alaw,
    decode_mulaw,
    encode_alaw,
    encode_mulaw,
    encode_pcm16,
)
from models.types import WIRE_RATE, Samples
from server.errors import ClientError
from server.session_config import AudioFormat

TELEPHONE_RATE = 8_000


class Decoder:
    """The client's audio as PCM16 at WIRE_RATE; stateful, for one format."""

    def __init__(self, kind: AudioFormat) -> None:
        self.kind = kind
        self._resampler = Resampler(TELEPHONE_RATE, WIRE_RATE)

    @property
    def growth(self) -> int:
        """Bytes that come out for one that goes in."""
        return 1 if self.kind.type == "audio/pcm" else 2 * WIRE_RATE // TELEPHONE_RATE

    def __call__(self, data: bytes) -> bytes:
        match self.kind.type:
            case "audio/pcm":
                if len(data) % 2:
                    raise ClientError(
                        "invalid_value", "PCM16 audio has an even number of bytes.", "audio"
                    )
                return data
            case "audio/pcmu":
                return encode_pcm16(self._resampler.push(decode_mulaw(data)))
            case "audio/pcma":
                return encode_pcm16(self._resampler.push(decode_alaw(data)))


class Encoder:
    """Reply audio as the client wants it; stateful, for one reply."""

    def __init__(self, kind: AudioFormat) -> None:
        self._kind = kind
        self._resampler = Resampler(WIRE_RATE, TELEPHONE_RATE)

    def __call__(self, samples: Samples) -> bytes:
        match self._kind.type:
            case "audio/pcm":
                return encode_pcm16(samples)
            case "audio/pcmu":
                return encode_mulaw(self._resampler.push(samples))
            case "audio/pcma":
                return encode_alaw(self._resampler.push(samples))
