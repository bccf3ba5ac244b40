"""What a judge may answer, and reading it out of whatever it wrote around it. Pure."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Answer = Mapping[str, Any]

MOST_LETTERS = 60_000
MOST_OBJECTS = 40
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


class Malformed(Exception):
    """What is wrong with an answer, as a judge can be told: our words and none of its own."""


@dataclass(frozen=True, slots=True)
class Field:
    """One key of the answer."""

    key: str
    kind: Literal["whole", "flag", "choice", "words"]
    lowest: int = 1
    highest: int = 5
    options: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        match self.kind:
            case "whole":
                return f"a whole number from {self.lowest} to {self.highest}"
            case "flag":
                return "true or false"
            case "choice":
                return "one of " + ", ".join(f'"{option}"' for option in self.options)
        return "a short string"

    def taken(self, value: object) -> Any:
        """The value, if it is one; words alone may be missing."""
        match self.kind:
            case "whole" if isinstance(value, int | float) and not isinstance(value, bool):
                if value in range(self.lowest, self.highest + 1):  # 4.0 is, 1e999 is not
                    return int(value)
            case "flag" if isinstance(value, bool):
                return value
            case "choice" if isinstance(value, str):
                for option in self.options:
                    if value.strip().casefold() == option.casefold():
                        return option
            case "words":
                return value.strip() if isinstance(value, str) else ""
        raise Malformed(f'"{self.key}" must be {self.form}')


def read(text: str, fields: Sequence[Field]) -> Answer:
    """The one answer in a text; two that differ are none, as one may be quoted material."""
    found: list[Answer] = []
    trouble = Malformed("there was no JSON object")
    for told in _objects(_THINKING.sub("", text[:MOST_LETTERS])):
        try:
            answer = {field.key: field.taken(told.get(field.key)) for field in fields}
        except Malformed as problem:
            trouble = problem
        else:
            if not any(_same(answer, other, fields) for other in found):
                found.append(answer)
    if len(found) > 1:
        raise Malformed("there was more than one JSON object")
    if not found:
        raise trouble
    return found[0]


def _same(one: Answer, other: Answer, fields: Sequence[Field]) -> bool:
    return all(one[field.key] == other[field.key] for field in fields if field.kind != "words")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every outermost JSON object in a text, mended where a comma is too many."""
    at = tried = 0
    while (start := text.find("{", at)) >= 0 and tried < MOST_OBJECTS:
        tried += 1
        end = _end(text, start)
        told = _parsed(text[start:end]) if end else None
        if told is not None:
            yield told
        at = end if end and told is not None else start + 1


def _end(text: str, start: int) -> int | None:
    """Where the object that begins here ends; brackets in strings do not count."""
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        letter = text[at]
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if not depth:
                return at + 1
    return None


def _parsed(text: str) -> dict[str, Any] | None:
    for attempt in (text, _without_spare_commas(text)):
        try:
            told = json.loads(attempt, parse_constant=_refused, object_pairs_hook=_once)
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict):
            return told
    return None


def _without_spare_commas(text: str) -> str:
    """Commas before a closing bracket taken out; strings stay as they are."""
    strings = r'"(?:[^"\\]|\\.)*"'
    return re.sub(
        rf"({strings})|,(\s*[}}\]])",
        lambda found: found[1] if found[1] is not None else found[2],
        text,
        flags=re.DOTALL,
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    told = dict(pairs)
    if len(told) != len(pairs):
        raise ValueError("a key occurs twice")
    return told


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")
