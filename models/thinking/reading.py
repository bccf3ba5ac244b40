"""What the words of a turn do, and what someone who says them may need. Rules, and no model."""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from models.thinking import distress
from models.thinking.distress import Distress
from models.thinking.phrases import SCANNED, finder, negated, plain
from models.thinking.plan import Intent, Said
from models.types import Turn

NEEDS = (
    "safety", "comfort", "reassurance", "to be heard", "company", "rest", "celebration",
    "information", "advice", "help", "a favour", "a repetition", "medical advice", "to know us",
    "space", "another try", "english",
)  # fmt: skip
BRIEF = 15  # words; more than that do more than greet or thank
SHORT = 6  # words; so few lean on what was said before
MEDICAL_TURNS = 2  # before the last, that it may ask more about
TURNS = 5  # of a user: the last, and those over which distress lasts if answers are short
SCRIPTS = {
    "CJK": "zh", "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko", "CYRILLIC": "ru",
    "ARABIC": "ar", "HEBREW": "he", "GREEK": "el", "DEVANAGARI": "hi", "THAI": "th",
}  # fmt: skip

_TABLE: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("lexicon.toml").read_text("utf-8")
)
_EMOTIONS: Mapping[str, re.Pattern[str]] = {
    name: finder(phrases) for name, phrases in _TABLE["emotions"].items()
}
_STATES: Mapping[str, re.Pattern[str]] = {
    name: finder(phrases) for name, phrases in _TABLE["states"].items()
}
_ACTS: Mapping[str, re.Pattern[str]] = {
    name: finder(phrases, _TABLE["words"]) for name, phrases in _TABLE["acts"].items()
}
_US: Mapping[str, re.Pattern[str]] = {
    name: finder(phrases) for name, phrases in _TABLE["us"].items()
}
_NEUTRAL = finder(_TABLE["neutral"])
_TOPICS: Mapping[str, str] = {
    word: topic for topic, words in _TABLE["topics"].items() for word in words.split()
}
_LANGUAGES: Mapping[str, frozenset[str]] = {
    code: frozenset(words.split()) for code, words in _TABLE["languages"].items()
}
_WHOLE = ("refuses", "farewell", "thanks", "apology", "agrees", "greeting")
_ASKING = frozenset({Intent.ASKS, Intent.REQUESTS})
_BAD = frozenset({"sad", "angry", "fear", "disgust"})


def read(turns: Sequence[Turn], table: Distress | None = None) -> Said:
    """What the last user's turn says, in the light of those before it.

    Args:
        turns: the dialogue; what a user said without being answered is one turn.
        table: what counts as distress; by default distress.toml.
    """
    table = table or distress.load()
    said = _user_turns(turns) or [""]
    words = plain(said[-1])
    language = _language(said[-1], words)
    danger = _danger(said, table)
    if language != "en" and not danger:
        return Said(Intent.UNCLEAR, "english", language=language)
    if not danger and (kind := _of_us(words)):
        return Said(Intent.ASKS, "to know us", topic=f"us/{kind}")
    emotion, state = _emotion(words), _state(words)
    intent = Intent.SHARES_BAD if danger else _intent(words, emotion, state)
    if intent in _ASKING and not _of_oneself(words):
        emotion, state = "neutral", ""
    about, topic = _about(words, emotion), _topic(words)
    if len(said) > 1 and len(words.split()) <= SHORT and intent not in _ASKING:
        before = plain(said[-2])
        about, topic = about or _about(before, _emotion(before)), topic or _topic(before)
    need = "safety" if danger else _need(intent, emotion, state, words)
    if not danger and _is_medical(said, intent):
        need = "medical advice"
        intent = Intent.ASKS if intent is Intent.SHARES and _any(words, "medical") else intent
    return Said(intent, need, about, topic, emotion, danger, language)


def _user_turns(turns: Sequence[Turn]) -> list[str]:
    """The last few things users have said, the pauses in them forgotten."""
    said: list[str] = []
    answered = True
    for turn in reversed(turns):
        if turn.role == "user":
            if answered and len(said) == TURNS:
                break
            said[-1:] = [f"{turn.text} {said[-1]}"] if not answered else [*said[-1:], turn.text]
        answered = turn.role != "user"
    return said[::-1]


def _danger(said: Sequence[str], table: Distress) -> str | None:
    """The distress in a turn, all of it; or that of an earlier one, which short answers last over.

    It is looked for before anything else, in whichever language, and in the middle of a paste too.
    """
    for at in range(len(said) - 1, -1, -1):
        words = plain(said[at], SCANNED, SCANNED)
        if kind := table.kind(words, plain(said[at - 1]) if at else ""):
            return kind
        if len(words.split()) > SHORT or table.is_settled(words):
            return None
    return None


def _of_us(words: str) -> str:
    """Which question about ourselves someone asks, if it is all they say and feel."""
    sentences = _sentences(words)
    if not sentences or _any(words, "complains"):
        return ""
    for kind, phrases in _US.items():
        asked = phrases.match(_bare(sentences[-1]))
        if asked and not _left(asked.string[asked.end() :], "filler", "lead"):
            return kind if _emotion(" . ".join(sentences[:-1])) == "neutral" else ""
    return ""


def _is_medical(said: Sequence[str], intent: Intent) -> bool:
    """Whether someone wants to know what only a doctor or a pharmacist should tell them."""
    words, *before = (plain(text) for text in reversed(said))
    asks_more = _any(words, "medical_after")
    if _any(words, "medical"):
        return intent in _ASKING or asks_more
    follows = asks_more and len(words.split()) <= BRIEF
    return follows and any(_any(each, "medical") for each in before[:MEDICAL_TURNS])


def _intent(words: str, emotion: str, state: str) -> Intent:
    sentences = _sentences(words)
    insulted = any(_ACTS["insults"].match(_bare(sentence)) for sentence in sentences)
    if insulted or _any(words, "complains"):
        return Intent.COMPLAINS
    if _sarcastic(words):
        return _shared(words, emotion, state)
    brief = len(words.split()) <= BRIEF
    if brief and _any(words, "repetition"):
        return Intent.REQUESTS
    if whole := next((act for act in _WHOLE if brief and _is_all(act, words)), None):
        return Intent(whole)
    if not _left(words, "filler"):
        return Intent.UNCLEAR
    asked = [_asked(sentence) for sentence in sentences]
    told = _any(words, "tells_within") or any(map(_tells, sentences))
    wanted = _ACTS["tells_within"].sub("-", words)
    if Intent.REQUESTS in asked or _any(wanted, "requests_within") or _any(words, "advice"):
        return Intent.REQUESTS
    rhetorical = emotion != "neutral" and _PERSONAL.search(words) and _any(words, "rhetorical")
    asks = asked[-1] is Intent.ASKS or told or _any(words, "asks_within")
    if asks and not rhetorical:
        return Intent.ASKS
    if rhetorical and emotion == "surprise":
        return Intent.SHARES
    return _shared(words, emotion, state)


def _shared(words: str, emotion: str, state: str) -> Intent:
    if emotion in _BAD or state:
        return Intent.SHARES_BAD
    if emotion == "happy":
        return Intent.SHARES_GOOD
    different = {*words.split()} - {".", "?"}
    return Intent.SHARES if len(different) > 1 or any(map(_is_word, different)) else Intent.UNCLEAR


def _is_word(token: str) -> bool:
    """Whether it says something alone: a name or "whatever" does, "the" and "xxx" do not."""
    if token in _LANGUAGES["en"] or not token.isalpha() or len(set(token)) == 1:
        return False
    return not token.isascii() or bool(re.search("[aeiouy]", token))


def _sentences(words: str) -> list[str]:
    return [part for part in re.split(r" ?\. ?|(?<=\?) ", words) if part]


def _bare(sentence: str) -> str:
    """A sentence without "well", "okay so" and the like before it."""
    while opened := _LEAD.match(sentence):
        sentence = sentence[opened.end() :]
    return sentence


def _asked(sentence: str) -> Intent | None:
    """Whether one sentence asks or requests, by its beginning or its mark."""
    start = _bare(sentence)
    if _tells(sentence):
        return Intent.ASKS
    if _ACTS["requests"].match(start):
        return Intent.REQUESTS
    if sentence.endswith("?") or _ACTS["asks"].match(start):
        return Intent.ASKS
    return None


def _tells(sentence: str) -> bool:
    """Whether one sentence wants something to be told, and nothing to be done."""
    return bool(_ACTS["tells"].match(_bare(sentence)))


def _any(words: str, *acts: str) -> bool:
    return any(_ACTS[act].search(words) for act in acts)


def _is_stuck(words: str) -> bool:
    """Whether what does not work is theirs, or before them: lakes, too, are frozen."""
    for found in _ACTS["stuck"].finditer(words):
        before = re.split(r"[.?]", words[: found.start()])[-1].strip()
        if not before or _THEIRS.search(before) or _DEFINITE & {*found[0].split()}:
            return True
    return False


def _is_all(act: str, words: str) -> bool:
    """Whether a turn does this and nothing else, but for yes, hello and the like around it."""
    return _any(words, act) and not _left(words, act, "lead", "filler")


def _left(words: str, *acts: str) -> str:
    """What is left when the phrases of these acts are taken away."""
    for act in acts:
        words = _ACTS[act].sub("", words)
    return " ".join(words.replace(".", " ").replace("?", " ").split())


def _emotion(words: str) -> str:
    """The feeling named most, of equals the gravest, then the latest.

    A good one denied is a sad one, and one that is not meant is anger.
    """
    meant = _STATES["unwell"].sub("-", _NEUTRAL.sub("-", words))  # a head that hurts is no grief
    found: list[tuple[int, str]] = []
    for name, phrases in _EMOTIONS.items():
        for match in phrases.finditer(meant):
            if not negated(meant, match.start()):
                found.append((match.start(), name))
            elif name == "happy":
                found.append((match.start(), "sad"))
    if _sarcastic(words):
        found = [(at, "angry" if name == "happy" else name) for at, name in found]
    counts = Counter(name for _, name in found)
    grave = "sad" if _GRAVE.search(meant) else ""
    most = max(
        found, key=lambda each: (counts[each[1]], each[1] == grave, each[0]), default=(0, "neutral")
    )
    return most[1]


def _sarcastic(words: str) -> bool:
    return _any(words, "sarcasm") and bool(_EMOTIONS["happy"].search(words))


def _state(words: str) -> str:
    for name, phrases in _STATES.items():
        if (match := phrases.search(words)) and not negated(words, match.start()):
            return name
    return ""


def _need(intent: Intent, emotion: str, state: str, words: str) -> str:
    match intent:
        case Intent.ASKS:
            return "help" if _is_stuck(words) else "information"
        case Intent.REQUESTS:
            wanted = ("repetition", "advice", "stuck")
            of_act = {"repetition": "a repetition", "advice": "advice", "stuck": "help"}
            return next((of_act[act] for act in wanted if _any(words, act)), "a favour")
        case Intent.SHARES if _any(words, "stuck") and "technology" in _topics(words):
            return "help"
        case Intent.SHARES_GOOD:
            return "celebration"
        case Intent.COMPLAINS:
            return "to be heard"
        case Intent.REFUSES:
            return "space"
        case Intent.APOLOGY:
            return "reassurance"
        case Intent.UNCLEAR:
            return "another try"
        case Intent.SHARES_BAD:
            of_state = {"lonely": "company", "weary": "rest"}.get(state)
            of_emotion = {"fear": "reassurance", "angry": "to be heard", "disgust": "to be heard"}
            return of_state or of_emotion.get(emotion, "comfort")
        case _:
            return "company"


def _of_oneself(words: str) -> bool:
    """Whether someone tells of themselves, and does not only use the word."""
    return bool(_ONESELF.search(words))


def _topic(words: str) -> str:
    found = _topics(words)
    return Counter(found).most_common(1)[0][0] if found else ""


def _topics(words: str) -> list[str]:
    return [_TOPICS[word] for word in words.split() if word in _TOPICS]


def _about(words: str, emotion: str) -> str:
    """The matter, spoken to the one whose it is; made of listed words alone.

    Of two matters it is the one of which the feeling is said. Where someone is sad and mentions a
    person, it need not be about that person: only if something is said to have befallen them.
    """
    clauses = _CLAUSES.split(words)
    matters = [(clause, about) for clause in clauses for about in _matters(clause, emotion)]
    told = next((about for clause, about in matters if _emotion(clause) == emotion), "")
    return told or next((about for _, about in matters), "")


def _matters(words: str, emotion: str) -> Iterator[str]:
    for about, phrases in _VERBS.items():
        if phrases.search(words):
            yield about
    for match in _MATTER.finditer(words):
        around = words[: match.start()].split()[-3:] + words[match.end() :].split()[:5]
        if emotion != "sad" or not _BEING.search(match[1]) or _AFFLICTED & {*around}:
            mine = f"your {match[1]}".replace(" my ", " your ")
            yield _DAY.sub(lambda day: day[0].title(), mine)


def _language(text: str, words: str) -> str:
    """English unless the letters or the small words speak against it."""
    letters = [letter for letter in text[:400] if letter.isalpha()]
    foreign = Counter(
        code
        for letter in letters
        for script, code in SCRIPTS.items()
        if not letter.isascii() and unicodedata.name(letter, "").startswith(script)
    )
    if foreign.total() > len(letters) / 2:
        return "ja" if foreign["ja"] else foreign.most_common(1)[0][0]
    tokens = set(words.replace("'", " ").split()[:60])  # said nine times it is one word
    counts = {code: sum(t in small for t in tokens) for code, small in _LANGUAGES.items()}
    best = max(counts, key=lambda code: counts[code])
    if counts[best] >= 2 and counts[best] > counts["en"] + 1 and len(tokens) > 2:
        return best
    known = any(counts.values()) or _topic(words) or _ACTS["filler"].search(words)
    return "en" if known or len(tokens) < 8 else "other"


def _listed(*names: str) -> str:
    words: list[str] = " ".join(_TABLE["about"][name] for name in names).split()
    return "|".join(map(re.escape, words))


_LEAD = re.compile(_ACTS["lead"].pattern + r" (?:\. )?")
_PERSONAL = finder(["i", "me", "my", "we", "us", "our", "myself"])
_THEIRS = re.compile(
    r"(?<!\S)(?:i|we|it|he|she|they|everything|nothing|"
    r"(?:my|our|his|her|their|the|this|these|those)(?: \S+){1,3}?)"
    r"(?: (?:just|still|always|also|all|suddenly|have|had|am|having|keep|got))*$"
)
_DEFINITE = frozenset({"i", "me", "my", "we", "us", "our", "it", "this", "that", "the"})
_CLAUSES = re.compile(r" (?:but|although|though|because|yet|while|\.|\?)(?: |$)")
_GRAVE = finder(_TABLE["grave"])
_ONESELF = finder(_TABLE["oneself"])
_VERBS: Mapping[str, re.Pattern[str]] = {
    about: finder(phrases) for about, phrases in _TABLE["about"]["verbs"].items()
}
_NOUN = (
    rf"(?:(?:{_listed('modifiers')}) ){{0,2}}(?:{_listed('beings', 'things')})(?: in law)?"
    rf"(?: (?:{_listed('seconds')}))?"
)
_MATTER = re.compile(
    r"(?<!\S)(?:my|our|(?:i|we) (?:just |also |have )?(?:have|had|got) (?:a|an|the|this|that)"
    r"(?: big| huge)?) "
    rf"({_NOUN}(?: with my (?:{_listed('beings')}))?(?: (?:{_TABLE['about']['times']}))?)(?!\S)"
)
_BEING = re.compile(rf"(?:{_listed('beings')})(?: in law)?$")
_AFFLICTED = frozenset(_TABLE["about"]["afflicted"].split("|"))
_DAY = re.compile(r"(?<= )(?:mon|tues|wednes|thurs|fri|satur|sun)day")
