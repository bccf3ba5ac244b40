"""Where turns end in recordings of one's own: the real ear, and what is told of it."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from server.bench import ends
from server.bench.ends import End, Listening, chosen, figures
from server.bench.sounds import SPEECH
from server.client import CallError
from server.endings import Ending


def end(at_ms: float) -> End:
    return End(at_ms, "So it was.", Ending.COMPLETE, 0.9)


def test_who_was_cut_off_is_told_apart_from_who_waited() -> None:
    found = figures(
        [
            Listening("cut", 2_000, [end(1_000), end(2_300)]),
            Listening("whole", 2_000, [end(2_400)]),
            Listening("nearly", 2_000, [end(1_950)]),  # the last sound of a word is no voice
            Listening("unheard", 2_000, []),
        ]
    )
    assert found["early"] == {"rate": 0.25, "n": 4}
    assert found["waited_ms"]["p50"] == pytest.approx((400 - 50) / 2)
    assert found["never"] == ["unheard"]
    assert [each["early"] for each in found["turns"]] == [True, False, False, False]


def test_parts_of_a_folder_hold_each_recording_once() -> None:
    parts = [chosen(SPEECH, part) for part in ("1/3", "2/3", "3/3")]
    assert sorted(sum(parts, [])) == sorted(chosen(SPEECH, "1/1"))
    for wrong in ("0/2", "3/2", "half", "1", "1/0"):
        with pytest.raises(CallError, match="1/2"):
            chosen(SPEECH, wrong)


def test_a_heading_and_a_told_saying_are_waited_out_by_the_real_ear(tmp_path: Path) -> None:
    names = ("118-121721-0000.ogg", "5514-19192-0000.ogg", "4267-287369-0000.ogg")
    for name in names:  # "A stitch in time …"; "Chapter twelve." …; "…, commented Mr. Jenks." …
        (tmp_path / name).symlink_to(SPEECH / name)
    app = typer.Typer()
    app.command()(ends.main)
    out = tmp_path / "ends.json"
    done = CliRunner().invoke(app, [str(tmp_path), "--out", str(out)])
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text("utf-8"))
    assert found["early"] == {"rate": 0.0, "n": 3}
    assert found["never"] == []
    assert all(0 < each["waited_ms"] < 1_100 for each in found["turns"])
