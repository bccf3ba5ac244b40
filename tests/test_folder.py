"""A session folder: what is written into it, taken out again, and made whole after a crash."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from server.consent import Consent
from server.recording import audio_file, event_log, finishing, journal, record, whole_files
from server.recording.entries import Hush, Sound
from server.recording.folder import (
    Busy,
    SessionFolder,
    Unreadable,
    entomb,
    keep_only,
    left_behind,
    repair,
    verify,
)
from server.recording.lock import Lock
from server.recording.permitted import permitted_at, recorded_from
from server.sessions.format import LOCK_FILE, Line, Notes, Rating, SessionFile
from tests.written import (
    ALL,
    NONE,
    STARTED,
    WORDS,
    agreed,
    at_wall,
    begun,
    channels,
    ended,
    everything_in,
    noise,
    noted,
    said,
    samples,
)

SECOND = 2_400  # a short one: the tests write many


def recorded(runs: Path, session: SessionFile | None = None) -> tuple[SessionFolder, SessionFile]:
    """A folder in which two seconds of both channels and some lines have been written."""
    session = session or begun()
    folder = SessionFolder.create(runs, session)
    folder.write(
        [
            Sound("user", 0, noise(SECOND, 1)),
            said(SECOND),
            Sound("user", SECOND, noise(SECOND, 2)),
            Sound("reply", SECOND, noise(SECOND // 2, 3)),
            noted(
                SECOND,
                "recording.turn",
                item_id="item_0a000000000000000000",
                role="user",
                start=100,
                end=SECOND,
            ),
            noted(SECOND, "recording.gap", start=5, end=9),
        ]
    )
    return folder, session


def lines(folder: Path) -> list[Line]:
    raw = (folder / "events.jsonl").read_bytes().splitlines()
    return [Line.model_validate_json(each) for each in raw]


def crash(folder: SessionFolder) -> Path:
    """What a kill does to it."""
    folder.abandon()
    return folder.path


# -- writing


def test_a_folder_is_private_locked_and_has_its_record_from_the_first_moment(
    tmp_path: Path,
) -> None:
    session = begun()
    folder = SessionFolder.create(tmp_path / "runs", session)
    assert folder.path == tmp_path / "runs/2026-03-14" / session.id
    assert record.read(folder.path) == session
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert folder.path.parent.stat().st_mode & 0o777 == 0o700
    with pytest.raises(Busy):
        Lock.take(folder.path)
    folder.write([Sound("user", 0, noise(10, 0)), said(10)])
    modes = {path.stat().st_mode & 0o777 for path in folder.path.iterdir()}
    assert modes == {0o600}


def test_sound_lies_where_it_was_put_and_everything_else_is_silent(tmp_path: Path) -> None:
    session = begun()
    folder = SessionFolder.create(tmp_path, session)
    late, replaced, reply = noise(300, 1), noise(100, 2), noise(50, 3)
    folder.write([Sound("user", 1000, late), Sound("user", 1100, replaced)])
    folder.write([Sound("reply", 700, reply)])
    folder.finish(ended(session, 2000))
    user, answer = channels(folder.path)
    expected = np.zeros((2, 2000), np.int16)
    expected[0, 1000:1300] = samples(late)
    expected[0, 1100:1200] = samples(replaced)
    expected[1, 700:750] = samples(reply)
    assert np.array_equal(user, expected[0]) and np.array_equal(answer, expected[1])
    assert verify(folder.path) == []


def test_a_hush_silences_what_was_put_and_does_not_lengthen_the_recording(tmp_path: Path) -> None:
    session = begun()
    folder = SessionFolder.create(tmp_path, session)
    sound = noise(200_000, 1)
    folder.write([Sound("reply", 0, sound), Hush("reply", 10, 150_000)])
    folder.write([Hush("reply", 190_000, 400_000), Hush("user", 0, 500)])
    folder.finish(ended(session, 195_000))
    _, answer = channels(folder.path)
    expected = samples(sound)[:195_000].copy()
    expected[10:150_000] = expected[190_000:] = 0
    assert np.array_equal(answer, expected)


def test_a_reply_that_was_to_sound_after_the_end_does_not_lengthen_the_recording(
    tmp_path: Path,
) -> None:
    session = begun()
    folder = SessionFolder.create(tmp_path, session)
    folder.write([Sound("user", 0, noise(1_000, 1)), Sound("reply", 500, noise(9_000, 2))])
    folder.finish(ended(session, 1_000))
    user, answer = channels(folder.path)
    assert len(user) == len(answer) == 1_000 and answer[500:].any()


def test_sounds_that_follow_each_other_are_written_at_once_and_in_order() -> None:
    one, two, three = noise(5, 1), noise(7, 2), noise(2, 3)
    hush = Hush("user", 0, 3)
    given: list[Sound | Hush] = [
        Sound("user", 10, one),
        Sound("user", 15, two),
        hush,
        Sound("user", 22, three),
    ]
    assert journal.joined(given) == [Sound("user", 10, one + two), hush, given[-1]]


def test_lines_are_numbered_and_hold_only_what_their_consent_allows(tmp_path: Path) -> None:
    folder = SessionFolder.create(tmp_path, begun(Consent(audio=True)))
    unkept = noted(2, "recording.turn", NONE, item_id="a name of theirs")
    folder.write([said(1, Consent(audio=True)), unkept, said(3, ALL)])
    folder.write([noted(4, "recording.gap", start=1, end=2)])
    written = lines(folder.path)
    assert [line.n for line in written] == [0, 1, 2]
    assert [line.at for line in written] == [1, 3, 4]
    assert WORDS not in str(written[0].event) and written[1].event["transcript"] == WORDS
    assert written[0].wall == at_wall(1)


def test_an_event_no_json_reader_would_take_is_written_all_the_same(tmp_path: Path) -> None:
    folder = SessionFolder.create(tmp_path, begun())
    folder.write([noted(1, "recording.turn", huge=10**30, half="a\ud800b"), said(2)])
    first, second = lines(folder.path)
    assert first.event["half"] == "a?b" and second.n == 1


def test_sound_without_consent_to_audio_is_not_written(tmp_path: Path) -> None:
    session = begun(Consent(transcript=True))
    folder = SessionFolder.create(tmp_path, session)
    folder.write([Sound("user", 0, noise(100, 1))])
    assert not (folder.path / "user.pcm").exists()
    folder.finish(ended(session, 100))
    assert record.read(folder.path).audio is None
    assert sorted(os.listdir(folder.path)) == ["session.json"]


# -- finishing


def test_a_finished_folder_tells_where_its_turns_and_gaps_lie(tmp_path: Path) -> None:
    folder, session = recorded(tmp_path)
    place: dict[str, Any] = {
        "item_id": "item_0b000000000000000000",
        "role": "assistant",
        "response_id": "resp_0c000000000000000000",
    }
    folder.write(
        [
            noted(SECOND, "recording.turn", **place, start=SECOND, end=2 * SECOND),
            noted(SECOND, "recording.gap", start=8, end=30),
            noted(SECOND, "recording.gap", start=50, end=60),
        ]
    )
    corrected = {**place, "start": SECOND, "end": SECOND + 500, "interrupted": True}
    folder.write([noted(2 * SECOND, "recording.turn", **corrected)])
    folder.finish(ended(session, 2 * SECOND))
    whole = record.read(folder.path)
    assert whole.state == "finished" and whole.ended and whole.ended.why == "hung_up"
    assert whole.audio and whole.audio.samples == 2 * SECOND
    assert whole.audio.gaps == [(5, 30), (50, 60)]
    spans = [(turn.item_id, turn.start, turn.end, turn.interrupted) for turn in whole.turns]
    assert spans == [
        ("item_0a000000000000000000", 100, SECOND, False),
        ("item_0b000000000000000000", SECOND, SECOND + 500, True),
    ]
    assert sorted(os.listdir(folder.path)) == ["audio.flac", "events.jsonl", "session.json"]
    assert verify(folder.path) == []


def test_audio_begins_with_the_consent_that_was_never_withdrawn() -> None:
    session = begun(ALL, 0)
    assert recorded_from(session) == 0
    session = agreed(agreed(session, NONE, 100), Consent(audio=True), 200)
    assert recorded_from(agreed(session, ALL, 300)) == 200
    assert recorded_from(agreed(session, Consent(transcript=True), 300)) is None


def test_sound_from_before_the_consent_is_silent_in_the_file_whatever_the_journal_holds(
    tmp_path: Path,
) -> None:
    session = begun(at=500)
    folder = SessionFolder.create(tmp_path, session)
    folder.write([Sound("user", 0, noise(1000, 1))])
    folder.finish(ended(session, 1000))
    user, _ = channels(folder.path)
    assert not user[:500].any() and user[500:].all()
    assert verify(folder.path) == []


def test_the_journals_stay_when_what_was_encoded_is_not_what_was_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, session = recorded(tmp_path)
    writing = audio_file._writing

    class Wrong:
        def __init__(self, path: Path) -> None:
            self._flac = writing(path)

        def __enter__(self) -> "Wrong":
            return self

        def __exit__(self, *_: object) -> None:
            self._flac.close()

        def write(self, frames: Any) -> None:
            self._flac.write(frames ^ 1)

    monkeypatch.setattr(audio_file, "_writing", Wrong)
    with pytest.raises(audio_file.EncodingFailed):
        folder.finish(ended(session, 2 * SECOND))
    assert {"user.pcm", "reply.pcm", LOCK_FILE} <= set(os.listdir(folder.path))
    monkeypatch.undo()
    folder.abandon()
    assert repair(folder.path)
    whole = record.read(folder.path)
    assert whole.ended and whole.ended.why == "hung_up"  # it did end; only the disk was at fault
    assert channels(folder.path)[0].all()


# -- withdrawing


@pytest.mark.parametrize("left", [NONE, Consent(audio=True), Consent(transcript=True)])
def test_withdrawing_while_recording_erases_what_is_no_longer_covered(
    tmp_path: Path, left: Consent
) -> None:
    folder, session = recorded(tmp_path)
    percept: dict[str, Any] = {"item_id": "item_0a000000000000000000", "final": True}
    folder.write([noted(SECOND, "attune.percept", **percept)])
    session = agreed(session, left, 2 * SECOND)
    folder.withdraw(session)
    folder.write([said(2 * SECOND + 1, left, "pomegranate")])
    folder.finish(ended(session, 3 * SECOND))
    held = everything_in(folder.path)
    assert (WORDS.encode() in held) == left.transcript
    assert (b"pomegranate" in held) == left.transcript
    assert (b"attune.percept" in held) == left.personal
    assert (folder.path / "audio.flac").exists() == left.audio
    whole = record.read(folder.path)
    assert [turn.item_id for turn in whole.turns] == ["item_0a000000000000000000"]  # timings stay
    assert [line.n for line in lines(folder.path)] == list(range(len(lines(folder.path))))
    assert whole.tombstones and verify(folder.path) == []


def test_sound_after_a_new_consent_is_kept_and_sound_before_it_is_not(tmp_path: Path) -> None:
    folder, session = recorded(tmp_path)
    session = agreed(session, NONE, 2 * SECOND)
    folder.withdraw(session)
    session = agreed(session, ALL, 3 * SECOND)
    folder.describe(session)
    again = noise(SECOND, 7)
    folder.write([Sound("user", 3 * SECOND, again), said(3 * SECOND, words="pomegranate")])
    folder.finish(ended(session, 4 * SECOND))
    user, reply = channels(folder.path)
    assert not user[: 3 * SECOND].any() and not reply.any()
    assert np.array_equal(user[3 * SECOND :], samples(again))
    held = everything_in(folder.path)
    assert WORDS.encode() not in (folder.path / "events.jsonl").read_bytes()
    assert b"pomegranate" in held and verify(folder.path) == []


def test_a_disk_without_room_for_a_second_log_keeps_nothing_from_being_erased(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, session = recorded(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(event_log, "settle", full)
    folder.withdraw(agreed(session, NONE, 2 * SECOND))
    assert WORDS.encode() not in everything_in(folder.path)
    assert [line.event["type"] for line in lines(folder.path)][-1] == "recording.gap"


def test_what_may_be_kept_of_a_moment_is_what_was_allowed_then_and_never_withdrawn() -> None:
    session = begun(NONE, 0)
    for consent, at in ((ALL, 100), (Consent(audio=True), 200), (ALL, 300)):
        session = agreed(session, consent, at)

    def scopes(at: int) -> list[str]:
        return permitted_at(session.consent, at, at_wall(at)).scopes

    assert scopes(50) == []
    assert scopes(150) == ["audio"]
    assert scopes(250) == ["audio"]
    assert scopes(300) == ["transcript", "audio", "research"]
    assert permitted_at(session.consent, 300, STARTED).scopes == ["audio"]  # just before it


# -- later


def finished(runs: Path) -> Path:
    folder, session = recorded(runs)
    folder.finish(ended(session, 2 * SECOND))
    notes = Notes(notes=f"said {WORDS}", tags=["good"])
    rating = Rating(wall=STARTED, by="user", scores={"overall": 4}, comment=WORDS)
    (folder.path / "notes.json").write_text(notes.model_dump_json())
    (folder.path / "ratings.jsonl").write_text(rating.model_dump_json() + "\n")
    assert verify(folder.path) == []
    return folder.path


def test_a_later_withdrawal_leaves_only_what_is_still_allowed(tmp_path: Path) -> None:
    path = finished(tmp_path)
    keep_only(path, NONE)
    session = record.read(path)
    assert WORDS.encode() not in everything_in(path)
    assert not (path / "audio.flac").exists() and session.audio is None
    assert session.client is None and session.prompts is None
    assert session.tombstones[-1].what == ["transcript", "percepts", "audio", "research"]
    assert session.turns and session.state == "finished"
    assert Rating.model_validate_json((path / "ratings.jsonl").read_bytes()).scores
    assert verify(path) == []


def test_withdrawing_research_alone_erases_nothing_and_nothing_can_be_allowed_later(
    tmp_path: Path,
) -> None:
    path = finished(tmp_path)
    before = (path / "events.jsonl").read_bytes()
    keep_only(path, Consent(transcript=True, audio=True))
    session = keep_only(path, ALL)
    assert session.allowed and not session.allowed.research
    assert (path / "events.jsonl").read_bytes() == before
    assert [stone.what for stone in session.tombstones] == [["research"]]
    assert (path / "notes.json").exists() and verify(path) == []


def test_a_deleted_session_leaves_a_tombstone_and_nothing_else(tmp_path: Path) -> None:
    path = finished(tmp_path)
    (path / "turns").mkdir()
    (path / "turns" / "clip.wav").write_bytes(b"x")
    entomb(path, "deleted", ["/exports/one"])
    session = entomb(path, "retention", ["/exports/two"])
    assert os.listdir(path) == ["session.json"]
    stones = [(stone.what, stone.why, stone.exports) for stone in session.tombstones]
    assert stones == [(["session"], "deleted", ["/exports/one", "/exports/two"])]
    assert set(orjson.loads(session.model_dump_json(exclude_defaults=True))) == {
        "id",
        "state",
        "software",
        "started",
        "tombstones",
    }
    assert verify(path) == []


def test_a_folder_whose_record_is_broken_can_still_be_deleted(tmp_path: Path) -> None:
    path = finished(tmp_path)
    (path / "session.json").write_text("{")
    assert entomb(path, "deleted").started.date() == STARTED.date()
    assert os.listdir(path) == ["session.json"] and verify(path) == []


def test_nobody_erases_from_a_folder_that_is_being_written(tmp_path: Path) -> None:
    folder, _ = recorded(tmp_path)
    before = everything_in(folder.path)
    with pytest.raises(Busy):
        keep_only(folder.path, NONE)
    with pytest.raises(Busy):
        entomb(folder.path, "deleted")
    assert not repair(folder.path) and verify(folder.path) == []
    assert everything_in(folder.path) == before


# -- repair


def test_a_folder_left_behind_is_made_whole_up_to_the_last_thing_written(tmp_path: Path) -> None:
    folder, _ = recorded(tmp_path)
    path = crash(folder)
    with (path / "events.jsonl").open("ab") as file:
        file.write(b'{"n":3,"at":4800,"wall":"2026-03')
    assert verify(path) == ["it was left half-written: repair it"]
    assert list(left_behind(tmp_path)) == [path]
    assert repair(path)
    session = record.read(path)
    assert session.state == "repaired" and session.ended
    assert (session.ended.at, session.ended.why) == (2 * SECOND, "crashed")
    assert session.ended.wall == at_wall(SECOND)
    user, reply = channels(path)
    assert np.array_equal(user, samples(noise(SECOND, 1) + noise(SECOND, 2)))
    assert reply[SECOND : SECOND * 3 // 2].all()
    assert len(lines(path)) == 3 and [turn.item_id for turn in session.turns] == [
        "item_0a000000000000000000"
    ]
    assert verify(path) == []
    before = everything_in(path)
    assert not repair(path) and everything_in(path) == before
    assert list(left_behind(tmp_path)) == []


def test_an_erasure_that_was_cut_short_is_carried_out_by_the_repair(tmp_path: Path) -> None:
    folder, session = recorded(tmp_path)
    folder.describe(agreed(session, NONE, 2 * SECOND))  # the record knows, the files do not yet
    path = crash(folder)
    assert repair(path)
    assert WORDS.encode() not in everything_in(path)
    assert not (path / "audio.flac").exists() and not (path / "user.pcm").exists()
    assert verify(path) == []


def test_a_folder_without_a_record_is_removed_for_nobody_allowed_it(tmp_path: Path) -> None:
    folder, _ = recorded(tmp_path)
    path = crash(folder)
    (path / "session.json").unlink()
    assert repair(path) and not path.exists()


def test_a_record_that_makes_no_sense_is_reported_and_nothing_is_touched(tmp_path: Path) -> None:
    folder, _ = recorded(tmp_path)
    path = crash(folder)
    (path / "session.json").write_text('{"schema_version": 2}')
    before = everything_in(path)
    with pytest.raises(Unreadable, match=r"session\.json of sess_.* cannot be read"):
        repair(path)
    assert everything_in(path) == before


def test_a_folder_that_was_hardly_begun_is_cleared_away_when_its_maker_is_gone(
    tmp_path: Path,
) -> None:
    making = tmp_path / "2026-03-14" / ".new-sess_0123456789abcdef0123"
    making.mkdir(parents=True)
    assert list(left_behind(tmp_path)) == [] and making.exists()  # it may be just being made
    os.utime(making, (0, 0))
    lock = Lock.take(making)
    os.utime(making, (0, 0))
    assert list(left_behind(tmp_path)) == [] and making.exists()
    lock.abandon()
    assert list(left_behind(tmp_path)) == [] and not making.exists()


class Killed(BaseException):
    """Stands for a kill: no handler for errors sees it."""


def killing(monkeypatch: pytest.MonkeyPatch, after: int) -> Callable[[], int]:
    """Die at the nth change of anything on disk; tells how many there were."""
    count = 0

    def counted(change: Callable[..., Any]) -> Callable[..., Any]:
        def do(*args: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count > after:
                raise Killed
            return change(*args, **options)

        return do

    monkeypatch.setattr(os, "replace", counted(os.replace))
    monkeypatch.setattr(os, "fsync", counted(os.fsync))
    monkeypatch.setattr(Path, "unlink", counted(Path.unlink))
    monkeypatch.setattr(audio_file, "_writing", counted(audio_file._writing))
    return lambda: count


@pytest.mark.parametrize("withdrawn", [False, True])
def test_a_repair_that_is_itself_killed_anywhere_loses_nothing(
    tmp_path: Path, withdrawn: bool
) -> None:
    folder, session = recorded(tmp_path / "origin")
    if withdrawn:
        folder.describe(agreed(session, Consent(transcript=True), 2 * SECOND))
    origin = crash(folder)
    for after in range(40):
        path = tmp_path / str(after) / "2026-03-14" / origin.name
        shutil.copytree(origin, path)
        with pytest.MonkeyPatch.context() as patch:
            killing(patch, after)
            try:
                repair(path)
                done = True
            except Killed:
                done = False
        repair(path)
        assert verify(path) == []
        whole = record.read(path)
        assert whole.state == "repaired" and len(lines(path)) == 3
        if not withdrawn:
            user, reply = channels(path)
            assert np.array_equal(user, samples(noise(SECOND, 1) + noise(SECOND, 2)))
            assert reply[SECOND : SECOND * 3 // 2].all()
        assert (path / "audio.flac").exists() != withdrawn
        if done:
            assert after > 5
            return
    pytest.fail("a repair never came to its end")


@pytest.mark.parametrize("work", ["keep_only", "entomb", "withdraw", "finish"])
def test_work_that_is_killed_anywhere_is_completed_by_doing_it_again_or_by_a_repair(
    tmp_path: Path, work: str
) -> None:
    for after in range(40):
        runs = tmp_path / str(after)
        if work in ("withdraw", "finish"):
            folder, session = recorded(runs)
            path = folder.path
        else:
            path = finished(runs)
        with pytest.MonkeyPatch.context() as patch:
            killing(patch, after)
            try:
                match work:
                    case "keep_only":
                        keep_only(path, NONE)
                    case "entomb":
                        entomb(path, "deleted")
                    case "withdraw":
                        folder.withdraw(agreed(session, NONE, 2 * SECOND))
                        folder.abandon()
                    case _:
                        folder.finish(ended(session, 2 * SECOND))
                done = True
            except Killed:
                done = False
        if work in ("withdraw", "finish"):
            folder.abandon()
        knew = bool(record.read(path).tombstones)
        erased = not {"audio.flac", "user.pcm"} & set(os.listdir(path))
        assert knew or not erased
        repair(path)
        if work == "finish":
            assert channels(path)[0].all()
        elif knew:  # the repair did the rest
            assert WORDS.encode() not in everything_in(path)
            assert not (path / "audio.flac").exists()
        assert verify(path) == []
        if done:
            return
    pytest.fail("it never came to its end")


# -- verifying


def break_text(path: Path) -> None:
    raw = (path / "events.jsonl").read_bytes()
    (path / "events.jsonl").write_bytes(raw.replace(b'"n":1', b'"n":7'))


def break_consent(path: Path) -> None:
    session = record.read(path)
    record.write(path, agreed(session, NONE, 2 * SECOND))


def break_length(path: Path) -> None:
    session = record.read(path)
    assert session.audio
    audio = session.audio.model_copy(update={"samples": 5})
    record.write(path, session.model_copy(update={"audio": audio, "turns": []}))


def break_flac(path: Path) -> None:
    raw = (path / "audio.flac").read_bytes()
    (path / "audio.flac").write_bytes(raw[: len(raw) // 2])


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (break_text, "line 2 of events.jsonl has the number 7"),
        (break_consent, "line 1 of events.jsonl holds what the consent does not cover"),
        (break_consent, "there is audio without consent to it"),
        (break_length, "audio.flac has 4800 samples, session.json says 5"),
        (break_flac, "audio.flac cannot be read"),
        (lambda path: (path / "audio.flac").unlink(), "audio.flac is missing"),
        (lambda path: (path / "user.pcm").touch(), "user.pcm was left behind: repair it"),
        (lambda path: (path / "x.txt").touch(), "x.txt does not belong in this folder"),
        (lambda path: (path / "notes.json").write_text("{"), "notes.json cannot be read"),
        (lambda path: (path / "session.json").unlink(), "there is no session.json"),
    ],
)
def test_verifying_says_in_words_what_is_wrong(
    tmp_path: Path, broken: Callable[[Path], object], told: str
) -> None:
    path = finished(tmp_path)
    broken(path)
    found = verify(path)
    assert told in found
    assert all(WORDS not in problem for problem in found)


def test_a_file_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    whole_files.replace(file, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        whole_files.replace(file, b"new")
    assert file.read_bytes() == b"old" and os.listdir(tmp_path) == ["a.json"]


def test_lines_that_a_full_disk_took_only_in_part_are_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = recorded(tmp_path)
    before = (folder.path / "events.jsonl").read_bytes()
    write = os.write
    calls = 0

    def fills_up(handle: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise OSError(28, "no space")
        return write(handle, data[:20])

    monkeypatch.setattr(os, "write", fills_up)
    with pytest.raises(OSError, match="no space"):
        folder.write([said(3)])
    monkeypatch.undo()
    assert (folder.path / "events.jsonl").read_bytes() == before
    folder.write([said(4)])
    assert [line.n for line in lines(folder.path)] == [0, 1, 2, 3]


def test_turns_that_cannot_be_placed_are_left_out(tmp_path: Path) -> None:
    folder = SessionFolder.create(tmp_path, begun())
    folder.write(
        [
            noted(
                1,
                "recording.turn",
                item_id="item_0a000000000000000000",
                role="user",
                start=-1,
                end=3,
            )
        ]
    )
    assert finishing.turns(folder.path, begun()) == []


def test_why_writing_broke_off_is_known_after_a_restart_though_nothing_more_could_be_written(
    tmp_path: Path,
) -> None:
    folder, _ = recorded(tmp_path)
    folder.stop("disk_full")
    folder.abandon()
    assert repair(folder.path)
    session = record.read(folder.path)
    assert [stop.reason for stop in session.stopped] == ["disk_full"]
    assert verify(folder.path) == [] and not list(folder.path.glob(".stopped-*"))
