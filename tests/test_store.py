"""Session folders on a disk, and in a real object store."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import fsspec
import numpy as np
import pytest
from s3fs.core import S3File

from server.sessions.format import EVENTS_FILE, RATINGS_FILE, SESSION_FILE, Notes, Rating
from server.sessions.index import Filter
from server.sessions.library import Library
from server.sessions.place import StorageFailed
from server.sessions.store import BrokenSession, NoAudio, Store, UnknownSession
from tests import made_sessions
from tests.made_sessions import Exchange, made_session, made_sound
from tests.object_storage import s3_server

WALL = datetime(2026, 3, 15, tzinfo=UTC)
GOOD = Rating(wall=WALL, by="user", scores={"warmth": 5})
TURNS = [Exchange(seconds=1.5, reply_seconds=1.0), Exchange(user="And then?")]


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture(params=["local", "memory", "s3"])
def library(request: pytest.FixtureRequest, tmp_path: Path, bucket: str) -> Iterator[Library]:
    """Over empty runs of each kind."""
    name = tmp_path.name
    runs = {
        "local": str(tmp_path / "runs"),
        "memory": f"memory://{name}/runs",
        "s3": f"{bucket}/{name}/runs",
    }[request.param]
    with Library.open(runs, tmp_path / "spool") as library:
        yield library


def recorded(library: Library, **how: object) -> str:
    """A session that was recorded and has come to where it belongs."""
    session_id = made_session(library.local, **how)  # type: ignore[arg-type]
    library.added(made_sessions.folder_of(library.local, session_id))
    return session_id


def test_a_session_is_read_back_whole_from_any_kind_of_runs(library: Library) -> None:
    session_id = recorded(library, turns=TURNS)
    stored = library.session(session_id)
    assert list(library.store.ids()) == [session_id]
    assert stored.file().id == session_id
    lines = list(stored.lines())
    assert [line.n for line in lines] == list(range(len(lines)))
    sound = made_sound(TURNS)
    np.testing.assert_array_equal(stored.cut(0, len(sound)), sound)
    np.testing.assert_array_equal(stored.cut(7001, 30_000), sound[7001:30_000])
    np.testing.assert_array_equal(stored.cut(len(sound) - 5, len(sound) + 99), sound[-5:])
    assert stored.size() == sum(stat.size for stat in stored.stats().values()) > 0


def test_ratings_and_notes_are_kept_with_the_session(library: Library) -> None:
    session_id = recorded(library)
    library.rate(session_id, GOOD)
    library.rate(session_id, Rating(wall=WALL, by="expert", scores={"warmth": 2}))
    library.annotate(session_id, Notes(notes="first"))
    library.annotate(session_id, Notes(notes="second", tags=["calm"]))
    stored = library.session(session_id)
    assert [rating.by for rating in stored.ratings()] == ["user", "expert"]
    assert stored.notes() == Notes(notes="second", tags=["calm"])


def test_only_some_events_are_read_where_only_these_are_asked_for(library: Library) -> None:
    stored = library.session(recorded(library))
    kinds = [line.event["type"] for line in stored.lines(("attune.timing", "recording.turn"))]
    assert set(kinds) == {"attune.timing", "recording.turn"}
    every = [line.event["type"] for line in stored.lines()]
    assert kinds == [kind for kind in every if kind in ("attune.timing", "recording.turn")]


@pytest.mark.parametrize(
    "wrong",
    ["", "sess_1", "../sess_" + "0" * 20, "sess_" + "0" * 20 + "/..", "sess_" + "0" * 20 + "\n",
     "SESS_" + "0" * 20, "sess_" + "0" * 21, "*", "sess_" + "é" * 20],
)  # fmt: skip
def test_what_is_no_id_never_becomes_a_path(tmp_path: Path, wrong: str) -> None:
    made_session(tmp_path / "runs", session_id="sess_" + "0" * 20)
    store = Store.open(str(tmp_path / "runs"))
    with pytest.raises(UnknownSession):
        store.session(wrong)
    with pytest.raises(UnknownSession):
        store.session("sess_" + "1" * 20)
    assert store.session("sess_" + "0" * 20).file()


def test_a_date_that_is_known_is_the_only_one_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(tmp_path)
    store = Store.open(str(tmp_path))
    assert store.session(session_id, "2020-01-01").date == "2026-03-14"  # a wrong one does no harm
    assert store.session(session_id, "../..").date == "2026-03-14"
    monkeypatch.setattr("server.sessions.place.Place.folders", lambda *_: pytest.fail("listed"))
    assert store.session(session_id, "2026-03-14").id == session_id


def test_a_last_line_that_broke_off_is_left_out_and_any_other_is_told(tmp_path: Path) -> None:
    session_id = made_session(tmp_path)
    events = made_sessions.folder_of(tmp_path, session_id) / EVENTS_FILE
    stored = Store.open(str(tmp_path)).session(session_id)
    whole = list(stored.lines())
    with events.open("a") as file:
        file.write('{"n": 99, "at": 12, "event": {"type": "secret words')
    assert list(stored.lines()) == whole
    with events.open("a") as file:
        file.write('\n{"n": 100}\n')
    with pytest.raises(BrokenSession, match=f"line {len(whole) + 1} of events") as raised:
        list(stored.lines())
    assert "secret" not in str(raised.value)


def test_broken_files_are_told_without_quoting_them(tmp_path: Path) -> None:
    session_id = made_session(tmp_path)
    folder = made_sessions.folder_of(tmp_path, session_id)
    stored = Store.open(str(tmp_path)).session(session_id)
    (folder / RATINGS_FILE).write_text('{"comment": "secret"}\n')
    (folder / SESSION_FILE).write_text('{"id": "secret"}')
    (folder / "audio.flac").write_bytes(b"secret")
    for read in (stored.file, stored.ratings, lambda: stored.cut(0, 10)):
        with pytest.raises(BrokenSession) as raised:
            read()
        assert session_id in str(raised.value) and "secret" not in str(raised.value)


def test_a_session_without_audio_says_so(tmp_path: Path) -> None:
    session_id = made_session(tmp_path, consent="transcript")
    with pytest.raises(NoAudio):
        Store.open(str(tmp_path)).session(session_id).open_audio()


def test_files_written_for_a_session_are_for_its_owner_only(tmp_path: Path) -> None:
    with Library.open(str(tmp_path)) as library:
        session_id = recorded(library)
        library.rate(session_id, GOOD)
    folder = made_sessions.folder_of(tmp_path, session_id)
    for path in (folder / RATINGS_FILE, tmp_path / "index.sqlite"):
        assert path.stat().st_mode & 0o077 == 0
    assert not [name for name in os.listdir(folder) if name.startswith(".")]


def test_a_place_that_cannot_be_used_is_told_in_a_sentence(tmp_path: Path) -> None:
    for url in ("nowhere://runs", "nowhere://user:password@host/runs"):
        with pytest.raises(StorageFailed, match="is no place for sessions") as raised:
            Store.open(url, tmp_path)
        assert "password" not in str(raised.value)


def test_a_deleted_session_leaves_only_its_record(library: Library) -> None:
    session_id = recorded(library)
    library.delete(session_id)
    assert list(library.session(session_id).stats()) == [SESSION_FILE]


# --- remote runs


def uploaded_names(url: str) -> set[str]:
    files, root = fsspec.url_to_fs(url, use_listings_cache=False)
    return {name[len(root) + 1 :] for name in files.find(root)}


def test_a_finished_session_moves_to_the_object_store(bucket: str, tmp_path: Path) -> None:
    url = f"{bucket}/{tmp_path.name}"
    with Library.open(url, tmp_path / "spool") as library:
        session_id = recorded(library)
        names = {"session.json", "events.jsonl", "audio.flac"}
        assert uploaded_names(url) == {f"2026-03-14/{session_id}/{name}" for name in names}
        assert not list((tmp_path / "spool").glob(f"**/{session_id}*"))
        assert library.session(session_id).place.local is None


def test_a_session_that_waits_for_its_upload_is_found_already(bucket: str, tmp_path: Path) -> None:
    with Library.open(f"{bucket}/{tmp_path.name}", tmp_path / "spool") as library:
        session_id = made_session(library.local)
        live = made_session(library.local, state="recording")
        library.added(made_sessions.folder_of(library.local, live))
        assert library.session(session_id).place.local == tmp_path / "spool"
        assert library.row(live).state == "recording"
        assert made_sessions.folder_of(library.local, live).exists()


def test_an_upload_that_broke_off_is_no_session_and_is_done_again(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"{bucket}/{tmp_path.name}"
    with Library.open(url, tmp_path / "spool") as library:
        session_id = made_session(library.local, turns=TURNS)
        took: list[str] = []
        take = type(library.store.runs).take

        def breaks(place: object, path: Path, name: str) -> None:
            if took:
                raise OSError("the line is down")
            took.append(name)
            take(place, path, name)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr("server.sessions.place.Place.take", breaks)
            with pytest.raises(OSError, match="down"):
                library.added(made_sessions.folder_of(library.local, session_id))
        assert len(uploaded_names(url)) == 1  # not its session.json, which goes last
        assert not list(Store.open(url, tmp_path / "elsewhere").ids())

    with Library.open(url, tmp_path / "spool") as library:
        assert library.recover().uploaded == [session_id]
        stored = Store.open(url, tmp_path / "elsewhere").session(session_id)
        np.testing.assert_array_equal(stored.cut(0, 90_000), made_sound(TURNS)[:90_000])
        assert not list((tmp_path / "spool").glob(f"**/{session_id}"))
        assert library.recover().uploaded == []


def test_an_upload_that_arrives_incomplete_keeps_the_local_folder(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Library.open(f"{bucket}/{tmp_path.name}", tmp_path / "spool") as library:
        session_id = made_session(library.local)

        def cut_short(place: object, path: Path, name: str) -> None:
            library.store.runs.write(name, path.read_bytes()[:-1])

        monkeypatch.setattr("server.sessions.place.Place.take", cut_short)
        with pytest.raises(StorageFailed):
            library.added(made_sessions.folder_of(library.local, session_id))
        assert made_sessions.folder_of(library.local, session_id).exists()


def test_a_library_opens_though_its_storage_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = fsspec.filesystem("memory")
    monkeypatch.setattr(type(files), "ls", lambda *_, **__: 1 / 0)
    monkeypatch.setattr(type(files), "find", lambda *_, **__: 1 / 0)
    with Library.open(f"memory://{tmp_path.name}", tmp_path / "spool") as library:
        assert library.find(Filter()).total == 0
        session_id = made_session(library.local)
        with pytest.raises(StorageFailed, match="^the storage of sessions failed"):
            library.added(made_sessions.folder_of(library.local, session_id))
        problems = library.recover().problems
        assert problems and all(each.startswith("the storage of") for each in problems)
        monkeypatch.undo()
        assert library.recover().uploaded == [session_id]


def test_a_short_cut_of_a_long_session_does_not_bring_over_all_of_it(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    noise = rng.integers(-9000, 9000, (60 * 24_000, 2), np.int16)
    monkeypatch.setattr(made_sessions, "made_sound", lambda *_: noise)
    with Library.open(f"{bucket}/{tmp_path.name}", tmp_path / "spool") as library:
        stored = library.session(recorded(library))
        fetched: list[int] = []
        fetch = S3File._fetch_range

        def counted(file: object, start: int, end: int) -> bytes:
            fetched.append(end - start)
            return fetch(file, start, end)  # type: ignore[no-any-return]

        monkeypatch.setattr(S3File, "_fetch_range", counted)
        np.testing.assert_array_equal(stored.cut(1_000_000, 1_024_000), noise[1_000_000:1_024_000])
        assert 0 < sum(fetched) < stored.size() / 3
        with stored.open_audio() as audio:
            assert audio.seekable() and audio.read(4) == b"fLaC"
