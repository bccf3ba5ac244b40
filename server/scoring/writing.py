"""The folder of a report: `scores.json`, `scores.parquet`, and what the judges said."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from server.recording.whole_files import write_whole
from server.scoring.attributes import ORDER
from server.scoring.results import Results, Words

PARQUET_FILE, ANSWERS_FILE = "scores.parquet", "answers.jsonl"
AT_ONCE = 1000  # rows of a table in memory

Lines = Callable[[], Iterator[bytes]]  # every exchange as JSON; may be asked for again


def write_scores(path: Path, head: Results, lines: Lines) -> None:
    """All in one JSON object, of which only an exchange at a time is in memory."""
    told = orjson.dumps(head.model_dump(mode="json", exclude={"exchanges"}))

    def write(file: BinaryIO) -> None:
        file.write(told[:-1] + b',"exchanges":[')
        for number, line in enumerate(lines()):
            file.write((b",\n" if number else b"\n") + line)
        file.write(b"\n]}\n")

    write_whole(path, write)


def write_answers(path: Path, lines: Iterable[bytes]) -> bool:
    """Whether there were any."""
    found = iter(lines)
    first = next(found, None)
    if first is None:
        path.unlink(missing_ok=True)
        return False

    def write(file: BinaryIO) -> None:
        file.write(first + b"\n")
        file.writelines(line + b"\n" for line in found)

    write_whole(path, write)
    return True


def write_parquet(path: Path, metrics: Sequence[str], lines: Lines) -> None:
    """One row for each exchange, one column for each metric."""
    schema = _schema(metrics)

    def write(file: BinaryIO) -> None:
        with pq.ParquetWriter(file, schema) as writer:
            found = lines()
            while some := list(islice(found, AT_ONCE)):
                rows = [_flat(orjson.loads(line), metrics) for line in some]
                writer.write_table(pa.Table.from_pylist(rows, schema))

    write_whole(path, write)


def _schema(metrics: Sequence[str]) -> pa.Schema:
    text = pa.string()
    return pa.schema(
        [
            ("session_id", text),
            ("number", pa.int32()),
            ("user_item", text),
            ("reply_item", text),
            ("item", text),
            ("interrupted", pa.bool_()),
            *((name, text) for name in ORDER),
            *((f"words_{name}", text) for name in Words.model_fields),
            *((_column(name), pa.float64()) for name in metrics),
        ]
    )


def _flat(told: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Any]:
    words, scores = told.get("words") or {}, told["scores"]
    return {
        "session_id": told["session_id"],
        "number": told["number"],
        "user_item": told.get("user_item"),
        "reply_item": told.get("reply_item"),
        "item": (told.get("annotation") or {}).get("item"),
        "interrupted": told.get("interrupted", False),
        **told["attributes"],
        **{f"words_{name}": said for name, said in words.items()},
        **{_column(name): scores.get(name, {}).get("value") for name in metrics},
    }


def _column(metric: str) -> str:
    """A metric may be called as an attribute is."""
    return f"score_{metric}" if metric in ORDER else metric
