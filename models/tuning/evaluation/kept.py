"""Answers that took long to get, kept line by line: whoever is stopped goes on from there."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from models.tuning.evaluation.errors import EvaluationError

KEY = "key"


def key(*parts: object) -> str:
    """A name for a question: another model, or other words, have another."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()[:24]


class Kept:
    """Records in a file, each found by its key."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._records = {record[KEY]: record for record in _read(file)}

    def __len__(self) -> int:
        return len(self._records)

    def get(self, name: str) -> Mapping[str, Any] | None:
        return self._records.get(name)

    def add(self, name: str, record: Mapping[str, Any]) -> None:
        self._records[name] = whole = {KEY: name, **record}
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(whole, ensure_ascii=False) + "\n")


def _read(file: Path) -> Iterator[dict[str, Any]]:
    """Every record; one that was being written when we were stopped is taken off the end."""
    if not file.exists():
        return
    text = file.read_text("utf-8")
    whole, _, torn = text.rpartition("\n")
    if torn:
        file.write_text(f"{whole}\n" if whole else "", encoding="utf-8")
    for number, line in enumerate(filter(None, whole.split("\n")), 1):
        try:
            yield dict(json.loads(line))
        except ValueError as error:
            raise EvaluationError(f"{file.name}:{number} is not a record.") from error
