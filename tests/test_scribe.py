"""The thread that writes: never in anybody's way, and honest about a disk that fails it."""

import errno
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from server.consent import Consent
from server.recording import event_log, finishing, scribe
from server.recording.entries import Closed, Described, Sound, Withdrawn
from server.recording.folder import SessionFolder, repair, verify
from server.recording.paper import Reason
from server.recording.record import read
from server.recording.scribe import Scribe, Sheet
from server.sessions.format import SessionFile
from tests.written import (
    NONE,
    WORDS,
    agreed,
    begun,
    channels,
    ended,
    everything_in,
    noise,
    said,
    samples,
)

SECOND = 24_000
PATIENCE = 20.0  # for what should come at once


class Office:
    """A scribe and what it reports."""

    def __init__(self, runs: Path) -> None:
        self.runs = runs
        self.finished: SimpleQueue[Path] = SimpleQueue()
        self.failed: SimpleQueue[Reason] = SimpleQueue()
        self.scribe = Scribe(runs, self.finished.put)

    def open(self, session: SessionFile) -> Sheet:
        return self.scribe.open(session, self.failed.put)

    def path(self, session: SessionFile) -> Path:
        return self.runs / "2026-03-14" / session.id

    def next_finished(self) -> Path:
        return self.finished.get(timeout=PATIENCE)

    def next_failed(self) -> Reason:
        return self.failed.get(timeout=PATIENCE)


@pytest.fixture
def office(tmp_path: Path) -> Generator[Office, None, None]:
    made = Office(tmp_path)
    yield made
    made.scribe.close(PATIENCE)


class Gate:
    """A disk that takes nothing until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()
        pwrite = os.pwrite

        def slow(handle: int, data: bytes, at: int) -> int:
            self.reached.set()
            assert self.opened.wait(PATIENCE)
            return pwrite(handle, data, at)

        monkeypatch.setattr(os, "pwrite", slow)


def break_disk(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def broken(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pwrite", broken)


def test_what_is_put_on_a_sheet_is_found_in_its_folder(office: Office) -> None:
    session = begun()
    sheet = office.open(session)
    sheet.put(Sound("user", 0, noise(SECOND, 1)))
    sheet.put(said(SECOND))
    sheet.put(Sound("user", SECOND, noise(SECOND, 2)))
    sheet.put(Closed(ended(session, 2 * SECOND)))
    path = office.next_finished()
    assert path == office.path(session) and verify(path) == []
    assert np.array_equal(channels(path)[0], samples(noise(SECOND, 1) + noise(SECOND, 2)))
    assert WORDS.encode() in (path / "events.jsonl").read_bytes()
    assert office.failed.empty()


def test_a_withdrawal_is_carried_out_before_anything_put_after_it(office: Office) -> None:
    session = begun()
    sheet = office.open(session)
    sheet.put(Sound("user", 0, noise(SECOND, 1)))
    sheet.put(said(SECOND))
    session = agreed(session, NONE, SECOND)
    sheet.put(Withdrawn(session, NONE))
    session = agreed(session, Consent(transcript=True), 2 * SECOND)
    sheet.put(Described(session))
    sheet.put(said(2 * SECOND, Consent(transcript=True), "pomegranate"))
    sheet.put(Closed(ended(session, 3 * SECOND)))
    path = office.next_finished()
    log = (path / "events.jsonl").read_bytes()
    assert b"pomegranate" in log and WORDS.encode() not in log
    assert not (path / "audio.flac").exists() and verify(path) == []


def test_putting_never_waits_for_the_disk(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    session = begun()
    sheet = office.open(session)
    sheet.put(Sound("user", 0, noise(100, 0)))
    assert gate.reached.wait(PATIENCE)  # the thread is stuck in the disk
    before = perf_counter()
    for number in range(1, 101):
        sheet.put(Sound("user", number * 100, noise(100, number)))
    assert perf_counter() - before < 1.0  # a hundred that waited would never return
    gate.opened.set()
    sheet.put(Closed(ended(session, 10_100)))
    assert channels(office.next_finished())[0].all()


def test_a_disk_too_slow_ends_the_recording_and_keeps_what_it_took(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    session = begun()
    sheet = office.open(session)
    sheet.put(Sound("user", 0, noise(SECOND, 0)))
    assert gate.reached.wait(PATIENCE)
    monkeypatch.setattr(scribe, "SLOW_SEC", 0.0)
    for _ in range(100):
        sheet.put(Sound("reply", 0, noise(SECOND, 1)))
    assert office.next_failed() == "disk_slow"  # told at once, though the disk still hangs
    assert sheet._put == 2 * SECOND
    gate.opened.set()
    sheet.put(Closed(ended(session, 2 * SECOND)))
    path = office.next_finished()
    whole = read(path)
    assert [stop.reason for stop in whole.stopped] == ["disk_slow"]
    user, reply = channels(path)
    assert user[:SECOND].all() and not user[SECOND:].any() and not reply.any()
    assert b"recording.stopped" in (path / "events.jsonl").read_bytes()
    assert verify(path) == [] and office.failed.empty()


def test_a_sender_faster_than_the_disk_is_held_in_bounded_memory_and_what_was_taken_is_kept(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    monkeypatch.setattr(scribe, "QUEUE_BYTES", 3 * SECOND)
    session = begun()
    sheet = office.open(session)
    sheet.put(Sound("user", 0, noise(SECOND, 0)))
    assert gate.reached.wait(PATIENCE)
    for number in range(1, 50):
        sheet.put(Sound("user", number * SECOND, noise(SECOND, number)))
    assert office.next_failed() == "disk_slow"
    assert sheet._put - sheet._taken < 3 * scribe.QUEUE_BYTES
    gate.opened.set()
    sheet.put(Closed(ended(session, 50 * SECOND)))
    path = office.next_finished()
    whole = read(path)
    user, _ = channels(path)
    kept = whole.stopped[0].at
    assert kept > SECOND and user[:kept].all() and not user[kept:].any()


def test_a_folder_the_disk_had_no_room_to_finish_is_finished_once_there_is_room(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []
    complete = finishing.complete

    def full_at_first(*given: Any) -> SessionFile:
        tries.append("tried")
        if len(tries) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return complete(*given)

    monkeypatch.setattr("server.recording.folder.complete", full_at_first)
    monkeypatch.setattr(scribe, "FINISH_AGAIN_SEC", 0.01)
    session = begun()
    sheet = office.open(session)
    sheet.put(Sound("user", 0, noise(SECOND, 0)))
    sheet.put(Closed(ended(session, SECOND)))
    whole = read(office.next_finished())
    assert len(tries) == 2 and whole.ended and whole.ended.why == "hung_up"


def test_a_burst_a_healthy_disk_can_take_is_no_slow_disk(office: Office) -> None:
    session = begun()
    sheet = office.open(session)
    minute = noise(60 * SECOND, 1)
    for number in range(8):
        sheet.put(Sound("user", number * 60 * SECOND, minute))
    sheet.put(Closed(ended(session, 480 * SECOND)))
    path = office.next_finished()
    assert office.failed.empty() and read(path).stopped == []


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "disk_full"),
        (errno.EDQUOT, "disk_full"),
        (errno.EROFS, "disk_unwritable"),
        (errno.EACCES, "disk_unwritable"),
        (errno.EIO, "disk_error"),
    ],
)
def test_a_disk_that_fails_ends_the_recording_with_the_reason(
    office: Office, monkeypatch: pytest.MonkeyPatch, number: int, reason: Reason
) -> None:
    session = begun()
    sheet = office.open(session)
    sheet.put(Sound("user", 0, noise(SECOND, 0)))
    sheet.put(said(SECOND))
    written(office, session)
    break_disk(monkeypatch, number)
    sheet.put(Sound("user", SECOND, noise(SECOND, 1)))
    assert office.next_failed() == reason
    monkeypatch.undo()
    sheet.put(Sound("user", 3 * SECOND, noise(SECOND, 2)))  # too late: it has stopped
    sheet.put(Closed(ended(session, 4 * SECOND)))
    path = office.next_finished()
    assert [stop.reason for stop in read(path).stopped] == [reason]
    user, _ = channels(path)
    assert user[:SECOND].all() and not user[SECOND:].any() and verify(path) == []


def written(office: Office, session: SessionFile) -> None:
    """Wait until the first line is on disk."""
    log = office.path(session) / "events.jsonl"
    until = perf_counter() + PATIENCE
    while not log.exists() or not log.stat().st_size:
        assert perf_counter() < until
        threading.Event().wait(0.01)


def test_a_failure_of_one_recording_is_none_of_the_others(
    office: Office, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = begun(), begun()
    append = event_log.EventLog.append

    def fails(self: event_log.EventLog, entries: object) -> None:
        if bad.id in str(self._path):
            raise RuntimeError(WORDS)
        append(self, entries)  # type: ignore[arg-type]

    monkeypatch.setattr(event_log.EventLog, "append", fails)
    with caplog.at_level(logging.DEBUG):
        one, other = office.open(bad), office.open(good)
        one.put(said(1))
        assert office.next_failed() == "disk_error"
        other.put(said(2))
        other.put(Closed(ended(good, 3)))
        assert office.next_finished() == office.path(good)
    assert WORDS not in caplog.text and bad.id in caplog.text


def test_a_folder_that_cannot_be_made_is_told_and_forgotten(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("no folder")
    office = Office(tmp_path / "runs")
    session = begun()
    sheet = office.open(session)
    assert office.next_failed() == "disk_error"
    sheet.put(Sound("user", 0, noise(10, 0)))
    sheet.put(Withdrawn(agreed(session, NONE, 1), NONE))
    sheet.put(Closed(ended(session, 10)))
    office.scribe.close(PATIENCE)
    assert office.finished.empty() and office.failed.empty()


def test_a_withdrawal_is_carried_out_though_recording_has_failed(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = begun()
    sheet = office.open(session)
    sheet.put(Sound("user", 0, noise(SECOND, 0)))
    sheet.put(said(1))
    written(office, session)
    break_disk(monkeypatch, errno.ENOSPC)
    sheet.put(Sound("user", SECOND, noise(SECOND, 1)))
    assert office.next_failed() == "disk_full"
    session = agreed(session, NONE, SECOND)
    sheet.put(Withdrawn(session, NONE))
    sheet.put(Closed(ended(session, SECOND)))
    path = office.next_finished()
    assert WORDS.encode() not in everything_in(path) and verify(path) == []


def test_an_erasure_the_disk_refused_is_tried_until_it_is_done(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe, "AGAIN_SEC", 0.0)
    session = begun()
    sheet = office.open(session)
    sheet.put(Sound("user", 0, noise(SECOND, 0)))
    sheet.put(said(1))
    written(office, session)
    refused = threading.Event()
    unlink = Path.unlink

    def read_only(self: Path, missing_ok: bool = False) -> None:
        refused.set()
        raise OSError(errno.EROFS, "read-only")

    monkeypatch.setattr(Path, "unlink", read_only)
    sheet.put(Withdrawn(agreed(session, NONE, SECOND), NONE))
    assert office.next_failed() == "disk_unwritable" and refused.is_set()
    monkeypatch.setattr(Path, "unlink", unlink)
    until = perf_counter() + PATIENCE
    path = office.path(session)
    while WORDS.encode() in everything_in(path) or (path / "user.pcm").exists():
        assert perf_counter() < until
        threading.Event().wait(0.01)


def test_finishing_one_recording_holds_up_no_other(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go_on = threading.Event(), threading.Event()
    finish = SessionFolder.finish

    def long(self: SessionFolder, session: SessionFile) -> None:
        started.set()
        assert go_on.wait(PATIENCE)
        finish(self, session)

    monkeypatch.setattr(SessionFolder, "finish", long)
    one, other = begun(), begun()
    first, second = office.open(one), office.open(other)
    first.put(Closed(ended(one, 1)))
    assert started.wait(PATIENCE)
    second.put(said(1))
    written(office, other)
    go_on.set()


def test_closing_finishes_what_is_over_and_leaves_the_rest_for_a_repair(tmp_path: Path) -> None:
    office = Office(tmp_path)
    over, going = begun(), begun()
    one, other = office.open(over), office.open(going)
    one.put(said(1))
    one.put(Closed(ended(over, 1)))
    other.put(Sound("user", 0, noise(SECOND, 1)))
    office.scribe.close(PATIENCE)
    assert office.next_finished() == office.path(over)
    path = office.path(going)
    assert read(path).state == "recording"
    assert repair(path) and channels(path)[0].all()


def test_closing_does_not_wait_longer_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    office = Office(tmp_path)
    sheet = office.open(begun())
    sheet.put(Sound("user", 0, noise(100, 0)))
    assert gate.reached.wait(PATIENCE)
    office.scribe.close(0.01)
    gate.opened.set()


def test_a_finished_session_nobody_can_take_is_finished_all_the_same(tmp_path: Path) -> None:
    def refuse(path: Path) -> None:
        raise RuntimeError

    scribe_ = Scribe(tmp_path, refuse)
    for _ in range(2):
        session = begun()
        scribe_.open(session, lambda reason: None).put(Closed(ended(session, 1)))
    scribe_.close(PATIENCE)
    assert [read(path).state for path in tmp_path.glob("*/*")] == ["finished"] * 2


# -- real disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Generator[Path, None, None]:
    """A disk of a megabyte, where we may make one."""
    where = tmp_path / "disk"
    where.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(where)], capture_output=True
    )
    if made.returncode:
        pytest.skip("only root can mount a small disk")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


def test_a_disk_that_is_really_full_stops_the_recording_and_loses_nothing_written(
    small_disk: Path,
) -> None:
    office = Office(small_disk)
    session = begun()
    sheet = office.open(session)
    for number in range(40):
        sheet.put(Sound("user", number * SECOND, noise(SECOND, number)))
    assert office.next_failed() == "disk_full"
    path = office.path(session)
    kept = (path / "user.pcm").read_bytes()
    sheet.put(Closed(ended(session, 40 * SECOND)))
    office.scribe.close(PATIENCE)
    assert office.finished.empty()  # there is no room for the audio: a repair makes it whole
    assert (path / "user.pcm").read_bytes() == kept and len(kept) > SECOND
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert repair(path) and verify(path) == []
    heard = samples(kept[: len(kept) // 2 * 2])
    assert np.array_equal(channels(path)[0][: len(heard)], heard)


def test_a_withdrawal_on_a_full_disk_leaves_nothing_readable(small_disk: Path) -> None:
    office = Office(small_disk)
    session = begun()
    sheet = office.open(session)
    sheet.put(said(1))
    for number in range(3000):
        sheet.put(said(1, words=f"{WORDS} {number} " * 40))
    assert office.next_failed() == "disk_full"
    session = agreed(session, NONE, SECOND)
    sheet.put(Withdrawn(session, NONE))
    sheet.put(Closed(ended(session, SECOND)))
    path = office.next_finished()
    assert WORDS.encode() not in everything_in(path) and verify(path) == []
    office.scribe.close(PATIENCE)


def test_a_disk_that_is_really_read_only_is_told_and_nothing_is_kept(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    office = Office(small_disk)
    session = begun()
    sheet = office.open(session)
    assert office.next_failed() == "disk_unwritable"
    sheet.put(said(2))
    sheet.put(Closed(ended(session, SECOND)))
    office.scribe.close(PATIENCE)
    assert office.finished.empty() and not os.listdir(small_disk)


LIMITED = """
import resource, sys
from pathlib import Path
from tests.test_scribe import SECOND, Office
from tests.written import begun, ended, noise, said
from server.recording.entries import Closed, Sound
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
office = Office(Path(sys.argv[1]))
session = begun()
sheet = office.open(session)
for number in range(4):
    sheet.put(Sound("user", number * SECOND, noise(SECOND, number)))
print(office.next_failed())
sheet.put(Closed(ended(session, 4 * SECOND)))
office.scribe.close(20)
"""


def test_a_limit_on_the_length_of_files_stops_the_recording(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["disk_error"]
    (path,) = tmp_path.glob("????-??-??/sess_*")
    if repair(path):  # the audio may have been too long for the limit, too
        assert read(path).stopped
    assert verify(path) == [] and channels(path)[0][:SECOND].all()
