"""What a voice should be given for words as they are written.

A voice reads most of writing well by itself: numbers, money, dates, times, units, titles. Here are
only the readings it lacks or gets wrong. The reply as it is shown and remembered stays as written.
"""

import re
from collections.abc import Callable, Mapping

LONGEST = 36  # letters without a space: the time voices take grows with the cube of it
_LONG = re.compile(rf"\S{{{LONGEST}}}(?=\S)")

Reading = str | Callable[[re.Match[str]], str]  # a template, as in re.sub, or a function


def spoken(clause: str) -> list[tuple[str, str]]:
    """The clause's words as written, with their spaces, each with what to say for it.

    Written words that have one reading stay together, as a telephone number does. What is not for
    saying reads as nothing, and a word without an end as several. All that is written, joined, is
    the clause.
    """
    readings = _readings(clause)
    words = [word.end() for word in re.finditer(r"^\s*\S+\s*|\S+\s*", clause)]
    pairs: list[tuple[str, str]] = []
    start = 0
    for end in words:
        if any(first < end < last for first, last in readings):
            continue
        said, at = "", start
        for (first, last), reading in readings.items():
            if start <= first < end:
                said += clause[at:first] + reading
                at = last
        pairs.append((clause[start:end], _LONG.sub(r"\g<0> ", said + clause[at:end])))
        start = end
    return pairs


def _readings(clause: str) -> dict[tuple[int, int], str]:
    """Places in the clause that are read otherwise, in order; the first rule to want one has it."""
    found: dict[tuple[int, int], str] = {}
    for pattern, reading in _RULES:
        for match in pattern.finditer(clause):
            start, end = match.span()
            if all(end <= first or last <= start for first, last in found):
                said = match.expand(reading) if isinstance(reading, str) else reading(match)
                found[match.span()] = said
    return dict(sorted(found.items()))


def _dotted(host: str) -> str:
    return host.lower().removeprefix("www.").replace(".", " dot ")


def _address(address: re.Match[str]) -> str:
    signs = {".": " dot ", "_": " underscore ", "-": " dash ", "+": " plus "}
    return "".join(signs.get(sign, sign) for sign in address[1]) + " at " + _dotted(address[2])


def _digits(number: re.Match[str]) -> str:
    plus = "plus " if number[0].startswith("+") else ""
    return plus + ", ".join(map(" ".join, re.findall(r"\d+", number[0])))


def _long_number(number: re.Match[str]) -> str:
    """Digit by digit; of very many only the first, for nobody listens to the rest."""
    groups = number[0].split(",") if "," in number[0] else re.findall(r"\d{1,4}", number[0])
    count = sum(map(len, groups))
    told = groups if count <= MOST_DIGITS else [group[:4] for group in groups[:4]]
    end = "" if told is groups else ", and so on"
    return " " * (number.start() > 0) + ", ".join(map(" ".join, told)) + end


def _range(numbers: re.Match[str]) -> str:
    """From a to b, if that goes upwards or through the hours: "747-400" is none."""
    money, low, kind, other_money, high = numbers.groups()
    first, last = (float(re.sub(",|:.*", "", number)) for number in (low, high))
    hours = max(first, last) <= 12 or re.search("(?i):|[ap].?m", numbers[0])
    season = len(low) == 4 and len(high) == 2 and last > first % 100  # 1998-99
    if first < last or hours or season:
        return f"{money}{low}{kind} to {other_money or money}{high}"
    return f"{money}{low}{kind} {other_money}{high}"


MOST_DIGITS = 24  # of a number; a card's has 16

_UNITS = {
    "g": "gram", "L": "liter", "l": "liter", "h": "hour", "kcal": "kilocalorie",
    "tsp": "teaspoon", "tbsp": "tablespoon", "bpm": "beat per minute", "mi/h": "mile per hour",
    "m/s": "meter per second",
}  # fmt: skip


def _unit(unit: re.Match[str]) -> str:
    noun, *rest = _UNITS[unit[1]].split(" ")
    one = re.search(r"(?<![\d.,])1$", unit.string[: unit.start()])
    return " ".join(["", noun if one else f"{noun}s", *rest])


_FRACTIONS = {"⅓": "1/3", "⅔": "2/3", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8"}
_STRETCHED = {  # what is left of a drawn-out word when its long letters are written once
    "god": "good", "col": "cool", "swet": "sweet", "fre": "free", "se": "see", "fel": "feel",
    "wo": "woo", "wel": "well", "hm": "hmm", "m": "mm", "sh": "hush", "br": "burr",
}  # fmt: skip
_SOUNDS = {
    "sh": "hush", "shh": "hush", "aww": "aw", "ahh": "ah", "ohh": "oh", "mhm": "mm-hm",
    "mhmm": "mm-hm", "brr": "burr", "grr": "gurr", "tsk": "tisk",
}  # fmt: skip
_SHORT = {
    "approx": "approximately", "incl": "including", "excl": "excluding", "dept": "department",
    "govt": "government", "ext": "extension",
}  # fmt: skip
_SIGNS = {"≥": "at least", "≤": "at most", "≠": "is not", "≈": "about"}


def _unstretched(word: re.Match[str]) -> str:
    short = re.sub(r"([a-z])\1{2,}", r"\1", word[0], flags=re.IGNORECASE)
    return _STRETCHED.get(short.lower(), short)


def _of(table: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
    return lambda match: table[match[1].lower()]


def _any(words: Mapping[str, str]) -> str:
    return "|".join(map(re.escape, words))


_HOST = r"(?:[a-zA-Z0-9][a-zA-Z0-9-]*\.)+"
_SITES = "com|org|net|edu|gov|io|ai|app|dev|uk|de|fr|info|tv"
_FILES = "py|txt|json|md|csv|pdf|html|css|exe|toml|yaml"
_NUMBER = r"\d+(?:,\d{3})*(?:[.:]\d+)?"
_KIND = r"(?: ?(?:%|°[CF]?|[aApP]\.?[mM]\.?)|st|nd|rd|th|[kKM])"
_PER = "mo|month|yr|year|week|day|night|hr|hour|min|minute|sec|second|person|kg|lb|item|piece"
_MONTHS = "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec"
_PHONES = (
    r"\+\d[\d ().-]{6,}\d",
    r"\(\d{3}\) ?\d{3}[-. ]\d{4}",
    r"(?:1[-. ])?\d{3}[-.]\d{3}[-.]\d{4}",
    r"\d{3}-\d{4}",
    r"0\d{2,4} \d{3,4} \d{3,4}",
    r"(?:911|988|741741)",  # for help
    r"(?:(?<=[Cc]all )|(?<=[Dd]ial ))(?:999|112|111|101|116 ?123)",
    r"(?<!\d )0\d+(?![.:]\d)",  # a code: its zeros count
)
# A voice that expects a Roman numeral behind these finds one in "King Charles".
_CROWNED = """
    Pope King Queen Henry Louis Edward George William Charles James Richard Elizabeth Napoleon Pius
    Benedict Leo Ramses Frederick Philip Alexander Nicholas Peter Catherine Ivan Gustav Christian
    Ferdinand Mark Apollo Gemini Rocky Act Scene Episode
"""

_READINGS: tuple[tuple[str, Reading], ...] = (
    # addresses; of a link only where it leads, for the rest is for eyes
    (rf"(?<![\w.])([\w.+-]+)@({_HOST}[a-zA-Z]{{2,}})", _address),
    (
        r"<?(?:https?://|(?=www\.))([\w.-]*\w)(?:[:/?#](?:[^\s<>]*[^\s<>.,;:!?)\]'\"”’])?)?>?",
        lambda link: f"a link to {_dotted(link[1])}",
    ),
    (
        rf"(?<![\w@.])({_HOST}(?:{_SITES}))(?![\w-]|\.\w)(?:/[^\s)]*[\w/])?",
        lambda site: _dotted(site[1]),
    ),
    (rf"(?<=\w)\.(?=(?:{_FILES})\b)", " dot "),
    # faces, and a heart, which is not "less than three"
    (r"(?<!\S)(?:[:;=][-']?[()DPpOo/|*\]\[]+|</?3|[xX]D|\^_*\^)(?=[\s.,!?]|$)", ""),
    # numbers
    (r"\d(?:,?\d){15,}", _long_number),
    *((rf"(?<![\w.,:/$£€-]){phone}(?![\w%/-]|[.,]\d)", _digits) for phone in _PHONES),
    (r"(?<!\w)\d{4}-\d\d-\d\d(?!\w)", r"\g<0>"),
    (r"(?<![\w.])\d+(?:\.\d+){2,}", lambda number: number[0].replace(".", " point ")),
    (r"(?<=\d) ?[-−–] ?(?=[\d.]+ ?=)", " minus "),
    (r"(?<!\d)(?<!\d )[−–](?=\d)", "minus "),
    (
        rf"(?<![\w.,:/-])([$£€]?)({_NUMBER})({_KIND}?) ?[-–] ?([$£€]?)({_NUMBER})(?!\w*[-–]\d)",
        _range,
    ),
    (r"(?<=\d) ?− ?(?=\d)", " minus "),
    (r"(?<![\w.,])(?=\.\d)", "0"),
    (r"(?<=\d) ?(?=[½¼¾])|(?<=\d) (?=\d/\d)", " and "),
    (rf"(?<=\d) ?({_any(_FRACTIONS)})", lambda part: f" and {_FRACTIONS[part[1]]}"),
    (rf"({_any(_FRACTIONS)})", _of(_FRACTIONS)),
    (r"(?<![\w./])(90/10|80/20|70/30|60/40|50/50)(?![\w/])", lambda two: two[1].replace("/", " ")),
    (r"(?<![\w./])(\d+)/(\1|100)(?![\w/])", r"\1 out of \2"),
    (r"(?<![\w./])(\d+\.\d+)/(\d+)(?![\w/])", r"\1 out of \2"),
    (r"(?<![\w./])(1\d\d|[4-9]\d)/(\d{2,3})(?![\w/])", r"\1 over \2"),  # blood pressure
    (r"(?<![\w.:])(\d{1,2}):(\d)(?![\w:])", r"\1 to \2"),
    (r"(?<!\w)(\d)['’′] ?(\d{1,2})(?:[\"”″]|''|(?!\w))", r"\1 foot \2"),
    (r"(?<![\w.,])(\d+(?:[.,]\d+)?) ?([€£])(?!\d)", r"\2\1"),
    (r"(?<![\w.,$£€])(-?\d{2,3})([CF])(?=[\s.,;:!?)]|$)", r"\1°\2"),
    (r"(?<=\d)([AP]M)\b", r" \1"),
    (rf"(?<=\d) ?({_any(_UNITS)})(?![\w/'’])", _unit),
    (r"(?<=\d)x(?= [a-z]|[.,;!?)]|\s*$)", " times"),
    (r"(?<=\d) x (?=\d)|(?<=\w) ?× ?(?=\w)", " times "),
    (r"(?<=\d)x(?=\d)", " by "),
    (r"(?<=\d)\+(?![\d+])", " plus"),
    (rf"(?<=\d)/(?=(?:{_PER})\b)", " per "),
    (r"(?<=\w )[Nn]o\. ?(?=\d)", "number "),
    (rf"(?<!\w)({_MONTHS})\.(?= \d)", r"\1"),
    # words; some that end a sentence are no abbreviations, which a space before the stop tells
    (r"(?<!\w)(no|fig|(?<=the )Sun)\.(?! ?\d)", r"\1 ."),
    (r"(?<!\w)[Ee]\.g\.,?", "for example,"),
    (r"(?<!\w)[Ii]\.e\.,?", "that is,"),
    (r"(?<!\w)[Aa]\.k\.a\.", "also known as"),
    (rf"(?<!\w)({_any(_SHORT)})(?:\.(?=,| [a-z\d])|(?![\w.]))", _of(_SHORT)),
    (r"(?<!\w)(max|min)\.(?= \d)", r"\1imum"),
    (r"(?i)(?<!\w)(yes|s?he|his|him|hers?)/(?=(?:no|s?he|his|him|hers?)\b)", r"\1 or "),
    (r"(?<!\w)CO[2₂](?!\w)", "C O 2"),
    (rf"({_any(_SIGNS)})", _of(_SIGNS)),
    (rf"(?i)(?<![\w'’])({_any(_SOUNDS)})(?![\w'’])", _of(_SOUNDS)),
    (r"(?i)(?<!\w)(?!w{3}|[ivxlcm]+\b)[a-z]*([a-z])\1\1[a-z]*(?!\w)", _unstretched),
    (
        rf"(?<!\w)(?:{'|'.join(_CROWNED.split())}) (?=[IVXLC])(?![IVXLC]+\b)",
        lambda name: name[0].lower(),
    ),
)
_RULES = [(re.compile(pattern), reading) for pattern, reading in _READINGS]
