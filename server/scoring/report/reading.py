"""`scores.json` piece by piece: its exchanges are never in memory all at once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

AT_ONCE = 1 << 20  # letters
BEYOND = 3  # letters after a value that are enough to know its end
SPACE = " \t\r\n"


class BrokenScores(Exception):
    """The file cannot be read: one sentence that says why."""


def pieces(path: Path, listed: str = "exchanges") -> Iterator[tuple[str, Any]]:
    """Every key of the object with its value; of the list under `listed` every member apart."""
    try:
        with path.open(encoding="utf-8") as file:
            yield from _Reader(file).members(listed)
    except (ValueError, RecursionError):
        raise BrokenScores(f"{path.name} is not the JSON of a report.") from None
    except OSError as error:
        raise BrokenScores(f"{path.name} cannot be read: {error.strerror}.") from None


class _Reader:
    """A window over the text that moves on, and grows with what does not fit."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._text = ""
        self._at = 0
        self._decoder = json.JSONDecoder()

    def members(self, listed: str) -> Iterator[tuple[str, Any]]:
        self._expect("{")
        if self._is("}"):
            return
        while True:
            name = self._value()
            self._expect(":")
            if name == listed and self._is("["):
                for each in self._items():
                    yield name, each
            else:
                yield name, self._value()
            if self._is("}"):
                return
            self._expect(",")

    def _items(self) -> Iterator[Any]:
        if self._is("]"):
            return
        while True:
            yield self._value()
            if self._is("]"):
                return
            self._expect(",")

    def _value(self) -> Any:
        self._next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._more():
                    raise
                continue
            # A number may go on beyond the window: 12, 12. and 12e- are all the same so far.
            if len(self._text) - end < BEYOND and self._more():
                continue
            self._at = end
            return value

    def _is(self, mark: str) -> bool:
        if self._next() != mark:
            return False
        self._at += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._is(mark):
            raise ValueError(f"no {mark} where one belongs")

    def _next(self) -> str:
        """The letter that comes next, past any space."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                raise ValueError("it ends too soon")

    def _more(self) -> bool:
        """Forget what was read; take as much again as there is, so that long values stay cheap."""
        read = self._file.read(max(AT_ONCE, len(self._text) - self._at))
        if not read:
            return False
        self._text = self._text[self._at :] + read
        self._at = 0
        return True
