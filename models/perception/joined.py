"""A second opinion on emotion: our own perceiver beside a classifier from elsewhere."""

import logging
from collections.abc import Collection
from dataclasses import replace
from typing import Protocol

from models.breaker import Breaker
from models.errors import BackendError
from models.percept import Chances, Percept
from models.perception.fusion import join
from models.perception.labels import DIMENSIONS, EMOTIONS
from models.perception.perceiver import AttunePerceiver
from models.perception.words import Words, WordsMood
from models.protocols import Attention
from models.types import EAR_RATE, AudioChunk

log = logging.getLogger(__name__)

LATEST = 10 * EAR_RATE  # samples a classifier is shown: an emotion is of now
BEHIND = EAR_RATE  # samples by which a glance may be behind
# Where all of these are unknown, the sound itself allows no judgement: nobody else is asked.
_OF_THE_SPEAKER = {
    dimension.name for dimension in DIMENSIONS.values() if dimension.group != "environment"
} - {"nonverbal"}


class Classifier(Protocol):
    """Chances of our emotions for a sound; what they lack to 1 is something else or not known."""

    async def classify(self, audio: AudioChunk) -> Chances: ...

    def close(self) -> None: ...


class Joined:
    """A Perceiver: everything is heard by ours, and the emotion by both."""

    def __init__(
        self, own: AttunePerceiver, classifier: Classifier, share: float = 0.5, sure: float = 0.5
    ) -> None:
        """Joins the two, and closes both when it is closed.

        Args:
            own: hears all dimensions.
            classifier: hears emotion.
            share: of the classifier's word in the emotion, 0-1.
            sure: chance from which the emotion is taken for known.
        """
        self._own = own
        self._classifier = classifier
        self._words = Words()
        self._share = share
        self._sure = sure
        self._failing = False
        self._breaker = Breaker()  # a dead one would be waited for at every glance

    def attend(self) -> Attention:
        return _Attention(self._own.attend(), self)

    async def classify(self, audio: AudioChunk) -> Chances:
        """The classifier's word; none while it fails, which is logged once."""
        attempt = self._breaker.attempt()
        if attempt is None:
            return {}
        try:
            heard = await self._classifier.classify(audio)
        except BackendError as error:
            attempt.failed()
            if not self._failing:
                log.warning("emotion is heard by our own network alone: %s", error)
            self._failing = True
            return {}
        except BaseException:
            attempt.left()
            raise
        attempt.succeeded()
        self._failing = False
        return heard

    async def join(self, percept: Percept, heard: Chances, words: str) -> Percept:
        """The percept of a voice, with the classifier's word and the mood of the words in it."""
        mood = await self._words.mood(words) if words else None
        return _rejoined(percept, blended(percept.emotion, heard, self._share), mood, self._sure)

    def close(self) -> None:
        for part in (self._own, self._classifier, self._words):
            part.close()


class _Attention:
    def __init__(self, own: Attention, joined: Joined) -> None:
        self._own = own
        self._joined = joined
        self._heard: Chances = {}
        self._heard_at = -1  # length of the stretch then, in samples

    async def perceive(self, audio: AudioChunk, words: str = "") -> Percept:
        return await self._second(await self._own.perceive(audio), audio, words, behind=0)

    async def glance(self, audio: AudioChunk) -> Percept:
        return await self._second(await self._own.glance(audio), audio, "", behind=BEHIND)

    async def _second(self, own: Percept, audio: AudioChunk, words: str, behind: int) -> Percept:
        if _unfit(own.unknown):
            return await self._joined.join(own, {}, words) if words else own
        length = len(audio.samples)
        if self._heard_at < 0 or length - self._heard_at > behind:
            latest = AudioChunk(audio.samples[-LATEST:], audio.rate)
            self._heard = await self._joined.classify(latest)
            self._heard_at = length
        return await self._joined.join(own, self._heard, words)


def blended(ours: Chances, theirs: Chances, share: float) -> Chances:
    """Both words in one. Where a side cannot hear an emotion, the other's word stands for it."""
    weight = share * sum(theirs.values())  # who says "something else" has that much less to say
    if not weight or not ours:
        return ours
    one, other = _completed(ours, theirs), _completed(theirs, ours)
    return {
        name: (1 - weight) * one[name] + weight * other[name] for name in EMOTIONS if name in one
    }


def _completed(chances: Chances, by: Chances) -> Chances:
    """With the names only the other side has, at its chances; the rest shares what is left."""
    lent = {name: chance / sum(by.values()) for name, chance in by.items() if name not in chances}
    left = (1 - sum(lent.values())) / sum(chances.values())
    return {name: chance * left for name, chance in chances.items()} | lent


def _rejoined(own: Percept, voice: Chances, words: WordsMood | None, sure: float) -> Percept:
    """The percept again, as it is with this emotion of the voice."""
    sobbing = own.physiological.get("sobbing", 0.0)
    mood = join(voice, words, own.prosody, sobbing=sobbing)
    unknown = set(own.unknown)
    if not _unfit(unknown):
        certain = max(mood.emotion.values(), default=0.0) >= sure
        unknown = unknown - {"emotion"} if certain else unknown | {"emotion"}
    return replace(
        own,
        emotion=mood.emotion,
        expressed=mood.expressed,
        perceived=mood.perceived,
        conflict=None if "emotion" in unknown else mood.conflict,
        unknown=tuple(name for name in DIMENSIONS if name in unknown),
    )


def _unfit(unknown: Collection[str]) -> bool:
    return _OF_THE_SPEAKER.issubset(unknown)
