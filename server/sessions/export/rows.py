"""A Parquet file that grows row by row and holds few of them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


class RowFile:
    def __init__(self, path: Path, schema: pa.Schema, rows: int = 1_000, size: int = 1 << 24):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.count = 0
        self._schema = schema
        self._most, self._room = rows, size
        self._waiting: list[dict[str, Any]] = []
        self._weight = 0
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def add(self, row: dict[str, Any], weight: int = 0) -> None:
        """One more; `weight` is the bytes it carries beside the ordinary."""
        self._waiting.append(row)
        self._weight += weight
        self.count += 1
        if len(self._waiting) >= self._most or self._weight >= self._room:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_pylist(self._waiting, self._schema))
            self._waiting, self._weight = [], 0
