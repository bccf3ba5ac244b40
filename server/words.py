"""The words of one utterance, as they become known while it is spoken."""

from models.protocols import Transcriber
from models.types import EAR_RATE, AudioChunk, Samples

SETTLE_SEC = 2.5  # a stretch this long that ends in a pause is not transcribed again


class Words:
    """Hypotheses over a growing utterance; what two of them agree on is told and stays told."""

    def __init__(self, transcriber: Transcriber) -> None:
        self._transcriber = transcriber
        self._settled: list[str] = []  # words of stretches that will not be heard again
        self._settled_samples = 0
        self._hypothesis: list[str] = []  # of the stretch after that
        self._agreed = 0  # words of the hypothesis that the one before it had too
        self._heard_samples = 0  # how far the hypothesis reaches
        self._told = 0  # words already given out by `news`

    @property
    def text(self) -> str:
        return " ".join(self._settled + self._hypothesis)

    async def listen(self, utterance: Samples) -> str:
        """Transcribe the utterance so far; only what is not settled costs anything."""
        tail = utterance[self._settled_samples :]
        text = await self._transcriber.transcribe(AudioChunk(tail, EAR_RATE))
        before, self._hypothesis = self._hypothesis, text.split()
        self._agreed = agreement(before, self._hypothesis)
        self._heard_samples = len(utterance)
        return self.text

    def settle(self) -> None:
        """The last hypothesis ended in a pause: if it is long enough, keep it for good."""
        if self._heard_samples - self._settled_samples < SETTLE_SEC * EAR_RATE:
            return
        self._settled += self._hypothesis
        self._settled_samples = self._heard_samples
        self._hypothesis, self._agreed = [], 0

    def news(self) -> str:
        """Words that have become certain since last asked, spaced to be appended."""
        certain = self._settled + self._hypothesis[: self._agreed]
        fresh = certain[self._told :]
        if not fresh:
            return ""
        gap = " " if self._told else ""
        self._told = len(certain)
        return gap + " ".join(fresh)


def agreement(one: list[str], other: list[str]) -> int:
    """How many words two hypotheses share from the start, however they are punctuated.

    The last shared word is left out: its end may not have been spoken yet.
    """
    shared = 0
    for a, b in zip(one, other, strict=False):
        if bare(a) != bare(b):
            break
        shared += 1
    return shared if shared < len(other) else max(0, shared - 1)


def bare(word: str) -> str:
    return word.strip(".,;:!?\"'“”‘’…-—()").lower()
