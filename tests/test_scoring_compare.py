"""Two runs compared: what is paired, what a difference is, and what must not be called one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from server.scoring.compare import main
from server.scoring.report.comparison import Comparison, compare
from server.scoring.report.comparison_page import html, pairing, text
from server.scoring.report.sides import side

METRIC = {
    "name": "speech_rel", "title": "Takes up the cue", "family": "echomind", "judge": "qwen",
    "higher_is_better": True, "smallest": 1, "largest": 5, "mean": 1.0, "n": 9,
}  # fmt: skip
WER = {
    "name": "wer", "title": "WER", "family": "understanding", "unit": "%",
    "higher_is_better": False, "smallest": 0, "largest": 100, "mean": 1.0, "n": 9,
}  # fmt: skip
KEYS = {"echomind": "1 qwen t0", "understanding": "2"}


def item(name: str, value: float | None, **truth: Any) -> dict[str, Any]:
    """One exchange that answers an item of a data set."""
    told = {"benchmark": "csv", "item": name, **truth}
    return exchange(0, value, annotation=told)


def exchange(number: int, value: float | None, **more: Any) -> dict[str, Any]:
    score = {"unscored": "none"} if value is None else {"value": value}
    scores = {"speech_rel": score, "wer": score}
    return {"session_id": "sess_" + "0" * 20, "number": number, "scores": scores, **more}


def run(folder: Path, exchanges: list[dict[str, Any]], **more: Any) -> Path:
    folder.mkdir()
    told = {
        "schema_version": 1, "made": "2026-03-20T12:00:00Z", "software": "attune 0.1.0",
        "judges": [{"name": "qwen", "version": "1"}], "metrics": [METRIC, WER],
        "run": {"command": [], "python": "", "packages": {}, "machine": "", "settings": {},
                "instruments": KEYS},
        "exchanges": exchanges, **more,
    }  # fmt: skip
    (folder / "scores.json").write_text(json.dumps(told))
    return folder


def compared(
    tmp_path: Path,
    a: list[dict[str, Any]],
    b: list[dict[str, Any]],
    *,
    second: dict[str, Any] | None = None,
) -> Comparison:
    before, after = run(tmp_path / "before", a), run(tmp_path / "after", b, **(second or {}))
    return compare(side(before), side(after), draws=2000)


def test_the_difference_is_the_mean_over_the_same_items(tmp_path: Path) -> None:
    a = [item("x", 1.0), item("y", 2.0), item("z", 3.0), item("only here", 5.0)]
    b = [item("z", 3.5), item("x", 2.0), item("y", 2.0), item("only there", 1.0)]
    found = compared(tmp_path, a, b)
    first = found.metrics[0]
    # x gains 1, y gains 0, z gains a half: a half in the mean, from means of 2 and 2.5.
    assert first.difference == pytest.approx(0.5)
    assert (first.mean_a, first.mean_b) == (2.0, 2.5)
    assert first.paired and first.n == 3
    assert (found.pairs, found.by_item) == (3, 3)
    assert (first.low, first.high, first.verdict) == (None, None, "too few")


def test_the_interval_lies_between_what_single_items_gain(tmp_path: Path) -> None:
    gains = [0.0, 0.5, 1.0, 0.0, 0.5, 1.0]
    a = [item(str(n), 2.0) for n in range(6)]
    b = [item(str(n), 2.0 + gain) for n, gain in enumerate(gains)]
    first = compared(tmp_path, a, b).metrics[0]
    assert first.low is not None and first.high is not None
    assert 0 < first.low < 0.5 < first.high < 1


def test_a_few_items_make_no_winner(tmp_path: Path) -> None:
    """Two that gain 0.1 and 0.3 were once enough; not even five alike are."""
    two = compared(
        tmp_path, [item("x", 1.0), item("y", 1.0)], [item("x", 1.1), item("y", 1.3)]
    ).metrics[0]
    assert (two.p, two.low, two.verdict) == (None, None, "too few")
    (tmp_path / "five").mkdir()
    a, b = ([item(str(n), value) for n in range(5)] for value in (1.0, 2.0))
    five = compared(tmp_path / "five", a, b).metrics[0]
    assert (five.p, five.verdict) == (2 / 2**5, "none")


def test_what_always_gains_the_same_has_a_narrow_interval_and_a_small_p(tmp_path: Path) -> None:
    a = [item(str(n), n % 4 + 1.0) for n in range(20)]
    b = [item(str(n), n % 4 + 1.5) for n in range(20)]
    first, second = compared(tmp_path, a, b).metrics
    assert (first.low, first.difference, first.high) == (0.5, 0.5, 0.5)
    assert first.p == pytest.approx(1 / 2001)  # of 2,000 ways to give signs none is so far apart
    assert first.verdict == "b"
    assert second.verdict == "a"  # more errors are not better


def test_a_difference_that_may_be_chance_is_none(tmp_path: Path) -> None:
    a = [item(str(n), 3.0) for n in range(12)]
    b = [item(str(n), 3.0 + (1 if n % 2 else -1)) for n in range(12)]
    first = compared(tmp_path, a, b).metrics[0]
    assert first.difference == 0
    assert first.verdict == "none"
    assert first.p == pytest.approx(1.0, abs=0.05)


def test_p_is_corrected_for_the_number_of_metrics(tmp_path: Path) -> None:
    a = [item(str(n), 3.0) for n in range(12)]
    b = [item(str(n), 3.0 + (n % 3 - 0.55)) for n in range(12)]
    first, second = compared(tmp_path, a, b).metrics
    assert first.p is not None and first.p == second.p
    # Holm by hand: of two equal values the smaller is doubled, the larger not below it.
    assert first.corrected == second.corrected == pytest.approx(min(1.0, 2 * first.p))


def test_an_item_is_the_same_whatever_was_told_of_the_cue(tmp_path: Path) -> None:
    a = [item("x", 1.0, cue_given="none"), item("y", 1.0, cue_given="none")]
    b = [item("x", 3.0, cue_given="true"), item("y", 2.0, cue_given="true")]
    found = compared(tmp_path, a, b)
    assert found.pairs == 2
    assert found.metrics[0].difference == pytest.approx(1.5)


def test_an_ablation_is_compared_cue_by_cue(tmp_path: Path) -> None:
    a = [item("x", 1.0, cue_given="none"), item("x", 5.0, cue_given="true")]
    b = [item("x", 2.0, cue_given="none"), item("x", 5.0, cue_given="true")]
    found = compared(tmp_path, a, b)
    assert found.pairs == 2
    assert found.metrics[0].n == 2


@pytest.mark.parametrize("apart", ["variant", "condition", "context", "speech"])
def test_variants_and_conditions_are_other_items(tmp_path: Path, apart: str) -> None:
    values = {"variant": ("target", "neutral"), "speech": ("human", "synthetic")}
    first, second = values.get(apart, ("clean", "noise 5 dB"))
    a = [item("x", 1.0, **{apart: first})]
    b = [item("x", 2.0, **{apart: second})]
    assert compared(tmp_path, a, b).pairs == 0


def test_an_item_played_twice_counts_once_as_its_mean(tmp_path: Path) -> None:
    a = [item("x", 1.0), item("x", 3.0), item("y", 2.0)]
    b = [item("x", 4.0), item("y", 2.0)]
    first = compared(tmp_path, a, b).metrics[0]
    assert first.n == 2
    assert first.difference == pytest.approx(1.0)  # 4 - 2, and 0


def test_a_recording_that_was_played_again_is_the_same_talk(tmp_path: Path) -> None:
    first, again = "sess_" + "0" * 20, "sess_" + "1" * 20
    session = {"id": again, "started": "2026-03-14T09:26:53Z", "replay_of": first}
    a = [exchange(0, 1.0), exchange(1, 2.0)]
    b = [{**exchange(0, 2.0), "session_id": again}, {**exchange(1, 2.0), "session_id": again}]
    found = compared(tmp_path, a, b, second={"sessions": [session]})
    assert (found.pairs, found.by_item) == (2, 0)
    assert found.metrics[0].difference == pytest.approx(0.5)


def test_the_same_sessions_scored_twice_are_paired(tmp_path: Path) -> None:
    a = [exchange(0, 1.0), exchange(1, 2.0)]
    found = compared(tmp_path, a, [exchange(1, 4.0), exchange(0, 1.0)])
    assert found.metrics[0].difference == pytest.approx(1.0)


def test_where_nothing_is_the_same_the_two_are_independent_and_that_is_said(tmp_path: Path) -> None:
    a = [item(f"a{n}", 1.0 + n % 2) for n in range(10)]
    b = [item(f"b{n}", 4.0 + n % 2) for n in range(14)]
    found = compared(tmp_path, a, b)
    first = found.metrics[0]
    assert not first.paired and first.n == 24
    assert first.difference == pytest.approx(3.0)
    assert first.verdict == "b"
    assert "independent samples" in pairing(found)
    assert "24 unpaired" in html(found)


def test_one_pair_is_too_few_to_tell(tmp_path: Path) -> None:
    first = compared(tmp_path, [item("x", 1.0)], [item("x", 2.0)]).metrics[0]
    assert (first.difference, first.p, first.verdict) == (1.0, None, "too few")


ITEMS = [item(str(n), 2.0) for n in range(9)]
BETTER = [item(str(n), 4.0) for n in range(9)]


@pytest.mark.parametrize(
    ("second", "why"),
    [
        ({"metrics": [{**METRIC, "judge": "gemma"}, WER], "judges": [{"name": "gemma"}]},
         "judged by qwen 1 and by gemma"),
        ({"judges": [{"name": "qwen", "version": "2"}]}, "judged by qwen 1 and by qwen 2"),
        ({"metrics": [{**METRIC, "judge": None}, WER]}, "judged by qwen 1 and by nobody"),
        ({"run": {"command": [], "python": "", "packages": {}, "machine": "", "settings": {},
                  "instruments": {**KEYS, "echomind": "1 qwen t0.7"}}},
         "measured by another echomind"),
    ],
)  # fmt: skip
def test_what_was_measured_otherwise_is_not_called_a_difference(
    tmp_path: Path, second: dict[str, Any], why: str
) -> None:
    found = compared(tmp_path, ITEMS, BETTER, second=second)
    judged, computed = found.metrics
    assert judged.verdict == "not comparable" and why in judged.why_not
    assert judged.difference is None and judged.p is None and judged.corrected is None
    assert (judged.mean_a, judged.mean_b) == (2.0, 4.0)
    assert computed.verdict == "a"
    assert computed.corrected == computed.p  # corrected over what is compared, and nothing else
    assert why in text(found)


def test_metrics_that_only_one_run_has_are_listed(tmp_path: Path) -> None:
    found = compared(tmp_path, ITEMS, BETTER, second={"metrics": [METRIC]})
    assert found.only_a == ["wer"] and found.only_b == []
    assert [each.metric for each in found.metrics] == ["speech_rel"]


# ---- the command


def asked(*given: object, width: int = 200) -> Any:
    app = typer.Typer()
    app.command()(main)
    return CliRunner().invoke(app, [str(each) for each in given], env={"COLUMNS": str(width)})


def test_the_command_shows_a_table_and_writes_three_files(tmp_path: Path) -> None:
    a, b = run(tmp_path / "before", ITEMS), run(tmp_path / "after", BETTER)
    done = asked(a, b, "--out", tmp_path / "out", "--draws", 500)
    assert done.exit_code == 0
    line = next(each for each in done.stdout.splitlines() if each.startswith("Takes up the cue"))
    assert "2.00" in line and "+2.00" in line and line.rstrip().endswith("B better")
    written = Comparison.model_validate_json((tmp_path / "out" / "comparison.json").read_bytes())
    assert written.draws == 500 and written.metrics[0].verdict == "b"
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert "B (after) is better" in page and "<svg" in page
    assert "B (after) is better" in (tmp_path / "out" / "comparison.md").read_text()


def test_a_narrow_terminal_shows_whole_titles_and_every_figure(tmp_path: Path) -> None:
    title = "Takes up how it was said, in words and in voice (C4)"
    metrics = [{**METRIC, "title": title}, {**WER, "judge": "qwen"}]
    a = run(tmp_path / "a", [item(str(n), 2.0 + n % 2) for n in range(9)])
    b = run(tmp_path / "b", [item(str(n), 4.0) for n in range(9)], metrics=metrics)
    done = asked(a, b, width=80)
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80 and "…" not in done.stdout
    assert " ".join(title.split()[:5]) in done.stdout  # and on with the next line
    (row,) = (each for each in lines if each.startswith("Takes up"))
    # Five items gain 2 and four gain 1; of 512 ways to give signs two are so far apart.
    figures = ["2.44", "4.00", "+1.56", "1.22", "to", "1.89", "0.004", "9", "B", "better"]
    assert row.split()[-len(figures) :] == figures
    assert "WER: judged by nobody and by qwen 1" in lines


def test_the_result_of_a_benchmark_is_compared_by_its_report_and_has_its_own_name(
    tmp_path: Path,
) -> None:
    for name, items in (("monday", ITEMS), ("tuesday", BETTER)):
        (tmp_path / name).mkdir()
        run(tmp_path / name / "report", items)
    done = asked(tmp_path / "monday", tmp_path / "tuesday" / "report")
    assert done.stdout.splitlines()[:2] == ["A: monday", "B: tuesday"]


def test_times_are_told_to_the_second(tmp_path: Path) -> None:
    found = compared(tmp_path, ITEMS, BETTER, second={"made": "2026-03-20T12:00:01.123456Z"})
    assert found.b.made == "2026-03-20T12:00:01+00:00"


def test_a_run_that_cannot_be_read_is_told_in_a_sentence(tmp_path: Path) -> None:
    good = run(tmp_path / "good", ITEMS)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "scores.json").write_text('{"exchanges": [{"scores": 1}]}')
    for bad in ("empty", "broken", "nowhere"):
        done = asked(good, tmp_path / bad)
        assert done.exit_code == 1
        assert re.fullmatch(r"attune: [^\n]+\.\n", done.stderr), bad
        assert str(tmp_path / bad) in done.stderr
        assert "Traceback" not in done.output


def test_hostile_names_steer_neither_the_terminal_nor_the_page(tmp_path: Path) -> None:
    bad = "<img src=x onerror=alert(1)>\x1b[2J|`"
    odd = {**METRIC, "title": bad}
    a = run(tmp_path / "before", ITEMS)
    b = run(tmp_path / "after", BETTER, metrics=[odd, WER], software=bad)
    assert asked(a, b, "--out", tmp_path / "out").exit_code == 0
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert "<img" not in page and "\x1b" not in page and "&lt;img" in page
    assert "\x1b" not in asked(a, b).stdout
