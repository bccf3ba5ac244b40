"""A recording process killed at any moment: at most a second is lost, and nothing is kept amiss."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from time import monotonic, sleep

import numpy as np
import pytest

from server.recording import event_log
from server.recording.folder import left_behind, repair, verify
from server.recording.record import read
from tests.writes_until_killed import PIECE
from tests.written import WORDS, channels, everything_in, noise, samples

MOST_LOST_SEC = 1.0


@dataclass
class Put:
    """What a conversation had put long enough before the kill, and what it put at all."""

    sound: int = 0
    lines: int = 0
    withdrawn: bool = False
    withdrew: bool = False  # perhaps only just now
    closed: bool = False
    known: bool = False
    told: list[str] = field(default_factory=list)


def killed(runs: Path, seed: int) -> dict[str, Put]:
    """Let a process record, and kill it at a random moment."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.writes_until_killed", str(runs), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    first = process.stdout.readline()
    sleep(Random(seed).uniform(0.0, 3.0))
    at = monotonic()
    os.kill(process.pid, signal.SIGKILL)
    rest = process.stdout.read()
    process.wait()
    process.stdout.close()
    puts: dict[str, Put] = {}
    for line in (first + rest).splitlines(keepends=True):
        if not line.endswith("\n"):
            continue
        when, session, what, position = line.split()
        put = puts.setdefault(session, Put())
        early = float(when) < at - MOST_LOST_SEC
        put.known = put.known or early
        match what:
            case "sound" if early:
                put.sound = int(position)
            case "line" if early:
                put.lines += 1
            case "withdrawn":
                put.withdrawn, put.withdrew = early, True
            case "closed" if early:
                put.closed = True
            case "sound" | "line" | "closed":
                pass
            case _:
                put.told.append(what)
    return puts


def check(path: Path, put: Put) -> None:
    assert put.told == []  # nothing failed
    assert verify(path) == []
    session = read(path)
    assert session.state in ("finished", "repaired") and session.ended
    assert sum(1 for _ in event_log.read(path / "events.jsonl")) >= put.lines
    if put.withdrawn:
        assert WORDS.encode() not in everything_in(path) and session.audio is None
    if session.audio is None:
        assert put.withdrew or put.sound == 0
        return
    pieces = session.audio.samples // PIECE
    expected = samples(b"".join(noise(PIECE, number) for number in range(pieces)))
    for channel in channels(path):
        assert np.array_equal(channel[: put.sound], expected[: put.sound])
        beyond = channel[put.sound : len(expected)]
        later = expected[put.sound :]
        assert ((beyond == later) | (beyond == 0)).all()  # what came after is there or silent


@pytest.mark.slow
def test_twenty_kills_lose_at_most_a_second_each(tmp_path: Path) -> None:
    repaired = finished = 0
    for seed in range(20):
        runs = tmp_path / str(seed)
        puts = killed(runs, seed)
        for path in left_behind(runs):
            assert repair(path)
            repaired += 1
        assert list(left_behind(runs)) == []
        folders = {path.name: path for path in runs.glob("????-??-??/sess_*")}
        for session in folders.keys() | puts.keys():
            put = puts.get(session, Put())  # none: it was killed before it could say a word
            if session in folders:
                check(folders[session], put)
                finished += read(folders[session]).state == "finished"
            else:
                assert not put.known  # it began less than a second before
    assert repaired > 20 and finished > 5  # kills met them in every state


@pytest.mark.slow
def test_a_repair_that_is_killed_is_completed_by_the_next(tmp_path: Path) -> None:
    for seed in range(100, 108):
        runs = tmp_path / str(seed)
        puts = killed(runs, seed)
        repairing = "import sys; from pathlib import Path; from server.recording.folder import *\n"
        repairing += "print('go', flush=True)\n[repair(p) for p in left_behind(Path(sys.argv[1]))]"
        process = subprocess.Popen(
            [sys.executable, "-c", repairing, str(runs)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout and process.stdout.readline() == "go\n"
        sleep(Random(seed).uniform(0.0, 0.2))
        process.kill()
        process.wait()
        process.stdout.close()
        for path in left_behind(runs):
            repair(path)
        for path in runs.glob("????-??-??/sess_*"):
            check(path, puts[path.name])
