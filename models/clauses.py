"""A reply's tokens, regrouped into clauses a voice can speak.

Tokens become cleaned words; a cut falls after a word once the beginning of the next one is seen,
which real tokenisers give in the very next token (" 3" ".5" is one word, "3. But" is two).
"""

import re
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class _Limits:
    """Where a clause may end, in words."""

    pause: int  # at a comma or the like, from this many words on
    patience: int  # without any punctuation so far: before a joining word
    most: int  # anywhere


FIRST = _Limits(pause=2, patience=7, most=12)  # the listener is waiting
LATER = _Limits(pause=8, patience=20, most=28)  # the voice sounds better with more to go on


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words a clause may begin with: a conjunction after three words, a preposition only after five.
_CONJUNCTIONS = _set("""
    and but or so because since although though while when whenever where which who if unless until
    before after than whether
""")
_PREPOSITIONS = _set("""
    that to with for from about in on at as by like into without how what why
""")
# Words that lean on the next one: no clause ends with them if it can be helped.
_LEANING = _PREPOSITIONS | _set("""
    and or but so the a an of my your his her its our their this these those is are was were be been
    am not no very really more i you we they he she it will would can could should may might must
    have has had do does did some any
""")
_TITLES = _set("dr mr mrs ms prof st mt gen sen rep rev hon vs fig approx dept est")
_EITHER = _set("etc inc ltd co corp jr sr a.m p.m")  # abbreviations that may end a sentence

_STAGE = re.compile(  # what an actor does rather than says
    r"[*_(\[]+(?:soft(?:ly)?|gently|warmly|slowly|\w*(?:smil|laugh|chuckl|giggl|sigh|nod|paus|grin"
    r"|wink|shrug|gasp|whisper|clear|cough|sniff|lean|tilt|hug|wav|blush|beam)(?:s|es|ing))\b",
    re.IGNORECASE,
)
_STAGE_END = re.compile(r"[*_)\]]+[.,!?]*$")
_BULLET = re.compile(r"(?:[-*+•–—>]|#{1,6}|\d{1,2}[.)])$")
_LINK = re.compile(r"\]\([^)\s]*\)")  # the address; the brackets before it are marks
_MARKS = re.compile(r"[*`~]+|(?<![^\W_])_+|_+(?![^\W_])|^#+(?=[^\d#])|[\[\]]")
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\U0001fc00-\U0001fffd\u2600-\u27bf\u2b00-\u2bff\u2190-\u21ff"
    "\ufe00-\ufe0f\u200b-\u200d\u20e3\U000e0020-\U000e007f]+"
)
_SENTENCE = re.compile(r"""([.!?…]+)["'”’)]*$""")
_PAUSE = re.compile(r"""(?:[,;:—–…]|\.\.|^-+)["'”’)]*$""")
_OPENING = re.compile(r"""["'“‘(]*([^\W_])""")


@dataclass(frozen=True, slots=True)
class _Word:
    """A cleaned word, and whether its line ended with it."""

    text: str
    ends_line: bool


class _Reader:
    """Tokens in, cleaned words out; what is not yet a whole word waits."""

    def __init__(self) -> None:
        self._tail = ""
        self._line_start = True
        self._acting = False  # inside a stage direction

    def read(self, token: str) -> list[_Word]:
        """The words that this token completed."""
        self._tail += token
        words: list[_Word] = []
        # A word is whole when something follows its space: only then is it known
        # whether the space held a line's end.
        while whole := re.match(r"\s*(\S+)(\s+)(?=\S)", self._tail):
            self._tail = self._tail[whole.end() :]
            words += self._clean(whole[1], "\n" in whole[2])
        return words

    def finish(self) -> list[_Word]:
        """The last word."""
        tail, self._tail = self._tail.strip(), ""
        return self._clean(tail, True) if tail else []

    @property
    def coming(self) -> str:
        """The first letter of the word being read; empty while it could still vanish."""
        opening = _OPENING.match(self._tail.lstrip())
        if self._acting or not opening or self._line_start and opening[1].isdigit():
            return ""
        return opening[1]

    def _clean(self, raw: str, ends_line: bool) -> list[_Word]:
        line_start, self._line_start = self._line_start, ends_line
        if line_start and _BULLET.match(raw):
            self._line_start = True  # "- **1.** ..." has two
            return []
        if self._acting or _STAGE.match(raw):
            self._acting = not (_STAGE_END.search(raw) or ends_line)
            return []
        text = _MARKS.sub("", _LINK.sub("", _EMOJI.sub("", raw)))
        return [_Word(text, ends_line)] if text else []


async def clauses(tokens: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The reply in speakable pieces, the first as early as sounds natural.

    Markdown, list marks, emoji and stage directions are left out and white space is made single;
    apart from that the clauses joined are the reply: each but the last ends with a space.
    """
    reader, words, limits = _Reader(), list[_Word](), FIRST
    async for token in tokens:
        words += reader.read(token)
        while count := _cut(words, reader.coming, limits):
            yield _text(words[:count]) + " "
            words, limits = words[count:], LATER
    words += reader.finish()
    limits = replace(limits, patience=limits.most + 1)  # no need to hurry the last words
    while count := _cut(words, "", limits):
        yield _text(words[:count]) + " "
        words, limits = words[count:], LATER
    if words:
        yield _text(words)


def _text(words: Sequence[_Word]) -> str:
    return " ".join(word.text for word in words)


def _cut(words: Sequence[_Word], coming: str, limits: _Limits) -> int:
    """How many words make the next clause; 0 if that is not known yet."""
    spoken = 0
    for count, word in enumerate(words, 1):
        spoken += any(map(str.isalnum, word.text))
        if not spoken:
            continue
        following = _initial(words[count].text) if count < len(words) else coming
        if not following:
            continue
        if word.ends_line or _ends_sentence(word.text, following):
            return count
        if spoken >= limits.pause and _PAUSE.search(word.text):
            return count
    return _cut_unpunctuated([word.text.lower() for word in words], limits)


def _cut_unpunctuated(words: Sequence[str], limits: _Limits) -> int:
    if len(words) < limits.patience:
        return 0
    window = words[: limits.most]
    for joining, least in ((_CONJUNCTIONS, 3), (_PREPOSITIONS, 5)):
        for count in range(len(window) - 1, least - 1, -1):
            if window[count] in joining and window[count - 1] not in _LEANING:
                return count
    if len(words) <= limits.most:
        return 0
    count = limits.most
    while count > 1 and words[count - 1] in _LEANING:
        count -= 1
    return count if count > 1 else limits.most


def _initial(text: str) -> str:
    opening = _OPENING.match(text)
    return opening[1] if opening else text[0]


def _ends_sentence(word: str, following: str) -> bool:
    end = _SENTENCE.search(word)
    if end is None or following.islower():
        return False
    if end[1] != ".":
        return not end[1].startswith(("..", "…"))  # trailing off is a pause
    stem = word[: end.start()].lower().lstrip("\"'“‘(")
    if stem in _EITHER:
        return True
    initial = len(stem) == 1 and stem.isalpha() and stem != "i"
    return not (stem in _TITLES or initial or re.fullmatch(r"(?:\w\.)+\w", stem))
