"""Sound as files: one turn, or all of a session."""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from models.types import WIRE_RATE

BLOCK = WIRE_RATE * 10  # samples handled at once of a long session


def flac(samples: NDArray[np.int16]) -> bytes:
    """The samples as a FLAC file."""
    file = io.BytesIO()
    soundfile.write(file, samples, WIRE_RATE, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def write_wav(path: Path, samples: NDArray[np.int16]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, samples, WIRE_RATE, format="WAV", subtype="PCM_16")


def write_long_wav(path: Path, blocks: Iterable[NDArray[np.int16]], channels: int) -> None:
    """The same for sound that is too long to hold."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with soundfile.SoundFile(path, "w", WIRE_RATE, channels, "PCM_16", format="WAV") as file:
        for block in blocks:
            file.write(block)


@contextmanager
def all_or_none() -> Iterator[list[Path]]:
    """Files noted in the list are removed again if it fails before the end."""
    made: list[Path] = []
    try:
        yield made
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        raise
