"""Finding sessions: rows made of folders, filters, and an index that any rebuild equals."""

import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from server.consent import Consent
from server.sessions.format import RATINGS_FILE, SESSION_FILE, Line, Notes, Rating
from server.sessions.index import ORDERS, Filter, Index, Order
from server.sessions.library import Library
from server.sessions.stored import StoredSession
from server.sessions.summary import Row
from tests.made_sessions import STARTED, Exchange, folder_of, made_session

ALICE, BOB = "spk_" + "a" * 16, "spk_" + "b" * 16


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library.open(str(tmp_path / "runs")) as library:
        yield library


def recorded(library: Library, **how: object) -> str:
    session_id = made_session(library.local, **how)  # type: ignore[arg-type]
    library.added(folder_of(library.local, session_id))
    return session_id


def rating(by: str, *scores: float, comment: str = "") -> Rating:
    told = {f"question_{n}": score for n, score in enumerate(scores)}
    return Rating.model_validate({"wall": STARTED, "by": by, "scores": told, "comment": comment})


def found(library: Library, **how: object) -> set[str]:
    page = library.find(Filter(**how))  # type: ignore[arg-type]
    assert page.total == len(page.rows)
    return {row.id for row in page.rows}


# --- one row


def test_a_row_tells_what_the_folder_holds(library: Library) -> None:
    turns = [
        Exchange(first_sent_ms=300.0, emotion="angry", interrupted=True),
        Exchange(first_sent_ms=500.0, emotion="sad"),
        Exchange(first_sent_ms=900.0, emotion="sad", reply=None),
    ]
    session_id = recorded(library, turns=turns, speaker=ALICE)
    library.rate(session_id, rating("user", 5, 3))
    library.rate(session_id, rating("user", 2, comment="cold"))
    library.rate(session_id, rating("expert", 4))
    library.rate(session_id, rating("expert"))  # a comment alone is no score
    library.annotate(session_id, Notes(notes="A good one", tags=["calm", "long"]))
    row = library.row(session_id)
    stored = library.session(session_id)
    file = stored.file()
    assert file.ended
    assert row == Row(
        id=session_id, date="2026-03-14", started=STARTED, state="finished",
        ended=file.ended.wall, seconds=round(file.ended.at / 24_000, 3), why="hung_up",
        profile="embedded", responder="llamacpp", voice="hibari", perceiver="attune",
        transcript=True, audio=True, research=True, speaker=ALICE,
        turns=3, replies=2, interruptions=1,
        rating=3.333, user_rating=3.0, user_ratings=2,
        expert_rating=4.0, expert_ratings=1, emotion="sad",
        latency_p50_ms=400.0, latency_p95_ms=490.0, bytes=stored.size(),
        tags=("calm", "long"), notes="A good one",
    )  # fmt: skip
    assert row.consent == Consent(True, True, True) and row.has_notes


def test_a_refusal_is_listed_with_timings_and_nothing_about_the_person(library: Library) -> None:
    row = library.row(recorded(library, consent="none", speaker=ALICE))
    assert row.latency_p50_ms == 420.0 and row.seconds and row.turns == 2
    assert (row.emotion, row.speaker, row.consent) == (None, None, Consent())


def test_an_emotion_nobody_was_sure_of_has_no_say(library: Library) -> None:
    unsure = Exchange(emotion="angry")
    session_id = recorded(library, turns=[unsure])
    assert library.row(session_id).emotion == "angry"
    events = folder_of(library.local, session_id) / "events.jsonl"
    events.write_text(events.read_text().replace('"unknown":[', '"unknown":["emotion",'))
    library.rebuild()
    assert library.row(session_id).emotion is None


def test_of_a_session_that_is_being_recorded_the_index_tells_nothing_of_the_person(
    library: Library,
) -> None:
    notes = Notes(notes="a secret remark", tags=["secret"])
    source = "sess_" + "5" * 20
    live = recorded(library, state="recording", speaker=ALICE, notes=notes, replay_of=source)
    row, size = library.row(live), library.session(live).size()
    assert row == Row(
        live, "2026-03-14", STARTED, "recording", profile="embedded", responder="llamacpp",
        voice="hibari", perceiver="attune", bytes=size, replay_of=source,
    )  # fmt: skip
    files = [path.read_bytes() for path in library.local.glob("index.sqlite*")]
    assert files and not any(b"secret" in each or ALICE.encode() in each for each in files)
    assert library.of_speaker(ALICE) == [live]  # found all the same
    folder = folder_of(library.local, live)
    written = (folder / SESSION_FILE).read_text()
    (folder / SESSION_FILE).write_text(written.replace('"recording"', '"finished"', 1))
    assert library.added(folder).speaker == ALICE


def test_notes_that_should_not_be_there_do_not_reach_the_index(library: Library) -> None:
    notes = Notes(notes="a remark", tags=["t"])
    row = library.row(recorded(library, consent="none", notes=notes))
    assert (row.notes, row.tags) == ("", ())


def test_a_deleted_session_is_an_empty_row(library: Library) -> None:
    session_id = recorded(library, state="deleted")
    row = library.row(session_id)
    size = library.session(session_id).size()
    assert row == Row(session_id, "2026-03-14", STARTED, "deleted", bytes=size)


# --- filters


def test_each_filter_finds_what_it_says(library: Library) -> None:
    first = recorded(
        library, started=STARTED, consent="transcript,audio", speaker=ALICE, responder="vllm",
        turns=[Exchange(emotion="happy", first_sent_ms=300)],
    )  # fmt: skip
    second = recorded(
        library, started=STARTED + timedelta(days=1), consent="transcript,research", speaker=BOB,
        turns=[Exchange(emotion="fear", first_sent_ms=800, seconds=5)],
    )  # fmt: skip
    none = recorded(library, started=STARTED + timedelta(days=2), consent="none", turns=0)
    live = recorded(library, started=STARTED + timedelta(days=3), state="recording")
    gone = recorded(library, started=STARTED + timedelta(days=4), state="deleted")
    library.rate(first, rating("user", 5))
    library.rate(second, rating("expert", 2))
    library.annotate(first, Notes(notes="Straße, 100%_done", tags=["a,b", "x"]))
    library.annotate(second, Notes(tags=["b"]))

    assert found(library) == {first, second, none, live}
    assert found(library, deleted=True) == {first, second, none, live, gone}
    assert found(library, state="deleted") == {gone}
    assert found(library, state="recording") == {live}
    day = STARTED.date()
    assert found(library, since=day, until=day) == {first}
    assert found(library, since=day + timedelta(1), until=day + timedelta(2)) == {second, none}
    assert found(library, until=date(2020, 1, 1)) == set()
    assert found(library, model="vllm") == {first}
    assert found(library, model="hibari", until=day + timedelta(2)) == {first, second, none}
    assert found(library, profile="gpu") == set()
    assert found(library, consent=("transcript",)) == {first, second}
    assert found(library, consent=("transcript", "audio")) == {first}
    assert found(library, consent=("research", "transcript"), emotion="fear") == {second}
    assert found(library, rating_min=2) == {first, second}
    assert found(library, rating_min=2.1) == {first}
    assert found(library, longer=5) == {second}
    assert found(library, shorter=5, longer=1) == {first}
    assert found(library, emotion="happy") == {first}
    assert found(library, latency_max_ms=500, consent=("audio",)) == {first}
    assert found(library, latency_min_ms=500) == {second}
    assert found(library, tag="b") == {second}
    assert found(library, tag="a,b") == {first}
    assert found(library, speaker=ALICE) == {first}
    assert found(library, text="STRASSE") == {first}
    assert found(library, text="0%_D") == {first}
    assert found(library, text="turn number") == set()  # what was said is not searched
    assert found(library, text="%") == {first}
    with pytest.raises(ValueError, match="unknown consent 'state'"):
        library.find(Filter(consent=("state",)))


@pytest.mark.parametrize("hostile", ["' OR 1 --", '"; DROP TABLE sessions; --', "\0", "a" * 99_999])
def test_a_filter_cannot_become_a_command(library: Library, hostile: str) -> None:
    session_id = recorded(library)
    for name in ("model", "tag", "speaker", "text", "emotion", "state", "profile"):
        assert found(library, **{name: hostile}) == set()
    assert found(library) == {session_id}


def test_pages_follow_each_other_and_know_the_whole(library: Library) -> None:
    ids = [recorded(library, started=STARTED + timedelta(hours=n), turns=1) for n in range(5)]
    seen = []
    for offset in (0, 2, 4, 6):
        page = library.find(Filter(limit=2, offset=offset))
        assert page.total == 5
        seen += [row.id for row in page.rows]
    assert seen == ids[::-1]
    assert [row.id for row in library.find(Filter(order="oldest", limit=1)).rows] == ids[:1]


def test_sessions_are_ordered_by_time_whatever_zone_it_was_written_in(library: Library) -> None:
    east = datetime.fromisoformat("2026-03-14T10:00:00.5+09:00")  # 01:00 UTC
    west = datetime.fromisoformat("2026-03-14T02:00:00+00:00")
    first, second = recorded(library, started=east), recorded(library, started=west)
    assert [row.id for row in library.find(Filter(order="oldest")).rows] == [first, second]


def test_those_without_a_figure_come_last_in_any_order(library: Library) -> None:
    without = recorded(library, consent="none", turns=0, state="recording")
    for seconds in (1, 3, 2):
        session_id = recorded(library, turns=[Exchange(seconds=seconds, first_sent_ms=seconds)])
        library.rate(session_id, rating("user", seconds))
    figures: dict[Order, str] = {
        "longest": "seconds", "shortest": "seconds", "best": "rating", "worst": "rating",
        "slowest": "latency_p50_ms", "fastest": "latency_p50_ms",
    }  # fmt: skip
    assert {"newest", "oldest", *figures} == set(ORDERS)
    for order, figure in figures.items():
        rows = library.find(Filter(order=order)).rows
        assert rows[-1].id == without
        values = [getattr(row, figure) for row in rows[:-1]]
        assert values == sorted(values, reverse=order not in ("shortest", "fastest", "worst"))


# --- the folders are the truth


def test_a_rebuilt_index_equals_the_one_that_was_kept(tmp_path: Path) -> None:
    rng = random.Random(5)
    consents = ["none", "transcript", "audio", "transcript,audio,research", "audio,research"]
    with Library.open(str(tmp_path / "runs")) as library:
        ids: list[str] = []
        for _ in range(40):
            act = rng.choice(["add", "add", "rate", "annotate", "delete", "revoke"])
            if act == "add" or not ids:
                started = STARTED + timedelta(days=rng.randrange(9), seconds=rng.randrange(9999))
                turns = [
                    Exchange(emotion=rng.choice(["sad", "happy"]), seconds=0.1, reply_seconds=0.1)
                ]
                ids.append(
                    recorded(
                        library, started=started, consent=rng.choice(consents), turns=turns,
                        speaker=ALICE, state=rng.choice(["finished", "repaired"]),
                    )
                )  # fmt: skip
                continue
            session_id = rng.choice(ids)
            if act == "rate":
                library.rate(session_id, rating("user", rng.randint(1, 5)))
            elif act == "annotate" and library.row(session_id).consent.personal:
                library.annotate(session_id, Notes(notes=str(rng.random()), tags=["t"]))
            elif act == "revoke":
                library.revoke(session_id, Consent.of(rng.choice(consents)))
            elif act == "delete":
                ids.remove(session_id)
                library.delete(session_id)
        kept = library.index.rows()
        assert {row.state for row in kept} == {"finished", "repaired", "deleted"}
        with Library.open(str(tmp_path / "runs")) as again:
            assert again.index.rows() == kept
        assert library.rebuild() == []
        assert library.index.rows() == kept
    (tmp_path / "runs" / "index.sqlite").unlink()
    with Library.open(str(tmp_path / "runs")) as fresh:  # an index that is missing is made
        assert fresh.index.rows() == kept


def test_what_changed_outside_is_noticed_and_only_that_is_read(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    same, rated, gone = (recorded(library, turns=1) for _ in range(3))
    new = made_session(library.local)
    folder = folder_of(library.local, rated)
    (folder / RATINGS_FILE).write_text(rating("expert", 1).model_dump_json() + "\n")
    for path in (leaving := folder_of(library.local, gone)).iterdir():
        path.unlink()
    leaving.rmdir()
    read: list[str] = []

    def lines(session: StoredSession, kinds: object) -> list[Line]:
        read.append(session.id)
        return []

    monkeypatch.setattr(StoredSession, "lines", lines)
    assert library.sync() == []
    assert sorted(read) == sorted([rated, new])
    assert found(library) == {same, rated, new}
    assert library.row(rated).expert_rating == 1


def test_a_folder_that_cannot_be_read_is_told_and_hides_no_other(library: Library) -> None:
    good, bad = recorded(library), recorded(library, speaker=ALICE)
    (folder_of(library.local, bad) / SESSION_FILE).write_text("{")
    for _ in range(2):  # it is told as long as it is so
        assert library.sync() == [f"session.json of {bad} cannot be read"]
    assert found(library) == {good, bad} and found(library, state="broken") == {bad}
    assert library.row(bad).started == datetime.fromisoformat("2026-03-14T00:00:00Z")
    assert library.row(bad).speaker is None


def test_ratings_that_cannot_be_read_do_not_hide_whose_session_it_is(library: Library) -> None:
    session_id = recorded(library, speaker=ALICE)
    (folder_of(library.local, session_id) / RATINGS_FILE).write_text("{")
    assert len(library.sync()) == 1
    assert found(library, speaker=ALICE) == {session_id}


@pytest.mark.parametrize("junk", [b"no database at all, but long enough", b"SQLite format 3\0junk"])
def test_an_index_that_is_broken_is_made_anew(tmp_path: Path, junk: bytes) -> None:
    session_id = made_session(tmp_path)
    (tmp_path / "index.sqlite").write_bytes(junk * 100)
    with Library.open(str(tmp_path)) as library:
        assert found(library) == {session_id}


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    session_id = made_session(tmp_path)
    with sqlite3.connect(tmp_path / "index.sqlite") as old:
        old.execute("CREATE TABLE sessions (id, other)")
        old.execute("PRAGMA user_version = 77")
    old.close()
    with Library.open(str(tmp_path)) as library:
        assert found(library) == {session_id}


def test_folders_on_a_disk_that_cannot_be_written_are_listed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(tmp_path)

    def read_only(*_: object) -> int:
        raise PermissionError("read-only")

    monkeypatch.setattr("server.sessions.index.os.open", read_only)
    with Library.open(str(tmp_path)) as library:
        assert found(library) == {session_id}


def test_one_who_reads_the_index_holds_nobody_up_and_what_was_deleted_goes_later(
    library: Library,
) -> None:
    session_id, other = recorded(library, speaker=ALICE), recorded(library, speaker=BOB)
    path = library.local / "index.sqlite"
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM sessions").fetchall()
    began = time.monotonic()
    library.delete(session_id)
    assert found(library) == {other}
    assert time.monotonic() - began < 5  # not the 30 s that a writer would be waited for

    def told() -> bool:
        return any(ALICE.encode() in each.read_bytes() for each in path.parent.glob("index*"))

    assert told()  # as long as somebody reads, it cannot go
    reader.close()
    library.rate(other, rating("user", 3))
    assert not told()


def test_reading_does_not_wait_for_somebody_who_writes(library: Library) -> None:
    session_id = recorded(library)
    writer = sqlite3.connect(library.local / "index.sqlite", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    waiting = threading.Thread(target=library.rate, args=[session_id, rating("user", 3)])
    waiting.start()
    while not library.session(session_id).ratings():  # it is about to wait
        time.sleep(0.005)
    began = time.monotonic()
    assert found(library) == {session_id}
    assert time.monotonic() - began < 5
    writer.execute("ROLLBACK")
    writer.close()
    waiting.join()
    assert library.row(session_id).user_ratings == 1


WRITER = """
import sys
from pathlib import Path
from datetime import UTC, datetime
from server.sessions.index import Index
from server.sessions.stored import StoredSession
from server.sessions.summary import Row
index = Index(Path(sys.argv[1]))
for n in range(50):
    row = Row(f"sess_{sys.argv[2]}{n:019x}", "2026-01-01", datetime.now(UTC), "finished")
    index.put(row, "")
"""


def test_several_processes_write_one_index(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, mark]) for mark in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    index = Index(path)
    assert len(index.rows()) == 100
    index.close()
