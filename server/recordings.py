"""A recording someone sends: read whatever its format, and cut where nobody speaks."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import soundfile

from models.audio import Resampler
from models.protocols import VoiceActivity
from models.types import EAR_RATE, FRAME, AudioChunk, Samples
from server.http_refusals import Refusal

LONGEST_SEC = 30 * 60
BLOCK = 1 << 16  # frames read at a time
VOICED = 0.4  # probability from which a frame belongs to speech
SILENCE = round(0.6 * EAR_RATE / FRAME)  # frames after which a stretch has ended
MARGIN = EAR_RATE // 5  # samples kept around speech
MOST = 29 * EAR_RATE // FRAME  # frames in one stretch: with its margins, below 30 s
TURN = 50  # frames heard in one go
GAP = 6  # frames; 0.2 s, a gap between words


@dataclass(frozen=True, slots=True)
class Stretch:
    """Speech between two silences, and where in the recording it begins."""

    start_sec: float
    audio: AudioChunk

    @property
    def end_sec(self) -> float:
        return self.start_sec + self.audio.duration


def read(file: BinaryIO) -> Generator[Samples, None, None]:
    """The recording as the ear hears it, one channel at EAR_RATE, piece by piece.

    Between any two pieces another recording may have its turn in the same thread.
    """
    try:
        with soundfile.SoundFile(file) as sound:
            resampler = Resampler(sound.samplerate, EAR_RATE)
            # What a file says of its length may be wrong: it is counted, too.
            left = LONGEST_SEC * sound.samplerate
            while len(block := sound.read(BLOCK, dtype="float32", always_2d=True)):
                if (left := left - len(block)) < 0:
                    raise Refusal(
                        413,
                        f"The recording is longer than {LONGEST_SEC // 60} minutes.",
                        "recording_too_long",
                        "file",
                    )
                yield _sound(resampler.push(block.mean(axis=1)))
            yield _sound(resampler.flush())
    except soundfile.LibsndfileError as error:
        raise Refusal(
            400,
            "The file cannot be read as sound; send WAV, FLAC, MP3, or Ogg with Vorbis or Opus.",
            "invalid_file_format",
            "file",
        ) from error


def _sound(samples: Samples) -> Samples:
    """The samples, whatever impossible values the file had."""
    return np.nan_to_num(samples).clip(-1, 1)


def stretches(recording: AudioChunk, hear: VoiceActivity) -> Generator[Stretch | None, None, None]:
    """The speech in a recording, in stretches of less than 30 s.

    None comes between them every TURN frames: then another recording may have its turn.
    """
    samples = recording.samples
    spare = -len(samples) % FRAME
    frames = np.pad(samples, (0, spare)).reshape(-1, FRAME)
    begin: int | None = None
    spoken = 0  # frames up to the end of the last voiced one
    cut = 0  # samples up to the end of the last stretch

    def stretch(first: int, end: int) -> Stretch:
        start = max(first * FRAME - MARGIN, cut)
        return Stretch(start / EAR_RATE, AudioChunk(samples[start:end]))

    for number, frame in enumerate(frames, 1):
        if number % TURN == 0:
            yield None
        if hear(frame) >= VOICED:
            begin = number - 1 if begin is None else begin
            spoken = number
        if begin is None:
            continue
        if number - spoken >= SILENCE or number == len(frames):
            end = min(spoken * FRAME + MARGIN, len(samples))
            yield stretch(begin, end)
            begin, cut = None, end
        elif number - begin >= MOST:
            middle = begin + MOST // 2
            end = (middle + _quietest(frames[middle:number])) * FRAME
            yield stretch(begin, end)
            begin, cut = end // FRAME, end


def _quietest(frames: Samples) -> int:
    """The middle of the quietest gap."""
    energy = np.square(frames).sum(axis=1)
    around = np.convolve(energy, np.ones(GAP, np.float32), "valid")
    return int(around.argmin()) + GAP // 2
