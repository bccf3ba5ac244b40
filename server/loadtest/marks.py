"""Words that are one talker's own: whoever is told another's has been given their conversation.

A mark is two words that nobody else in the run says together. It is looked for in what the server
says it heard, and in what it answers. Pure.
"""

import re
from collections.abc import Iterable

# Chosen to sound unlike one another, and to occur in none of the other things that are said.
FIRST = (
    "yellow", "purple", "wooden", "golden", "silver", "broken", "frozen", "hungry", "sleepy",
    "friendly", "enormous", "ancient", "magic", "crooked", "plastic", "striped", "invisible",
    "dusty", "orange", "gentle",
)  # fmt: skip
SECOND = (
    "elephant", "piano", "castle", "dragon", "monkey", "rocket", "bicycle", "pumpkin", "lantern",
    "hammer", "pencil", "candle", "blanket", "basket", "tiger", "violin", "penguin", "camera",
    "umbrella", "tractor",
)  # fmt: skip
MOST = len(FIRST) * len(SECOND)  # talkers beyond it share the marks of earlier ones
SENTENCES = (
    "Please tell me something about the {}.",
    "I dreamed of the {} again last night.",
    "What would you do with the {}?",
)

Mark = tuple[str, str]


def mark(talker: int) -> Mark:
    """Of the talker with this number, from 0 on; among the first twenty no word is shared."""
    number = talker % MOST
    place, lap = number % len(FIRST), number // len(FIRST)
    return FIRST[place], SECOND[(place + lap) % len(SECOND)]


def sentences(own: Mark) -> list[str]:
    """What a talker says to be known by."""
    return [sentence.format(" ".join(own)) for sentence in SENTENCES]


def carries(text: str, own: Mark) -> bool:
    return _words(text).issuperset(own)


def others(text: str, own: Mark, everybody: Iterable[Mark]) -> list[Mark]:
    """The marks of other talkers in a text that is only this one's to hear."""
    words = _words(text)
    return sorted({each for each in everybody if each != own and words.issuperset(each)})


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))
