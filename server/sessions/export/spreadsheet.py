"""CSV that a spreadsheet shows and never runs."""

import csv
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TextIO

# What makes a spreadsheet take a cell for a formula, also in its full width.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Spreadsheet:
    """Rows under a fixed heading; numbers stay numbers, all text is quoted."""

    def __init__(self, file: TextIO, columns: Sequence[str]) -> None:
        self._columns = columns
        self._writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        self._writer.writerow(columns)

    def add(self, row: Mapping[str, Any]) -> None:
        self._writer.writerow([cell(row.get(column)) for column in self._columns])


def cell(value: Any) -> str | int | float:
    """A value as it stands in a cell: text can be no formula."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int() | float():
            return value
        case datetime():
            return value.isoformat()
        case list() | tuple():
            return safe(" ".join(str(each) for each in value))
        case _:
            return safe(str(value))


def safe(text: str) -> str:
    """Text that begins like a formula, after spaces, too, gets an apostrophe before it."""
    return f"'{text}" if text.lstrip(" \u00a0").startswith(FORMULA) else text
