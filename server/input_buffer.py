"""The audio a client has sent and not yet committed."""

from models.types import WIRE_RATE
from server.errors import ClientError

MAX_SEC = 600
SAMPLE_BYTES = 2
MAX_BYTES = MAX_SEC * WIRE_RATE * SAMPLE_BYTES


class InputBuffer:
    """PCM16 at WIRE_RATE with its place in session time."""

    def __init__(self) -> None:
        self.start = 0  # session position of the first sample kept, had there been no pause since
        self.first = 0  # and its true one
        self._data = bytearray()

    def __len__(self) -> int:
        """Samples kept."""
        return len(self._data) // SAMPLE_BYTES

    @property
    def end(self) -> int:
        return self.start + len(self)

    def check_room(self, more: int) -> None:
        """Refuse so many more bytes before any of them is taken."""
        if len(self._data) + more > MAX_BYTES:
            raise ClientError(
                "input_audio_buffer_full",
                f"The input audio buffer holds at most {MAX_SEC} s; commit or clear it.",
                "audio",
            )

    def append(self, pcm: bytes, end: int) -> None:
        """Keep audio that ends at a session position."""
        if not self._data:
            self.first = end - len(pcm) // SAMPLE_BYTES
        self._data += pcm
        self.start = end - len(self)

    def forget_before(self, position: int) -> None:
        """Let go of audio nobody will ask for."""
        surplus = min(max(0, position - self.start), len(self))
        if surplus:
            del self._data[: surplus * SAMPLE_BYTES]
            self.start += surplus

    def take(self, begin: int, end: int) -> bytes:
        """The audio between two positions; it and all before it leave the buffer."""
        first = max(0, begin - self.start) * SAMPLE_BYTES
        last = max(0, end - self.start) * SAMPLE_BYTES
        taken = bytes(self._data[first:last])
        self.forget_before(end)
        return taken

    def clear(self) -> None:
        self.start = self.end
        self._data.clear()
