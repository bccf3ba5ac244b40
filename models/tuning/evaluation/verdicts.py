"""What readers of blind pairs chose, and whether chance would have done as well."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from models.tuning.evaluation.errors import EvaluationError
from models.tuning.evaluation.intervals import exact_interval, sign_test
from models.tuning.evaluation.pairs import KEY, PAIRS, VERDICTS

EVERYONE = "all readers"


class Verdict(BaseModel):
    """One reader on one pair; who reads is named, person or program."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pair: str
    choice: Literal["A", "B", "tie"]
    why: str = ""
    by: Annotated[str, Field(min_length=1)]


def read(folder: Path) -> list[Verdict]:
    found: dict[tuple[str, str], Verdict] = {}
    lines = _text(folder / VERDICTS).splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            verdict = Verdict.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "line"
            raise EvaluationError(f"{VERDICTS}:{number}: {where}: {first['msg']}") from error
        if (verdict.by, verdict.pair) in found:
            raise EvaluationError(
                f"{VERDICTS}:{number}: {verdict.by} has read {verdict.pair} before."
            )
        found[verdict.by, verdict.pair] = verdict
    return list(found.values())


def score(folder: Path) -> dict[str, Any]:
    """By meeting of two contestants, then by reader."""
    key = json.loads(_text(folder / KEY))
    if hashlib.sha256((folder / PAIRS).read_bytes()).hexdigest() != key["pairs_sha256"]:
        raise EvaluationError(f"{PAIRS} is not the file that {KEY} is for.")
    meetings: dict[str, list[tuple[Verdict, str]]] = defaultdict(list)
    for verdict in read(folder):
        sides = key["pairs"].get(verdict.pair)
        if sides is None:
            raise EvaluationError(f"{VERDICTS}: there is no {verdict.pair}.")
        winner = sides.get(verdict.choice, "")
        meetings[" / ".join(sorted((sides["A"], sides["B"])))].append((verdict, winner))
    return {
        "pairs": len(key["pairs"]),
        "same": key["same"],
        "meetings": {meeting: _by_reader(rows) for meeting, rows in sorted(meetings.items())},
    }


def _by_reader(rows: Sequence[tuple[Verdict, str]]) -> dict[str, Any]:
    names = sorted({winner for _, winner in rows if winner})
    readers = sorted({verdict.by for verdict, _ in rows})
    return {
        EVERYONE: _score([winner for _, winner in rows], names),
        **{
            reader: _score([winner for verdict, winner in rows if verdict.by == reader], names)
            for reader in readers
        },
    }


def _score(winners: Iterable[str], names: Sequence[str]) -> dict[str, Any]:
    """Of each that won at all, its share of what was decided; ties are told, and left out."""
    won = list(winners)
    decided = [winner for winner in won if winner]
    wins: Mapping[str, Any] = {
        name: {
            "wins": (count := decided.count(name)),
            "share": round(count / len(decided), 4) if decided else None,
            "interval": exact_interval(count, len(decided) - count) if decided else None,
        }
        for name in names
    }
    first = decided.count(names[0]) if names else 0
    return {
        "read": len(won),
        "ties": len(won) - len(decided),
        "p": round(sign_test(first, len(decided) - first), 4),
        "contestants": dict(wins),
    }


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise EvaluationError(f"{file} cannot be read.") from error
