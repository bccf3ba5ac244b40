"""Whoever tells the emotion in a reply's voice: our own perceiver, or an emotion2vec+ process."""

import asyncio
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

import httpx2

from models.errors import BackendError
from models.types import EAR_RATE, AudioChunk, Samples
from models.weights import WeightsError
from server.scoring.exchange import Exchange
from server.scoring.judging.hosts import beside_us
from server.scoring.score import JudgeNamed, Passing, Unavailable, Unscored
from server.scoring.settings import Settings
from server.scoring.sound.clip import reply_clip
from server.scoring.sound.memo import Memo
from server.scoring.sound.tensors import digest

if TYPE_CHECKING:
    from models.perception.emotion2vec import Emotion2vec
    from models.perception.hearing import Hearing
    from models.vad_silero import SileroDetector

OTHER = "other"  # it is heard, and has no name here
PATIENCE = 60.0  # seconds: nobody waits for an answer
LONGEST = 60 * EAR_RATE  # samples the process takes


@dataclass(frozen=True, slots=True)
class Emotion:
    """What a voice sounds like; chances of all the names its listener has."""

    name: str
    chances: dict[str, float]
    sure: bool = True


class Listener(Protocol):
    @property
    def judge(self) -> JudgeNamed: ...

    def allowed(self, exchange: Exchange) -> None:
        """Raises Unscored where it may not listen."""

    def hear(self, clip: Samples) -> Emotion: ...


@dataclass(frozen=True, slots=True)
class Perceiver:
    """Our own network, without the words: it is the voice that is asked about."""

    hearing: "Hearing"
    detector: "SileroDetector"
    judge: JudgeNamed

    def allowed(self, exchange: Exchange) -> None:
        pass

    def hear(self, clip: Samples) -> Emotion:
        from models.perception.judgement import Evidence, judge
        from models.perception.stretch import Stretch

        stretch = Stretch(self.detector.open())
        measured, parts = stretch.measure(clip), stretch.parts(clip)
        if "emotion" in measured.soundness.unknown():
            raise Unscored("the reply's voice cannot be judged")
        heard = self.hearing.hear_now([part.window for part in parts])
        pairs = list(zip(parts, heard, strict=True))
        percept = judge(Evidence(pairs, measured, None, len(clip) / EAR_RATE), self.hearing.card)
        chances = dict(percept.emotion)
        likeliest = max(chances, key=chances.__getitem__)
        return Emotion(likeliest, chances, "emotion" not in percept.unknown)


@dataclass(frozen=True, slots=True)
class Process:
    """emotion2vec+, asked by URL. Elsewhere it hears only what may be used for research."""

    client: "Emotion2vec"
    elsewhere: bool
    judge: JudgeNamed

    def allowed(self, exchange: Exchange) -> None:
        if self.elsewhere and not exchange.consent.research:
            raise Unscored("no consent to research, and the listener is elsewhere")

    def hear(self, clip: Samples) -> Emotion:
        try:
            found = asyncio.run(self.client.classify(AudioChunk(clip[:LONGEST])))
        except BackendError as error:
            raise Passing("failed: emotion2vec did not answer") from error
        chances = dict(found)
        likeliest = max(chances, key=chances.__getitem__)
        # What is missing was given to something that is none of our emotions.
        rest = 1 - sum(chances.values())
        return Emotion(OTHER if rest > chances[likeliest] else likeliest, chances)


@cache
def listener(url: str | None) -> Listener:
    """The one a process has; Unavailable says why there is none."""
    try:
        return _process(url) if url else _perceiver()
    except (BackendError, WeightsError) as error:
        raise Unavailable(f"the emotion of replies cannot be heard: {error}") from error


def _process(url: str) -> Process:
    from models.perception.emotion2vec import Emotion2vec

    client = Emotion2vec(url, timeout=PATIENCE)
    address = httpx2.URL(url)
    elsewhere = not beside_us(address)
    host = address.host if elsewhere else None
    return Process(client, elsewhere, JudgeNamed("emotion2vec+", host=host, licence="MIT"))


def _perceiver() -> Perceiver:
    from models.perception.hearing import Hearing
    from models.perception.perceiver import DEFAULT
    from models.vad_silero import SileroDetector

    hearing = Hearing(DEFAULT)
    version = f"{hearing.card.weights} weights, {digest(DEFAULT)}"
    named = JudgeNamed("Attune perceiver", version, licence=hearing.card.licence)
    return Perceiver(hearing, SileroDetector(), named)


_heard: Memo[Emotion | Unscored] = Memo()


def heard(exchange: Exchange, settings: Settings) -> Emotion:
    """The emotion of the reply's voice; worked out once, whoever asks."""
    url = settings.encoders.emotion2vec
    told = listener(url)
    told.allowed(exchange)

    def work() -> Emotion | Unscored:
        try:
            return told.hear(reply_clip(exchange))
        except Passing:
            raise
        except Unscored as reason:
            return reason

    found = _heard.get(exchange.conversation, (exchange.number, url), work)
    if isinstance(found, Unscored):
        raise found
    return found
