"""The whole disk after many sessions: a scan of every byte, the index built anew, an export."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

import soundfile

from models.types import WIRE_RATE
from server.config import ROOT
from server.sessions.index import Filter
from server.sessions.library import Library
from server.sessions.summary import Row
from tests.marked import Prints, Sought, Track, prints, word
from tests.recorded_checks import (
    MARKED,
    STANDINS_SAY,
    Findings,
    Kept,
    check_consents,
    check_shape,
    check_sound,
    check_words,
    folders,
    quoted,
)
from tests.simulated_person import Truth


def check(runs: Path, truths: Sequence[Truth], logs: Sequence[str], scratch: Path) -> Findings:
    findings = Findings()
    kept = folders(runs, truths, findings)
    for each in kept:
        check_consents(each, findings)
        check_shape(each, findings)
        check_sound(each, findings)
        check_words(each, findings)
    check_scan(runs, truths, kept, logs, findings)
    check_index(runs, len(kept), findings)
    check_export(runs, kept, scratch, findings)
    return findings


def forbidden(truths: Sequence[Truth], kept: Sequence[Kept]) -> Iterator[Prints]:
    """All sound that nobody allowed to be kept."""
    since = {each.truth.session_id: each.since("audio") for each in kept}
    for truth in truths:
        end = since.get(truth.session_id)
        track = Track(truth.plan.number, truth.plan.seconds + 30)
        yield prints(track.whole(truth.captured, truth.loud)[:end])


def check_scan(
    runs: Path,
    truths: Sequence[Truth],
    kept: Sequence[Kept],
    logs: Sequence[str],
    findings: Findings,
) -> None:
    """Every byte of every file: no sound and no word that is not allowed, wherever it may lie."""
    sought = Sought.of(list(forbidden(truths, kept)))
    findings.counts["forbidden runs sought"] = len(sought.known)
    inside = {each.folder for each in kept}
    for file in (path for path in runs.rglob("*") if path.is_file()):
        data = file.read_bytes()
        name = file.relative_to(runs)
        findings.counts["files scanned"] += 1
        findings.counts["bytes scanned"] += len(data)
        findings.expect(not sought.found_in(data), f"{name}: sound that was not allowed, raw")
        if file.suffix == ".flac":
            for channel in soundfile.read(BytesIO(data), dtype="int16", always_2d=True)[0].T:
                hits = sought.found_in_samples(channel)
                findings.expect(not hits, f"{name}: {hits} runs of sound that was not allowed")
                findings.counts["samples scanned"] += len(channel)
        if file.parent not in inside:
            findings.expect(not MARKED.search(data), f"{name}: somebody's words")
    for log in logs:
        told = MARKED.search(log.encode()) or STANDINS_SAY.search(log.encode())
        findings.expect(not told, "the server's log holds words of a conversation")


def seen_by_the_scan(truth: Truth) -> bool:
    """Whether it would find a tenth of a second of this person in a file: it must."""
    track = Track(truth.plan.number, truth.plan.seconds + 30).whole(truth.captured, truth.loud)
    sought = Sought.of([prints(track)])
    middle = len(track) // 2
    leaked = track[middle : middle + WIRE_RATE // 10]
    told = word(truth.plan.number, 1).encode()
    return (
        sought.found_in(b"odd" + leaked.tobytes()) > 0
        and sought.found_in_samples(leaked[1:]) > 0
        and MARKED.search(b'"text": "' + told) is not None
    )


# --- index and export


def check_index(runs: Path, folders: int, findings: Findings) -> None:
    """Built anew from the folders it is what it had become bit by bit."""
    library = Library.open(str(runs))
    try:
        before = _rows(library)
        library.rebuild()
        after = _rows(library)
    finally:
        library.close()
    findings.counts["index rows"] = len(after)
    findings.expect(len(after) == folders, f"{len(after)} rows for {folders} folders")
    for session_id in before.keys() | after.keys():
        same = before.get(session_id) == after.get(session_id)
        findings.expect(same, f"{session_id}: its row differs when built anew")


def _rows(library: Library) -> dict[str, Row]:
    return {row.id: row for row in library.find(Filter(deleted=True, limit=None)).rows}


def check_export(runs: Path, kept: Sequence[Kept], scratch: Path, findings: Findings) -> None:
    """It loads, and holds only sessions that research may have."""
    import pyarrow.parquet as pq

    out = scratch / "export"
    command = [sys.executable, "-m", "server.sessions", "--runs", str(runs), "export"]
    ran = subprocess.run(
        [*command, "--format", "hf", "--out", str(out)], cwd=ROOT, capture_output=True, text=True
    )
    if not findings.expect(ran.returncode == 0, f"the export failed: {ran.stderr[-300:]}"):
        return
    allowed = {each.truth.session_id: each for each in kept if each.consent.research}
    words = {word for each in allowed.values() for word in each.allowed_words | quoted(each)}
    rows = [row for file in out.rglob("*.parquet") for row in pq.read_table(file).to_pylist()]
    findings.counts["exported rows"] = len(rows)
    exported = {str(row["session_id"]) for row in rows}
    findings.expect(bool(rows) or not allowed, "nothing was exported")
    findings.expect(exported <= allowed.keys(), "a session was exported that research may not have")
    said = {each.decode() for each in MARKED.findall(repr(rows).encode())}
    findings.expect(said <= words, "words were exported that may not be kept")
    import datasets

    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(out), split="train", cache_dir=str(scratch / "datasets"))
    findings.expect(len(loaded) == len(rows), f"{len(loaded)} of {len(rows)} rows load")
