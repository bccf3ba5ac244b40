"""Numbers in words as digits: "twenty five percent" is "25%", "nineteen ninety" is "1990"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Size = Literal["zero", "unit", "teen", "tens", "hundred", "scale", "digits"]

_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
    "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ("thousand", "million", "billion", "trillion")
_ORDINALS = {
    "first": "one", "second": "two", "third": "three", "fifth": "five", "eighth": "eight",
    "ninth": "nine", "twelfth": "twelve",
}  # fmt: skip
_MONEY = {"dollar": "$", "pound": "£", "euro": "€", "cent": "¢"}
_SIGNS = {"minus": "-", "negative": "-"}

SIZES: dict[str, tuple[Size, int]] = {
    "zero": ("zero", 0),
    "oh": ("zero", 0),
    "o": ("zero", 0),
    **{name: ("unit", value) for value, name in enumerate(_UNITS, 1)},
    **{name: ("teen", value) for value, name in enumerate(_TEENS, 10)},
    **{name: ("tens", 10 * value) for value, name in enumerate(_TENS, 2)},
    "hundred": ("hundred", 100),
    **{name: ("scale", 1000**power) for power, name in enumerate(_SCALES, 1)},
}
_FIGURES = re.compile(r"([$€£¢]?)(\d{1,30}(?:\.\d{1,30})?)")
_ORDINAL_END = {1: "st", 2: "nd", 3: "rd"}


def in_digits(words: Sequence[str]) -> list[str]:
    """The words with their numbers in digits; "one" by itself stays, it is seldom a number."""
    words, made, at = _parted(words), [], 0
    while at < len(words):
        number, at = _read(words, at)
        made.append(number)
    return _with_cents(made)


def _parted(words: Sequence[str]) -> list[str]:
    """Letters apart from figures ("5pm"), but for the end of an ordinal ("5th") or a decade."""
    text = re.sub(r"(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])", " ", " ".join(words))
    return re.sub(r"(?<=\d)\s+(?=(?:st|nd|rd|th|s)\b)", "", text).split()


@dataclass(slots=True)
class _Number:
    """A number while it is read: parts that do not add up stand side by side."""

    done: str = ""
    part: int | Fraction | None = None
    last: Size | None = None

    def add(self, size: Size, value: int) -> None:
        part = self.part
        if size in ("hundred", "scale") and part and self.last != "zero":
            # "two thousand three hundred": only what is below the last thousand is multiplied.
            low = part if self.last == "digits" else part % 1000
            self.part = part - low + low * value
        elif part is not None and self._fits(size):
            self.part = part + value
        else:
            self.done += self._written()
            self.part = value
        self.last = size

    def _fits(self, size: Size) -> bool:
        after_round = self.last in ("hundred", "scale")
        return (
            size in ("unit", "teen", "tens")
            and after_round
            or (size == "unit" and self.last == "tens")
        )

    def _written(self) -> str:
        if self.part is None:
            return ""
        whole = Fraction(self.part)
        return str(whole) if whole.denominator == 1 else f"{float(whole):.10f}".rstrip("0")

    def __str__(self) -> str:
        return self.done + self._written()


def _read(words: Sequence[str], at: int) -> tuple[str, int]:
    """The number that begins here, or the word, and where the next one begins."""
    sign, begin = "", at
    if words[at] in _SIGNS and _begins(words, at + 1):
        sign, at = _SIGNS[words[at]], at + 1
    if not _begins(words, at):
        return words[begin], begin + 1
    number, mark = _Number(), ""
    if figures := _FIGURES.fullmatch(words[at]):
        mark, amount = figures.groups()
        number.part, number.last, at = Fraction(amount), "digits", at + 1
        shown = amount if number.part.denominator != 1 else str(number.part)
    else:
        shown = ""
    while at < len(words):
        word = words[at]
        after = words[at + 1] if at + 1 < len(words) else ""
        if word in ("double", "triple") and after in SIZES and SIZES[after][1] < 10:
            for _ in range(2 if word == "double" else 3):
                number.add("zero", SIZES[after][1])  # as a digit of its own
            at += 2
        elif word in SIZES and not (shown and SIZES[word][0] not in ("hundred", "scale")):
            number.add(*SIZES[word])
            shown, at = "", at + 1
        elif word == "and" and number.last in ("hundred", "scale") and _adds(after):
            at += 1
        elif ordinal := _ordinal(word, number if not shown else None):
            return sign + ordinal, at + 1
        else:
            break
    text, at = _decimals(words, at, shown or str(number))
    return _measured(words, at, begin, sign, mark, text)


def _decimals(words: Sequence[str], at: int, text: str) -> tuple[str, int]:
    """With what follows "point", digit by digit, or a half."""
    rest = words[at : at + 3]
    if rest == ["and", "a", "half"] and "." not in text:
        return f"{text}.5", at + 3
    if rest[:1] == ["point"] and len(rest) > 1 and "." not in text:
        follow = rest[1]
        if follow.isdecimal():
            return f"{text}.{follow}", at + 2
        digits = _Number()
        while (at + 1 < len(words)) and SIZES.get(words[at + 1], ("scale", 0))[0] in (
            "zero", "unit", "teen", "tens",
        ):  # fmt: skip
            digits.add(*SIZES[words[at + 1]])
            at += 1
        if str(digits):
            return f"{text}.{digits}", at + 1
    return text, at


def _measured(
    words: Sequence[str], at: int, begin: int, sign: str, mark: str, text: str
) -> tuple[str, int]:
    """With its sign, its currency or its percent."""
    after = words[at] if at < len(words) else ""
    if after == "percent":
        return f"{sign}{text}%", at + 1
    if list(words[at : at + 2]) == ["per", "cent"]:
        return f"{sign}{text}%", at + 2
    if money := _MONEY.get(after.removesuffix("s")):
        return f"{sign}{money}{text}", at + 1
    if not sign and not mark and at == begin + 1:
        if words[begin] in ("oh", "o"):  # seldom nought
            return words[begin], at
        text = "one" if text == "1" else text
    return f"{sign}{mark}{text}", at


def _begins(words: Sequence[str], at: int) -> bool:
    if at >= len(words):
        return False
    word = words[at]
    if word in ("double", "triple"):
        return at + 1 < len(words) and SIZES.get(words[at + 1], ("", 10))[1] < 10
    return word in SIZES or bool(_FIGURES.fullmatch(word)) or bool(_ordinal(word, _Number()))


def _adds(word: str) -> bool:
    return (word in SIZES and SIZES[word][0] in ("unit", "teen", "tens")) or bool(
        _ordinal(word, _Number())
    )


def _ordinal(word: str, number: _Number | None) -> str:
    """The number with such an end, as "21st" or "20s"; empty where the word is none."""
    cardinal, end = _ORDINALS.get(word, ""), "th"
    if not cardinal:
        for ending, root, mark in (
            ("ieth", "y", "th"), ("ies", "y", "s"), ("th", "", "th"), ("es", "", "s"),
            ("s", "", "s"),
        ):  # fmt: skip
            if word.endswith(ending) and (found := word.removesuffix(ending) + root) in SIZES:
                cardinal, end = found, mark
                break
    if not cardinal or number is None or SIZES[cardinal][0] == "zero":
        return ""
    number.add(*SIZES[cardinal])
    text = str(number)
    if text + end == "1s":
        return "ones"
    if end == "th" and not text.endswith(("11", "12", "13")):
        end = _ORDINAL_END.get(int(text[-1]), "th")
    return text + end


def _with_cents(words: Sequence[str]) -> list[str]:
    """ "$5 and ¢7" as "$5.07", and "$0.50" as "¢50"."""
    text = re.sub(
        r"(?<!\S)([$€£]\d+) (?:and )?¢(\d{1,2})(?!\S)",
        lambda found: f"{found[1]}.{int(found[2]):02d}",
        " ".join(words),
    )
    text = re.sub(r"(?<!\S)[$€£]0\.(\d{2})(?!\S)", lambda found: f"¢{int(found[1])}", text)
    return text.split()
