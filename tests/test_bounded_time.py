"""Nothing runs for ever: a stage of .ci/run that hangs is stopped and named, and so is a test."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from server.config import ROOT

pytest_plugins = ["pytester"]

RUN = (ROOT / ".ci/run").read_text("utf-8")
PYTEST = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]
LIMITS = re.findall(r"(?m)^stage (\S+) (make \S+)", RUN)


def ci(folder: Path, make: str, limit: str | None = None) -> subprocess.CompletedProcess[str]:
    """.ci/run in a folder of its own, with another make; limit takes the place of its own."""
    script = folder / ".ci/run"
    script.parent.mkdir()
    script.write_text(re.sub(r"(?m)^stage \S+", f"stage {limit}", RUN) if limit else RUN)
    stand_in = folder / "make"
    stand_in.write_text(f"#!/bin/bash\necho $1 >> {folder}/asked\n{make}\n")
    stand_in.chmod(0o755)
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    # It can be told to end, even if whoever runs the tests does not listen to an interrupt.
    command = ["env", "--default-signal=INT", "bash", str(script)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text().split()


def test_every_stage_has_its_time_and_all_together_end_within_an_hour_and_a_half() -> None:
    assert [command for _, command in LIMITS] == ["make check", "make test", "make test-all"]
    assert sum(int(limit.removesuffix("m")) for limit, _ in LIMITS) < 90
    assert len(re.findall(r"(?m)^\s*(?:\S+ )*make ", RUN)) == len(LIMITS), "one has no limit"


def test_stages_that_pass_are_followed_by_the_next(tmp_path: Path) -> None:
    done = ci(tmp_path, "exit 0")
    assert (done.returncode, done.stderr) == (0, "")
    assert asked(tmp_path) == ["check", "test", "test-all"]


def test_a_stage_that_fails_is_named_and_its_code_kept(tmp_path: Path) -> None:
    done = ci(tmp_path, "test $1 != test || exit 7")
    assert done.returncode == 7
    assert done.stderr == ".ci/run: make test failed with 7\n"
    assert asked(tmp_path) == ["check", "test"]


def test_a_stage_that_hangs_is_stopped_with_all_it_started_and_named(tmp_path: Path) -> None:
    # What a shell puts in the background does not listen to an interrupt, and keeps our pipes open.
    done = ci(tmp_path, "sleep 600 & wait", limit="0.5s")
    assert done.returncode == 124
    assert done.stderr == ".ci/run: make check did not end within 0.5s and was stopped\n"
    assert asked(tmp_path) == ["check"]


@pytest.mark.parametrize(("number", "code"), [("INT", 130), ("TERM", 143)])
def test_told_to_end_the_stage_that_runs_is_asked_to_as_well(
    tmp_path: Path, number: str, code: int
) -> None:
    tidies = f"trap 'echo tidied >> {tmp_path}/asked; exit 1' INT; kill -{number} $run"
    find = "run=$(cut -d ' ' -f 4 /proc/$PPID/stat); "  # the parent of the one with the clock
    done = ci(tmp_path, f"{find}{tidies}; while :; do sleep 0.05; done")
    assert done.returncode == code
    assert asked(tmp_path) == ["check", "tidied"]


def test_a_test_that_hangs_fails_and_the_next_one_runs(pytester: pytest.Pytester) -> None:
    ours = PYTEST["ini_options"]
    assert 0 < ours["timeout"] <= 300
    pytester.makeini(
        f"[pytest]\ntimeout = 0.3\ntimeout_method = {ours['timeout_method']}\nasyncio_mode = auto\n"
        "asyncio_default_fixture_loop_scope = function\n"
    )
    pytester.makepyfile(
        "import asyncio, threading\n"
        "async def test_a(): await asyncio.Event().wait()\n"
        "def test_b(): threading.Event().wait()\n"
        "async def test_c(): await asyncio.sleep(0)\n"
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.parseoutcomes() == {"failed": 2, "passed": 1}
    result.stdout.fnmatch_lines(["*Timeout (>0.3s) from pytest-timeout*"])
