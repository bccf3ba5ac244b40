"""Speech as plain words, and phrases to look for in them."""

import re
from collections.abc import Iterable, Mapping

FIRST, LAST = 100, 200  # words of a turn that are read: its beginning and its end
SCANNED = 3000  # words at either end of a turn in which distress is looked for
LONGEST = 30  # letters of a word
NEGATION = frozenset(
    ("not", "no", "never", "nothing", "nobody", "neither", "nor", "hardly", "barely", "without")
)
AFFIRMED = frozenset({"stop", "help", "only", "wait", "just"})  # "I can not stop crying"
REACH = 4  # words a negation goes on for
NESTED = 3  # times a name may stand for names
NO_NAMES: Mapping[str, str] = {}

# What recognizers and people write together, spelled out: one phrase then finds all of them.
_ENDINGS = (
    (re.compile(r"\blet'?s\b"), "let us"),
    (re.compile(r"\bcan'?t\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon'?t\b"), "will not"),
    (re.compile(r"\bain'?t\b"), "is not"),
    (re.compile(r"(\w)n't\b"), r"\1 not"),
    (re.compile(r"\b(do|did|does|is|was|are|have|has|had|could|would|should)nt\b"), r"\1 not"),
    (re.compile(r"\bi'?m\b"), "i am"),
    (re.compile(r"\bi'?ve\b"), "i have"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"\b(you|they)re\b"), r"\1 are"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"\b(it|he|she|that|what|there|who|where|how|when|here)'s\b"), r"\1 is"),
    (re.compile(r"\b(he|she|that|what|there)s\b"), r"\1 is"),
    (
        re.compile(r"(\w)'s (?=(?:on|not|in|at|having|being|been|going|trying|a|the|so|just)\b)"),
        r"\1 is ",
    ),
    (re.compile(r"\bgonna\b"), "going to"),
    (re.compile(r"\bwanna\b"), "want to"),
    (re.compile(r"\bgotta\b"), "have to"),
    (re.compile(r"\b(um+|uh+|er+m?|hm+|mm+|ah)\b"), ""),
)
_ANY = r"(?:[^.?\s]\S* ){0,3}"  # a few words of the same sentence


def plain(text: str, first: int = FIRST, last: int = LAST) -> str:
    """A turn's words in lower case, one space apart; of its marks only "." and "?" stay.

    Of a turn that is too long, the middle is left out.
    """
    words = [word[:LONGEST] for word in _bounded(text, first, last)]
    joined = " ".join(words).lower().replace("’", "'").replace("‘", "'")
    for written, spoken in _ENDINGS:
        joined = written.sub(spoken, joined)
    joined = re.sub(r"[!;:…\n]+|\.(?=\s|$)", " . ", joined).replace("?", " ? ")
    joined = re.sub(r"[^\w\s'.?]|(?<!\w)'|'(?!\w)|(?<=\S)\.(?=\S)", " ", joined)
    return re.sub(r"(?:\. )+(?=[.?])", "", " ".join(joined.split()))


def finder(phrases: Iterable[str], names: Mapping[str, str] = NO_NAMES) -> re.Pattern[str]:
    """One pattern for any of the phrases, at whole words of a plain text.

    A phrase is a regular expression in which `~` stands for up to three words, and <name> for any
    of the alternatives under that name.
    """
    joined = "|".join(phrases)
    for _ in range(NESTED):
        joined = re.sub(r"<([a-z]+)>", lambda name: f"(?:{names[name[1]]})", joined)
    joined = joined.replace("~ ", _ANY)
    joined = re.sub(r"\((?!\?)", "(?:", joined)  # nobody asks for the groups, and they take time
    return re.compile(rf"(?<!\S)(?:{joined or '(?!)'})(?!\S)")


def negated(text: str, at: int) -> bool:
    """Whether what stands at this place of a plain text is denied, as in "I am not so happy"."""
    after = ""
    for word in reversed(text[:at].split()[-REACH:]):
        if word in {".", "?", "but", "because"}:
            return False
        if word in NEGATION and after not in AFFIRMED:
            return True
        after = word
    return False


def _bounded(text: str, first: int, last: int) -> list[str]:
    if len(text) <= (first + last) * LONGEST:
        head, tail = text.split(), []
    else:  # so much that even cutting it into words would take long
        head = text[: first * LONGEST].split()
        tail = text[-last * LONGEST :].split()
    if len(head) + len(tail) > first + last:
        head, tail = head[:first], (head + tail)[-last:]
    return [*head, *tail]
