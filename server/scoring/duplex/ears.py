"""Both sides of a recording listened to: where somebody speaks, and which words."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models import weights
from models.audio import Resampler
from models.protocols import Transcriber
from models.types import EAR_RATE, FRAME, WIRE_RATE, AudioChunk, Samples
from server.echo import EchoGuard
from server.scoring.duplex.segments import Segment, between, merged, segments
from server.scoring.duplex.words_timed import TimedWord, spread
from server.scoring.exchange import NO_SOUND, Channel, Conversation
from server.scoring.score import Unavailable, Unscored

BLOCK = 20 * WIRE_RATE  # samples read at once: memory does not grow with the session
AUDIBLE = 10 ** (-45 / 20)  # of full scale
UTTERANCE_GAP = 0.5  # seconds; where nobody logged turns, a longer silence ends an utterance

VOICES, WORDS = "silero-vad", ("moonshine-encoder", "moonshine-decoder", "moonshine-tokenizer")

Chances = NDArray[np.float32]


class Hearing(Protocol):
    """The networks behind the ears."""

    @property
    def key(self) -> str: ...

    def chances(self, conversation: Conversation) -> tuple[Chances, Chances]:
        """How likely each frame of user and reply holds speech."""
        ...

    def words(self, sound: AudioChunk) -> list[str]:
        """Unscored where there is no recogniser."""
        ...


class Sides:
    """One conversation as it sounds; times are seconds of session time."""

    def __init__(self, conversation: Conversation, hearing: Hearing) -> None:
        if not conversation.consent.audio or conversation.session.audio is None:
            raise Unscored(NO_SOUND)
        self._conversation, self._hearing = conversation, hearing
        self.seconds = conversation.session.audio.samples / WIRE_RATE
        # Before it there was no consent, and nothing that was said can be seen.
        self.recorded_from = conversation.session.audio.recorded_from / WIRE_RATE
        self.user, self.reply = map(segments, hearing.chances(conversation))

    @cached_property
    def words(self) -> list[TimedWord]:
        """All words of the reply side in their order, laid over where it speaks."""
        logged = self._conversation.turns
        spoken = [turn for turn in logged if turn.role == "assistant" and turn.spoken]
        if not spoken:
            alone = merged(self.reply, UTTERANCE_GAP)
            return [word for each in alone for word in self._timed(None, each.start, each.end)]
        return [
            word
            for turn in spoken
            for word in self._timed(turn.text, turn.start / WIRE_RATE, turn.end / WIRE_RATE)
        ]

    def reply_speech(self, begin: float, end: float) -> list[Segment]:
        """Where the reply speaks; a "yes" too short for the network lies where it is audible."""
        speech = between(self.reply, begin, end)
        if not speech and (heard := self.audible("reply", begin, end)):
            speech = [heard]
        return speech

    def audible(self, which: Channel, begin: float, end: float) -> Segment | None:
        """From the first to the last sample that can be heard."""
        loud = np.flatnonzero(np.abs(self.sound(which, begin, end).samples) > AUDIBLE)
        if not loud.size:
            return None
        return Segment(begin + loud[0] / WIRE_RATE, begin + (loud[-1] + 1) / WIRE_RATE)

    def sound(self, which: Channel, begin: float, end: float) -> AudioChunk:
        return self._conversation.channel(which, round(begin * WIRE_RATE), round(end * WIRE_RATE))

    def _timed(self, text: str | None, begin: float, end: float) -> list[TimedWord]:
        speech = self.reply_speech(begin, end)
        if not speech:
            return []
        words = spoken_words(text) if text else self._hearing.words(self.sound("reply", begin, end))
        return spread(words, speech)


class Ears:
    """Listens to a conversation once, however many of its exchanges are asked about."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._last: tuple[Conversation, Sides] | None = None

    @property
    def key(self) -> str:
        return self._hearing.key

    def sides(self, conversation: Conversation) -> Sides:
        if self._last is None or self._last[0] is not conversation:
            self._last = conversation, Sides(conversation, self._hearing)
        return self._last[1]

    def words(self, sound: AudioChunk) -> list[str]:
        return self._hearing.words(sound)


class Networks:
    """Silero hears voices, Moonshine words; the second is loaded when words are first asked for."""

    def __init__(self) -> None:
        from models.vad_silero import SileroDetector

        try:
            self._detector = SileroDetector()
        except weights.WeightsError as missing:
            raise Unavailable(f"Voices cannot be told from silence: {missing}.") from None
        heard = [VOICES, *(WORDS if _words_there() else ())]
        self.key = " ".join(f"{name}:{weights.find(name).sha256[:8]}" for name in heard)

    def chances(self, conversation: Conversation) -> tuple[Chances, Chances]:
        voices = [self._detector.open(), self._detector.open()]
        heard = [
            self._detector.hear(voices, frames) for frames in echo_free(frames_of(conversation))
        ]
        table = np.array(heard, np.float32).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def words(self, sound: AudioChunk) -> list[str]:
        return asyncio.run(_recogniser().transcribe(sound)).split()


def frames_of(conversation: Conversation) -> Iterator[tuple[int, Samples, Samples]]:
    """Where each FRAME begins, counted at EAR_RATE, and both sides of it."""
    audio = conversation.session.audio
    assert audio is not None, "asked only where there is sound"
    rates = [Resampler(WIRE_RATE, EAR_RATE), Resampler(WIRE_RATE, EAR_RATE)]
    held = [np.zeros(0, np.float32), np.zeros(0, np.float32)]
    at = 0
    for begin in range(0, audio.samples, BLOCK):
        end = min(begin + BLOCK, audio.samples)
        sound = conversation.cut(begin, end).astype(np.float32) / np.float32(32768)
        for side, rate in enumerate(rates):
            parts = [held[side], rate.push(np.ascontiguousarray(sound[:, side]))]
            if end == audio.samples:
                parts.append(rate.flush())
            held[side] = np.concatenate(parts)
        whole = min(map(len, held)) // FRAME * FRAME
        for first in range(0, whole, FRAME):
            yield at, held[0][first : first + FRAME], held[1][first : first + FRAME]
            at += FRAME
        held = [each[whole:] for each in held]


def echo_free(frames: Iterator[tuple[int, Samples, Samples]]) -> Iterator[Sequence[Samples]]:
    """The same, without what the microphone heard of the reply: nobody talks over themselves."""
    guard = EchoGuard()
    for at, user, reply in frames:
        if reply.any():
            guard.sent(reply, at)
        yield guard.hear(user, at).frame, reply


def spoken_words(text: str) -> list[str]:
    """Words as a count of words goes: what has no letter and no digit is none."""
    return [word for word in text.split() if any(map(str.isalnum, word))]


@cache
def ears() -> Ears:
    """Those of this process; Unavailable without the network that hears voices."""
    return Ears(Networks())


def _words_there() -> bool:
    """Looked at when the ears are made: scores without words must not be taken for those with."""
    try:
        return all(weights.path(name) for name in WORDS)
    except weights.WeightsError:
        return False


@cache
def _recogniser() -> Transcriber:
    from models.asr_moonshine import Moonshine

    try:
        return Moonshine()
    except weights.WeightsError:
        raise Unscored("the recogniser's weights are missing") from None
