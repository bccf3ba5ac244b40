"""A stretch of a recording, read a block at a time: an hour of it is never in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO, Literal

import numpy as np
import soundfile
from numpy.typing import NDArray

from models.types import WIRE_RATE
from server.http_refusals import Refusal
from server.sessions.format import AUDIO_FILE
from server.sessions.store import BrokenSession, StoredSession

Channel = Literal["user", "reply"]
COLUMN: dict[Channel, int] = {"user": 0, "reply": 1}
BLOCK = 1 << 18  # samples of each channel at a time
HEADER = 1 << 12  # a FLAC file begins with a checksum of all its samples


@dataclass(frozen=True, slots=True)
class Recording:
    """An open recording."""

    file: soundfile.SoundFile
    samples: int
    mark: str  # another once the recording is another

    def read(self, begin: int, end: int) -> NDArray[np.int16]:
        """Both channels, [samples, 2]."""
        self.file.seek(begin)
        found: NDArray[np.int16] = self.file.read(end - begin, "int16", always_2d=True)
        if len(found) < end - begin:
            raise EOFError("the recording is shorter than it says")
        return found

    def blocks(self, begin: int, end: int, length: int = BLOCK) -> Iterator[NDArray[np.int16]]:
        """From `begin` up to `end`, each of `length` but the last."""
        for at in range(begin, end, length):
            yield self.read(at, min(at + length, end))

    def stretch(self, start: int, end: int | None) -> tuple[int, int]:
        """What was asked for, as far as there is any of it."""
        if start >= self.samples:
            message = f"start will not do: the recording has {self.samples} samples."
            raise Refusal(400, message, "invalid_value", "start")
        if end is not None and end <= start:
            message = "end will not do: it must lie after start."
            raise Refusal(400, message, "invalid_value", "end")
        return start, self.samples if end is None else min(end, self.samples)


@contextmanager
def opened(session: StoredSession) -> Iterator[Recording]:
    """Blocking code; from an object store only what is read comes over."""
    with session.open_audio() as raw:
        mark = _mark(raw)
        try:
            with soundfile.SoundFile(raw) as file:
                if file.samplerate != WIRE_RATE or file.channels != len(COLUMN):
                    raise BrokenSession(f"{AUDIO_FILE} of {session.id} is of another shape")
                yield Recording(file, file.frames, f"{session.id}/{mark}")
        except (soundfile.LibsndfileError, EOFError):
            raise BrokenSession(f"{AUDIO_FILE} of {session.id} cannot be read") from None


def _mark(raw: BinaryIO) -> str:
    begin = raw.read(HEADER)
    raw.seek(0)
    return sha256(begin).hexdigest()[:32]
