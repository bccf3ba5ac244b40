"""Whether the corpus is what its datasheet says: form, coverage, leaks and sameness."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from models.corpus import plain, references, simple
from models.corpus.exchange import DIMENSION_OF, FOLDER, Cue, Exchange, Split, Way, load
from models.corpus.plain import Plain
from models.corpus.references import Reference
from models.corpus.sameness import distinct, grams, openings, self_bleu, words
from models.corpus.simple import Simple
from models.thinking.plan import Strategy

FEWEST = 2_000  # exchanges
EACH = 30  # times, at least, that each attribute is heard
OPENING_SHARE = 0.03  # of all replies, at most, begin with the same three words
WORDS = range(4, 46)  # of a reply
ANSWER = range(1, 25)  # of words, to a plain question
OPENED, MORE = range(1, 11), range(2, 16)  # of words, in the two parts of a plain reply
OTHERS = 2  # further references for each way of a script that is held out
SENTENCES = 3  # of a reply, at most
TURNS = range(1, 5)  # of the user
ALIKE = 0.7  # of the words of two scripts: one may be learned and the other asked
FOREIGN = 6  # words in a row that also stand in a published benchmark: copied, or too near
LEAKS = FOLDER / "published.sha256"  # of each such run of words; the words themselves are not ours

_SENTENCE = re.compile(r"[.!?…]+(?=\s|$)")
_MARKS = re.compile(r"[\[\]{}<>*_#|\"“”\d]|\n")
_NAMED = re.compile(  # a guess may not be spoken of as heard
    r"\byou (?:sound|seem)\b|\bi can hear\b|\bin your voice\b|\bthat (?:sigh|cough|yawn|laugh)\b",
    re.I,
)
# What no reply of ours may say, whoever it is said to.
_UNKIND = re.compile(
    r"\bcalm down\b|\bdon't cry\b|\bcheer up\b|\bat least\b|\bexactly how you feel\b|\bas an ai\b|"
    r"\bget over it\b|\bsweetie\b|\bman up\b|\byoung (?:lady|man)\b|\bfor your age\b|"
    r"\bwhen i was\b|\bmy (?:mother|father|wife|husband|boyfriend|girlfriend|kids)\b",
    re.I,
)


def faults(folder: Path = FOLDER) -> list[str]:
    """All that is wrong, each with where it is."""
    splits = {split: load(split, folder) for split in Split}
    exchanges = [each for split in splits.values() for each in split]
    found = [f"{each.id}: {fault}" for each in exchanges for fault in _form(each)]
    found += _coverage(exchanges)
    found += _twice(exchanges)
    found += _across(splits)
    found += _published(exchanges, folder / LEAKS.name)
    found += _openings(_replies(exchanges))
    found += _plain(plain.load(folder))
    easy = [row for ways in simple.load(folder).values() for row in ways.values()]
    found += _simple(easy, {each.id: each for each in splits[Split.TRAIN]})
    found += _openings([row.reply for row in easy])
    others = references.load(folder)
    found += _references(others, [*splits[Split.DEV], *splits[Split.TEST]])
    found += _openings([row.reply for row in others])
    texts = [(f"{row.id}: {row.way}", [row.reply]) for row in easy]
    texts += [(f"{row.id}: {row.way}", [row.reply]) for row in others]
    return found + [*_leaked(texts, folder / LEAKS.name)]


def _form(exchange: Exchange) -> Iterator[str]:
    roles = [line.role for line in exchange.lines]
    if roles != (["user", "assistant"] * 4)[: len(roles)] or len(roles) % 2 == 0:
        yield "its turns do not alternate from a user's to a user's"
    if exchange.turns not in TURNS:
        yield f"{exchange.turns} turns"
    if set(exchange.variants) != set(Way):
        yield "a variant is missing"
        return
    if exchange.variants[Way.NEUTRAL].cues:
        yield "something is heard in the neutral variant"
    heard = [frozenset(cue.name for cue in each.cues) for each in exchange.variants.values()]
    if len(set(heard)) < len(Way):
        yield "two variants are said in the same way"
    for way, variant in exchange.variants.items():
        for fault in _of_reply(variant.reply):
            yield f"{way}: {fault}"
        if named := _guess_named(variant.cues, variant.reply):
            yield f"{way}: {named}"
    for line in exchange.lines:
        if line.role == "assistant":
            yield from _of_reply(line.text, range(1, WORDS.stop))


def _of_reply(reply: str, length: range = WORDS) -> Iterator[str]:
    count = len(reply.split())
    if count not in length:
        yield f"{count} words"
    if len(_SENTENCE.findall(reply)) > SENTENCES:
        yield f"more than {SENTENCES} sentences"
    if not reply.rstrip().endswith((".", "!", "?", "…")):
        yield "it does not end"
    if marked := _MARKS.search(reply):
        yield f"{marked[0]!r} cannot be spoken"
    if unkind := _UNKIND.search(reply):
        yield f"it says {unkind[0]!r}"


def _coverage(exchanges: Sequence[Exchange]) -> Iterator[str]:
    if len(exchanges) < FEWEST:
        yield f"only {len(exchanges)} exchanges"
    heard = attributes(exchanges)
    for name in DIMENSION_OF:
        if heard[name] < EACH:
            yield f"{name} is heard only {heard[name]} times"
    used = {s for each in exchanges for v in each.variants.values() for s in v.strategies}
    if missing := set(Strategy) - used - {Strategy.SELF_DISCLOSURE}:  # of which there is no self
        yield f"strategies never used: {', '.join(sorted(missing))}"


def attributes(exchanges: Iterable[Exchange]) -> Counter[str]:
    """How often each of the thirty-nine is heard in a last turn."""
    return Counter(
        cue.name for each in exchanges for variant in each.variants.values() for cue in variant.cues
    )


def _twice(exchanges: Sequence[Exchange]) -> Iterator[str]:
    ids = Counter(each.id for each in exchanges)
    yield from (f"{name} is the id of {count}" for name, count in ids.items() if count > 1)
    replies: dict[str, str] = {}
    scripts: dict[str, str] = {}
    for each in exchanges:
        said = " ".join(words(" ".join(line.text for line in each.lines)))
        if said in scripts:
            yield f"{each.id}: the same script as {scripts[said]}"
        scripts[said] = each.id
        for way, variant in each.variants.items():
            key = " ".join(words(variant.reply))
            if key in replies:
                yield f"{each.id}: {way}: the same reply as in {replies[key]}"
            replies[key] = each.id


def _across(splits: Mapping[Split, Sequence[Exchange]]) -> Iterator[str]:
    """Scripts of different splits that are nearly the same."""
    by_word: dict[str, list[tuple[Split, Exchange]]] = defaultdict(list)
    bags = {each.id: set(words(each.words)) for split in splits.values() for each in split}
    for split, exchanges in splits.items():
        for each in exchanges:
            for word in bags[each.id]:
                by_word[word].append((split, each))
    for split in (Split.DEV, Split.TEST):
        for each in splits[split]:
            near = {o.id for w in bags[each.id] for s, o in by_word[w] if s is not split}
            for other in near:
                ours, theirs = bags[each.id], bags[other]
                if len(ours & theirs) >= ALIKE * len(ours | theirs):
                    yield f"{each.id}: nearly the script of {other}, of another split"


def _published(exchanges: Iterable[Exchange], file: Path) -> Iterator[str]:
    texts = ((each.id, [line.text for line in each.lines] + _replies([each])) for each in exchanges)
    yield from _leaked(texts, file)


def _leaked(texts: Iterable[tuple[str, Sequence[str]]], file: Path) -> Iterator[str]:
    known = set(file.read_text("utf-8").split())
    for name, said in texts:
        for gram in (gram for text in said for gram in grams(text, FOREIGN)):
            if fingerprint(gram) in known:
                yield f"{name}: published elsewhere: {' '.join(gram)!r}"


def fingerprint(gram: Sequence[str]) -> str:
    return hashlib.sha256(" ".join(gram).encode()).hexdigest()[:16]


def _plain(questions: Sequence[Plain]) -> Iterator[str]:
    asked = Counter(" ".join(words(each.question)) for each in questions)
    yield from (f"asked {count} times: {said}" for said, count in asked.items() if count > 1)
    for each in questions:
        for fault in _of_reply(each.answer, ANSWER):
            yield f"{each.id}: {fault}"


def _simple(rows: Sequence[Simple], taught: Mapping[str, Exchange]) -> Iterator[str]:
    for row in rows:
        where = f"{row.id}: {row.way}, simple"
        if row.id not in taught:
            yield f"{where}: no script to learn from"
            continue
        parts = ((row.opening, OPENED), (row.more, MORE))
        for fault in (fault for text, length in parts for fault in _of_reply(text, length)):
            yield f"{where}: {fault}"
        if len(_SENTENCE.findall(row.more)) > 1:
            yield f"{where}: goes on for more than a sentence"
        if named := _guess_named(taught[row.id].variants[row.way].cues, row.reply):
            yield f"{where}: {named}"


def _references(rows: Sequence[Reference], held_out: Sequence[Exchange]) -> Iterator[str]:
    known = {each.id: each for each in held_out}
    counts = Counter((row.id, row.way) for row in rows)
    for name, way in ((each.id, way) for each in held_out for way in Way):
        if counts[name, way] != OTHERS:
            yield f"{name}: {way}: {counts[name, way]} further references"
    said = Counter(" ".join(words(row.reply)) for row in rows)
    yield from (f"a reference {count} times: {text}" for text, count in said.items() if count > 1)
    for row in rows:
        where = f"{row.id}: {row.way}, reference"
        if row.id not in known:
            yield f"{where}: no script that is held out"
            continue
        for fault in _of_reply(row.reply):
            yield f"{where}: {fault}"
        variant = known[row.id].variants.get(row.way)  # one that is missing was told of above
        if variant and (named := _guess_named(variant.cues, row.reply)):
            yield f"{where}: {named}"


def _guess_named(cues: Sequence[Cue], reply: str) -> str:
    guessed = cues and not any(cue.sure for cue in cues)
    named = _NAMED.search(reply) if guessed else None
    return f"a guess is spoken of as heard: {named[0]!r}" if named else ""


def _openings(replies: Sequence[str]) -> Iterator[str]:
    for opening, count in openings(replies).most_common():
        if count <= OPENING_SHARE * len(replies):
            return
        yield f"{count / len(replies):.1%} of replies open with {opening!r}"


def figures(folder: Path = FOLDER) -> dict[str, object]:
    """What the corpus holds."""
    splits = {split: load(split, folder) for split in Split}
    exchanges = [each for split in splits.values() for each in split]
    replies = _replies(exchanges)
    variants = [variant for each in exchanges for variant in each.variants.values()]
    heard = attributes(exchanges)
    commonest = openings(replies).most_common(1)
    return {
        "exchanges": {split.value: len(each) for split, each in splits.items()},
        "replies": len(replies),
        "by_turns": dict(sorted(Counter(each.turns for each in exchanges).items())),
        "by_topic": dict(Counter(each.topic for each in exchanges).most_common()),
        "heard": dict(heard.most_common()),
        "combinations": sum(len(variant.cues) > 1 for variant in variants),
        "guesses": sum(any(not cue.sure for cue in variant.cues) for variant in variants),
        "nothing_heard": sum(not variant.cues for variant in variants),
        "words_per_reply": round(sum(len(r.split()) for r in replies) / max(1, len(replies)), 1),
        "ask_something": round(sum("?" in r for r in replies) / max(1, len(replies)), 3),
        "distinct_1": round(distinct(replies, 1), 4),
        "distinct_2": round(distinct(replies, 2), 4),
        "self_bleu": round(self_bleu(replies), 4),
        "commonest_opening": dict(commonest),
    }


def _replies(exchanges: Iterable[Exchange]) -> list[str]:
    return [variant.reply for each in exchanges for variant in each.variants.values()]
