"""A folder that `datasets.load_dataset` takes as it is: Parquet with sound in it, and a card."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from models.types import WIRE_RATE
from server.sessions.exchanges import Exchange, RecordedTurn
from server.sessions.export.clips import flac
from server.sessions.export.rows import RowFile
from server.sessions.export.selection import Chosen
from server.sessions.export.tables import EXCHANGES, Row, exchange_row

SHARD_BYTES = 256 << 20
ROWS = 100  # to a row group: sound makes them heavy
SOUNDS = ("user_audio", "reply_audio")
_SOUND = pa.struct([("bytes", pa.binary()), ("path", pa.string())])

CARD = """---
configs:
- config_name: default
  data_files:
  - split: train
    path: data/train-*.parquet
dataset_info:
  features:
{features}
  splits:
  - name: train
    num_bytes: {size}
    num_examples: {rows}
  download_size: {size}
  dataset_size: {size}
---

# Conversations recorded with Attune

One row is an exchange: what somebody said, and the reply they heard. `user_audio` and `reply_audio`
are FLAC, 24 kHz, mono; they are null where the person allowed no recording of sound, as texts are
where they allowed none of words. Positions are samples at 24 kHz from the session's beginning.
`percept` is JSON: how a model heard the voice, which is not how the person was.

```python
from datasets import Audio, load_dataset

rows = load_dataset("path/to/this/folder", split="train")
raw = rows.cast_column("user_audio", Audio(decode=False))  # the FLAC bytes, undecoded
```

`DATASHEET.md` says what is in here, how it came about and what it may be used for. `sessions.txt`
lists the sessions: whoever holds a copy must take out those that people have deleted since.
"""


class HuggingFaceExport:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shards: list[Path] = []
        self._rows = 0
        self._weight = 0  # of the shard being written
        self._file: RowFile | None = None

    def add(self, session: Chosen) -> Sequence[Exchange] | None:
        # All of a session is read before any of it is written: it may turn out to be broken.
        rows = [_row(session, exchange) for exchange in session.exchanges]
        for row in rows:
            weight = sum(len(row[column]["bytes"]) for column in SOUNDS if row[column])
            self._shard().add(row, weight)
            self._rows += 1
            self._weight += weight
        return session.exchanges or None

    def close(self) -> None:
        if self._file:
            self._file.close()
        size = sum(shard.stat().st_size for shard in self._shards)
        card = CARD.format(features="\n".join(_listed()), size=size, rows=self._rows)
        (self._folder / "README.md").write_text(card, "utf-8")

    def _shard(self) -> RowFile:
        if self._file and self._weight < SHARD_BYTES:
            return self._file
        if self._file:
            self._file.close()
        self._weight = 0
        self._shards.append(self._folder / "data" / f"train-{len(self._shards):05d}.parquet")
        self._file = RowFile(self._shards[-1], _schema(), ROWS)
        return self._file


def _row(session: Chosen, exchange: Exchange) -> Row:
    row = exchange_row(session, exchange)
    for column, turn in zip(SOUNDS, (exchange.user, exchange.reply), strict=True):
        row[column] = _sound(session, turn) if turn else None
    return row


def _sound(session: Chosen, turn: RecordedTurn) -> dict[str, Any] | None:
    samples = session.sound(turn)
    if samples is None:
        return None
    return {"bytes": flac(samples), "path": f"{session.file.id}_{turn.number:04d}.flac"}


def _schema() -> pa.Schema:
    """The table's, with what tells `datasets` which columns are sound."""
    schema = EXCHANGES
    for column in SOUNDS:
        schema = schema.append(pa.field(column, _SOUND))
    features = {field.name: _feature(field.type) for field in schema}
    told = json.dumps({"info": {"features": features}})
    return schema.with_metadata({"huggingface": told})


def _feature(kind: pa.DataType) -> dict[str, Any]:
    if kind == _SOUND:
        return {"sampling_rate": WIRE_RATE, "_type": "Audio"}
    if pa.types.is_list(kind):
        return {"feature": _feature(kind.value_type), "_type": "List"}
    return {"dtype": _name(kind), "_type": "Value"}


def _listed() -> list[str]:
    """The same features as the card's YAML spells them."""
    lines = []
    for field in _schema():
        lines.append(f"  - name: {field.name}")
        if field.type == _SOUND:
            lines += ["    dtype:", "      audio:", f"        sampling_rate: {WIRE_RATE}"]
        elif pa.types.is_list(field.type):
            lines.append(f"    list: {_name(field.type.value_type)}")
        else:
            lines.append(f"    dtype: '{_name(field.type)}'")
    return lines


def _name(kind: pa.DataType) -> str:
    return "float64" if kind == pa.float64() else str(kind)
