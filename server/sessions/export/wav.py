"""Sound alone: a two-channel WAV for each session, or one for each turn, and a list of them."""

from collections.abc import Sequence
from pathlib import Path

from models.types import WIRE_RATE
from server.sessions.exchanges import Exchange
from server.sessions.export.clips import BLOCK, all_or_none, write_long_wav, write_wav
from server.sessions.export.selection import Chosen
from server.sessions.export.spreadsheet import Spreadsheet
from server.sessions.export.tables import Row

SESSION_COLUMNS = ("file", "session_id", "speaker", "seconds", "recorded_from")
TURN_COLUMNS = (
    "file", "session_id", "speaker", "turn", "role", "start", "end", "seconds", "interrupted",
    "text",
)  # fmt: skip


class WavExport:
    def __init__(self, folder: Path, *, turns: bool = False) -> None:
        self._folder = folder
        self._turns = turns
        self._file = (folder / "index.csv").open("w", encoding="utf-8", newline="")
        self._index = Spreadsheet(self._file, TURN_COLUMNS if turns else SESSION_COLUMNS)

    def add(self, session: Chosen) -> Sequence[Exchange] | None:
        with all_or_none() as files:
            rows = self._each_turn(session, files) if self._turns else self._whole(session, files)
        for row in rows:
            self._index.add(row)
        return session.exchanges if rows else None

    def close(self) -> None:
        self._file.close()

    def _whole(self, session: Chosen, files: list[Path]) -> list[Row]:
        audio = session.file.audio
        if audio is None:
            return []
        name = f"audio/{session.file.id}.wav"
        files.append(self._folder / name)
        write_long_wav(files[-1], session.blocks(BLOCK), channels=2)
        row = {
            "file": name,
            "session_id": session.file.id,
            "speaker": session.file.speaker,
            "seconds": audio.samples / WIRE_RATE,
            "recorded_from": session.sound_from,
        }
        return [row]

    def _each_turn(self, session: Chosen, files: list[Path]) -> list[Row]:
        rows: list[Row] = []
        for turn in (turn for exchange in session.exchanges for turn in exchange.both):
            samples = session.sound(turn)
            if samples is None:
                continue
            name = f"audio/{session.file.id}/{turn.number:04d}_{turn.role}.wav"
            files.append(self._folder / name)
            write_wav(files[-1], samples)
            rows.append(
                {
                    "file": name,
                    "session_id": session.file.id,
                    "speaker": session.file.speaker,
                    "turn": turn.number,
                    "role": turn.role,
                    "start": turn.start,
                    "end": turn.end,
                    "seconds": len(samples) / WIRE_RATE,
                    "interrupted": turn.interrupted,
                    "text": turn.text,
                }
            )
        return rows
