"""Distress that comes before everything else: found in the words, answered with care.

Phrases only, and careful ones: this is no assessment of anybody. It errs towards asking.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from models.errors import BackendError
from models.thinking.phrases import finder

ROLE = "thinking"
BREAK = " . | "  # between what someone said before and now
DEFAULT = Path(__file__).with_name("distress.toml")
_PLACES = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True, slots=True)
class Distress:
    """What is looked for, and the replies to it; `kinds` in the order in which they are tried."""

    kinds: Mapping[str, re.Pattern[str]]
    replies: Mapping[str, Sequence[str]]
    harmless: re.Pattern[str]
    settled: re.Pattern[str]

    def kind(self, words: str, before: str = "") -> str | None:
        """The kind of distress that plain words tell of, sayings and stories apart.

        What the same person said before may make them a saying; its own distress is not looked for.
        """
        if not self._found(words):  # mostly, and sayings take longer to look for
            return None
        spoken = f"{before}{BREAK}{words}" if before else words
        meant = self.harmless.sub(lambda saying: BREAK if BREAK in saying[0] else "-", spoken)
        return self._found(meant.rpartition(BREAK)[2])

    def _found(self, words: str) -> str | None:
        return next((kind for kind, found in self.kinds.items() if found.search(words)), None)

    def is_settled(self, words: str) -> bool:
        """Whether someone says, in plain words, that it is over or was not meant."""
        return bool(self.settled.search(words))

    def reply(self, kind: str, recent: Sequence[str] = ()) -> str:
        """What to say, whole: the first of the kind's replies that was not begun lately."""
        replies = self.replies[kind]
        return next((each for each in replies if not _begun(each, recent)), replies[-1])


def chosen(file: str, helplines: str) -> Distress:
    """The table an operator named, or ours."""
    return load(Path(file) if file else DEFAULT, helplines)


@cache
def load(file: Path = DEFAULT, helplines: str = "") -> Distress:
    """The table in a file; helplines, where given, in place of its own."""
    try:
        table = tomllib.loads(file.read_text("utf-8"))
        places = {"emergency": table["emergency"], "helplines": helplines or table["helplines"]}
        return _read(table, places)
    except OSError as error:
        raise BackendError(ROLE, f"The distress table {file} cannot be read.") from error
    except KeyError as error:
        sentence = f"The distress table {file} lacks {error.args[0]!r}."
        raise BackendError(ROLE, sentence) from error
    except (ValueError, TypeError, AttributeError, re.error) as error:
        raise BackendError(ROLE, f"The distress table {file} is wrong: {error}.") from error


def _read(table: Mapping[str, Any], places: Mapping[str, str]) -> Distress:
    kinds: Mapping[str, Mapping[str, list[str]]] = table["kinds"]
    names: Mapping[str, str] = table.get("words", {})
    if empty := [kind for kind, row in kinds.items() if not row["replies"] or not row["phrases"]]:
        raise ValueError(f"nothing to say or to look for in {empty[0]!r}")
    return Distress(
        {kind: finder(row["phrases"], names) for kind, row in kinds.items()},
        {kind: [_filled(r, places) for r in row["replies"]] for kind, row in kinds.items()},
        finder(table["harmless"], names),
        finder(table["settled"], names),
    )


def _filled(reply: str, places: Mapping[str, str]) -> str:
    filled = _PLACES.sub(lambda place: places[place[1]], reply)
    return re.sub(r"(^|[.?!] )(\w)", lambda start: start[1] + start[2].upper(), filled)


def _begun(reply: str, recent: Sequence[str]) -> bool:
    first = re.split(r"(?<=[.?!]) ", reply)[0]
    return any(each.startswith(first) for each in recent)
