"""Kokoro as voice: its network run directly, on the phonemes hibari makes, which are its own."""

from collections.abc import AsyncGenerator, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np
from hibari import Hibari as Phonemes
from hibari.g2p import G2P

from models.errors import BackendError
from models.inference import session
from models.pauses import AUDIBLE, GAP_SEC, STOP_SEC, goes_on
from models.speakable import spoken
from models.style import Style
from models.types import WIRE_RATE, AudioChunk, Samples, SpokenChunk
from models.weights import cache_dir
from models.worker import Worker

ROLE = "speaker"
SOURCE = "onnx-community/Kokoro-82M-v1.0-ONNX"
NETWORK = "onnx/model.onnx"
ACCENTS = {"a": "American", "b": "British"}  # a voice's name begins with its language

SLOWEST, FASTEST = 0.5, 1.5
LEAD = WIRE_RATE // 200  # 5 ms kept before the first sound, faded in
TAIL = WIRE_RATE // 50  # 20 ms kept after the last, faded out


class Kokoro:
    """A Speaker on Kokoro-82M: pace, loudness and pauses of a style are kept."""

    def __init__(self, folder: str = "", voice: str = "af_heart", threads: int = 4) -> None:
        """Loads network and voice.

        Args:
            folder: with the files of SOURCE; the cache's own if empty.
            voice: one of its English ones: af_heart, am_michael, bf_emma, bm_george, ...
            threads: of computation; one alone barely keeps up with speech.
        """
        files = Path(folder) if folder else cache_dir() / "kokoro"
        if voice[:1] not in ACCENTS:
            raise BackendError(ROLE, f"Kokoro's voice {voice!r} does not speak English")
        self._rows = _read_voice(files, voice)  # a style for every number of phonemes
        self._network = session(_present(files, NETWORK), threads)
        self._phonemes = Phonemes(g2p=G2P(british=voice[0] == "b"))
        self._worker = Worker("kokoro")

    async def speak(self, clause: str, style: Style) -> AsyncGenerator[SpokenChunk, None]:
        """Chunks whose texts joined are the clause; none if there is nothing to say."""
        try:
            chunks = await self._worker.run(partial(self._say, clause, style))
        except Exception as error:  # the network's or the dictionary's: any text may come here
            raise BackendError(ROLE, "The voice could not speak this clause.") from error
        for chunk in chunks:
            yield chunk

    def close(self) -> None:
        self._worker.close()

    def _say(self, clause: str, style: Style) -> list[SpokenChunk]:
        pace = min(max(style.pace, SLOWEST), FASTEST)
        said = "".join(reading for _, reading in spoken(clause))
        pause = (GAP_SEC if goes_on(said) else STOP_SEC) * style.pause / pace
        sounds = [self._sound(line, pace) for line in self._phonemes.phonemize(said)]
        samples = np.concatenate(
            [np.zeros(0, np.float32), *(trimmed(sound, pause) for sound in sounds)]
        )
        if not len(samples):
            return []
        samples = np.clip(samples * np.float32(10 ** (style.loudness / 20)), -1, 1)
        return list(self._cut(clause, samples))

    def _sound(self, line: str, pace: float) -> Samples:
        ids = self._phonemes.ids(line)  # begins and ends with a pad
        feed = {
            "input_ids": np.asarray([ids], np.int64),
            "style": self._rows[min(len(ids) - 2, len(self._rows) - 1)],
            "speed": np.asarray([pace], np.float32),
        }
        (sound,) = self._network.run(None, feed)
        samples: Samples = np.asarray(sound, np.float32).reshape(-1)
        return samples

    def _cut(self, clause: str, samples: Samples) -> Iterator[SpokenChunk]:
        """A chunk for each word: the network does not tell when, so by its phonemes' number."""
        words, readings = zip(*spoken(clause), strict=True)
        sizes = [1 + sum(map(len, self._phonemes.phonemize(reading))) for reading in readings]
        ends = [len(samples) * done // sum(sizes) for done in accumulate(sizes)]
        for word, start, end in zip(words, [0, *ends], ends, strict=False):
            yield SpokenChunk(AudioChunk(samples[start:end], WIRE_RATE), word)


def trimmed(samples: Samples, pause_sec: float) -> Samples:
    """From just before the first sound to just after the last, and then the pause."""
    audible = np.flatnonzero(np.abs(samples) > AUDIBLE)
    if not len(audible):
        return np.zeros(0, np.float32)
    start, end = max(int(audible[0]) - LEAD, 0), int(audible[-1]) + TAIL
    speech = samples[start:end].copy()
    before = int(audible[0]) - start
    speech[:before] *= np.linspace(0, 1, before, dtype=np.float32)
    after = len(speech) - int(audible[-1] - start) - 1
    speech[len(speech) - after :] *= np.linspace(1, 0, after, dtype=np.float32)
    return np.concatenate([speech, np.zeros(round(pause_sec * WIRE_RATE), np.float32)])


def _read_voice(files: Path, voice: str) -> Samples:
    rows = np.fromfile(_present(files, f"voices/{voice}.bin"), np.float32)
    if not len(rows) or len(rows) % 256:
        raise BackendError(ROLE, f"voices/{voice}.bin in {files} is no voice of Kokoro's")
    styles: Samples = rows.reshape(-1, 1, 256)
    return styles


def _present(files: Path, name: str) -> Path:
    if not (files / name).is_file():
        raise BackendError(
            ROLE,
            f"{SOURCE} is not on this machine: "
            f"run .venv/bin/hf download {SOURCE} {name} --local-dir {files}",
        )
    return files / name
