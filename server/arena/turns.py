"""The turn a round is about: a recording somebody sends, or one from a recorded session."""

import io

import numpy as np
import soundfile

from models.audio import Resampler, decode_pcm16
from models.types import WIRE_RATE, Samples
from server.client import voiced_frames
from server.consent import Consent
from server.http_refusals import Refusal
from server.recording.permitted import permitted
from server.sessions.exchanges import KINDS, turns
from server.sessions.library import Library

LONGEST_SEC = 60
BLOCK = 1 << 16  # frames read at a time
FULL_SCALE = 32_768.0


def read(data: bytes, *, raw: bool) -> Samples:
    """One channel at WIRE_RATE; `raw` is PCM16 at that rate. Blocking."""
    samples = _raw(data) if raw else _decoded(data)
    if len(samples) > LONGEST_SEC * WIRE_RATE:
        raise _too_long()
    if not len(voiced_frames(samples)):
        raise Refusal(400, "No voice can be heard in it.", "no_words")
    return samples


def recorded(library: Library, session_id: str, item_id: str) -> tuple[Samples, Consent]:
    """What a person said in a session, and what they allow to be kept of it. Blocking."""
    session = library.session(session_id)
    file = session.file()
    held = permitted(file)
    if file.state not in ("finished", "repaired") or not (held.audio and held.research):
        message = "A turn is compared only if its sound is kept, and kept for research, too."
        raise Refusal(409, message, "consent_missing")
    said = [each for each in turns(file, session.lines(KINDS)) if each.role == "user"]
    for turn in said:
        if turn.item_id == item_id and turn.spoken:
            end = min(turn.end, turn.start + LONGEST_SEC * WIRE_RATE)
            return session.cut(turn.start, end)[:, 0].astype(np.float32) / FULL_SCALE, held
    message = "The person said nothing of that name in this session."
    raise Refusal(404, message, "turn_not_found", "item_id")


def _raw(data: bytes) -> Samples:
    if len(data) % 2:
        raise Refusal(400, "Half a sample is left over.", "invalid_file_format")
    return decode_pcm16(data)


def _decoded(data: bytes) -> Samples:
    pieces: list[Samples] = []
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as sound:
            resampler = Resampler(sound.samplerate, WIRE_RATE)
            # What a file says of its length may be wrong: it is counted.
            left = LONGEST_SEC * sound.samplerate
            while len(block := sound.read(BLOCK, dtype="float32", always_2d=True)):
                if (left := left - len(block)) < 0:
                    raise _too_long()
                pieces.append(resampler.push(block.mean(axis=1)))
            pieces.append(resampler.flush())
    except soundfile.LibsndfileError as error:
        message = "It cannot be read as sound; send WAV, FLAC, MP3, Ogg, or PCM16 as audio/pcm."
        raise Refusal(400, message, "invalid_file_format") from error
    return np.nan_to_num(np.concatenate(pieces)).clip(-1, 1)


def _too_long() -> Refusal:
    return Refusal(413, f"One turn may last {LONGEST_SEC} seconds.", "recording_too_long")
