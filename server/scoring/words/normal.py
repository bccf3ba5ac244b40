"""English as it sounds: what two transcripts of the same speech should agree on.

It follows the normaliser that came with Whisper: lower case; nothing in brackets, no fillers;
contractions and titles written out; no punctuation and no accents; numbers in digits; one form for
British and American spellings. What it makes is for comparing and not for reading.
"""

import re
import unicodedata

from server.scoring.words.numbers import in_digits
from server.scoring.words.spelling import one_form

_BRACKETED = re.compile(r"[<\[][^<\[>\]]*[>\]]|\([^()]+\)")
_FILLERS = re.compile(r"\b(?:hmm|mm|mhm|mmm|uh|um)\b")
_LOOSE_APOSTROPHE = re.compile(r" '")
_WHOLE = {  # words that are written another way
    "won't": "will not", "can't": "can not", "let's": "let us", "ain't": "aint",
    "y'all": "you all", "ma'am": "madam", "i'ma": "i am going to", "imma": "i am going to",
    "wanna": "want to", "gotta": "got to", "gonna": "going to",
    "woulda": "would have", "coulda": "could have", "shoulda": "should have",
    "mr": "mister", "mrs": "missus", "dr": "doctor", "st": "saint", "prof": "professor",
    "capt": "captain", "gov": "governor", "gen": "general", "sen": "senator",
    "rep": "representative", "pres": "president", "rev": "reverend", "hon": "honorable",
    "asst": "assistant", "assoc": "associate", "lt": "lieutenant", "col": "colonel",
    "jr": "junior", "sr": "senior", "esq": "esquire", "ald": "alderman",
}  # fmt: skip
_WHOLE_WORDS = re.compile(rf"\b(?:{'|'.join(map(re.escape, _WHOLE))})\b")
_ENDINGS = [  # in this order: the perfect tense first
    (re.compile(rf"{ending}\b"), written)
    for ending, written in (
        ("'d (been|gone|done)", r" had \1"),
        ("'s (been|gone|got)", r" has \1"),
        ("n't", " not"), ("'re", " are"), ("'s", " is"), ("'d", " would"), ("'ll", " will"),
        ("'t", " not"), ("'ve", " have"), ("'m", " am"),
    )
]  # fmt: skip
_COMMA_IN_NUMBER = re.compile(r"(?<=\d),(?=\d)")
_FULL_STOP = re.compile(r"\.(?!\d)")
_NO_AMOUNT = re.compile(r"[.$¢€£](?!\d)|(?<!\d)%")
_KEPT = ".%$¢€£"  # they belong to numbers
_LETTERS = str.maketrans(
    {"œ": "oe", "ø": "o", "æ": "ae", "ß": "ss", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "’": "'"}
)


def normal(text: str) -> str:
    """The words that count, a space between any two."""
    text = " ".join(text.lower().translate(_LETTERS).split())
    text = _BRACKETED.sub("", text)
    text = _FILLERS.sub("", text)
    text = _LOOSE_APOSTROPHE.sub("'", text)
    text = _WHOLE_WORDS.sub(lambda found: f"{_WHOLE[found[0]]} ", text)
    for ending, written in _ENDINGS:
        text = ending.sub(written, text)
    text = _COMMA_IN_NUMBER.sub("", text)
    text = _FULL_STOP.sub(" ", text)
    words = in_digits(_plain(text).split())
    return " ".join(map(one_form, _NO_AMOUNT.sub(" ", " ".join(words)).split()))


def _plain(text: str) -> str:
    """Without accents; marks and symbols make way for spaces."""
    made = []
    for character in unicodedata.normalize("NFKD", text):
        kind = unicodedata.category(character)
        if character in _KEPT or kind[0] not in "MSP":
            made.append(character)
        elif kind != "Mn":
            made.append(" ")
    return "".join(made)
