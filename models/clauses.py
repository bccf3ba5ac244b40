"""A reply's tokens, regrouped into clauses a voice can speak.

Tokens become cleaned words; a cut falls after a word once the beginning of the next one is seen,
which real tokenisers give in the very next token (" 3" ".5" is one word, "3. But" is two).
"""

import html
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
_NUMBERED = _set("jan feb mar apr jun jul aug sep sept oct nov dec vol ch pp max min ext")

LONGEST_WORD = 36  # letters; voices take very long over words without an end ("ha-ha-ha-...")
MOST_LETTERS = 240  # of a clause, however few words they are

LEAD = "Well,"  # no reply begins with a list
NO_CODE = "I won't read the code aloud."

_STAGE = re.compile(  # what an actor does rather than says; not in bold, that is for real words
    r"(?P<mark>\*(?!\*)|_(?!_)|\(+|\[+)(?:(?P<manner>soft(?:ly)?|gently|warmly|slowly)|"
    r"(?:smil|laugh|chuckl|giggl|sigh|nod|paus|grin|wink|shrug|gasp|whisper|clear|cough|sniff|lean"
    r"|tilt|hug|wav|blush|beam)(?:s|es|(?P<doing>ing)))\b",
    re.IGNORECASE,
)
_STAGE_END = {
    mark: re.compile(rf"\{end}[.,!?]*$") for mark, end in zip("*_([", "*_)]", strict=True)
}
_MOST_ACTING = 4  # words of a stage direction
_ACTORS = _set("i you we they he she it who that everyone everybody nobody someone")
_ITEM = re.compile(r"[-*+•▪◦‣●–—]|\[[xX]?\]|\**(?P<number>\d{1,2})[.)]\**")
_HEADING = re.compile(r"#{1,6}")
_RULE = re.compile(r"[-=_]{3,}|>+")  # across the page, or at the side of a quotation
_CELL_RULE = re.compile(r":?-+:?")
_FENCE = "```"
_LINK = re.compile(r"\]\([^)\s]*\)")  # the address; the brackets before it are marks
_UNCUT = re.compile(r"\W*(?:https?://|www\.)\S{,300}|[\d.,]+\W*")  # voices say these in short
_STRETCHED = re.compile(r"([^\W\d_])\1{3,}")
_PIECE = re.compile(rf".{{8,{LONGEST_WORD - 1}}}[^\w\s](?=\w)|.{{1,{LONGEST_WORD}}}", re.DOTALL)
_TIMES = re.compile(r"(?<=\d)\*(?=\d)")
_ENTITY = re.compile(r"&#?\w+;")
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]*/?>")
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
        self.words: list[_Word] = []  # that are in no clause yet
        self._tail = ""
        self._last = ""  # the last word, in a clause or not
        self._line_start = True
        self._stop = ""  # what this line is owed at its end
        self._acting: list[str] = []  # what may be a stage direction
        self._in_row = False
        self._in_code = False
        self._code_seen = False

    def read(self, token: str) -> None:
        """Takes the words that this token completes."""
        self._tail += token
        # A word is whole when something follows its space: only then is it known
        # whether the space held a line's end.
        while whole := re.match(r"\s*(\S+)(\s+)(?=\S)", self._tail):
            self._tail = self._tail[whole.end() :]
            self._take(whole[1], "\n" in whole[2])

    def finish(self) -> None:
        """Takes the last word."""
        tail, self._tail = self._tail.strip(), ""
        if tail:
            self._take(tail, True)

    def settle(self) -> None:
        """Takes the word that is being read as it is: its space has been seen."""
        tail, self._tail = self._tail.strip(), ""
        if tail:
            self._take(tail, False)

    def cut(self, count: int) -> str:
        """The first words, as a clause."""
        clause, self.words = self.words[:count], self.words[count:]
        return " ".join(word.text for word in clause)

    @property
    def coming(self) -> str:
        """The first letter of the word being read; empty while it could still vanish."""
        if self._in_code:
            return _FENCE[0]
        opening = _OPENING.match(self._tail.lstrip())
        if self._acting or not opening or self._line_start and opening[1].isdigit():
            return ""
        return opening[1]

    def _take(self, raw: str, ends_line: bool) -> None:
        line_start, self._line_start = self._line_start, ends_line
        if self._in_code or line_start and raw.startswith(_FENCE) and raw.count(_FENCE) == 1:
            self._skip_code(raw)
        elif line_start and self._is_mark(raw, ends_line):
            self._line_start = True  # "- 1. ..." has two
            return
        elif self._in_row or line_start and raw.startswith("|"):
            self._read_row(raw)
        elif self._acting or _STAGE.match(raw):
            self._act(raw, ends_line)
        else:
            self._add(raw)
        if ends_line:
            self._end_line()

    def _is_mark(self, raw: str, ends_line: bool) -> bool:
        """Whether this opens a line without being part of it; a list's numbers become words."""
        if _RULE.fullmatch(raw):
            return True
        if ends_line:
            return False  # "42." is an answer
        if _HEADING.fullmatch(raw):
            self._stop = "."
            return True
        item = _ITEM.fullmatch(raw)
        if item is None:
            return False
        self._lead()
        self._stop = ";"
        if item["number"]:
            word = "first," if item["number"] == "1" else "then"
            self._append(word.capitalize() if self._last[-1] in ".!?" else word)
        return True

    def _skip_code(self, raw: str) -> None:
        if not self._in_code and not self._code_seen:
            for word in NO_CODE.split():
                self._append(word)
            self._code_seen = True
            self._end_line()
        self._in_code = not (self._in_code and _FENCE in raw)

    def _act(self, raw: str, ends_line: bool) -> None:
        """A word of what may be a stage direction: once it turns out to be none, it is said."""
        self._acting.append(raw)
        closed = _STAGE_END[self._acting[0][0]].search(raw) is not None
        if closed and self._is_acted(raw):
            self._acting = []
        elif closed or ends_line or len(self._acting) == _MOST_ACTING:
            words, self._acting = self._acting, []
            for word in words:
                self._add(word)

    def _is_acted(self, end: str) -> bool:
        """Whether the words held back are something done: "*smiles*", not "he *smiles*"."""
        stage = _STAGE.match(self._acting[0])
        if stage is None or "](" in end:  # a link
            return False
        if stage["manner"] or stage["doing"]:  # stands between sentences, or is a word of one
            alone = not self._last or self._last[-1] in '.!?…:;"”'
            return alone and not self._tail[:1].islower()
        return self._last.lower() not in _ACTORS

    def _read_row(self, raw: str) -> None:
        """A row of a table: its cells as a list."""
        if not self._in_row:
            self._lead()
            self._in_row, self._stop = True, ";"
        for number, cell in enumerate(raw.split("|")):
            if number:
                self._punctuate(",")
            if cell and not _CELL_RULE.fullmatch(cell):
                self._add(cell)

    def _lead(self) -> None:
        if not self._last:
            self._append(LEAD)

    def _add(self, raw: str) -> None:
        """A word of the line, without its marks."""
        bare = _EMOJI.sub("", raw)
        text = _TAG.sub("", _ENTITY.sub(lambda entity: html.unescape(entity[0]), bare))
        if text == "*" and self._last[-1:].isalnum() and self._tail[:1].isalnum():
            text = "×"
        text = _MARKS.sub("", _LINK.sub("", _TIMES.sub("×", text)))
        if bare != raw and not any(map(str.isalnum, text)):
            missing = self._tail[:1].isupper() and not self._last.endswith(",")
            self._punctuate(text or "." * missing)  # it often stands where a full stop should
        elif text:
            self._append(text)

    def _append(self, text: str) -> None:
        for piece in _pieces(text):
            self._last = piece
            self.words.append(_Word(piece, False))

    def _punctuate(self, mark: str) -> None:
        """Puts a mark behind the last word, unless it has one."""
        if not self.words or not mark:
            return
        last = self.words[-1]
        text = last.text if mark == "," else last.text.rstrip(",")
        if text[-1:] not in ".!?…;:,":
            text += mark
        self._last = text
        self.words[-1] = replace(last, text=text)

    def _end_line(self) -> None:
        if self._stop:
            # The next line's beginning tells whether the list goes on.
            goes_on = self._stop == ";" and re.match(r"[-*+•▪◦‣●–—|\d]", self._tail)
            self._punctuate(";" if goes_on else ".")
        self._stop, self._in_row = "", False
        if self.words:
            self.words[-1] = replace(self.words[-1], ends_line=True)


# Whoever gives several words at once, and a space after their full stop, has ended a sentence: no
# need to wait for the next one.
_WHOLE = re.compile(r"""\S\s+\S.*[.!?…]["'”’)]*\s+$""", re.DOTALL)
ANY_CAPITAL = "A"


async def clauses(tokens: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The reply in speakable pieces, the first as early as sounds natural.

    Markdown, code, emoji and stage directions are left out, lists and tables become sentences and
    white space is made single, endless words are cut up; apart from that the clauses joined are the
    reply: each but the last ends with a space, and the last too if only code came after it.
    """
    reader, limits = _Reader(), FIRST
    async for token in tokens:
        reader.read(token)
        whole = _WHOLE.search(token) is not None
        if whole:
            reader.settle()
        while count := _cut(reader.words, ANY_CAPITAL if whole else reader.coming, limits):
            yield reader.cut(count) + " "
            limits = LATER
    reader.finish()
    limits = replace(limits, patience=limits.most + 1)  # no need to hurry the last words
    while count := _cut(reader.words, "", limits):
        yield reader.cut(count) + " "
        limits = LATER
    if reader.words:
        yield reader.cut(len(reader.words))


def _pieces(word: str) -> list[str]:
    """A word that no voice could say in time, as several; after a mark where there is one."""
    if len(word) <= LONGEST_WORD or _UNCUT.fullmatch(word):
        return [word]
    return _PIECE.findall(_STRETCHED.sub(r"\1\1\1", word))


def _cut(words: Sequence[_Word], coming: str, limits: _Limits) -> int:
    """How many words make the next clause; 0 if that is not known yet."""
    spoken = letters = 0
    for count, word in enumerate(words, 1):
        letters += min(len(word.text), LONGEST_WORD)
        if letters > MOST_LETTERS:
            few = words[: count - 1]
            return _cut_unpunctuated([each.text.lower() for each in few], limits) or count - 1
        spoken += any(map(str.isalnum, word.text))
        if not spoken:
            continue
        following = _initial(words[count].text) if count < len(words) else coming
        if not following:
            continue
        if word.ends_line or _ends_sentence(word.text, following, count):
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


def _ends_sentence(word: str, following: str, count: int) -> bool:
    """Whether the word, so many into its clause, ends a sentence before such a letter."""
    end = _SENTENCE.search(word)
    if end is None or following.islower():
        return False
    if end[1] != ".":
        return not end[1].startswith(("..", "…"))  # trailing off is a pause
    stem = word[: end.start()].lower().lstrip("\"'“‘(")
    if stem in _EITHER:
        return True
    if following.isdigit() and (stem in _NUMBERED or stem == "no" and count > 1):
        return False
    initial = len(stem) == 1 and stem.isalpha() and stem != "i"
    return not (stem in _TITLES or initial or re.fullmatch(r"(?:\w\.)+\w", stem))
