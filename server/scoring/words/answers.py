"""Which option of a multiple-choice question a reply chooses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Way = Literal["stated", "letter", "words"]

_SHORT = 2  # words; such an option may turn up by chance: "no" in "I have no idea"
_OPEN = r"[\[({<*_\"'“‘`]*"
_CLOSE = r"[\])}>*_\"'”’`]*"
# A list is no answer: "A/B/C/D", "A or B". Nor is an article: "the answer is: a dog".
_ANOTHER = r"(?:[B-H]|A(?!\s+[a-z]))(?![\w'’])"
_LISTED = rf"(?!{_CLOSE}\s*(?:[/&,]|and\b|or\b)\s*(?:and\s|or\s)?{_OPEN}(?-i:{_ANOTHER}))"
_ENDED = rf"(?={_CLOSE}(?:$|[.,;:!?\n)\]>*]|\s*[-–—]|\s+(?:because|since)\b))"
_LETTER = rf"(?:(?-i:[B-H])(?![\w'’/])|[A-Ha-h]{_ENDED}){_LISTED}"
_CAPITAL = rf"(?-i:[A-H])(?![\w'’/]){_LISTED}"

_STATED = re.compile(
    rf"\bthe\s+(?:correct\s+|right\s+|best\s+)?answer\s+is\s*[:：]?\s*(?:option\s+)?"
    rf"{_OPEN}({_LETTER})",
    re.I,
)
_NAMED = (
    re.compile(rf"\b(?:option|choice|letter)\s*[:：]?\s*{_OPEN}({_CAPITAL})", re.I),
    re.compile(
        rf"\b(?:answer\s*[:：]|(?:answer|choice|option)\s+is|it\s+is|it['’]s|i\s+choose|i\s+pick"
        rf"|i['’]d\s+say|go\s+with)\s*[:：]?\s*{_OPEN}({_LETTER})",
        re.I,
    ),
    re.compile(rf"(?<![\w'’])({_CAPITAL}){_CLOSE}\s+is\s+(?:the\s+)?(?:correct|right|best)\b"),
)
_ALONE = re.compile(rf"\s*{_OPEN}([A-Ha-h]){_CLOSE}\s*[.!]?\s*")
_FIRST = re.compile(rf"\s*{_OPEN}([A-H])(?=[\])}}>*]|\s*[.):,]){_LISTED}{_CLOSE}[.):,]?(?:\s|\*|$)")
_LABEL = re.compile(r"\s*[\[(]?([A-Ha-h])[\])]?\s*[.):]\s+(?=\S)")


@dataclass(frozen=True, slots=True)
class Answer:
    letter: str
    way: Way


def parsed(reply: str, options: Sequence[str] = ()) -> Answer | None:
    """The first of three ways that finds one option, and not two; None where none does.

    1. "stated": EchoMind's form, "The answer is: X".
    2. "letter": the letter by itself, before the option's words, or named as "option X".
    3. "words": the option's own words.
    """
    reply = reply.strip()
    if letters := _letters(_STATED, reply):
        return _only(letters, "stated")
    if alone := _ALONE.fullmatch(reply):
        return Answer(alone[1].upper(), "letter")
    named = [letter for pattern in _NAMED for letter in _letters(pattern, reply)]
    if letters := [*_letters(_FIRST, reply, at_start=True), *named]:
        return _only(letters, "letter")
    return _only(_by_words(reply, options), "words")


def labelled(options: Sequence[str]) -> dict[str, str]:
    """The options' words by letter, whether or not they carry it themselves."""
    marks = [_LABEL.match(option) for option in options]
    if all(mark and mark[1].upper() == chr(65 + at) for at, mark in enumerate(marks)):
        return {
            mark[1].upper(): option[mark.end() :]
            for mark, option in zip(marks, options, strict=True)
            if mark
        }
    return {chr(65 + at): option for at, option in enumerate(options)}


def key_letter(answer: str, options: Sequence[str] = ()) -> str | None:
    """The letter of a data set's key, which may be "c", "(C)", "C. …" or the option's words."""
    if found := _ALONE.fullmatch(answer) or _LABEL.match(answer):
        return found[1].upper()
    same = [
        letter for letter, words in labelled(options).items() if _plain(words) == _plain(answer)
    ]
    return same[0] if len(same) == 1 else None


def _letters(pattern: re.Pattern[str], reply: str, at_start: bool = False) -> list[str]:
    found = [pattern.match(reply)] if at_start else pattern.finditer(reply)
    return [match[1].upper() for match in found if match]


def _only(letters: Sequence[str], way: Way) -> Answer | None:
    """Who names two options has chosen none."""
    return Answer(letters[0], way) if len(set(letters)) == 1 else None


def _by_words(reply: str, options: Sequence[str]) -> list[str]:
    plain = f" {_plain(reply)} "
    found = {
        letter: words
        for letter, option in labelled(options).items()
        if (words := _plain(option)) and f" {words} " in plain
    }
    # "happy" is also found where "very happy" was said.
    whole = {
        letter: words
        for letter, words in found.items()
        if not any(words != other and f" {words} " in f" {other} " for other in found.values())
    }
    if len(whole) != 1:
        return [*whole]
    ((letter, words),) = whole.items()
    if len(words.split()) <= _SHORT and not _stands_out(words, reply):
        return []
    return [letter]


def _stands_out(words: str, reply: str) -> bool:
    """At the very end, or at the beginning and set off."""
    first = re.split(r"[.,;:!?\n—–]|\s-\s", reply.strip(), maxsplit=1)[0]
    return _plain(first) == words or f" {_plain(reply)}".endswith(f" {words}")


def _plain(text: str) -> str:
    text = text.lower().replace("’", "'")
    return " ".join(re.sub(r"[^\w']+", " ", text).split())
