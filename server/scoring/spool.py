"""What was told so far, on disk but without a name: it is gone when the process is."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Self


class Spool:
    """Lines that are about sessions."""

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self._places: dict[str, list[tuple[int, int]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, session_id: str, line: bytes) -> None:
        begin = self._file.seek(0, 2)
        self._file.write(line)
        self._places.setdefault(session_id, []).append((begin, len(line)))

    def lines(self, session_ids: Iterable[str]) -> Iterator[bytes]:
        """Of these sessions, in this order, whichever came first."""
        for session_id in session_ids:
            for begin, size in self._places.get(session_id, ()):
                self._file.seek(begin)
                yield self._file.read(size)
