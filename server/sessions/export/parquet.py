"""Exchanges and sessions as two tables, without sound."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from server.sessions.exchanges import Exchange
from server.sessions.export.rows import RowFile
from server.sessions.export.selection import Chosen
from server.sessions.export.spreadsheet import Spreadsheet
from server.sessions.export.tables import EXCHANGES, SESSIONS, exchange_row, session_row


class ParquetExport:
    """`exchanges.parquet` and `sessions.parquet`, and the same as CSV if wanted."""

    def __init__(self, folder: Path, *, csv: bool = False) -> None:
        self._open = ExitStack()
        self._exchanges = RowFile(folder / "exchanges.parquet", EXCHANGES)
        self._open.callback(self._exchanges.close)
        self._sessions = RowFile(folder / "sessions.parquet", SESSIONS)
        self._open.callback(self._sessions.close)
        self._sheets: tuple[Spreadsheet, Spreadsheet] | None = None
        if csv:
            first, second = (
                self._open.enter_context((folder / name).open("w", encoding="utf-8", newline=""))
                for name in ("exchanges.csv", "sessions.csv")
            )
            self._sheets = Spreadsheet(first, EXCHANGES.names), Spreadsheet(second, SESSIONS.names)

    def add(self, session: Chosen) -> Sequence[Exchange]:
        for exchange in session.exchanges:
            row = exchange_row(session, exchange)
            self._exchanges.add(row)
            if self._sheets:
                self._sheets[0].add(row)
        row = session_row(session)
        self._sessions.add(row)
        if self._sheets:
            self._sheets[1].add(row)
        return session.exchanges

    def close(self) -> None:
        self._open.close()
