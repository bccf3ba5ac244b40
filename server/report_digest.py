"""A report's scores as a small database: made of `scores.json` once, then cheap to ask.

To read a large file keeps Python's lock for longer than a conversation can wait, so that a process
of its own does it. The database lies in the report's folder: whatever takes that takes both.
"""

import os
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, date
from pathlib import Path

from pydantic import ValidationError

from server.reports import SCHEMA, SCORES_FILE, ScoresFile, Summary

MODULE = "server.report_digest"
ROOT = Path(__file__).parent.parent
FILE = ".scores.sqlite"
FORM = 1  # of the database
SMALL = 128 << 10  # bytes that are read in no time, right here
PATIENCE_SEC = 300.0
NICE = 15
FORM_SQL = """
CREATE TABLE told (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE session (id TEXT PRIMARY KEY);
CREATE TABLE exchange (n INTEGER PRIMARY KEY, session_id TEXT, body TEXT);
CREATE TABLE score (metric TEXT, n INTEGER, value REAL, PRIMARY KEY (metric, n)) WITHOUT ROWID;
CREATE TABLE trend (metric TEXT, day TEXT, model TEXT, mean REAL, n INTEGER);
CREATE INDEX of_session ON exchange (session_id);
CREATE INDEX by_value ON score (metric, value);
CREATE INDEX of_metric ON trend (metric);
"""
ORDERS = {
    "number": "exchange.n",
    "lowest": "value IS NULL, value, exchange.n",
    "highest": "value IS NULL, value DESC, exchange.n",
}


class BrokenReport(Exception):
    """Its scores cannot be read: one sentence that says why."""


@dataclass(frozen=True, slots=True)
class Point:
    """The mean of one day's exchanges, of one model or of all."""

    day: date
    model: str | None
    mean: float
    n: int


@dataclass(frozen=True, slots=True)
class Found:
    exchanges: list[str]  # each as JSON
    total: int


@dataclass(frozen=True, slots=True)
class Digest:
    """What a report says; every question opens the file and closes it again. Blocking."""

    path: Path

    def head(self) -> Summary:
        """All but sessions, breakdowns and exchanges: it stays small."""
        return Summary.model_validate_json(self._told("head"))

    def counts(self) -> tuple[int, int]:
        """Sessions and exchanges, as the scorer counted them."""
        return int(self._told("sessions")), int(self._told("exchanges"))

    def summary(self) -> str:
        """All but the exchanges, as JSON."""
        return self._told("summary")

    def session_ids(self) -> list[str]:
        """Everybody it tells of."""
        with _reading(self.path) as asked:
            return [row[0] for row in asked.execute("SELECT id FROM session ORDER BY id")]

    def exchanges(
        self,
        session_id: str | None = None,
        metric: str | None = None,
        order: str = "number",
        offset: int = 0,
        limit: int = -1,
    ) -> Found:
        """Those of a session, those a metric was asked about; by its value if that is wished."""
        source, where, given = "exchange", ["1"], []
        if metric is not None:
            source += " JOIN score ON score.n = exchange.n AND score.metric = ?"
            given.append(metric)
        if session_id is not None:
            where.append("session_id = ?")
            given.append(session_id)
        rest = f"FROM {source} WHERE {' AND '.join(where)}"
        how = ORDERS[order if metric is not None else "number"]
        with _reading(self.path) as asked:
            (total,) = asked.execute(f"SELECT count(*) {rest}", given).fetchone()
            rows = asked.execute(
                f"SELECT body {rest} ORDER BY {how} LIMIT ? OFFSET ?", [*given, limit, offset]
            )
            return Found([row[0] for row in rows], total)

    def trend(self, metric: str) -> list[Point]:
        """The metric by the day of the session, over all models and for each reply model."""
        with _reading(self.path) as asked:
            rows = asked.execute(
                "SELECT day, model, mean, n FROM trend WHERE metric = ? ORDER BY rowid", [metric]
            )
            return [Point(date.fromisoformat(day), *rest) for day, *rest in rows]

    def _told(self, name: str) -> str:
        with _reading(self.path) as asked:
            row = asked.execute("SELECT value FROM told WHERE name = ?", [name]).fetchone()
        return str(row[0])


def opened(folder: Path, mark: str) -> Digest:
    """The digest of a report whose scores have this mark; made if need be. Blocking."""
    path = folder / FILE
    known = _known(path, mark)
    if known is None:
        _make(folder, mark)
        known = _known(path, mark)
    if known is None:
        raise BrokenReport(f"{SCORES_FILE} could not be read.")
    if known:
        raise BrokenReport(known)
    return Digest(path)


def make(folder: Path, mark: str) -> None:
    """Read the scores and write the database; that they cannot be read is written as well."""
    partial = folder / f"{FILE}.{os.getpid()}"
    try:
        with closing(sqlite3.connect(partial)) as writing, writing:
            writing.executescript(FORM_SQL)
            problem = ""
            try:
                scores = ScoresFile.model_validate_json((folder / SCORES_FILE).read_bytes())
                _write(writing, scores)
            except ValidationError as error:
                problem = _why(error)
            writing.execute("INSERT INTO told VALUES (?, ?)", [f"problem of {mark}", problem])
        partial.replace(folder / FILE)
    finally:
        partial.unlink(missing_ok=True)


def trends(scores: ScoresFile) -> Iterator[tuple[str, Point]]:
    """Every metric's, in order."""
    sessions = {each.id: each for each in scores.sessions}
    values: dict[tuple[str, date, str], list[float]] = defaultdict(list)
    for exchange in scores.exchanges:
        if (session := sessions.get(exchange.session_id)) is None:
            continue
        day, model = session.started.astimezone(UTC).date(), session.models.get("responder")
        for metric, score in exchange.scores.items():
            if score.value is None:
                continue
            values[metric, day, ""].append(score.value)
            if model:
                values[metric, day, model].append(score.value)
    for (metric, day, name), found in sorted(values.items()):
        yield metric, Point(day, name or None, round(sum(found) / len(found), 4), len(found))


def _write(writing: sqlite3.Connection, scores: ScoresFile) -> None:
    told = {
        "head": scores.model_dump_json(exclude={"exchanges", "sessions", "breakdowns"}),
        "summary": scores.model_dump_json(exclude={"exchanges"}),
        "sessions": str(len(scores.sessions)),
        "exchanges": str(sum(each.exchanges for each in scores.sessions)),
    }
    writing.executemany("INSERT INTO told VALUES (?, ?)", told.items())
    ids = {each.id for each in scores.sessions} | {each.session_id for each in scores.exchanges}
    writing.executemany("INSERT INTO session VALUES (?)", ([each] for each in ids))
    writing.executemany(
        "INSERT INTO exchange VALUES (?, ?, ?)",
        ([n, each.session_id, each.model_dump_json()] for n, each in enumerate(scores.exchanges)),
    )
    writing.executemany(
        "INSERT INTO score VALUES (?, ?, ?)",
        (
            [metric, n, score.value]
            for n, each in enumerate(scores.exchanges)
            for metric, score in each.scores.items()
        ),
    )
    writing.executemany(
        "INSERT INTO trend VALUES (?, ?, ?, ?, ?)",
        ([metric, p.day.isoformat(), p.model, p.mean, p.n] for metric, p in trends(scores)),
    )


def _make(folder: Path, mark: str) -> None:
    if (folder / SCORES_FILE).stat().st_size <= SMALL:
        try:
            make(folder, mark)
        except sqlite3.OperationalError as error:
            raise OSError(str(error)) from None
        return
    try:
        subprocess.run(
            [sys.executable, "-m", MODULE, str(folder.absolute()), mark],
            cwd=ROOT, timeout=PATIENCE_SEC, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise BrokenReport(f"{SCORES_FILE} takes too long to read.") from None


def _known(path: Path, mark: str) -> str | None:
    """What is wrong with the scores of this mark, empty if nothing; None if they were not read."""
    if not path.is_file():
        return None
    try:
        with _reading(path) as asked:
            named = [f"problem of {mark}"]
            row = asked.execute("SELECT value FROM told WHERE name = ?", named).fetchone()
    except sqlite3.DatabaseError:  # it is none of ours, or was cut short
        return None
    return None if row is None else str(row[0])


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """It is never written to again; should it be gone, that is an OSError as with any file."""
    path.stat()
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True)) as asked:
        yield asked


def _why(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if place == "schema_version":
        return f"{SCORES_FILE} is of another version than {SCHEMA}, which this server reads."
    return f"{SCORES_FILE} cannot be read: {place or 'it'}: {first['msg']}."


def main() -> int:
    folder, mark = sys.argv[1:]
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        make(Path(folder), mark)
    except (OSError, sqlite3.Error, MemoryError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
