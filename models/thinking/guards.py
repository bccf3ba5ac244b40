"""What a reply model says that nobody should hear: refusals, pretence, loops, its own notes."""

import re
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import aclosing

REPEATS = 3  # times a run of words may come before it is a loop
LONGEST_RUN = 12  # words

_REFUSES = re.compile(
    r"\b(?:as an? (?:ai|artificial|language|digital|virtual)|language model|chat ?bot|"
    r"i(?:'m| am) (?:unable|not able) to|not equipped to|(?:any|the) misunderstanding|"
    r"i (?:can't|cannot|can not) (?:assist|help|provide|answer|offer|give|recommend)|"
    r"i don't have (?:the ability|access|any information)|knowledge cutoff|"
    r"i(?: was| am|'m) (?:\w+ )?(?:trained|programmed|designed))\b",
    re.IGNORECASE,
)
# A small model talks as if it had a body, an office, a shop or a screen.
_PRETENDS = re.compile(
    r"\b(?:my (?:office|shop|store|house|website|wife|husband|kids|children|boss|team|company|"
    r"dog|cat|mom|dad|mother|father|friend|friends|age|name is)|for me\b|search box|type \"|"
    r"click|(?:take|give|show|send|bring|buy|lend) you a|let's meet|"
    r"i'll (?:come|drive|call|bring)|(?:we|i) (?:could|can|should) (?:take a walk|meet|go|visit)|"
    r"to my|with my|i used to|when i was|i'll be (?:right|over)|"
    r"(?:i'm|i am) (?:just )?going to (?:call|come|send|bring)|"
    r"(?:i'm|i am) (?:not )?your (?:family|friend|doctor|mother|father|husband|wife)|"
    r"your (?:age range|phone number|address|e-?mail|password|(?:full |\w+'s )?name|credit card|"
    r"business\?))",
    re.IGNORECASE,
)
_STALE = re.compile(
    r"\b(?:how can i (?:help|assist)|(?:can|could|may) i (?:help|assist) you|"
    r"(?:i|we) (?:can|could|will) help|you mean\b|made you think|"
    r"happy to help|glad to help|here to (?:help|assist)|assist you|any (?:special )?requests|"
    r"would you like to know more|know more about|how about you|something else|"
    r"what brings you|what can i do for you|your situation|current situation|your take on)",
    re.IGNORECASE,
)
# A voice on a line has done nothing, and will do nothing: it sets no timer, and calls nobody.
_DEEDS = (
    r"(?:set|turn|switch|call|phone|ring|dial|text|send|e-?mail|message|remind|wake|play|start|"
    r"stop|open|close|lock|unlock|book|order|buy|pay|add|put|save|delete|remove|cancel|schedule|"
    r"search|look (?:up|for|into)|check|find|google|get|fetch|pick|dim|adjust|change|update|create|"
    r"make|write|note|record|post|share|contact|arrange|handle|take care|"
    r"(?:let|tell) (?:him|her|them|everyone|your))"
)
_DONE = r"(?!need\b)(?:\w{2,}ed|set|sent|put|made|done|found|told|let|written|bought|shut|got)"
_THINGS = (
    r"(?:timers?|alarms?|reminders?|lights?|music|calls?|messages?|e-?mails?|appointments?|tables?|"
    r"taxis?|orders?|reservations?|meetings?)"
)
_OFTEN = r"(?:just |now |already |also |gladly |quickly )*"
_CLAIMS_A_DEED = re.compile(
    rf"\bi(?:'ve| have|)\b ?{_OFTEN}{_DONE}\b|"
    rf"\b(?:i(?:'ll| will| can)|i(?:'m| am) (?:going|about) to|let me) {_OFTEN}{_DEEDS}\b|"
    rf"(?:^|\b(?:the|your) (?:\w+ )?){_THINGS} (?:is|are|has been|have been) "
    rf"{_OFTEN}(?:{_DONE}|on|off|playing)\b|"
    r"\b(?:calling|playing|setting|turning|sending|opening|adding|booking|ordering|starting)\b"
    r".*\b(?:now|for you)\b|"
    r"^\W*(?:(?:ok(?:ay)?|sure|of course|all ?right|yes|certainly)\W+)?(?:it'?s |that'?s )?"
    r"(?:done\b|all set\b)",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\[[^\]]*(?:\]\s*|$)")  # also one that has not ended
_MARKERS = ("need", "do", "tone", "think first")  # of models/thinking/told.py
_MARKS = ' \t\n-*("“'
_BARE_NOTE = re.compile(
    r"""(?:^|(?<=[.!?)\]"]))[\s\-*("“]*(?:(?:need|do|tone)[\s*]*:|think\ first\.)""",
    re.IGNORECASE | re.VERBOSE,
)
_THOUGHT = re.compile(r"\[\s*need\s*:[^\]]*(?:\]\s*|$)", re.IGNORECASE)  # also one unended
_BARE_THOUGHT = re.compile(
    r"""
    ^[\s\-*("“]*need:[^\].]*\.\s*do:[^\].]*
    (?:$|\.\s*(?:tone:\s*\w*[.\])*\s]*|(?:t|to|ton|tone)$)?)  # its end may be still to come
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FIELDS = ("need:", "do:", "tone:")
_LAST_SENTENCE = re.compile(r"""[^.!?)\]"]*$""")
_APOLOGISES = re.compile(r"\b(?:i'?m|i am|so) (?:so |very |really |truly )?sorry\b", re.IGNORECASE)


def refuses(text: str) -> bool:
    return bool(_REFUSES.search(text))


def pretends(text: str) -> bool:
    """Whether it claims what a voice on a line cannot have or do, or asks what is none of ours."""
    return bool(_PRETENDS.search(text))


def claims_a_deed(text: str) -> bool:
    """Whether it says that something was done, or will be, beyond talking."""
    return bool(_CLAIMS_A_DEED.search(text.replace("’", "'")))


def stale(text: str) -> bool:
    """Whether it is a phrase of the trade, that would fit any words at all."""
    return bool(_STALE.search(text))


def apologises(text: str) -> bool:
    return bool(_APOLOGISES.search(text))


async def unlooped(tokens: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The tokens up to where they begin to go in circles."""
    text = ""
    async for token in tokens:
        text += token
        if token.strip() and circles(text):
            return
        yield token


async def unnoted(tokens: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The tokens without what stands in square brackets, and up to where a note begins bare."""
    async with aclosing(_cut(tokens, without_notes, _doubtful)) as words:
        async for word in words:
            yield word


async def unthought(tokens: AsyncIterable[str]) -> AsyncGenerator[str, None]:
    """The tokens without a model's thoughts; whatever else stands in brackets is said."""
    async with aclosing(_cut(tokens, without_thoughts, _perhaps_thought)) as words:
        async for word in words:
            yield word


async def _cut(
    tokens: AsyncIterable[str], cut: Callable[[str], str], doubtful: Callable[[str], int]
) -> AsyncGenerator[str, None]:
    """What is left of the tokens; as many last characters as are doubtful wait for the next."""
    text, given = "", 0
    async for token in tokens:
        text += token
        said = cut(text)
        settled = len(said) - doubtful(said)
        if settled > given:
            yield said[given:settled]
            given = settled
    if rest := cut(text)[given:]:
        yield rest


def without_notes(text: str) -> str:
    """As much of a reply as is meant for anyone's ears."""
    said = _NOTE.sub(lambda note: " " if _touches(text, note.start()) else "", text)
    bare = _BARE_NOTE.search(said)
    return said[: bare.start()] if bare else said


def without_thoughts(text: str) -> str:
    """A reply without notes of the form in which a model thinks: bare ones only where it begins."""
    said = _THOUGHT.sub(lambda note: " " if _touches(text, note.start()) else "", text)
    return _BARE_THOUGHT.sub("", said)


def _touches(text: str, at: int) -> bool:
    return at > 0 and not text[at - 1].isspace()


def _doubtful(said: str) -> int:
    """How many of the last characters may be the beginning of a note."""
    sentence = _LAST_SENTENCE.search(said)
    begun = sentence[0] if sentence else ""
    word = begun.lstrip(_MARKS).rstrip(" *").lower()
    return len(begun) if any(marker.startswith(word) for marker in _MARKERS) else 0


def _perhaps_thought(said: str) -> int:
    """How many of the last characters may be the beginning of a thought."""
    if _begins_bare(said):
        return len(said)
    _, bracket, inside = said.rpartition("[")
    word = "".join(inside.lower().split())
    return len(bracket + inside) if bracket and _FIELDS[0].startswith(word) else 0


def _begins_bare(said: str) -> bool:
    """Whether all of it may become a bare thought: its fields in their order, each ended."""
    rest = said.lstrip(_MARKS).lower()
    for field in _FIELDS:
        if not rest.startswith(field):
            return field.startswith(rest)
        _, ended, rest = rest.partition(".")
        if not ended:
            return True
        rest = rest.lstrip()
    return False


def circles(text: str) -> bool:
    """Whether the last words have been said several times in a row."""
    words = re.findall(r"[\w']+", text.lower())
    for size in range(1, LONGEST_RUN + 1):
        needed = REPEATS + 2 if size == 1 else REPEATS  # "no, no, no, no" is still said
        if len(words) < size * needed:
            continue
        run = words[-size:]
        if all(words[-size * (n + 1) : len(words) - size * n] == run for n in range(needed)):
            return True
    return False
