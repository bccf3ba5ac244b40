"""Taking sessions away: the folder, its copies, and whatever was made of it."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import s3fs
from pydantic import ValidationError

from server.consent import Consent
from server.recording import erasure
from server.recording.lock import Lock
from server.sessions import removal
from server.sessions.changing import Changes, Intent
from server.sessions.derived import Artefact, Derived, Kind
from server.sessions.format import EVENTS_FILE, SESSION_FILE, Notes, Rating, SessionFile
from server.sessions.index import Filter, Index
from server.sessions.intake import Intake
from server.sessions.library import Library, RemarksNotAllowed, StillRecording
from server.sessions.place import Place
from server.sessions.store import DeletedSession, Store, UnknownSession
from server.sessions.withdrawals import Withdrawals
from tests.made_sessions import STARTED, Exchange, folder_of, made_session
from tests.object_storage import s3_server

ALICE, BOB = "spk_" + "a" * 16, "spk_" + "b" * 16
WORDS = "My aunt Philomena told me so."
REMARK = "Philomena again, how sad"


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_server() as url:
        yield url


@pytest.fixture(params=["local", "memory"])
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Library]:
    """Over empty runs; an object store is told apart from a disk, but seldom from another one."""
    runs = {"local": str(tmp_path / "runs"), "memory": f"memory://{tmp_path.name}"}
    if request.param == "s3":
        runs["s3"] = f"{request.getfixturevalue('bucket')}/{tmp_path.name}"
    with Library.open(runs[request.param], tmp_path / "spool") as library:
        yield library


KINDS = ["local", "memory", pytest.param("s3", marks=pytest.mark.slow)]  # test_store deletes on S3
everywhere = pytest.mark.parametrize("library", KINDS, indirect=True)


def recorded(library: Library, **how: object) -> str:
    """A session with telling words, notes and ratings."""
    how = {"turns": [Exchange(user=WORDS)], "speaker": ALICE} | how
    session_id = made_session(library.local, **how)  # type: ignore[arg-type]
    library.added(folder_of(library.local, session_id))
    library.annotate(session_id, Notes(notes=REMARK, tags=["family"]))
    library.rate(session_id, Rating(wall=STARTED, by="user", scores={"a": 3}, comment=REMARK))
    return session_id


def everything(library: Library) -> dict[str, bytes]:
    """Every byte that is kept, here or there."""
    kept = {str(path): path.read_bytes() for path in library.local.rglob("*") if path.is_file()}
    if library.store.is_remote:
        place = library.store.runs
        kept |= {name: place.read(name) for name in place.stats("")}
    return kept


def holding(library: Library, secret: str) -> list[str]:
    return [name for name, data in everything(library).items() if secret.encode() in data]


def made_of(library: Library, kind: Kind, room: str, *session_ids: str) -> Path:
    """A file made of sessions, registered."""
    path = library.local / room / f"{len(session_ids)}-{session_ids[0]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("made of what was said")
    library.derived.register(kind, path, session_ids)
    return path


# --- a whole session


@everywhere
def test_deletion_leaves_a_tombstone_and_no_byte_of_what_was_said(library: Library) -> None:
    session_id, other = recorded(library), recorded(library, speaker=BOB)
    assert holding(library, "Philomena") and holding(library, ALICE)
    deletion = library.delete(session_id)
    assert set(deletion.removed) == {"audio.flac", "events.jsonl", "notes.json", "ratings.jsonl"}
    assert not holding(library, ALICE)  # the index, too
    stored = library.session(session_id)
    file = stored.file()
    assert list(stored.stats()) == [SESSION_FILE]
    assert set(file.model_dump(exclude_defaults=True)) == {
        "id", "state", "software", "started", "tombstones",
    }  # fmt: skip
    assert (file.state, file.tombstones[-1].why) == ("deleted", "deleted")
    assert library.row(session_id).state == "deleted"
    assert {row.id for row in library.find(Filter()).rows} == {other}
    library.delete(other)
    assert not holding(library, "Philomena")


@pytest.mark.slow
def test_a_bucket_that_keeps_versions_keeps_none_of_what_was_deleted(
    bucket: str, tmp_path: Path
) -> None:
    files = s3fs.S3FileSystem()
    files.mkdir("versioned")
    on = {"Status": "Enabled"}
    files.call_s3("put_bucket_versioning", Bucket="versioned", VersioningConfiguration=on)

    def versions(session_id: str) -> list[str]:
        told = files.call_s3("list_object_versions", Bucket="versioned")
        names = [each["Key"] for each in told.get("Versions", []) + told.get("DeleteMarkers", [])]
        return sorted(name.rsplit("/")[-1] for name in names if session_id in name)

    with Library.open("s3://versioned/runs", tmp_path / "spool") as library:
        gone, narrowed = recorded(library), recorded(library)
        library.delete(gone)
        assert versions(gone) == [SESSION_FILE]
        library.revoke(narrowed, Consent())
        assert versions(narrowed) == [EVENTS_FILE, "ratings.jsonl", SESSION_FILE]


def test_a_bucket_that_will_not_say_what_it_keeps_is_told_to_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Library.open(f"memory://{tmp_path.name}", tmp_path / "spool") as library:
        session_id = recorded(library)
        monkeypatch.setattr(Place, "forget_versions", lambda *_: False)
        (left,) = library.delete(session_id).left
        assert left.startswith("versions the bucket may keep of memory://")


def test_deleting_again_changes_nothing(library: Library) -> None:
    session_id = recorded(library)
    library.delete(session_id, "retention")
    file = library.session(session_id).file()
    deletion = library.delete(session_id)
    assert deletion.removed == []
    assert library.session(session_id).file() == file


def test_nothing_can_be_added_to_a_deleted_session(library: Library) -> None:
    session_id = recorded(library)
    library.delete(session_id)
    with pytest.raises(DeletedSession):
        library.rate(session_id, Rating(wall=STARTED, by="user", scores={"a": 3}))
    with pytest.raises(DeletedSession):
        library.annotate(session_id, Notes(notes="x"))
    assert list(library.session(session_id).stats()) == [SESSION_FILE]


def test_an_unknown_session_cannot_be_deleted_and_leaves_no_trace(library: Library) -> None:
    for wrong in ("sess_" + "0" * 20, "../../etc"):
        with pytest.raises(UnknownSession):
            library.delete(wrong)
        with pytest.raises(UnknownSession):
            library.revoke(wrong, Consent())
    assert library.recover().changed == []


def test_a_session_whose_record_is_broken_can_be_deleted(library: Library) -> None:
    session_id = recorded(library)
    stored = library.session(session_id)
    stored.place.write(f"{stored.folder}/{SESSION_FILE}", b"{ Philomena")
    library.delete(session_id)
    assert not holding(library, "Philomena")
    assert library.row(session_id).state == "deleted"


def test_all_sessions_of_a_speaker_go_and_nobody_elses(library: Library) -> None:
    first, second, other = recorded(library), recorded(library), recorded(library, speaker=BOB)
    gone = library.delete_speaker(ALICE)
    assert {deletion.id for deletion in gone} == {first, second}
    assert [row.id for row in library.find(Filter()).rows] == [other]
    assert library.delete_speaker(ALICE) == []


def test_a_session_that_is_being_recorded_is_left_to_its_writer(tmp_path: Path) -> None:
    with Library.open(str(tmp_path)) as library:
        live = recorded(library, state="recording")
        over = recorded(library)
        folder = folder_of(tmp_path, live)
        lock = Lock.take(folder)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        with pytest.raises(StillRecording, match="still being recorded"):
            library.delete(live)
        with pytest.raises(StillRecording, match="still being recorded"):
            library.revoke(live, Consent())
        with pytest.raises(StillRecording):
            library.delete_speaker(ALICE)
        assert library.row(over).state == "deleted"
        assert library.recover().changed == []
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        lock.abandon()


@pytest.mark.parametrize("how", ["finished", "recovered"])
def test_what_was_asked_while_it_was_recorded_is_done_once_that_is_over(
    tmp_path: Path, how: str
) -> None:
    with Library.open(str(tmp_path)) as library:
        session_id = recorded(library)
        folder = folder_of(tmp_path, session_id)
        lock = Lock.take(folder)
        with pytest.raises(StillRecording):
            library.revoke(session_id, Consent(audio=True))
        with pytest.raises(StillRecording, match="done once that is over"):
            library.delete(session_id)  # more than before: neither is lost
        with pytest.raises(StillRecording):
            library.revoke(session_id, Consent(transcript=True))
        assert holding(library, "Philomena")
        lock.release(folder)
        if how == "finished":
            assert library.added(folder).state == "deleted"
        else:
            assert library.recover().changed == [session_id]
        assert not holding(library, "Philomena")
        assert library.recover().changed == []


# --- its replays


@everywhere
def test_deleting_a_session_takes_its_replays_and_theirs(library: Library) -> None:
    source, other = recorded(library), recorded(library, turns=1, speaker=BOB)
    replay = recorded(library, speaker=None, replay_of=source)
    again = recorded(library, speaker=None, replay_of=replay)
    library.derived.register("export", "/exported", [again])
    cache = made_of(library, "score-cache", "scores", replay)
    deletion = library.delete(source)
    assert {f"its replay {replay}", f"its replay {again}"} < set(deletion.removed)
    assert deletion.exports == ["/exported"] and not cache.exists()
    assert {row.id for row in library.find(Filter()).rows} == {other}
    library.delete(other)
    assert not holding(library, "Philomena")
    assert library.delete(source).removed == []


def test_withdrawing_from_a_session_withdraws_from_its_replays(library: Library) -> None:
    source = recorded(library)
    replay = recorded(library, replay_of=source)
    again = recorded(library, replay_of=replay, consent="transcript,research")
    deletion = library.revoke(source, Consent(audio=True, research=True))
    assert {f"its replay {replay}", f"its replay {again}"} < set(deletion.removed)
    assert library.row(replay).consent == Consent(audio=True, research=True)
    assert library.row(again).consent == Consent(research=True)  # never more than it had
    assert not holding(library, "Philomena")
    assert library.revoke(source, Consent(audio=True, research=True)).removed == []


def test_deleting_a_speaker_takes_the_replays_of_their_sessions(library: Library) -> None:
    source = recorded(library)
    replay = recorded(library, speaker=None, replay_of=source)
    assert [deletion.id for deletion in library.delete_speaker(ALICE)] == [source]
    assert library.row(replay).state == "deleted"


def test_sessions_that_claim_to_replay_each_other_go_together(library: Library) -> None:
    first, second = "sess_" + "1" * 20, "sess_" + "2" * 20
    recorded(library, session_id=first, replay_of=second)
    recorded(library, session_id=second, replay_of=first)
    assert f"its replay {second}" in library.delete(first).removed
    assert not holding(library, "Philomena")


@pytest.mark.parametrize("how", ["deleted", "revoked"])
def test_a_replay_that_ends_after_its_source_was_taken_away_follows_it(
    library: Library, how: str
) -> None:
    source = recorded(library)
    late = made_session(library.local, turns=[Exchange(user=WORDS)], replay_of=source)
    if how == "deleted":
        library.delete(source)
    else:
        library.revoke(source, Consent(audio=True))
    row = library.added(folder_of(library.local, late))
    assert (row.state == "deleted") if how == "deleted" else (row.consent == Consent(audio=True))
    assert not holding(library, "Philomena")


def test_a_replay_that_is_being_recorded_is_told_and_follows(tmp_path: Path) -> None:
    with Library.open(str(tmp_path)) as library:
        source, live = recorded(library), made_session(tmp_path, state="recording")
        folder = folder_of(tmp_path, live)
        file = SessionFile.model_validate_json((folder / SESSION_FILE).read_bytes())
        claims = file.model_copy(update={"replay_of": source})
        (folder / SESSION_FILE).write_text(claims.model_dump_json())
        library.sync()
        lock = Lock.take(folder)
        (left,) = library.delete(source).left
        assert left.startswith(f"its replay {live}")
        lock.abandon()
        assert live in library.recover().changed
        assert library.row(live).state == "deleted"


def test_replays_that_a_crash_spared_go_at_the_next_start(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = recorded(library)
    replay = recorded(library, replay_of=source)
    _crashing(monkeypatch, (Withdrawals, "take_replays_along"), "before")
    with pytest.raises(Crash):
        library.delete(source, "retention")
    monkeypatch.undo()
    assert library.row(replay).state == "finished"
    assert library.recover().changed == [replay]
    assert library.session(replay).file().tombstones[-1].why == "retention"
    assert library.recover().changed == []


def test_replays_of_what_another_machine_deleted_go_here(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}"
    with (
        Library.open(url, tmp_path / "here") as here,
        Library.open(url, tmp_path / "there") as there,
    ):
        source = recorded(there)
        replay = recorded(here, replay_of=source)
        there.delete(source)
        assert here.recover().changed == [replay]
        assert not holding(here, "Philomena")


# --- what was made of it


def test_deletion_takes_what_was_made_of_the_session_and_lists_the_exports(
    library: Library, tmp_path: Path
) -> None:
    session_id, other = recorded(library), recorded(library)
    cache = made_of(library, "score-cache", "scores", session_id)
    report = made_of(library, "report", "reports", session_id, other)
    alien = made_of(library, "arena", "arena", other)
    export = tmp_path / "handed-out"
    export.mkdir()
    (export / "data.parquet").write_text("handed out")
    library.derived.register("export", export, [session_id, other])
    deletion = library.delete(session_id)
    assert not cache.exists() and not report.exists() and alien.exists()
    assert {str(cache), str(report)} <= set(deletion.removed)
    assert deletion.exports == [str(export)]
    assert (export / "data.parquet").exists()
    assert library.session(session_id).file().tombstones[-1].exports == [str(export)]
    report.write_text("a new one, of others")  # at the same path
    assert library.delete(session_id).removed == []
    assert report.exists()
    assert library.delete(other).exports == [str(export)]


def test_a_folder_made_of_a_session_goes_whole(library: Library) -> None:
    session_id = recorded(library)
    folder = library.local / "arena" / "clips"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "clip.wav").write_bytes(b"RIFF")
    library.derived.register("arena", folder, [session_id])
    library.derived.register("arena", folder, [session_id])
    assert len(library.derived.of(session_id)) == 1
    assert library.delete(session_id).removed.count(str(folder)) == 1
    assert not folder.exists() and folder.parent.exists()


def test_what_was_made_of_a_session_in_the_object_store_goes_too(tmp_path: Path) -> None:
    with Library.open(f"memory://{tmp_path.name}", tmp_path / "spool") as library:
        session_id, other = recorded(library), recorded(library)
        runs = library.store.runs
        for name in ("scores/cache/a.json", "scores/cache/b.json", "scores/cached.json"):
            runs.write(name, b"{}")
        library.derived.register("score-cache", runs.shown("scores/cache"), [session_id])
    # Another machine deletes it.
    with Library.open(f"memory://{tmp_path.name}", tmp_path / "elsewhere") as library:
        assert library.delete(session_id).removed[-1].endswith("/scores/cache")
        assert set(library.store.runs.stats("scores")) == {"cached.json"}
        assert library.row(other).state == "finished"


def test_what_another_machine_deleted_goes_here_as_well(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}"
    with (
        Library.open(url, tmp_path / "here") as here,
        Library.open(url, tmp_path / "there") as there,
    ):
        gone, revoked, kept = recorded(here), recorded(here), recorded(here)
        caches = [made_of(here, "score-cache", "scores", each) for each in (gone, revoked, kept)]
        there.delete(gone)
        there.revoke(revoked, Consent(transcript=True, audio=True))
        here.recover()
        assert [cache.exists() for cache in caches] == [False, False, True]
        assert here.row(gone).state == "deleted" and not here.row(revoked).research


@pytest.mark.parametrize("how", ["outside", "climbing", "linked", "root", "session", "foreign"])
def test_the_register_cannot_be_used_to_delete_anything_else(tmp_path: Path, how: str) -> None:
    with Library.open(str(tmp_path / "runs")) as library:
        session_id, other = recorded(library), recorded(library)
        victim = tmp_path / "victim"
        victim.mkdir()
        (victim / "file").write_text("not ours")
        scores = tmp_path / "runs" / "scores"
        scores.mkdir()
        (scores / "link").symlink_to(victim)
        path = {
            "outside": str(victim),
            "climbing": f"{scores}/../../victim",
            "linked": f"{scores}/link",
            "root": str(scores),
            "session": str(folder_of(tmp_path / "runs", other)),
            "foreign": f"s3://bucket/{other}",
        }[how]
        with pytest.raises(ValueError, match="must lie in one of"):
            library.derived.register("score-cache", path, [session_id])
        # Nor by writing into the register itself.
        forged = Artefact(kind="report", path=path, sessions=[session_id], wall=STARTED)
        entry = tmp_path / "runs" / "derived" / session_id / "forged.json"
        entry.parent.mkdir(parents=True)
        entry.write_text(forged.model_dump_json())
        assert library.delete(session_id).left == [path]
        assert (victim / "file").exists() and (scores / "link").is_symlink()
        assert library.row(other).state == "finished" and library.session(other).stats()


def test_artefacts_may_be_made_where_that_was_allowed(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    (reports / "a.html").write_text("a")
    derived = Derived(Place.at(tmp_path / "runs"), tmp_path / "runs", [reports])
    derived.register("report", reports / "a.html", ["sess_" + "0" * 20])
    assert derived.purge("sess_" + "0" * 20).removed == [str(reports / "a.html")]
    with pytest.raises(ValueError):
        derived.register("export", tmp_path, ["../sess"])


# --- a part of it


@everywhere
def test_withdrawing_later_takes_what_is_no_longer_covered(library: Library) -> None:
    session_id = recorded(library)
    cache = made_of(library, "score-cache", "scores", session_id)
    library.derived.register("export", "/exported", [session_id])
    deletion = library.revoke(session_id, Consent(audio=True))
    assert {"parts of events.jsonl", "notes.json", str(cache)} <= set(deletion.removed)
    assert deletion.exports == ["/exported"]
    assert not holding(library, "Philomena") and not cache.exists()
    stored, row = library.session(session_id), library.row(session_id)
    assert row.consent == Consent(audio=True) and row.emotion == "sad" and row.notes == ""
    assert len(stored.cut(0, 1000)) == 1000

    assert "audio.flac" in library.revoke(session_id, Consent()).removed
    file, row = stored.file(), library.row(session_id)
    assert set(file.tombstones[-1].what) >= AUDIO_GONE
    assert (row.emotion, row.speaker, row.latency_p50_ms) == (None, None, 420.0)
    assert set(stored.stats()) == {SESSION_FILE, EVENTS_FILE, "ratings.jsonl"}
    assert not holding(library, ALICE)


AUDIO_GONE = {"audio", "percepts"}


def test_remarks_go_when_nothing_of_the_person_is_allowed_any_more(library: Library) -> None:
    session_id = made_session(library.local, consent="audio", speaker=ALICE)
    library.added(folder_of(library.local, session_id))
    library.annotate(session_id, Notes(notes=REMARK, tags=["family"]))
    for rating in (
        Rating(wall=STARTED, by="expert", rater="Dr Quux", scores={"a": 3}, comment=REMARK),
        Rating(wall=STARTED, by="user", comment=REMARK),
    ):
        library.rate(session_id, rating)
    library.revoke(session_id, Consent())
    for secret in ("Philomena", "family", "Quux"):
        assert not holding(library, secret)
    row, kept = library.row(session_id), library.session(session_id).ratings()
    assert (row.notes, row.tags, row.expert_rating) == ("", (), 3.0)
    assert [(each.scores, each.rater, each.comment) for each in kept] == [({"a": 3.0}, None, "")]
    for remark in ({"comment": "x"}, {"rater": "x"}):
        with pytest.raises(RemarksNotAllowed):
            library.rate(session_id, Rating(wall=STARTED, by="expert", scores={"a": 3}, **remark))
    for notes in (Notes(notes="x"), Notes(tags=["x"])):
        with pytest.raises(RemarksNotAllowed):
            library.annotate(session_id, notes)


def test_a_rating_nobody_can_read_does_not_keep_what_was_withdrawn(tmp_path: Path) -> None:
    with Library.open(str(tmp_path)) as library:
        session_id = recorded(library)
        (folder_of(tmp_path, session_id) / "ratings.jsonl").write_text('{"comment": "Philomena')
        library.revoke(session_id, Consent())
        assert not holding(library, "Philomena")


@pytest.mark.parametrize("name", ["my aunt Philomena", "A", "1a", "a" * 33, "", "a\n", "é"])
def test_a_score_has_the_name_of_a_question_and_no_words(name: str) -> None:
    with pytest.raises(ValidationError):
        Rating(wall=STARTED, by="user", scores={name: 3})


def test_consent_cannot_be_widened_afterwards(library: Library) -> None:
    session_id = recorded(library, consent="audio")
    cache = made_of(library, "score-cache", "scores", session_id)
    library.revoke(session_id, Consent(transcript=True, audio=True, research=True))
    assert library.row(session_id).consent == Consent(audio=True)
    assert cache.exists()  # nothing was withdrawn


# --- crashes


class Crash(BaseException):
    """The process dies here."""


STEPS: list[tuple[object, str]] = [
    (Derived, "purge"),
    (removal, "bury"),
    (erasure, "clear"),
    (Place, "write"),
    (Place, "remove"),
    (Intake, "refresh"),
    (Index, "forget_deleted"),
]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step[1])
def test_a_deletion_that_broke_off_anywhere_is_finished_at_the_next_start(
    library: Library, monkeypatch: pytest.MonkeyPatch, step: tuple[object, str], moment: str
) -> None:
    session_id = recorded(library)
    cache = made_of(library, "score-cache", "scores", session_id)
    _crashing(monkeypatch, step, moment)
    try:
        library.delete(session_id)
    except Crash:
        monkeypatch.undo()
        assert library.recover().changed == [session_id]
    monkeypatch.undo()
    assert not holding(library, "Philomena") and not cache.exists()
    assert not holding(library, ALICE)
    assert library.row(session_id).state == "deleted"
    assert list(library.session(session_id).stats()) == [SESSION_FILE]
    assert library.recover().changed == []


@pytest.mark.parametrize(
    "step",
    [(Place, "write"), (Place, "remove"), (erasure, "narrow_events")],
    ids=lambda step: step[1],
)
def test_a_withdrawal_that_broke_off_is_finished_at_the_next_start(
    library: Library, monkeypatch: pytest.MonkeyPatch, step: tuple[object, str]
) -> None:
    session_id = recorded(library)
    _crashing(monkeypatch, step, "after")
    try:
        library.revoke(session_id, Consent())
    except Crash:
        monkeypatch.undo()
        assert session_id in library.recover().changed
    monkeypatch.undo()
    assert not holding(library, "Philomena") and not holding(library, ALICE)
    assert "audio.flac" not in library.session(session_id).stats()
    assert library.row(session_id).consent == Consent()


def _crashing(monkeypatch: pytest.MonkeyPatch, step: tuple[object, str], moment: str) -> None:
    owner, name = step
    real = getattr(owner, name)

    def crash(*given: object, **named: object) -> object:
        if moment == "after":
            real(*given, **named)
        raise Crash

    monkeypatch.setattr(owner, name, crash)


def test_a_deletion_that_was_begun_is_not_lost_to_a_later_withdrawal(library: Library) -> None:
    session_id = recorded(library)
    with Changes(library.local / ".changing").alone(session_id) as change:
        change.intend(Intent(why="deleted"))  # and died
    library.revoke(session_id, Consent(audio=True))
    assert library.row(session_id).state == "deleted"
    assert not holding(library, "Philomena")


def test_a_slip_that_broke_off_while_it_was_written_means_nothing(tmp_path: Path) -> None:
    with Library.open(str(tmp_path)) as library:
        session_id = recorded(library)
        slip = tmp_path / ".changing" / session_id
        slip.write_text('{"why": "dele')
        assert library.recover().changed == []
        assert library.row(session_id).state == "finished"


def test_copies_that_a_crash_left_on_this_machine_are_removed(tmp_path: Path) -> None:
    with Library.open(f"memory://{tmp_path.name}", tmp_path / "spool") as library:
        for name in (removal.WORK, ".adopted"):
            left = tmp_path / "spool" / name / "2026-03-14" / "sess_x" / EVENTS_FILE
            left.parent.mkdir(parents=True)
            left.write_text(WORDS)
        library.recover()
        assert not holding(library, "Philomena")


def test_a_session_deleted_before_its_upload_arrives_as_a_tombstone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"memory://{tmp_path.name}"
    with Library.open(url, tmp_path / "spool") as library:
        session_id = made_session(library.local, turns=[Exchange(user=WORDS)])
        _crashing(monkeypatch, (Store, "_uploaded"), "after")
        with pytest.raises(Crash):  # uploaded, but the local folder is still there
            library.added(folder_of(library.local, session_id))
        monkeypatch.undo()
        library.delete(session_id)
        assert not holding(library, "Philomena")
        assert not list(library.local.glob(f"*/{session_id}"))
        assert list(library.store.runs.stats("")) == [f"2026-03-14/{session_id}/{SESSION_FILE}"]


def test_an_upload_notices_that_the_session_was_deleted_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Library.open(f"memory://{tmp_path.name}", tmp_path / "spool") as library:
        session_id = made_session(library.local, turns=[Exchange(user=WORDS)])
        folder, take, taken = folder_of(library.local, session_id), Place.take, []

        def deleted_meanwhile(place: Place, path: Path, name: str) -> None:
            take(place, path, name)
            taken.append(name)
            if len(taken) == 1:
                erasure.entomb(folder, "deleted")

        monkeypatch.setattr(Place, "take", deleted_meanwhile)
        assert library.added(folder).state == "deleted"
        assert not holding(library, "Philomena")


def test_one_session_is_changed_by_one_at_a_time(tmp_path: Path) -> None:
    with Library.open(str(tmp_path)) as library:
        session_id = recorded(library)
        given = [Rating(wall=STARTED, by="expert", scores={"a": n % 5 + 1}) for n in range(24)]

        def rate(some: list[Rating]) -> None:
            for each in some:
                library.rate(session_id, each)

        threads = [threading.Thread(target=rate, args=[given[n::4]]) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert library.row(session_id).expert_ratings == 24
        assert len(library.session(session_id).ratings()) == 25
        assert not os.listdir(tmp_path / ".changing")


def test_a_session_that_a_crash_left_half_written_is_repaired_and_listed(library: Library) -> None:
    session_id = made_session(library.local, state="recording")
    recovery = library.recover()
    assert recovery.repaired == [session_id] and recovery.problems == []
    assert library.row(session_id).state == "repaired"
    assert library.session(session_id).place.local is None or not library.store.is_remote
