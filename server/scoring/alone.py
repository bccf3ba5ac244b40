"""One at a time in a folder of results: two would write over one another."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.recording.lock import Busy, Lock
from server.recording.whole_files import PRIVATE_FOLDER
from server.scoring.errors import ScoringError


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """The folder, made where it is missing, to oneself; ScoringError where another has it.

    However the process ends, the next one finds the folder free.
    """
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        lock = Lock.take(folder)
    except OSError as error:
        raise ScoringError(f"{folder} cannot be written to: {error.strerror}") from None
    except Busy:
        raise ScoringError(
            f"another run is writing to {folder}: wait for it, or give --out another folder"
        ) from None
    try:
        yield
    finally:
        lock.release(folder)
