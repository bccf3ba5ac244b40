"""The evaluation's pictures: well-formed, complete, and true to the figures."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
import typer

from models.perception import plots
from models.perception.plots import Bar

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawing: str) -> list[str]:
    found = ElementTree.fromstring(drawing).iter(f"{SVG}text")
    return ["".join(text.itertext()) for text in found]


def boxes(drawing: str, dress: str) -> list[dict[str, float]]:
    return [
        {side: float(box.get(side, "nan")) for side in ("x", "y", "width", "height")}
        for box in ElementTree.fromstring(drawing).iter(f"{SVG}rect")
        if box.get("class") == dress
    ]


def test_a_confusion_shows_each_rows_shares_and_size() -> None:
    drawing = plots.confusion("T", "W", ["a", "b", "c"], [[3, 1, 0], [0, 0, 0], [1, 0, 399]])
    shown = texts(drawing)
    assert shown == ["T", "W", shown[2], "a", "b", "c", "a4", "75", "25", "c400", "<1", "100"]


def test_a_bar_is_as_long_as_its_figure_and_marked_with_its_interval() -> None:
    drawing = plots.bars("T", "W", [Bar("x", 0.4, 0.2, 0.6), Bar("y", 0.8)])
    short, long = boxes(drawing, "fill")
    assert long["width"] == pytest.approx(2 * short["width"])
    (whisker,) = re.findall(r'class="line" d="M([\d.]+) [\d.]+H([\d.]+)', drawing)
    low, high = (float(end) - short["x"] for end in whisker)
    assert low == pytest.approx(short["width"] / 2)
    assert high == pytest.approx(short["width"] * 1.5)


def test_a_reliability_diagram_draws_only_the_bins_that_hold_answers() -> None:
    bins: dict[str, list[Any]] = {
        "n": [0, 2, 6],
        "confidence": [None, 0.5, 0.9],
        "accuracy": [None, 0.4, 0.8],
    }
    drawing = plots.reliability("T", "W", bins, 0.1)
    right, many, more_right, more = boxes(drawing, "fill")
    assert more_right["height"] == pytest.approx(2 * right["height"])
    assert more["height"] == pytest.approx(3 * many["height"], abs=0.2)
    assert drawing.count('class="mark"') == 2
    assert "8 answers, ECE 0.100; marks: how sure they were" in texts(drawing)


def test_names_cannot_break_the_picture() -> None:
    assert "<&>" in texts(plots.bars("<&>", "W", [Bar("a & b", 0.5)]))


def cell(ece: float | None) -> dict[str, Any]:
    return {
        "n": 2,
        "labels": ["happy", "sad"],
        "confusion": [[1, 0], [1, 0]],
        "uar": 0.5,
        "ci": {"uar": [None, None]},
        "reliability": {"n": [2], "confidence": [0.5], "accuracy": [0.5]},
        "ece": ece,
    }


@pytest.fixture
def report(tmp_path: Path) -> Path:
    corpora = {"one": {"emotion": cell(0.1)}, "all": {"emotion": cell(None)}}
    given = {"weights": "default", "role": "dev", "manifest": "m.csv", "corpora": corpora}
    (tmp_path / "report.json").write_bytes(orjson.dumps(given))
    return tmp_path / "report.json"


def test_reports_and_files_of_bars_are_drawn_into_a_folder(report: Path, tmp_path: Path) -> None:
    bars = {"title": "T", "whose": "W", "bars": [{"label": "x", "value": 0.5}]}
    (tmp_path / "ablations.json").write_bytes(orjson.dumps(bars))
    plots.main([report, tmp_path / "ablations.json"], tmp_path / "out")
    drawn = {file.name: file.read_text("utf-8") for file in (tmp_path / "out").iterdir()}
    assert set(drawn) == {
        "ablations.svg",
        "default-uar.svg",
        *(
            f"default-emotion-{c}-{k}.svg"
            for c in ("one", "all")
            for k in ("confusion", "reliability")
        ),
    }
    assert all("prefers-color-scheme: dark" in drawing for drawing in drawn.values())
    assert "default weights, dev of m.csv" in texts(drawn["default-uar.svg"])


def test_some_corpora_can_be_chosen(report: Path, tmp_path: Path) -> None:
    plots.main([report], tmp_path / "out", ["one"])
    assert not list((tmp_path / "out").glob("*-all-*"))


def test_a_corpus_that_is_not_there_is_named(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        plots.main([report], tmp_path / "out", ["two"])
    assert "'two'" in capsys.readouterr().err
