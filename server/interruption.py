"""Does the user take the word, or only cough, hum along, or hear us echo? Pure."""

import re
from dataclasses import dataclass, field
from enum import Enum

from models.types import EAR_RATE

DECIDE_MS = 608  # from the first voiced frame to the decision: 700 ms from the first sound
FIRST_LISTEN_MS, LISTEN_EVERY_MS = 256, 128  # when the doubtful sound is transcribed
LEAST_VOICE = 4.5  # frames, each as far as it is surely a voice: in a cough are seldom so many

_BACKCHANNELS = frozenset(
    """
    ah aha alright cool exactly great ha haha hm hmm huh indeed mhm mm nice oh ok okay ooh right
    really sure true uh uhhuh um wow yeah yep yes yup
    """.split()  # noqa: SIM905 - a word list reads better than a hundred quotes
)
_HUM = re.compile(r"m+h*m*|h+m+|u+h+m*|a+h+|o+h+|e+h+")
_PHRASES = frozenset({"i see", "go on", "got it", "of course", "i know"})
# One word of these takes the floor; any other single short word may be a hum misheard.
_TAKES_FLOOR = frozenset(
    """
    actually cancel enough excuse hang hello help hey hold how listen never no nope pardon
    pause please quiet quit sorry stop wait what when where who why wrong
    """.split()  # noqa: SIM905
)


class Verdict(Enum):
    REAL = "real"
    FALSE = "false"


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower().replace("-", " ").replace("’", "'"))


def content_of(text: str) -> list[str]:
    """The words that say something of their own, each once."""
    said = [w for w in words_of(text) if w not in _BACKCHANNELS and not _HUM.fullmatch(w)]
    once = list(dict.fromkeys(said))
    return [] if " ".join(once) in _PHRASES else once


def repeats(text: str, reply: str) -> bool:
    """Whether the words are our own, heard back: two or more of ours, in our order."""
    words, ours = words_of(text), words_of(reply)
    if len(words) < 2:
        return False
    return any(
        ours[start : start + len(words)] == words for start in range(len(ours) - len(words) + 1)
    )


@dataclass(slots=True)
class Doubt:
    """A sound over our voice that may or may not be an interruption."""

    start: int  # ear sample of the first sound
    holding: bool = True  # the reply waits for the decision
    _before: list[str] = field(default_factory=list)  # what the last look at it found

    def due(self, heard: int, listened: int) -> bool:
        """Whether it is time to transcribe what was heard; so far it has been up to `listened`."""
        first = self.start + FIRST_LISTEN_MS * EAR_RATE // 1000
        return heard >= max(first, listened + LISTEN_EVERY_MS * EAR_RATE // 1000)

    def weigh(self, text: str, reply: str, voice: float, final: bool) -> Verdict | None:
        """The verdict on what has been said so far; None while it may still become a word.

        The first half second of a sound is often misheard, and never twice the same way: until
        the sound is over, common words count only once two looks have found them. In a cough
        words are heard as well: without enough `voice` nothing counts but a plea that two looks
        have found, for it may be whispered.
        """
        content = [] if repeats(text, reply) else content_of(text)
        before, self._before = self._before, content
        again = bool(content and before and content[0] == before[0])
        spoken = voice >= LEAST_VOICE
        plea = bool(_TAKES_FLOOR.intersection(content)) and (spoken or again)
        if plea or (spoken and (final or again) and len(content) >= 2):
            return Verdict.REAL
        return Verdict.FALSE if final else None

    def late(self, heard: int, voice: float) -> Verdict | None:
        """The verdict when the reply has waited long enough: with a word in it, it is real."""
        if not self.holding or heard - self.start < DECIDE_MS * EAR_RATE // 1000:
            return None
        return Verdict.REAL if self._before and voice >= LEAST_VOICE else Verdict.FALSE
