"""One recording's percept, from the command line."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pytest
import soundfile

from models.audio import resample
from models.perception.labels import DIMENSIONS, EMOTIONS
from models.types import EAR_RATE
from tests.made_voices import recorded

ROOT = Path(__file__).parent.parent


def run(*arguments: str | Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    places = {"ATTUNE_CACHE": str(cache)} if cache else {}
    return subprocess.run(
        [sys.executable, "-m", "models.perception", *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | places,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_stereo_recording_at_another_rate_gives_one_percept_as_json(tmp_path: Path) -> None:
    file = tmp_path / "voice.wav"
    mono = resample(recorded("201-122255-0000"), EAR_RATE, 44_100)
    soundfile.write(file, np.stack([mono, 0.5 * mono], axis=1), 44_100)
    done = run(file, "--words", "I'm fine.")
    assert (done.returncode, done.stderr) == (0, "")
    percept = orjson.loads(done.stdout)
    assert percept.keys() >= {
        *("emotion", "gender", "age", "events", "environment", "physiological"),
        *("volume", "speed", "vad", "prosody", "unknown"),
    }
    assert list(percept["emotion"]) == list(EMOTIONS)
    assert percept["gender"]["male"] > 0.7
    assert percept["prosody"]["f0_mean"] == pytest.approx(119, abs=5)
    assert set(percept["unknown"]) <= DIMENSIONS.keys()
    assert percept["seconds"] == pytest.approx(4.93, abs=0.01)


def missing(file: Path) -> None:
    pass


def text(file: Path) -> None:
    file.write_text("Dear diary, today I recorded nothing at all.")


def not_numbers(file: Path) -> None:
    soundfile.write(file, np.full(EAR_RATE, np.nan, np.float32), EAR_RATE, "FLOAT")


def nothing(file: Path) -> None:
    soundfile.write(file, np.zeros(0, np.float32), EAR_RATE)


@pytest.mark.parametrize(
    ("write", "complaint"),
    [
        (missing, "No such file"),
        (text, "no recording"),
        (not_numbers, "no numbers"),
        (nothing, "holds no sound"),
    ],
)
def test_what_is_no_recording_is_told_in_one_line(
    tmp_path: Path, write: Callable[[Path], None], complaint: str
) -> None:
    file = tmp_path / "[voice].wav"
    write(file)
    done = run(file)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(str(file)) and complaint in line


def test_research_weights_that_are_not_there_are_told_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "voice.wav"
    soundfile.write(file, np.zeros(EAR_RATE, np.float32), EAR_RATE)
    done = run(file, "--weights", "research", cache=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "make research-weights" in line
