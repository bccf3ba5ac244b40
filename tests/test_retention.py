"""How long sessions are kept, and who a pseudonym stands for."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from server.config import Recording
from server.recording.lock import Lock
from server.sessions import retention
from server.sessions.format import SPEAKER_ID
from server.sessions.index import Filter
from server.sessions.library import Library
from server.sessions.retention import GB, overdue
from server.sessions.speakers import Pseudonyms, key_for
from server.sessions.summary import Row
from tests.made_sessions import folder_of, made_session

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def row(name: str, days_ago: float, gb: float = 0.0, state: str = "finished") -> Row:
    began = NOW - timedelta(days=days_ago)
    return Row(name, "", began, state, ended=began, bytes=round(gb * GB))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library.open(str(tmp_path / "runs")) as library:
        yield library


# --- what is overdue


def test_nothing_is_overdue_unless_something_is_set() -> None:
    assert overdue([row("a", 9999, 9999)], None, None, NOW) == []


def test_sessions_are_kept_for_as_many_days_as_was_set() -> None:
    rows = [row("new", 1), row("old", 31), row("older", 40), row("just", 30)]
    assert overdue(rows, 30, None, NOW) == ["older", "old"]


def test_age_counts_from_the_end_of_a_session() -> None:
    began = NOW - timedelta(days=31)
    long = Row("long", "", began, "finished", ended=NOW - timedelta(days=29))
    assert overdue([long], 30, None, NOW) == []


def test_the_oldest_go_first_until_the_rest_fits() -> None:
    rows = [row("b", 2, 3), row("a", 3, 1), row("c", 1, 4), row("d", 0, 2)]
    assert overdue(rows, None, 10, NOW) == []
    assert overdue(rows, None, 9, NOW) == ["a"]
    assert overdue(rows, None, 8.9, NOW) == ["a", "b"]
    assert overdue(rows, None, 1, NOW) == ["a", "b", "c", "d"]


def test_what_age_takes_counts_for_size_as_well() -> None:
    rows = [row("a", 40, 5), row("b", 20, 5), row("c", 10, 5)]
    assert overdue(rows, 30, 10, NOW) == ["a"]
    assert overdue(rows, 30, 9, NOW) == ["a", "b"]


def test_what_is_being_recorded_counts_but_stays_and_what_is_deleted_does_neither() -> None:
    rows = [
        row("live", 50, 4, "recording"),
        row("gone", 60, 9, "deleted"),
        row("mended", 5, 2, "repaired"),
        row("new", 1, 2),
    ]
    assert overdue(rows, 30, None, NOW) == []
    assert overdue(rows, None, 6, NOW) == ["mended"]


# --- deleting it


def test_what_is_overdue_is_deleted_and_says_why(library: Library) -> None:
    old = made_session(library.local, started=NOW - timedelta(days=40))
    new = made_session(library.local, started=NOW - timedelta(days=4))
    settings = Recording(keep_days=30)
    gone = retention.apply(library, settings, NOW)  # though nobody had indexed them
    assert [deletion.id for deletion in gone] == [old]
    assert library.session(old).file().tombstones[-1].why == "retention"
    assert [each.id for each in library.find(Filter()).rows] == [new]
    assert retention.apply(library, settings, NOW) == []


def test_one_that_cannot_be_deleted_does_not_keep_the_others(library: Library) -> None:
    held, old = (made_session(library.local, started=NOW - timedelta(days=n)) for n in (50, 40))
    lock = Lock.take(folder_of(library.local, held))
    gone = retention.apply(library, Recording(keep_days=30), NOW)
    assert [deletion.id for deletion in gone] == [old]
    lock.abandon()


def test_a_session_whose_record_cannot_be_read_is_aged_by_its_folder(library: Library) -> None:
    old, new = (made_session(library.local, started=NOW - timedelta(days=n)) for n in (40, 4))
    for session_id in (old, new):
        (folder_of(library.local, session_id) / "session.json").write_text("{")
    gone = retention.apply(library, Recording(keep_days=30), NOW)
    assert [deletion.id for deletion in gone] == [old]
    assert library.session(old).file().state == "deleted"
    assert [path.name for path in folder_of(library.local, old).iterdir()] == ["session.json"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ATTUNE_RECORDING__RUNS", str(tmp_path / "runs"))
    return CliRunner()


def test_the_command_refuses_in_one_sentence_if_nothing_is_set(run: CliRunner) -> None:
    result = run.invoke(retention.command, [])
    assert result.exit_code == 1
    assert result.stderr.startswith("nothing is deleted: set recording.keep_days")
    assert len(result.stderr.splitlines()) == 1 and result.stdout == ""


def test_the_command_deletes_or_only_says_what_it_would(
    run: CliRunner, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(library.local, started=datetime(2020, 1, 1, tzinfo=UTC))
    library.derived.register("export", "/handed/out", [session_id])
    monkeypatch.setenv("ATTUNE_RECORDING__KEEP_DAYS", "30")
    assert run.invoke(retention.command, ["--dry-run"]).stdout == f"would delete {session_id}\n"
    assert library.session(session_id).file().state == "finished"
    told = run.invoke(retention.command, []).stdout
    assert told == f"deleted {session_id}; exported before to /handed/out\n"
    assert library.session(session_id).file().state == "deleted"
    assert run.invoke(retention.command, []).stdout == ""


# --- pseudonyms


def test_a_name_has_one_pseudonym_however_it_is_written() -> None:
    names = Pseudonyms(b"k" * 32)
    same = {names.of(each) for each in ("Zoë Straße", "zoë  STRASSE ", "\tZoe\u0308 straße\n")}
    assert len(same) == 1
    assert SPEAKER_ID.fullmatch(same.pop())
    assert names.of("Zoe Strasse") != names.of("Zoë Strasse")
    assert names.of("Ann") != Pseudonyms(b"j" * 32).of("Ann")
    assert names.of("\ud800")  # half a character is a name, too


def test_the_key_is_made_once_and_for_its_owner_only(library: Library) -> None:
    key = key_for(library, None)
    assert len(key) == 32 and key_for(library, None) == key
    assert (library.local / ".speaker-key").stat().st_mode & 0o077 == 0
    assert key_for(library, "a secret of the operator") == b"a secret of the operator"


def test_a_key_that_was_cut_short_is_not_replaced_in_silence(library: Library) -> None:
    (library.local / ".speaker-key").write_bytes(b"short")
    with pytest.raises(ValueError, match="is no key"):
        key_for(library, None)


MAKER = """
import sys
from pathlib import Path
from types import SimpleNamespace
from server.sessions.speakers import key_for
sys.stdin.read(1)
print(key_for(SimpleNamespace(local=Path(sys.argv[1])), None).hex())
"""


def test_processes_that_start_together_agree_on_the_key(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKER, str(tmp_path / "runs")]
    pipe = subprocess.PIPE
    makers = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
    for maker in makers:
        assert maker.stdin
        maker.stdin.write("x")
        maker.stdin.flush()
    keys = {maker.communicate()[0] for maker in makers}
    assert len(keys) == 1 and len(keys.pop().strip()) == 64
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [".speaker-key"]
