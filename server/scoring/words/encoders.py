"""Networks that turn words into vectors, and what is done with those."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from server.scoring.score import Unavailable

T = TypeVar("T")
Vector = NDArray[np.float32]
Rows = NDArray[np.float32]  # one vector to a row

_SAMPLE = 1 << 20  # bytes of either end of a large file that stand for all of it


@dataclass(frozen=True, slots=True)
class Pieces:
    """A text's pieces of words in their context; marks like [CLS] do not count as words."""

    rows: Rows
    counted: NDArray[np.bool_]


class ReadsSentences(Protocol):
    @property
    def key(self) -> str: ...

    def vector(self, text: str) -> Vector:
        """The meaning of the whole text, of any length but nought."""
        ...


class ReadsPieces(Protocol):
    @property
    def key(self) -> str: ...

    def pieces(self, text: str) -> Pieces: ...


@dataclass(frozen=True, slots=True)
class Absent:
    """An encoder that is not here: its measures go unscored, the others of an instrument do not."""

    reason: str

    @property
    def key(self) -> str:
        return f"absent ({self.reason})"


def or_absent(load: Callable[[], T]) -> T | Absent:
    try:
        return load()
    except Unavailable as error:
        return Absent(str(error))


def cosine(one: Vector, other: Vector) -> float:
    # einsum, not a matrix product: that would wake the BLAS threads, dear when cores are busy.
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.einsum("v,v->", one, other)) / length if length else 0.0


def mean(pieces: Pieces) -> Vector:
    """Over all pieces, the marks as well."""
    return cast(Vector, pieces.rows.mean(axis=0))


def fingerprint(folder: Path) -> str:
    """Another network or tokenizer, another fingerprint. Of large files both ends are looked at."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if not path.is_file() or any(part.startswith(".") for part in inner.parts):
            continue
        size = path.stat().st_size
        digest.update(f"{inner.as_posix()} {size}\n".encode())
        with path.open("rb") as file:
            digest.update(file.read(_SAMPLE))
            if size > _SAMPLE:
                file.seek(max(_SAMPLE, size - _SAMPLE))
                digest.update(file.read(_SAMPLE))
    return f"{folder.name} {digest.hexdigest()[:16]}"
