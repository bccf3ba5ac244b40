"""The perceiver: what a voice says beside its words, from our own network and from measurement."""

import logging
from pathlib import Path

from models import weights as store
from models.audio import resample
from models.errors import BackendError
from models.perceiver_off import unknown
from models.percept import Percept
from models.perception.hearing import Hearing
from models.perception.judgement import Evidence, judge
from models.perception.stretch import Measured, Part, Stretch
from models.perception.windows import HIGHEST_RATE, LOWEST_RATE
from models.perception.words import Words
from models.protocols import Attention
from models.types import EAR_RATE, AudioChunk, Samples
from models.vad_silero import SileroDetector
from models.worker import Worker

log = logging.getLogger(__name__)

DEFAULT = Path(__file__).with_name("weights") / "voice.onnx"


def path(weights: str) -> Path:
    """Where the weights of that name lie: shipped, or trained on this machine."""
    if weights == "default":
        return DEFAULT
    if weights == "research":
        found = store.cache_dir() / "perception-research.onnx"
        if not found.exists():
            raise BackendError(
                "perceiver",
                "the research weights are not shipped: run make research-weights DATA=...",
            )
        return found
    raise BackendError(
        "perceiver", f"unknown perception weights {weights!r}; choose one of: default, research"
    )


class AttunePerceiver:
    def __init__(self, weights: str = "default", threads: int = 1) -> None:
        self._hearing = Hearing(path(weights), threads)
        self._words = Words()
        self._detector = SileroDetector()
        self._worker = Worker("prosody")
        self.weights = self._hearing.card.weights
        self.licence = self._hearing.card.licence
        if weights != "default":
            log.warning("perception uses the %s weights, licence: %s", weights, self.licence)

    def attend(self) -> Attention:
        return _Attention(self._hearing, self._words, self._worker, Stretch(self._detector.open()))

    def percept_of(self, samples: Samples, words: str = "") -> Percept:
        """The percept of a whole sound at EAR_RATE; blocks. Refuses what is no sound."""
        stretch = Stretch(self._detector.open())
        measured = stretch.measure(samples)
        parts = stretch.parts(samples)
        heard = self._hearing.hear_now([part.window for part in parts])
        evidence = Evidence(
            list(zip(parts, heard, strict=True)),
            measured,
            self._words.judge(words) if words else None,
            len(samples) / EAR_RATE,
        )
        return judge(evidence, self._hearing.card)

    def close(self) -> None:
        for part in (self._hearing, self._words, self._worker):
            part.close()


class _Attention:
    def __init__(self, hearing: Hearing, words: Words, worker: Worker, stretch: Stretch) -> None:
        self._hearing = hearing
        self._words = words
        self._worker = worker
        self._stretch = stretch

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        return await self._perceive(audio, words, roughly=False)

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self._perceive(audio, "", roughly=True)

    async def _perceive(self, audio: AudioChunk, words: str, *, roughly: bool) -> Percept:
        stretch = self._stretch
        if not len(audio.samples):
            return unknown(0.0)

        def prepare() -> tuple[Measured, list[Part]]:
            if not LOWEST_RATE <= audio.rate <= HIGHEST_RATE:
                raise ValueError(f"A sample rate of {audio.rate} Hz is not one of speech.")
            samples = resample(audio.samples, audio.rate, EAR_RATE)
            return stretch.measure(samples, roughly=roughly), stretch.parts(
                samples, roughly=roughly
            )

        try:
            measured, parts = await self._worker.run(prepare)
        except ValueError as error:
            raise BackendError("perceiver", f"perception refused the sound: {error}") from error
        new = [part for part in parts if stretch.known(part) is None]
        answers = await self._hearing.hear([part.window for part in new])
        for part, answer in zip(new, answers, strict=True):
            stretch.learn(part, answer)
        known = [(part, heard) for part in parts if (heard := stretch.known(part)) is not None]
        mood = await self._words.mood(words) if words else None
        return judge(Evidence(known, measured, mood, audio.duration), self._hearing.card)
