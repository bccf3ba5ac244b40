"""The words a reply opens with: an acknowledgement, where one is due."""

import tomllib
import zlib
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from models.percept import Conflict
from models.perception.labels import DIMENSIONS
from models.thinking.plan import AT_ODDS, Heard, Intent, Said, Strategy

Row = tuple[str, str]  # a table and a name in it

_TABLE: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("openings.toml").read_text("utf-8")
)
SAY: Mapping[str, Sequence[str]] = _TABLE["say"]
ABOUT: Mapping[str, Sequence[str]] = {
    name: rows for name, rows in _TABLE["about"].items() if isinstance(rows, list)
}
HEARD: Mapping[str, Sequence[str]] = _TABLE["heard"]
NODS: Mapping[str, Sequence[str]] = _TABLE["nod"]
ACHIEVED = frozenset(_TABLE["about"]["achieved"].split())

LOW = frozenset({"sad", "fear", "angry", "disgust", "sobbing", "tired", "sigh", "moan"})
FEELINGS = ("sobbing", "sad", "fear", "angry", "disgust", "happy", "surprise", "laughter")
BODY = ("tired", "breath", "hoarse", "cough", "yawn", "sigh", "moan", "shout", "whisper", "fast")
ASKING = frozenset({Intent.ASKS, Intent.REQUESTS})
AGED = {Strategy.ADDRESS_CHILD: "child_asks", Strategy.ADDRESS_ELDER: "elder_asks"}
LONGEST = 9  # words
LATELY = 3  # replies in which a remark on the voice or the place is not made again
PLACE = frozenset(each.name for each in DIMENSIONS.values() if each.group == "environment")


def opening(
    said: Said,
    heard: Sequence[Heard],
    strategies: Sequence[Strategy],
    recent: Sequence[str],
    *,
    conflict: Conflict | None = None,
    seed: str = "",
) -> str:
    """One short sentence, or nothing where a plain answer is better.

    Args:
        said: what the words do.
        heard: what the voice and the place say.
        strategies: what the reply is to do.
        recent: openings or whole replies given before, the latest last; none is said again while
            others are left.
        conflict: where words and voice disagree.
        seed: the user's words; the same ones get the same opening.
    """
    if said.danger or said.language != "en":
        return ""
    situation = _situation(said, heard, strategies, conflict, _rows_used(recent[-LATELY:]))
    if not situation:
        return ""
    choices = _choices(*situation, said, recent)
    key = "|".join((seed, said.intent, said.about, *situation))
    return _pick(choices, recent, zlib.crc32(key.encode()))


def nod(situation: str, recent: Sequence[str], seed: str) -> str:
    """A word that only shows someone was heard, for situations in which one is natural."""
    choices = NODS.get(situation, ())
    return _pick(choices, recent, zlib.crc32(seed.encode())) if choices else ""


def _situation(
    said: Said,
    heard: Sequence[Heard],
    strategies: Sequence[Strategy],
    conflict: Conflict | None,
    used: Set[Row],
) -> Row | None:
    """The row to choose from; the more pressing first."""
    sure = [each.name for each in heard if each.sure and ("heard", each.name) not in used]
    words = _of_words(said)
    feeling = next((name for name in FEELINGS if name in sure), "")
    bright = words in {"", "happy"}
    if bright and conflict and conflict.strength >= AT_ODDS and conflict.voice in LOW:
        return _unless(used, "say", "conflict")
    if words == "happy" and feeling in LOW:
        return "say", "conflict"
    if said.intent in {Intent.COMPLAINS, Intent.APOLOGY}:
        return "say", said.intent
    if words and Strategy.ADDRESS_CHILD in strategies:
        return "say", "child_good" if words in {"happy", "surprise"} else "child_bad"
    if words and (said.about or not feeling or (feeling in LOW) == (words == "happy")):
        return "say", words
    if feeling and (said.intent not in ASKING or feeling in LOW):
        return "heard", feeling
    if body := next((name for name in BODY if name in sure), ""):
        return "heard", body
    noisy = any(each.sure and each.dimension in {*PLACE, "place"} for each in heard)
    if noisy and Strategy.ADAPT_TO_NOISE in strategies:  # a guess at it is allowed for, not told
        return _unless(used, "say", "noise")
    if said.intent in ASKING:
        for strategy, row in AGED.items():
            if strategy in strategies:
                return _unless(used, "say", row)
        return None
    if said.need == "space":
        return "say", "space"
    if said.intent is Intent.SHARES and any(each.name in LOW for each in heard):
        return _unless(used, "say", "unsure")
    place = next((name for name in sure if name in HEARD), "")
    if place and said.intent in {Intent.SHARES, Intent.GREETING}:
        return "heard", place
    if said.intent is Intent.SHARES and said.about:
        return "say", "shares"
    return None


def _unless(used: Set[Row], table: str, row: str) -> Row | None:
    """A row that tires when it is heard turn after turn."""
    return None if (table, row) in used else (table, row)


def _rows_used(recent: Sequence[str]) -> set[Row]:
    return {
        (table, row)
        for table, rows in (("heard", HEARD), ("say", SAY))
        for row, choices in rows.items()
        if recent and any(each.startswith(tuple(choices)) for each in recent)
    }


def _of_words(said: Said) -> str:
    """What the words call for by themselves; of a question only what is felt in it."""
    if said.intent not in {Intent.SHARES_BAD, Intent.SHARES_GOOD, Intent.SHARES, *ASKING}:
        return ""
    if said.intent is Intent.SHARES_BAD:
        if said.need in {"company", "rest"}:
            return {"company": "lonely", "rest": "weary"}[said.need]
        if said.emotion in {"neutral", "happy", "surprise"}:
            return "unwell"
    return said.emotion if said.emotion in SAY else ""


def _choices(table: str, row: str, said: Said, recent: Sequence[str]) -> Sequence[str]:
    """The row's openings; those that name the matter first, unless it was named just before."""
    if table == "heard":
        return HEARD[row]
    specific: list[str] = []
    named = any(said.about in each for each in recent[-LATELY:])
    if said.about and said.intent not in ASKING and not named:
        rows = ABOUT.get(row, ())
        if row == "happy" and said.about.split()[-1] in ACHIEVED:
            rows = ABOUT["congratulations"]
        specific = [each.format(about=said.about) for each in rows]
        specific = [each for each in specific if len(each.split()) <= LONGEST]
    return specific or SAY[row]


def _pick(choices: Sequence[str], recent: Sequence[str], seed: int) -> str:
    """One that was not said yet, else the one said longest ago; never sorry twice in a row."""
    if recent and "sorry" in recent[-1].lower():
        choices = [each for each in choices if "sorry" not in each.lower()]
    if not choices:
        return ""
    last = {each: _last(each, recent) for each in choices}
    oldest = min(last.values())
    left = [each for each in choices if last[each] == oldest]
    return left[seed % len(left)]


def _last(choice: str, recent: Sequence[str]) -> int:
    """When it was said: -1 for never."""
    return max((at for at, each in enumerate(recent) if each.startswith(choice)), default=-1)
