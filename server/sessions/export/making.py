"""Making an export: what is allowed of each session into a folder that appears once it is whole."""

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from server.consent import Consent
from server.sessions.derived import beside
from server.sessions.exchanges import Exchange
from server.sessions.export.datasheet import Tally, datasheet
from server.sessions.export.echomind import EchoMindExport
from server.sessions.export.hf import HuggingFaceExport
from server.sessions.export.parquet import ParquetExport
from server.sessions.export.selection import Chosen, LeftOut, allowance, chosen
from server.sessions.export.wav import WavExport
from server.sessions.stored import BrokenSession, NoAudio, StoredSession, UnknownSession

SHEET, SESSIONS = "DATASHEET.md", "sessions.txt"


class Form(StrEnum):
    ECHOMIND = "echomind"
    HF = "hf"
    PARQUET = "parquet"
    WAV = "wav"


class ExportError(Exception):
    """Why there is no export: one sentence."""


class Exporter(Protocol):
    """One form of export, a session at a time."""

    def add(self, session: Chosen) -> Sequence[Exchange] | None:
        """What of it is in there now; None if nothing fits this form, as when it fails."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Wanted:
    form: Form
    out: Path
    all_consented: bool = False  # also without consent to research
    turns: bool = False  # of wav: a file for each turn
    csv: bool = False  # of parquet: CSV beside it
    over: bool = False  # put it in the place of an earlier export


Find = Callable[[str], StoredSession]


class Register(Protocol):
    """Where it is written down which sessions' data lie where."""

    def begun(self, path: str, session_id: str) -> object: ...

    def made(self, path: str, session_ids: Sequence[str]) -> object: ...

    def over(self, path: str, session_ids: Sequence[str]) -> object: ...


def export(
    ids: Iterable[str],
    find: Find,
    wanted: Wanted,
    register: Register,
    step: Callable[[], object] = lambda: None,
) -> Tally:
    """Write the folder and register it; ExportError if there is nothing to write, or no room."""
    check_room(wanted)
    out = wanted.out.absolute()
    partial, _ = beside(out)  # one that broke off is begun anew
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700, parents=True)
    begun: list[str] = []

    def begin(session_id: str) -> None:
        begun.append(session_id)
        register.begun(str(out), session_id)

    try:
        tally, consents = _written(ids, find, wanted, partial, begin, step)
        now = datetime.now(UTC)
        sheet = datasheet(tally, wanted.form, now, all_consented=wanted.all_consented)
        (partial / SHEET).write_text(sheet, "utf-8")
        (partial / SESSIONS).write_text("".join(f"{each}\n" for each in tally.sessions), "utf-8")
        # Since it was begun each deletion lists it; what was deleted before is noticed now.
        _check_unchanged(consents, find, wanted)
        register.made(str(out), tally.sessions)
        _appear(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if not partial.exists():
            register.over(str(out), begun)
    return tally


def check_room(wanted: Wanted) -> None:
    """Nothing that lies there already may be lost."""
    out = wanted.out
    if out.exists() and not out.is_dir():
        raise ExportError(f"{out} is a file; give a folder that is new or empty")
    if not out.exists() or not any(out.iterdir()):
        return
    if not wanted.over:
        raise ExportError(f"{out} is not empty; --force replaces an earlier export")
    if not ((out / SHEET).is_file() and (out / SESSIONS).is_file()):
        raise ExportError(f"{out} holds something else than an export, and is left as it is")


def _written(
    ids: Iterable[str],
    find: Find,
    wanted: Wanted,
    folder: Path,
    begin: Callable[[str], None],
    step: Callable[[], object],
) -> tuple[Tally, dict[str, Consent]]:
    tally, consents = Tally(), dict[str, Consent]()
    with closing(_exporter(wanted, folder)) as exporter:
        for session_id in ids:
            taken = _taken(session_id, find, wanted, exporter, begin)
            if isinstance(taken, LeftOut):
                tally.left_out[taken.why] += 1
            else:
                tally.add(taken)
                consents[session_id] = taken.consent
            step()
    if not tally.sessions:
        why = ", ".join(f"{count} × {why}" for why, count in tally.left_out.most_common())
        raise ExportError(f"there is nothing to export{f': {why}' if why else ''}")
    return tally, consents


def _taken(
    session_id: str,
    find: Find,
    wanted: Wanted,
    exporter: Exporter,
    begin: Callable[[str], None],
) -> Chosen | LeftOut:
    try:
        found = chosen(find(session_id), all_consented=wanted.all_consented)
        if isinstance(found, LeftOut):
            return found
        begin(session_id)  # before its first byte is written
        exchanges = exporter.add(found)
        if exchanges is None:
            return LeftOut(f"nothing in it for {wanted.form}")
        return replace(found, exchanges=exchanges)
    except UnknownSession:
        return LeftOut("deleted")
    except (BrokenSession, NoAudio):
        return LeftOut("damaged, see `verify`")


def _exporter(wanted: Wanted, folder: Path) -> Exporter:
    match wanted.form:
        case Form.ECHOMIND:
            return EchoMindExport(folder)
        case Form.HF:
            return HuggingFaceExport(folder)
        case Form.PARQUET:
            return ParquetExport(folder, csv=wanted.csv)
        case Form.WAV:
            return WavExport(folder, turns=wanted.turns)


def _check_unchanged(consents: dict[str, Consent], find: Find, wanted: Wanted) -> None:
    for session_id, consent in consents.items():
        try:
            now = allowance(find(session_id).file(), all_consented=wanted.all_consented)
        except UnknownSession:
            now = LeftOut("deleted")
        if now != consent:
            raise ExportError("a session was deleted or withdrawn meanwhile; please run it again")


def _appear(partial: Path, out: Path) -> None:
    if out.is_dir() and not any(out.iterdir()):
        out.rmdir()
    if not out.exists():
        partial.rename(out)
        return
    _, before = beside(out)
    shutil.rmtree(before, ignore_errors=True)
    out.rename(before)
    partial.rename(out)
    shutil.rmtree(before)
