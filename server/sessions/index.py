"""A SQLite file over the session folders, to find sessions by; the folders are the truth."""

import json
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from server.private_log import where
from server.sessions.filtering import ORDERS, Filter, Order, condition, folded
from server.sessions.store import Listed, Store, UnknownSession
from server.sessions.stored import BrokenSession
from server.sessions.summary import Row, salvaged, summary

__all__ = ["INDEX_FILE", "ORDERS", "Filter", "Index", "Order", "Page"]

log = logging.getLogger(__name__)

INDEX_FILE = "index.sqlite"
VERSION = 2  # of the table; another one is thrown away and built anew
WAIT_SEC = 30  # for another process that is writing
SWEEP_SEC = 0.1  # for those who read, before what was overwritten can be taken out of the files
COLUMNS = [field.name for field in fields(Row)]


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[Row]
    total: int  # as if there were no limit


class Index:
    """Safe for several threads and processes."""

    def __init__(self, path: Path) -> None:
        self.is_new = False  # it was empty, and knows nothing of the folders yet
        self._lock = threading.RLock()
        self._connection = self._opened(path)
        # Reading waits neither for those who write nor for those who sweep.
        self._reader = self._beside(self._connection)
        self._reading = self._lock if self._reader is self._connection else threading.RLock()
        self._sweeping = threading.Lock()
        self._sweeper = self._beside(self._connection, SWEEP_SEC)
        self._swept = True

    def close(self) -> None:
        with self._sweeping, self._reading, self._lock:
            for connection in (self._sweeper, self._reader, self._connection):
                connection.close()

    def put(self, row: Row, stamp: str) -> None:
        names = ", ".join([*COLUMNS, "folded", "stamp"])
        marks = ", ".join("?" * (len(COLUMNS) + 2))
        values = [*_stored(row), folded(row.notes), stamp]
        with self._writing() as connection:
            connection.execute(f"REPLACE INTO sessions ({names}) VALUES ({marks})", values)

    def drop(self, session_id: str) -> None:
        with self._writing() as connection:
            connection.execute("DELETE FROM sessions WHERE id = ?", [session_id])

    def row(self, session_id: str) -> Row | None:
        found = self._ask("SELECT * FROM sessions WHERE id = ?", [session_id])
        return _row(found[0]) if found else None

    def find(self, sought: Filter) -> Page:
        holds, values = condition(sought)
        total = self._ask(f"SELECT count(*) AS n FROM sessions WHERE {holds}", values)[0]["n"]
        order = ORDERS[sought.order]
        key = order.split()[0]
        limit = -1 if sought.limit is None else max(sought.limit, 0)
        rows = self._ask(
            f"SELECT * FROM sessions WHERE {holds} "
            f"ORDER BY {key} IS NULL, {order}, id LIMIT ? OFFSET ?",
            [*values, limit, max(sought.offset, 0)],
        )
        return Page([_row(each) for each in rows], total)

    def replays(self, session_id: str) -> list[Row]:
        """All that replay it, and the replays of these; each once, also if they claim a circle."""
        found = self._ask(
            "WITH RECURSIVE kin(id) AS (SELECT id FROM sessions WHERE replay_of = ? UNION "
            "SELECT each.id FROM sessions AS each JOIN kin ON each.replay_of = kin.id) "
            "SELECT * FROM sessions WHERE id IN kin AND id != ? ORDER BY started, id",
            [session_id, session_id],
        )
        return [_row(each) for each in found]

    def rows(self) -> list[Row]:
        return [_row(each) for each in self._ask("SELECT * FROM sessions ORDER BY id", [])]

    def rebuild(self, store: Store) -> list[str]:
        """Everything from the folders; says in words what could not be read."""
        return self._follow(store, lambda session_id, stamp: True)

    def sync(self, store: Store) -> list[str]:
        """Only what changed since, here or on another machine."""
        known = self._stamps()
        return self._follow(store, lambda session_id, stamp: known.get(session_id) != stamp)

    def forget_deleted(self) -> None:
        """Let nothing of what was overwritten stay in the files.

        While somebody reads it cannot be done; it is tried again after each later change.
        """
        with self._sweeping:
            try:
                is_busy, *_ = self._sweeper.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                self._swept = not is_busy
            except sqlite3.OperationalError:
                self._swept = False

    def _follow(self, store: Store, wanted: Callable[[str, str], bool]) -> list[str]:
        # Rows that are put meanwhile by others are not in here, and so are not taken for gone.
        before, seen, problems = set(self._stamps()), set(), []
        for listed in store.listing():
            seen.add(listed.session.id)
            if wanted(listed.session.id, listed.stamp):
                try:
                    self.put(summary(listed), listed.stamp)
                except UnknownSession:  # it went meanwhile, or went up to the object store
                    seen.discard(listed.session.id)
                except BrokenSession as error:
                    problems.append(str(error))
                    log.warning("a session cannot be read: %s", where(error))
                    self._put_salvaged(listed)
                except OSError as error:
                    problems.append(str(error))
                    log.warning("a session could not be indexed: %s", where(error))
        for session_id in before - seen:
            try:
                store.session(session_id)
            except UnknownSession:
                self.drop(session_id)
        self.forget_deleted()
        return problems

    def _put_salvaged(self, listed: Listed) -> None:
        """Without a stamp: it is looked at, and told of, again the next time."""
        try:
            self.put(salvaged(listed), "")
        except (UnknownSession, OSError) as error:
            log.warning("a session could not be indexed: %s", where(error))

    def _stamps(self) -> dict[str, str]:
        return {row["id"]: row["stamp"] for row in self._ask("SELECT id, stamp FROM sessions", [])}

    def _ask(self, query: str, values: list[Any]) -> list[sqlite3.Row]:
        with self._reading:
            return self._reader.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
        if not self._swept:
            self.forget_deleted()

    def _beside(self, first: sqlite3.Connection, wait_sec: float = WAIT_SEC) -> sqlite3.Connection:
        """One more connection to the same file."""
        path = first.execute("PRAGMA database_list").fetchone()["file"]
        if not path:  # in memory: there is only the one
            return first
        beside = sqlite3.connect(
            path, timeout=wait_sec, isolation_level=None, check_same_thread=False
        )
        beside.row_factory = sqlite3.Row
        return beside

    def _opened(self, path: Path) -> sqlite3.Connection:
        try:
            return self._prepared(path)
        except (sqlite3.OperationalError, OSError) as error:
            return self._in_memory(error)
        except sqlite3.DatabaseError as error:  # broken; it holds nothing that the folders do not
            log.warning("the index of sessions is made anew: %s", where(error))
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            return self._prepared(path)

    def _in_memory(self, error: Exception) -> sqlite3.Connection:
        """On a disk that cannot be written the folders can still be listed."""
        log.warning("the index of sessions is kept in memory: %s", where(error))
        return self._prepared(None)

    def _prepared(self, path: Path | None) -> sqlite3.Connection:
        if path is not None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))  # notes are nobody else's
        connection = sqlite3.connect(
            path or ":memory:", timeout=WAIT_SEC, isolation_level=None, check_same_thread=False
        )
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")
            self._create(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                return
            columns = ", ".join(COLUMNS[1:])
            connection.execute("DROP TABLE IF EXISTS sessions")
            connection.execute(f"CREATE TABLE sessions (id PRIMARY KEY, {columns}, folded, stamp)")
            connection.execute("CREATE INDEX by_start ON sessions (started)")
            connection.execute("CREATE INDEX by_speaker ON sessions (speaker)")
            connection.execute("CREATE INDEX by_source ON sessions (replay_of)")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            self.is_new = True


def _stored(row: Row) -> list[Any]:
    plain = asdict(row) | {"tags": json.dumps(row.tags)}
    # In one zone, and all of the same length: as text they sort by time.
    for name in ("started", "ended"):
        if plain[name]:
            plain[name] = plain[name].astimezone(UTC).isoformat(timespec="microseconds")
    return [plain[name] for name in COLUMNS]


def _row(stored: sqlite3.Row) -> Row:
    plain = {name: stored[name] for name in COLUMNS}
    plain["tags"] = tuple(json.loads(plain["tags"]))
    for name in ("started", "ended"):
        plain[name] = plain[name] and datetime.fromisoformat(plain[name])
    for name in ("transcript", "audio", "research"):
        plain[name] = bool(plain[name])
    return Row(**plain)
