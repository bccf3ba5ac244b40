"""`python -m server.scoring`: what it takes, what it says, and how it ends."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from server.consent import Consent
from server.scoring import instruments
from server.scoring.__main__ import run
from server.scoring.alone import alone
from server.scoring.analyses import every
from server.scoring.annotation import Annotation
from server.scoring.asked import Asked, settings, situation, with_ray_address
from server.scoring.errors import ScoringError, Stopped
from server.scoring.gathering import Gathered
from server.scoring.outcome import outcome
from server.scoring.results import Results
from server.scoring.scored import Row
from server.scoring.selection import selection
from server.scoring.spool import Spool
from server.sessions.format import LOCK_FILE
from tests import counting_instrument
from tests.made_sessions import Exchange, made_session

ROOT = Path(__file__).parents[1]
# The command with one instrument that counts.
COMMAND = f"""
import sys
from server.scoring import instruments
from server.scoring.__main__ import run
from server.scoring.analyses import every

if __name__ == "__main__":
    instruments.MODULES.clear()
    instruments.MODULES["counting"] = "{counting_instrument.__name__}"
    every.MODULES.clear()
    run(sys.argv[1:])
"""


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(counting_instrument.COUNT, str(tmp_path / "counted"))
    monkeypatch.setattr(instruments, "MODULES", {"counting": counting_instrument.__name__})
    monkeypatch.setattr(every, "MODULES", {})


def failing(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        run([str(argument) for argument in arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


# -- in a line each


def test_it_tells_how_far_it_is_in_lines_of_json(
    tmp_path: Path, counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        made_session(tmp_path / "runs", turns=1)
    out = tmp_path / "runs/reports/r"
    assert failing(tmp_path / "runs", "--out", out, "--no-report") == 0
    told, said = capsys.readouterr()
    steps = [json.loads(line) for line in told.splitlines()]
    assert steps[0] == {"done": 0, "total": 2, "doing": "scoring"}
    assert {"done": 2, "total": 2, "doing": "scoring"} in steps
    assert said == f"attune: 2 exchanges of 2 sessions scored; open {out / 'scores.json'}\n"
    assert (out / "scores.json").exists()


def test_at_its_end_it_tells_what_was_scored_what_was_not_and_where_to_look(
    tmp_path: Path, counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, out = tmp_path / "runs", tmp_path / "runs/reports/r"
    made_session(runs, turns=2)
    made_session(runs, turns=1)
    made_session(runs, turns=1, consent=Consent(transcript=True, audio=True))
    assert failing(runs, "--out", out) == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        "attune: 3 exchanges of 2 sessions scored, 1 session left out (no consent to research); "
        f"open {out / 'report/index.html'}"
    )


def test_a_run_that_scored_nothing_says_so(
    tmp_path: Path, counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    made_session(tmp_path / "runs", turns=1, consent=Consent(transcript=True))
    failing(tmp_path / "runs", "--out", tmp_path / "runs/reports/r", "--no-report")
    assert capsys.readouterr().err.startswith("attune: nothing was scored, 1 session left out (no")


def test_metrics_without_any_value_are_counted_by_their_reason(tmp_path: Path) -> None:
    with Spool(tmp_path) as exchanges, Spool(tmp_path) as answers:
        gathered = Gathered(exchanges, answers, [], Counter())
        for number in range(2):
            gathered.rows.append(
                Row(
                    "sess_1",
                    number,
                    None,
                    None,
                    {},
                    {"wer": 1.0} if number else {},
                    {
                        "ves": "no judge is configured: --judge URL",
                        "ctx_fit": "no judge is configured: --judge URL",
                        "semsim": "no encoder is configured: encoder",
                        "nisqa": "failed: ValueError" if number else "its weights are not there",
                        "utmos": "no sound",
                        **({} if number else {"wer": "no true transcript"}),
                    },
                    Annotation(),
                    None,
                    None,
                    {},
                    False,
                )
            )
        told = outcome(gathered, ["wer", "ves", "ctx_fit", "semsim", "nisqa", "utmos"], tmp_path)
    assert told == (
        "1 exchange of 1 session scored, 1 exchange without any score, 5 metrics unscored (2: no "
        "judge is configured, 1: no encoder is configured, 1: its weights are not there, 1 for "
        f"other reasons); open {tmp_path / 'scores.json'}"
    )


def test_a_report_never_lies_among_sessions(
    tmp_path: Path, counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    session = made_session(runs, turns=1)
    folder = next(runs.glob(f"*/{session}"))
    (tmp_path / "result").mkdir()
    (tmp_path / "result/items.jsonl").touch()
    before = sorted(runs.rglob("*"))
    for out in (runs, folder.parent, folder, folder / "report", tmp_path / "result"):
        assert failing(runs, "--out", out) == 1
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 1 and said[0].startswith(f"attune: {out} holds ")
    assert sorted(runs.rglob("*")) == before


def test_two_do_not_score_into_one_folder(
    tmp_path: Path, counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    made_session(tmp_path / "runs")
    out = tmp_path / "out"
    with alone(out):
        assert failing(tmp_path / "runs", "--out", out) == 1
        assert capsys.readouterr().err.startswith(f"attune: another run is writing to {out}: wait")
        assert not (out / "scores.json").exists()
    (out / LOCK_FILE).touch()  # as a scorer leaves it that was killed
    assert failing(tmp_path / "runs", "--out", out, "--no-report") == 0
    assert (out / "scores.json").exists() and not (out / LOCK_FILE).exists()


def test_ctrl_c_and_being_told_to_end_have_the_codes_of_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped: BaseException
    for stopped, code in ((KeyboardInterrupt(), 130), (Stopped(), 143)):

        def stop(*told: object, error: BaseException = stopped, **more: object) -> None:
            raise error

        monkeypatch.setattr("server.scoring.__main__.score", stop)
        assert failing("runs", "--out", tmp_path) == code
        assert capsys.readouterr().err.startswith("attune: stopped")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "there is no folder nowhere"),
        (["runs", "--metrics", "letters,digit"], "'digit'; did you mean digits"),
        (["runs", "--judge", "http://127.0.0.1:1/v1"], "--judge needs --judge-model"),
        (["runs", "--judge-model", "m"], "--judge-model needs --judge"),
        (["runs", "--settings", "no.toml"], "no.toml: No such file"),
        (["runs", "--device", "tpu"], "the setting device is not right"),
        (["runs", "--judge-repeats", "0"], "the setting judge.repeats is not right"),
    ],
)
def test_what_is_wrong_is_told_in_one_sentence(
    tmp_path: Path,
    counting: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    made_session(tmp_path / "runs", turns=1)
    assert failing(*arguments, "--out", "out") == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("attune: ") and told in said[0]
    assert not (tmp_path / "out/scores.json").exists()


def test_an_option_that_is_missing_is_told_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing("runs") == 2
    assert "--out" in capsys.readouterr().err.splitlines()[-1]


def test_what_people_said_is_in_no_output(
    tmp_path: Path, counting: None, capsys: pytest.CaptureFixture[str]
) -> None:
    made_session(tmp_path / "runs", turns=[Exchange(user="fail, umbrella", reply="An umbrella.")])
    failing(tmp_path / "runs", "--out", tmp_path / "out", "--no-report")
    told = capsys.readouterr()
    assert "umbrella" not in told.out + told.err
    assert "umbrella" in (tmp_path / "out/scores.json").read_text()


# -- what is asked for


def test_every_metric_of_every_instrument_has_a_name_of_its_own() -> None:
    found = selection(())
    assert found.broken == () and found.wanted.keys() == instruments.MODULES.keys()
    names = [each.name for some in found.wanted.values() for each in some]
    assert len(names) == len(set(names)) == len(found.measures)
    assert all(re.fullmatch("[a-z][a-z0-9_]{0,63}", name) for name in names)


def test_options_go_before_the_file_and_the_key_is_in_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('draws = 300\nseed = 5\n[judge]\nurl = "http://a/v1"\nmodel = "m"\nrepeats = 3')
    told = settings(
        Asked(file=path, seed=9, judge_repeats=2, metrics=["wer", "semsim"], judge_hears=True),
        {"ATTUNE_JUDGE_KEY": "sk-1"},
    )
    assert (told.draws, told.seed, told.judge.seed, told.judge.repeats) == (300, 9, 9, 2)
    assert (told.judge.url, told.judge.model, told.judge.hears) == ("http://a/v1", "m", True)
    assert told.metrics == ("wer", "semsim")
    assert told.judge.key is not None and told.judge.key.get_secret_value() == "sk-1"
    assert "sk-1" not in repr(told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[judge]\nkey = "sk-1"', "belongs into ATTUNE_JUDGE_KEY"),
        ("judge = 5", "is a table"),
        ("draws = 1", "the setting draws is not right"),
        ("colour = 1", "the setting colour is not right"),
        ("draws", "is not TOML"),
    ],
)
def test_a_file_of_settings_that_is_wrong_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "s.toml"
    path.write_text(text)
    with pytest.raises(ScoringError, match=told) as raised:
        settings(Asked(file=path), {})
    assert "sk-1" not in str(raised.value)


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        (["a", "--ray"], ["a", "--ray=local"]),
        (["--ray", "a", "--out", "b"], ["--ray=local", "a", "--out", "b"]),
        (["--ray", "--out", "b"], ["--ray=local", "--out", "b"]),
        (["a", "--ray", "auto"], ["a", "--ray", "auto"]),
        (["a", "--ray", "ray://head:10001"], ["a", "--ray", "ray://head:10001"]),
        (["a", "--ray", "10.0.0.1:6379"], ["a", "--ray", "10.0.0.1:6379"]),
        (["a", "--ray=x:1"], ["a", "--ray=x:1"]),
    ],
)
def test_ray_may_stand_without_an_address(given: list[str], understood: list[str]) -> None:
    assert with_ray_address(given) == understood


def test_a_situation_is_a_text_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "situation.txt").write_text("At the vet's.\n")
    assert situation(None) is None
    assert situation("In a car.") == "In a car."
    assert situation(str(tmp_path / "situation.txt")) == "At the vet's."
    assert situation("long " * 5000) == "long " * 5000


def test_a_situation_is_in_the_scores(tmp_path: Path, counting: None) -> None:
    made_session(tmp_path / "runs", turns=1)
    out = tmp_path / "out"
    failing(tmp_path / "runs", "--out", out, "--no-report", "--context", "In a car.")
    told = Results.model_validate_json((out / "scores.json").read_bytes())
    annotation = told.exchanges[0].annotation
    assert annotation is not None and annotation.context == "In a car."


# -- as a process


def started(tmp_path: Path, *more: str) -> subprocess.Popen[str]:
    script = tmp_path / "command.py"
    script.write_text(COMMAND)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        counting_instrument.COUNT: str(tmp_path / "counted"),
    }
    return subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "runs"), "--out", str(tmp_path / "out"),
         "--no-report", *more],
        env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


def counted(tmp_path: Path) -> Counter[str]:
    path = tmp_path / "counted"
    return Counter(path.read_text().splitlines() if path.exists() else [])


def wait_until_counted(tmp_path: Path, process: subprocess.Popen[str], most: int) -> None:
    until = time.monotonic() + 60
    while counted(tmp_path).total() < most and time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--workers", "2")])
def test_told_to_end_it_ends_at_once_and_keeps_what_is_done(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    for nth in range(6):
        said = "Speak slowly." if nth == 5 else "Hello."
        made_session(tmp_path / "runs", turns=[Exchange(user=said)], session_id=f"sess_{nth:020x}")
    process = started(tmp_path, *more)
    wait_until_counted(tmp_path, process, 6)
    kept = tmp_path / "runs/scores"
    while len(list(kept.glob("*.jsonl"))) < 5:  # whichever was begun first
        assert process.poll() is None
        time.sleep(0.01)
    before = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=10)
    assert time.monotonic() - before < 3
    assert process.returncode == 143
    assert said.splitlines()[-1].startswith("attune: stopped")
    assert not (tmp_path / "out/scores.json").exists()
    assert len(list(kept.iterdir())) == 5


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--workers", "2")])
def test_killed_in_the_middle_it_goes_on_where_it_was(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    for _ in range(8):
        made_session(tmp_path / "runs", turns=[Exchange(user="Wait a little.")] * 5)
    process = started(tmp_path, *more)
    wait_until_counted(tmp_path, process, 15)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    begun = counted(tmp_path)
    assert 15 <= begun.total() < 40
    again = started(tmp_path, *more)
    _, said = again.communicate(timeout=60)
    assert again.returncode == 0, said
    results = Results.model_validate_json((tmp_path / "out/scores.json").read_bytes())
    assert results.metrics[0].n == 40
    # Only what was under way may have been begun twice.
    at_once = 2 if more else 1
    assert 40 <= counted(tmp_path).total() <= 40 + at_once
    assert len(counted(tmp_path)) == 40


@pytest.mark.slow
def test_workers_find_what_one_finds_and_outlive_one_that_dies(tmp_path: Path) -> None:
    ids = [f"sess_{nth:020x}" for nth in range(8)]
    for nth, session_id in enumerate(ids):
        said = "Now die." if nth == 3 else f"Number {nth}."
        made_session(tmp_path / "runs", turns=[Exchange(user=said)], session_id=session_id)
    process = started(tmp_path, "--workers", "2")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    results = Results.model_validate_json((tmp_path / "out/scores.json").read_bytes())
    told = {each.session_id: each.scores["digits"].value for each in results.exchanges}
    assert told == {session_id: 1.0 for session_id in ids if session_id != ids[3]}
    assert [each.where for each in results.broken] == [ids[3]]
    assert "ended without a word" in results.broken[0].problem
    assert results.judges[0].name == "the counter"
