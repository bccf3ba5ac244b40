"""Reading other people's JSON: records under names that are not always the same."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from server.scoring.bench.errors import BenchmarkError

Record = Mapping[str, Any]
LONGEST_SEC = 86_400.0


def records(file: Path) -> Iterator[Record]:
    """The objects of a JSON list, of a list somewhere inside one object, or of JSON lines."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise BenchmarkError(f"{file} cannot be read: {error.strerror}.") from None
    try:
        told = orjson.loads(data)
    except orjson.JSONDecodeError:
        told = _lines(file, data)
    if isinstance(told, dict):
        lists = [value for value in told.values() if isinstance(value, list)]
        told = lists[0] if lists else [told]
    if isinstance(told, list):
        yield from (each for each in told if isinstance(each, dict))


def text(record: Record, *names: str) -> str | None:
    """The first of these fields that holds a word or a number."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return None


def within(folder: Path, told: str) -> Path:
    """A file of the data set: an address that leads out of it is none of its own."""
    try:
        found = (folder / told.lstrip("/").removeprefix("./")).resolve()
    except (OSError, ValueError, RuntimeError):  # a name no file can have; links in a circle
        raise BenchmarkError(f"{folder} names a file that cannot be.") from None
    if not found.is_relative_to(folder.resolve()):
        raise BenchmarkError(f"{folder} names a file outside of itself.")
    return found


def seconds(record: Any) -> list[float]:
    """The numbers of a timestamp; none where one of them is no moment of a clip."""
    listed = record if isinstance(record, list) else []
    found = [float(each) for each in listed if isinstance(each, int | float)]
    return found if all(0 <= each <= LONGEST_SEC for each in found) else []


def _lines(file: Path, data: bytes) -> list[Any]:
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            raise BenchmarkError(f"Line {number} of {file} is no JSON.") from None
    return found
