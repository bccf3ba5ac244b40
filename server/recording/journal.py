"""One channel while it is recorded: raw PCM16, written anywhere, silent wherever it was not."""

import os
from collections.abc import Iterable
from pathlib import Path

from server.recording.entries import SAMPLE_BYTES, Hush, Sound
from server.recording.whole_files import PRIVATE_FILE

ZEROS = bytes(1 << 16)


def write(path: Path, entries: Iterable[Sound | Hush]) -> None:
    """Carry out what is to be written, in order, with as few writes as it takes."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        for entry in joined(entries):
            if isinstance(entry, Sound):
                _write_all(handle, entry.pcm, entry.position * SAMPLE_BYTES)
            else:
                _hush(handle, entry.begin * SAMPLE_BYTES, entry.end * SAMPLE_BYTES)
    finally:
        os.close(handle)


def joined(entries: Iterable[Sound | Hush]) -> list[Sound | Hush]:
    """The same with sounds that follow each other as one."""
    result: list[Sound | Hush] = []
    run: list[Sound] = []
    end = 0
    for entry in entries:
        if run and not (isinstance(entry, Sound) and entry.position == end):
            result.append(_one(run))
            run = []
        if isinstance(entry, Sound):
            run.append(entry)
            end = entry.position + len(entry.pcm) // SAMPLE_BYTES
        else:
            result.append(entry)
    if run:
        result.append(_one(run))
    return result


def samples(path: Path) -> int:
    """How far a journal reaches; 0 if there is none."""
    try:
        return path.stat().st_size // SAMPLE_BYTES
    except FileNotFoundError:
        return 0


def _one(run: list[Sound]) -> Sound:
    if len(run) == 1:
        return run[0]
    return Sound(run[0].channel, run[0].position, b"".join(sound.pcm for sound in run))


def _hush(handle: int, begin: int, end: int) -> None:
    size = os.fstat(handle).st_size
    if end >= size:  # what is not there is silent, and the recording does not grow by it
        if begin < size:
            os.ftruncate(handle, begin)
        return
    for at in range(begin, end, len(ZEROS)):
        _write_all(handle, ZEROS[: min(len(ZEROS), end - at)], at)


def _write_all(handle: int, data: bytes, at: int) -> None:
    left = memoryview(data)
    while left:
        written = os.pwrite(handle, left, at)
        left, at = left[written:], at + written
