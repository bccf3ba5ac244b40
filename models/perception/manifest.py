"""A labelled collection of recordings: one row per clip, in our names."""

import csv
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.perception import labels


class ManifestError(Exception):
    """A manifest that cannot be used: one sentence for a person."""


@dataclass(frozen=True, slots=True)
class Clip:
    """A row that has at least one label we have a name for."""

    path: str
    corpus: str
    speaker: str  # empty where the manifest does not say
    role: str
    ships: bool  # whether weights that learnt from it may ship
    truth: Mapping[str, str]  # column to our name


@dataclass(frozen=True, slots=True)
class Manifest:
    """The clips of a manifest, and what of it has no place among them."""

    clips: Sequence[Clip]
    rows: int
    excluded: int
    unmapped: Mapping[str, Mapping[str, int]]  # column, spelling, rows
    unscored: Mapping[str, Mapping[str, int]]


def read_manifest(file: Path, role: str | None = None, limit: int | None = None) -> Manifest:
    """The rows of a role, or all; of these `limit` drawn at random, the same each time."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, restkey="", restval="")
            # What a row has beyond its columns is a list, under the empty name.
            rows = [{key: cell.strip() for key, cell in row.items() if key} for row in reader]
            columns = set(reader.fieldnames or ())
    except (UnicodeDecodeError, csv.Error) as error:
        raise ManifestError(f"{file} is no CSV table in UTF-8: {error}") from error
    if "path" not in columns:
        raise ManifestError(f"{file} has no column 'path'")
    if not columns & set(labels.COLUMNS):
        raise ManifestError(f"{file} has none of the columns {', '.join(labels.COLUMNS)}")
    if role is not None:
        if "role" not in columns:
            raise ManifestError(f"{file} has no column 'role' to choose {role!r} by")
        rows = [row for row in rows if row["role"] == role]
        if not rows:
            raise ManifestError(f"{file} has no row of role {role!r}")
    if limit is not None and limit < len(rows):
        rows = [rows[i] for i in sorted(random.Random(0).sample(range(len(rows)), limit))]
    return _sorted_out(rows, corpus_of_loose_files=file.stem)


def _sorted_out(rows: Sequence[Mapping[str, str]], corpus_of_loose_files: str) -> Manifest:
    used = [row for row in rows if not row.get("exclude")]
    clips: list[Clip] = []
    unmapped: dict[str, Counter[str]] = defaultdict(Counter)
    unscored: dict[str, Counter[str]] = defaultdict(Counter)
    for row in used:
        truth = {}
        for column in labels.COLUMNS:
            spelling = row.get(column, "")
            name = labels.attribute(column, spelling) if spelling else labels.UNSCORED
            if name is None:
                unmapped[column][spelling] += 1
            elif name != labels.UNSCORED:
                truth[column] = name
            elif spelling:
                unscored[column][spelling] += 1
        if truth:
            folder, slash, _ = row["path"].partition("/")
            named = row.get("dataset") or row.get("corpus")
            clips.append(
                Clip(
                    path=row["path"],
                    corpus=named or (folder if slash else corpus_of_loose_files),
                    speaker=row.get("speaker", ""),
                    role=row.get("role", ""),
                    ships=row.get("ship_ok") == "yes",
                    truth=truth,
                )
            )
    return Manifest(clips, len(rows), len(rows) - len(used), unmapped, unscored)
