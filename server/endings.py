"""Whether words make a whole sentence, or break off where nobody ends one. Pure."""

from enum import Enum

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


class Ending(Enum):
    """How an utterance's words stop."""

    COMPLETE = "complete"  # "I went home."
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
    if last.endswith(",") or bare(last) in _WAVERING:
        return Ending.WAVERING
    return Ending.COMPLETE if last.endswith((".", '."', ".”")) else Ending.OPEN
