"""python -m server.sessions, as a person uses it."""

import json
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner, Result

from models.types import WIRE_RATE
from server.consent import Consent
from server.sessions.__main__ import app
from server.sessions.commands import handing_on
from server.sessions.export.making import Form
from server.sessions.format import (
    EVENTS_FILE,
    SESSION_FILE,
    USER_JOURNAL,
    Notes,
    Rating,
    SessionFile,
)
from server.sessions.stored import StoredSession
from tests.made_sessions import STARTED, Exchange, folder_of, made_session, made_sound, placed

ALICE, BOB = "spk_" + "a" * 16, "spk_" + "b" * 16


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def run(runs: Path | str, *arguments: str | Path, answer: str = "", width: int = 160) -> Result:
    told = ["--runs", str(runs), *map(str, arguments)]
    return CliRunner().invoke(app, told, input=answer, env={"COLUMNS": str(width)})


def asked(runs: Path | str, *arguments: str) -> Any:
    found = run(runs, *arguments, "--json")
    return json.loads(found.stdout)


def listed(runs: Path, *arguments: str) -> list[str]:
    return [row["id"] for row in asked(runs, "list", *arguments)["sessions"]]


def read(runs: Path, session_id: str) -> SessionFile:
    return SessionFile.model_validate_json((folder_of(runs, session_id) / SESSION_FILE).read_text())


# --- list


def test_list_finds_sessions_by_each_of_its_filters(runs: Path) -> None:
    plain = made_session(runs, consent="transcript", turns=[Exchange(emotion="happy")])
    special = made_session(
        runs,
        started=STARTED + timedelta(days=2),
        turns=[Exchange(seconds=9.0, first_sent_ms=900.0)],
        responder="vllm",
        speaker=ALICE,
        ratings=[Rating(wall=STARTED, by="user", scores={"warmth": 5})],
        notes=Notes(notes="a dog barked", tags=["pilot"]),
    )
    assert listed(runs) == [special, plain]
    assert listed(runs, "--order", "oldest") == [plain, special]
    for arguments in (
        ("--since", "2026-03-16"), ("--model", "vllm"), ("--consent", "audio,research"),
        ("--rating", "4"), ("--longer", "5"), ("--emotion", "sad"), ("--slower", "500"),
        ("--tag", "pilot"), ("--speaker", ALICE), ("--notes", "DOG"),
    ):  # fmt: skip
        assert listed(runs, *arguments) == [special], arguments
    for arguments in (("--until", "2026-03-15"), ("--shorter", "5"), ("--faster", "500")):
        assert listed(runs, *arguments) == [plain], arguments


def test_list_shows_a_table_and_how_many_there_are(runs: Path) -> None:
    ids = [made_session(runs) for _ in range(3)]
    found = run(runs, "list", "--limit", "2", width=80)
    assert found.exit_code == 0
    assert sum(session_id in found.stdout for session_id in ids) == 2
    assert "2 of 3 sessions" in found.stdout
    assert "2026-03-14 09:26" in found.stdout and "420 ms" in found.stdout
    assert max(len(line) for line in found.stdout.splitlines()) <= 80


def test_list_hides_deleted_sessions_unless_asked(runs: Path) -> None:
    kept, gone = made_session(runs), made_session(runs, state="deleted")
    assert listed(runs) == [kept]
    assert set(listed(runs, "--deleted")) == {kept, gone}


def test_list_finds_folders_that_came_without_the_servers_doing(runs: Path) -> None:
    first = made_session(runs)
    assert listed(runs) == [first]
    second = made_session(runs)
    assert set(listed(runs)) == {first, second}


def test_sessions_are_sought_where_the_server_keeps_them(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(runs)
    monkeypatch.setenv("ATTUNE_RECORDING__RUNS", str(runs))
    assert session_id in CliRunner().invoke(app, ["list", "--json"]).stdout


# --- show


def test_show_tells_a_session_in_words(runs: Path) -> None:
    session_id = made_session(
        runs,
        turns=[Exchange(user="I am tired.", reply="Then rest a while.", heard="Then rest",
                        event="sigh", interrupted=True)],
        speaker=ALICE,
        ratings=[Rating(wall=STARTED, by="expert", rater="R7", scores={"warmth": 4})],
        notes=Notes(tags=["pilot"]),
    )  # fmt: skip
    told = run(runs, "show", session_id).stdout
    for part in (
        session_id, "the client hung up", "transcript, audio, research", "llamacpp 1.0",
        "Apache-2.0", "I am tired.", "sigh, sad", "Then rest …(interrupted)", "420 ms",
        "comforting", "expert R7: warmth 4", "pilot", ALICE, "echo cancellation on", "Be kind.",
    ):  # fmt: skip
        assert part in told, part


def test_show_says_what_is_not_kept(runs: Path) -> None:
    session_id = made_session(runs, consent="none")
    told = run(runs, "show", session_id).stdout
    assert "(not kept)" in told and "none (at 0:00" in told


def test_show_lets_no_words_steer_the_terminal(runs: Path) -> None:
    session_id = made_session(runs, turns=[Exchange(user="[red]hi[/red] \x1b[2J\x07\u202eolleh")])
    told = run(runs, "show", session_id).stdout
    assert "[red]hi[/red]" in told
    assert not set("\x1b\x07\u202e") & set(told)


def test_show_as_json_has_all_but_what_opens_the_session_to_others(runs: Path) -> None:
    session_id = made_session(runs, turns=1)
    told = asked(runs, "show", session_id)
    assert told["session"]["id"] == session_id
    assert [turn["role"] for turn in told["turns"]] == ["user", "assistant"]
    assert told["turns"][0]["text"] == "This is turn number 0."
    assert "secret_sha256" not in json.dumps(told)


def test_show_tells_of_a_deleted_session_only_that_it_is_deleted(runs: Path) -> None:
    session_id = made_session(runs, state="deleted")
    told = run(runs, "show", session_id)
    assert told.exit_code == 0 and "session (deleted" in told.stdout


@pytest.mark.parametrize("name", ["sess_00000000000000000000", "../../etc/passwd"])
@pytest.mark.parametrize("command", ["show", "play", "verify", "repair", "delete"])
def test_an_id_that_is_none_gets_a_sentence(command: str, name: str, runs: Path) -> None:
    made_session(runs)
    found = run(runs, command, name)
    assert found.exit_code == 1
    assert found.stderr.startswith("attune: ") and found.stderr.count("\n") == 1
    assert "Traceback" not in found.output


# --- play


def test_play_writes_a_turn_of_one_channel(runs: Path, tmp_path: Path) -> None:
    exchanges = [Exchange(), Exchange()]
    session_id = made_session(runs, turns=exchanges)
    spot = placed(exchanges)[1]
    item = read(runs, session_id).turns[2].item_id
    for turn in (item, "2"):
        file = tmp_path / f"{turn}.wav"
        done = run(runs, "play", session_id, "--turn", turn, "--channel", "user", "--out", file)
        assert done.exit_code == 0
        sound, rate = soundfile.read(file, dtype="int16")
        assert rate == WIRE_RATE
        np.testing.assert_array_equal(sound, made_sound(exchanges)[slice(*spot.user), 0])


def test_play_writes_all_of_a_session_with_both_channels(runs: Path, tmp_path: Path) -> None:
    session_id = made_session(runs, turns=[Exchange()])
    run(runs, "play", session_id, "--out", tmp_path / "all.wav")
    sound, _ = soundfile.read(tmp_path / "all.wav", dtype="int16")
    np.testing.assert_array_equal(sound, made_sound([Exchange()]))


def test_play_hands_the_sound_to_a_player_that_is_there(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(runs, turns=[Exchange()])
    heard, player = tmp_path / "heard.wav", tmp_path / "aplay"
    player.write_text(f'#!/bin/sh\nfor last; do :; done\n/bin/cp "$last" {heard}\n')
    player.chmod(player.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(runs, "play", session_id, "--channel", "reply").exit_code == 0
    sound, _ = soundfile.read(heard, dtype="int16")
    np.testing.assert_array_equal(sound, made_sound([Exchange()])[:, 1])


def test_play_says_what_to_do_where_nothing_can_be_heard(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(runs)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = run(runs, "play", session_id)
    assert found.exit_code == 1 and "--out FILE.wav" in found.stderr
    (tmp_path / "aplay").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "aplay").chmod(0o700)
    found = run(runs, "play", session_id)
    assert found.exit_code == 1 and "aplay could not play" in found.stderr


def test_play_says_that_no_sound_was_kept(runs: Path, tmp_path: Path) -> None:
    session_id = made_session(runs, consent="transcript")
    found = run(runs, "play", session_id, "--out", tmp_path / "x.wav")
    assert found.exit_code == 1 and "no audio is kept" in found.stderr


def test_play_says_that_there_is_no_such_turn(runs: Path, tmp_path: Path) -> None:
    session_id = made_session(runs)
    found = run(runs, "play", session_id, "--turn", "99", "--out", tmp_path / "x.wav")
    assert found.exit_code == 2 and "no spoken turn '99'" in found.stderr


# --- delete


def test_delete_asks_first(runs: Path) -> None:
    session_id = made_session(runs)
    for answer in ("n\n", ""):
        found = run(runs, "delete", session_id, answer=answer)
        assert found.exit_code == 1
        assert read(runs, session_id).state == "finished"
    assert run(runs, "delete", session_id, answer="y\n").exit_code == 0
    assert read(runs, session_id).state == "deleted"


def test_delete_leaves_a_tombstone_and_lists_exports(runs: Path, tmp_path: Path) -> None:
    session_id = made_session(runs)
    out = tmp_path / "out"
    assert run(runs, "export", "--format", "wav", "--out", out).exit_code == 0
    found = run(runs, "delete", session_id, "--yes", "--why", "revoked")
    assert found.exit_code == 0
    assert "audio.flac" in found.stdout and str(out) in found.stdout
    assert [path.name for path in folder_of(runs, session_id).iterdir()] == [SESSION_FILE]
    [stone] = read(runs, session_id).tombstones
    assert stone.why == "revoked" and stone.exports == [str(out)]
    assert listed(runs) == []


def test_delete_takes_all_sessions_of_a_speaker(runs: Path) -> None:
    hers = [made_session(runs, speaker=ALICE) for _ in range(2)]
    his = made_session(runs, speaker=BOB)
    assert run(runs, "delete", ALICE, "--yes").exit_code == 0
    assert [read(runs, each).state for each in hers] == ["deleted", "deleted"]
    assert listed(runs) == [his]
    assert run(runs, "delete", ALICE, "--yes").exit_code == 1


def test_delete_begins_nothing_if_one_of_the_ids_is_wrong(runs: Path) -> None:
    session_id = made_session(runs)
    assert run(runs, "delete", session_id, "sess_" + "0" * 20, "--yes").exit_code == 1
    assert read(runs, session_id).state == "finished"


# --- repair, verify, rebuild


def half_written(runs: Path) -> str:
    session_id = made_session(runs, state="recording", turns=[Exchange()])
    folder = folder_of(runs, session_id)
    (folder / "audio.flac").unlink()
    (folder / USER_JOURNAL).write_bytes(made_sound([Exchange()])[:, 0].tobytes())
    return session_id


@pytest.mark.parametrize("named", [False, True])
def test_repair_makes_half_written_sessions_whole(named: bool, runs: Path) -> None:
    session_id = half_written(runs)
    assert run(runs, "verify").exit_code == 1
    done = run(runs, "repair", *([session_id] if named else []))
    assert done.exit_code == 0 and f"repaired {session_id}" in done.stdout
    assert read(runs, session_id).state == "repaired"
    assert run(runs, "verify").exit_code == 0
    assert listed(runs) == [session_id]
    assert "nothing was left undone" in run(runs, "repair").stdout


def test_verify_says_what_is_wrong_and_fails(runs: Path) -> None:
    good, bad = made_session(runs), made_session(runs, consent="audio")
    assert asked(runs, "verify") == {"checked": 2, "problems": {}}
    loud = made_session(runs)
    log = folder_of(runs, loud) / EVENTS_FILE
    (folder_of(runs, bad) / EVENTS_FILE).write_bytes(log.read_bytes())
    found = run(runs, "verify")
    assert found.exit_code == 1
    assert bad in found.stdout and good not in found.stdout
    assert "3 checked, 1 with problems" in found.stdout
    assert set(asked(runs, "verify")["problems"]) == {bad}
    assert run(runs, "verify", good).exit_code == 0


def test_sessions_elsewhere_are_verified_and_shown_too(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = made_session(runs)
    files = fsspec.filesystem("memory")
    monkeypatch.setenv("ATTUNE_RECORDING__SPOOL", str(tmp_path / "spool"))
    files.put(str(runs), "/elsewhere", recursive=True)
    try:
        assert asked("memory://elsewhere", "verify") == {"checked": 1, "problems": {}}
        assert asked("memory://elsewhere", "show", session_id)["session"]["id"] == session_id
        log = f"/elsewhere/2026-03-14/{session_id}/{EVENTS_FILE}"
        files.pipe_file(log, b"nonsense\n" + files.cat_file(log))
        assert run("memory://elsewhere", "verify").exit_code == 1
    finally:
        files.rm("/elsewhere", recursive=True)


def test_rebuild_makes_the_index_anew(runs: Path) -> None:
    session_id = made_session(runs)
    before = asked(runs, "list")
    for path in runs.glob("index.sqlite*"):
        path.unlink()
    assert "1 sessions" in run(runs, "rebuild").stdout
    assert asked(runs, "list") == before and listed(runs) == [session_id]


# --- export, replay


def test_export_says_what_it_made(runs: Path, tmp_path: Path) -> None:
    made_session(runs)
    made_session(runs, consent="transcript")
    out = tmp_path / "out"
    found = run(runs, "export", "--format", "hf", "--out", out)
    assert found.exit_code == 0
    assert f"1 sessions with 2 exchanges are in {out}; 1 left out" in found.stdout
    again = run(runs, "export", "--format", "hf", "--out", out)
    assert again.exit_code == 1 and "--force" in again.stderr
    assert run(runs, "export", "--format", "hf", "--out", out, "--force").exit_code == 0


def test_export_takes_the_filters_of_list(runs: Path, tmp_path: Path) -> None:
    made_session(runs)
    tagged = made_session(runs, notes=Notes(tags=["pilot"]))
    out = tmp_path / "out"
    assert run(runs, "export", "--format", "wav", "--out", out, "--tag", "pilot").exit_code == 0
    assert (out / "sessions.txt").read_text().split() == [tagged]


@pytest.mark.parametrize("form", Form)
def test_export_of_nothing_says_why_and_makes_no_folder(
    form: Form, runs: Path, tmp_path: Path
) -> None:
    made_session(runs, consent="transcript,audio")
    found = run(runs, "export", "--format", form, "--out", tmp_path / "out")
    assert found.exit_code == 1
    assert found.stderr == "attune: there is nothing to export: 1 × no consent to research\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "--format", "hf", "--out", "x", "--turns"),
        ("export", "--format", "wav", "--out", "x", "--csv"),
        ("list", "--consent", "everything"),
        ("list", "--order", "by name"),
        ("--config", "missing.toml", "list"),
    ],
)
def test_options_that_will_not_do_get_a_sentence(arguments: tuple[str, ...], runs: Path) -> None:
    found = run(runs, *arguments)
    assert found.exit_code == 2
    assert found.stderr.startswith("attune: ") and found.stderr.count("\n") == 1


def test_a_place_that_is_none_gets_a_sentence() -> None:
    found = run("nowhere://at/all", "list")
    assert found.exit_code == 1 and found.stderr.startswith("attune: ")
    assert "Traceback" not in found.output


def test_replay_tells_the_new_sessions_id(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session_id, calls = made_session(runs), []

    async def replayed(
        session: StoredSession, url: str, *, realtime: bool, consent: Consent | None
    ) -> str:
        calls.append((session.id, url, realtime, consent))
        return "sess_" + "1" * 20

    monkeypatch.setattr(handing_on, "replay_session", replayed)
    where = ("--url", "ws://there", "--no-realtime")
    found = run(runs, "replay", session_id, *where, "--consent", "transcript")
    assert found.stdout.strip() == "sess_" + "1" * 20
    assert calls == [(session_id, "ws://there", False, Consent(transcript=True))]
    wrong = run(runs, "replay", session_id, *where, "--consent", "everything")
    assert wrong.exit_code == 2 and "unknown consent 'everything'" in wrong.stderr


def test_replay_of_a_session_without_sound_gets_a_sentence(runs: Path) -> None:
    session_id = made_session(runs, consent="transcript")
    found = run(runs, "replay", session_id, "--url", "ws://127.0.0.1:9/v1/realtime")
    assert found.exit_code == 1 and "cannot be replayed" in found.stderr
