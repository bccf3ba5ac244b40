"""A stretch of a recording as a WAV file, on its way out."""

import struct
from collections.abc import Generator
from typing import Literal

from models.types import WIRE_RATE
from server.http_refusals import Refusal
from server.sessions.store import StoredSession
from server.views.stretch import COLUMN, opened

Side = Literal["user", "reply", "both"]
MOST_SEC = 120
BLOCK = 1 << 16  # samples of each channel at a time


def clip(
    session: StoredSession, start: int, end: int | None, side: Side
) -> Generator[bytes, None, None]:
    """First its header, by which the answer is known to be a good one; blocking code."""
    with opened(session) as recording:
        begin, end = recording.stretch(start, end)
        if end - begin > MOST_SEC * WIRE_RATE:
            message = f"end will not do: a clip is {MOST_SEC} seconds at most."
            raise Refusal(400, message, "invalid_value", "end")
        channels = len(COLUMN) if side == "both" else 1
        yield _header(end - begin, channels)
        for block in recording.blocks(begin, end, BLOCK):
            yield (block if side == "both" else block[:, COLUMN[side]]).astype("<i2").tobytes()


def _header(samples: int, channels: int) -> bytes:
    frame = 2 * channels
    data = samples * frame
    about = (16, 1, channels, WIRE_RATE, WIRE_RATE * frame, frame, 16)
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + data, b"WAVE", b"fmt ", *about, b"data", data
    )
