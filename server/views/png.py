"""Pictures of 256 colours as PNG files."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
INDEXED = 3  # each pixel is the number of a colour
LEVEL = 6  # of compression


def png(pixels: NDArray[np.uint8], colours: NDArray[np.uint8]) -> bytes:
    """`pixels` [height, width] are numbers of `colours` [256, 3]."""
    height, width = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, INDEXED, 0, 0, 0)
    unfiltered = np.zeros((height, width + 1), np.uint8)  # every row begins with its filter: none
    unfiltered[:, 1:] = pixels
    return b"".join(
        [
            SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"PLTE", colours.tobytes()),
            _chunk(b"IDAT", zlib.compress(unfiltered.tobytes(), LEVEL)),
            _chunk(b"IEND", b""),
        ]
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
