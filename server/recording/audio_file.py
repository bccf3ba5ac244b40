"""`audio.flac`, made of the two journals, and not believed before it was read back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import soundfile
from numpy.typing import NDArray

from models.types import WIRE_RATE
from server.recording.entries import SAMPLE_BYTES
from server.recording.whole_files import PRIVATE_FILE, part_of, settle
from server.sessions.format import AUDIO_FILE, REPLY_JOURNAL, USER_JOURNAL

BLOCK = 1 << 16  # frames: short enough that other threads are not kept waiting

Frames = NDArray[np.int16]  # [frames, 2]: the user, the reply


class EncodingFailed(OSError):
    """What was written is not what was to be: a full disk, most likely."""


def encode(folder: Path, begin: int, length: int) -> None:
    """Both channels, `length` samples long, and silent before `begin`. The journals stay."""
    part = part_of(folder / AUDIO_FILE)
    part.unlink(missing_ok=True)
    part.touch(PRIVATE_FILE)
    try:
        with _writing(part) as flac:
            for frames in _journals(folder, begin, length):
                flac.write(frames)
        with soundfile.SoundFile(part) as flac:
            for frames in _journals(folder, begin, length):
                if not np.array_equal(_read(flac, len(frames)), frames):
                    raise EncodingFailed("audio.flac does not hold what was recorded")
            if flac.frames != length:
                raise EncodingFailed("audio.flac has not the length of what was recorded")
        settle(part, folder / AUDIO_FILE)
    except (soundfile.LibsndfileError, AssertionError) as error:  # it asserts what it wrote
        raise EncodingFailed("audio.flac could not be written") from error
    finally:
        part.unlink(missing_ok=True)


def frames_in(path: Path) -> int:
    with soundfile.SoundFile(path) as flac:
        return int(flac.frames)


def problems(path: Path, begin: int, length: int) -> Iterator[str]:
    """What is wrong with an `audio.flac` that should be so long, and silent before `begin`."""
    try:
        with soundfile.SoundFile(path) as flac:
            form = (flac.format, flac.subtype, flac.samplerate, flac.channels)
            if form != ("FLAC", "PCM_16", WIRE_RATE, 2):
                yield f"audio.flac is {form}, not 16 bit, {WIRE_RATE} Hz and two channels"
                return
            position, early = 0, False
            while len(frames := _read(flac, BLOCK)):
                early = early or bool(frames[: max(0, begin - position)].any())
                position += len(frames)
    except (soundfile.LibsndfileError, AssertionError):
        yield "audio.flac cannot be read"
        return
    if position != length:
        yield f"audio.flac has {position} samples, session.json says {length}"
    if early:
        yield f"audio.flac is not silent before the consent at {begin}"


def _writing(path: Path) -> Any:
    return soundfile.SoundFile(path, "w", WIRE_RATE, 2, "PCM_16", format="FLAC")


def _read(flac: Any, count: int) -> Frames:
    frames: Frames = flac.read(count, dtype="int16", always_2d=True)
    return frames


def _journals(folder: Path, begin: int, length: int) -> Iterator[Frames]:
    user, reply = _opened(folder / USER_JOURNAL), _opened(folder / REPLY_JOURNAL)
    try:
        for at in range(0, length, BLOCK):
            frames = np.zeros((min(BLOCK, length - at), 2), np.int16)
            for channel, journal in enumerate((user, reply)):
                if journal is not None:
                    pcm = journal.read(len(frames) * SAMPLE_BYTES)
                    sound = np.frombuffer(pcm[: len(pcm) // 2 * 2], "<i2")
                    frames[: len(sound), channel] = sound
            frames[: max(0, begin - at)] = 0
            yield frames
    finally:
        for journal in (user, reply):
            if journal is not None:
                journal.close()


def _opened(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None
