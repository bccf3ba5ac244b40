"""Whether words make a whole sentence, or break off where nobody ends one. Pure."""

import re
from collections.abc import Sequence
from enum import StrEnum

from server.words import bare

# Nobody's last word.
_HANGING = frozenset(
    """
    a an the my your his her its our their these those every each and or but because so if
    when while although though unless until since whether than i we they he she you're i'm
    we're they're he's she's very quite um uh er who's what's
    """.split()  # noqa: SIM905 - a word list reads better than a hundred quotes
)
# Rarely anybody's last word.
_WAVERING = frozenset(
    """
    to of in on at by for from with about into onto over under between without through is
    are was were am be been being have has had do does did will would can could should may
    might must shall it's really just also even not who which whose this some any
    """.split()  # noqa: SIM905 - a word list reads better than a hundred quotes
)

# What a number makes a heading of: "Chapter twelve.", "Step one."
_HEADINGS = frozenset(
    """
    act book case chapter day example exercise item lesson level number option page part phase
    point problem question reason rule scene section stage step story test unit verse volume week
    """.split()  # noqa: SIM905
)
_NUMBERS = frozenset(
    """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred and
    """.split()  # noqa: SIM905
)
_IN_TURN = frozenset({"first", "firstly", "second", "secondly", "third", "next", "finally"})
_TOLD = frozenset(
    """
    added answered asked asks commented continued cried exclaimed explained murmured observed
    remarked repeated replied said says shouted whispered
    """.split()  # noqa: SIM905
)
_WHO = frozenset({"he", "she", "they", "we", "i", "my", "our", "his", "her", "the"})
_QUOTED = (",", "?", "!", '"', "”", "'")  # how words end that are told
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")


class Ending(StrEnum):
    """How an utterance's words stop."""

    COMPLETE = "complete"  # "I went home."
    ANNOUNCING = "announcing"  # "Chapter twelve.", "Odd, said my aunt.": whole, and more to come
    OPEN = "open"  # nothing can be told from them
    WAVERING = "wavering"  # "well,", "I applied for": more may well follow
    TRAILING = "trailing"  # "I went to the", "because", "and um": more must follow


def ending(text: str) -> Ending:
    words = text.split()
    if not words:
        return Ending.OPEN
    last = words[-1]
    if last.endswith(("?", "!")):
        return Ending.COMPLETE
    if last.endswith(("-", "—", "...", "…")) or bare(last) in _HANGING:
        return Ending.TRAILING
    if _heads(text) or _tells(words):
        return Ending.ANNOUNCING
    if last.endswith(",") or bare(last) in _WAVERING:
        return Ending.WAVERING
    return Ending.COMPLETE if last.endswith((".", '."', ".”")) else Ending.OPEN


def _heads(text: str) -> bool:
    """Whether the last sentence is there for what comes under it."""
    first, *more = [bare(word) for word in re.split(r"[\s-]+", _SENTENCE_END.split(text)[-1])]
    if not more:
        return first in _IN_TURN
    return first in _HEADINGS and all(word.isdecimal() or word in _NUMBERS for word in more)


def _tells(words: Sequence[str]) -> bool:
    """Whether the last words say whose words were told: that is somebody in mid-story."""
    for place in range(max(1, len(words) - 4), len(words)):
        before, verb, after = words[place - 1], bare(words[place]), words[place + 1 : place + 2]
        if verb not in _TOLD:
            continue
        if after:  # "…, said Tom.", but not "…, said no."
            return before.endswith(_QUOTED) and (after[0][0].isupper() or bare(after[0]) in _WHO)
        asked = words[place - 2] if place >= 2 else ""  # "…, she said.", not "what she said."
        return bare(before) in _WHO and asked.endswith(_QUOTED)
    return False
