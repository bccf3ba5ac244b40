"""A plain table: `audio,text,cue,reference`, and any other field of an annotation."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from models.perception.given import CUES
from server.scoring.annotation import Annotation
from server.scoring.bench.cues import coarse, cue, fine
from server.scoring.bench.errors import BenchmarkError
from server.scoring.bench.item import DataSet, Item
from server.scoring.bench.loaders.echomind import letter
from server.scoring.bench.loaders.reading import within

NAME = "csv"
LISTS, TABLES = {"options", "reference_emotions"}, {"labels", "suitability"}
SEPARATOR = "|"


def load(place: Path) -> Iterator[Item]:
    """From a CSV file, or all of a folder; paths are relative to their table."""
    files = [place] if place.is_file() else sorted(place.glob("*.csv"))
    for file in files:
        try:
            with file.open(newline="", encoding="utf-8-sig") as opened:
                rows = csv.DictReader(opened)
                _check(rows.fieldnames or (), file)
                for row in rows:
                    yield _item(row, rows.line_num, file)
        except (OSError, UnicodeDecodeError, csv.Error):
            raise BenchmarkError(f"{file} cannot be read as a table.") from None


def _check(columns: Any, file: Path) -> None:
    if "audio" not in columns:
        raise BenchmarkError(f"{file} has no column 'audio'.")
    if odd := [each for each in columns if each not in {"audio", *Annotation.model_fields}]:
        known = ", ".join(sorted(Annotation.model_fields))
        raise BenchmarkError(f"{file} has a column '{odd[0]}'; there may be audio, {known}.")


def _item(row: dict[str, Any], line: int, file: Path) -> Item:
    audio = _audio(row, line, file)
    told: dict[str, Any] = {}
    for name, cell in row.items():
        if name != "audio" and cell and cell.strip():
            told[name] = _cell(name, cell.strip(), line, file)
    spoken = cue(told.get("cue"))
    if told.get("cue") and spoken is None:
        raise BenchmarkError(
            f"Line {line} of {file} has an unknown cue; there are {', '.join(CUES)}."
        )
    told |= {"cue": spoken, "spoken_info": told.get("spoken_info") or told.get("cue")}
    told.setdefault("dimension", fine(spoken))
    told.setdefault("benchmark", NAME)
    told.setdefault("task", "mcq" if told.get("question") else "conversation")
    told.setdefault("item", f"{Path(row['audio']).stem}-{line}")
    if "answer" in told:
        told["answer"] = letter(told["answer"])
    try:
        annotation = Annotation.model_validate(told)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise BenchmarkError(f"Line {line} of {file} has a '{where}' that cannot be.") from None
    return Item(annotation, audio, coarse(spoken))


def _audio(row: dict[str, Any], line: int, file: Path) -> Path:
    if None in row:  # where csv puts what is left over
        raise BenchmarkError(f"Line {line} of {file} has more cells than there are columns.")
    name = (row["audio"] or "").strip()
    if not name:
        raise BenchmarkError(f"Line {line} of {file} names no audio.")
    if name.startswith("/"):
        raise BenchmarkError(f"Line {line} of {file} has a path that is not relative to the table.")
    return within(file.parent, name)


def _cell(name: str, cell: str, line: int, file: Path) -> Any:
    if name in LISTS:
        return tuple(each.strip() for each in cell.split(SEPARATOR) if each.strip())
    if name in TABLES:
        try:
            return orjson.loads(cell)
        except orjson.JSONDecodeError:
            raise BenchmarkError(f"Line {line} of {file}: '{name}' is no JSON.") from None
    return cell


DATA_SET = DataSet(
    NAME,
    "a table of your own",
    "docs/benchmarks.md, which tells its columns",
    "your own licence",
    "it is a CSV file, or a folder with some, with the columns audio,text,cue,reference",
    load,
)
