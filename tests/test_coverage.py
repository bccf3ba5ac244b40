"""The coverage table: whole, honest about numbers, and written from what was counted."""

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from models.perception import coverage, labels
from models.perception.coverage import CoverageError, Figure, How
from models.perception.manifest import read_manifest

HOW = Path(coverage.__file__).with_name("coverage.toml").read_text("utf-8")
NUMBERS = Path(coverage.__file__).with_name("coverage.json").read_bytes()


def load(folder: Path, how: str = HOW, numbers: Any = None) -> list[coverage.Row]:
    (folder / "how.toml").write_text(how, "utf-8")
    (folder / "numbers.json").write_bytes(orjson.dumps(numbers) if numbers else NUMBERS)
    return coverage.load(folder / "how.toml", folder / "numbers.json")


def test_every_attribute_has_exactly_one_row() -> None:
    rows = [(row.dimension, row.attribute) for row in coverage.load()]
    attributes = {(d.name, a) for d in labels.DIMENSIONS.values() for a in d.attributes}
    rests = {("age", "adult"), ("emotion", "neutral"), ("volume", "normal"), ("speed", "normal")}
    beyond = {("beyond", name) for name in ("sneeze", "throat", "scream")}
    assert len(attributes) == 39
    assert len(rows) == len(set(rows))
    assert set(rows) == attributes | rests | beyond


def test_what_is_trained_had_clips_to_learn_from() -> None:
    for row in coverage.load():
        for cover in row.covers.values():
            assert (cover.how is How.TRAINED) == (cover.clips > 0), row


def test_every_figure_says_of_how_many_and_of_which_split() -> None:
    for row in coverage.load():
        for cover in row.covers.values():
            if cover.figure:
                assert cover.how.heard
                assert cover.figure.n > 0
                assert cover.figure.split not in ("", "train")


def test_the_weights_that_ship_learn_nothing_from_clips_that_may_not() -> None:
    by_default = {row.attribute: row.covers["default"].how for row in coverage.load()}
    for name in ("surprise", "laughter", "cough", "sigh", "yawn", "sobbing", "scream", "breath"):
        assert by_default[name] is not How.TRAINED


def with_moan(row: str) -> str:
    """The table with another row for moan, whatever it says of it now."""
    changed, times = re.subn(r"^moan = .*$", lambda _: row, HOW, flags=re.MULTILINE)
    assert times == 1
    return changed


def moan(default: str, **extra: str) -> str:
    cells = {"default": f'"{default}"', "research": '"not covered"', **extra}
    return f"moan = {{ {', '.join(f'{key} = {cell}' for key, cell in cells.items())} }}"


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ('groan = "sad"', "nonverbal.moan: no row\nnonverbal.groan: no such attribute"),
        (moan("trained"), "nonverbal.moan, default: trained, on no clips"),
        (moan("guessed"), "'guessed' is not a valid How"),
        ('moan = { default = "measured" }', "moan, research: 'research'"),
        (
            moan("measured", figures='{ default = { metric = "recall", value = 1 } }'),
            "missing 3 required",
        ),
        (
            moan(
                "measured",
                figures='{ default = { metric = "recall", value = 1, n = 0, sources = 3, '
                'split = "dev" } }',
            ),
            "a figure of no n or split",
        ),
    ],
)
def test_a_faulty_table_is_refused(tmp_path: Path, row: str, complaint: str) -> None:
    with pytest.raises(CoverageError, match=complaint):
        load(tmp_path, with_moan(row))


def test_clips_are_counted_by_what_each_weights_may_learn_from(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(
        "role,path,emotion,event,ship_ok,exclude\n"
        "train,1.ogg,calm,,yes,\n"
        "train,2.ogg,neutral,laughing,no-NC,\n"
        "train,3.ogg,neutral,,yes,digital silence\n"
        "dev,4.ogg,neutral,,yes,\n"
        "train,5.ogg,,snoring,yes,\n"
    )
    assert coverage.clips_learnt(read_manifest(tmp_path / "m.csv").clips) == {
        "default": {"neutral": 1},
        "research": {"neutral": 2, "laughter": 1},
    }


def cell(name: str, metric: str, value: float | None, sources: int) -> dict[str, Any]:
    other = {"recall": "auc", "auc": "recall"}[metric]
    return {
        metric: {name: value},
        other: {name: 0.111},
        "support": {name: 12},
        "sources": {name: sources},
        "ci": {metric: {name: [0.5, 0.9]}, other: {name: [None, None]}},
    }


def report(tasks: dict[str, Any], role: str | None = "dev") -> dict[str, Any]:
    return {"weights": "default", "role": role, "limit": None, "corpora": {"all": tasks}}


def test_a_report_gives_recall_of_exclusive_answers_and_auc_of_sounds(tmp_path: Path) -> None:
    tasks = {
        "emotion": cell("happy", "recall", 0.7, sources=9),
        "event": cell("sneeze", "auc", 0.8, sources=9),
        "age_group": cell("elderly", "recall", 0.9, sources=1),
        "env": cell("wind", "auc", None, sources=9),
    }
    figures = coverage.figures_of(report(tasks))
    numbers = orjson.loads(NUMBERS)
    numbers["figures"] = {"default": figures, "research": {}}
    found = {row.attribute: row.covers for row in load(tmp_path, numbers=numbers)}
    assert str(found["happy"]["default"].figure) == "recall 0.70 (0.50–0.90), n = 12, dev"
    assert str(found["sneeze"]["default"].figure) == "AUC 0.80 (0.50–0.90), n = 12, dev"
    assert found["happy"]["research"].figure is None
    assert "wind" not in figures


def test_one_speaker_establishes_nothing() -> None:
    assert str(Figure("recall", 0.9, n=82, sources=1, split="dev")) == (
        "not established (speakers or recordings in dev: 1)"
    )


@pytest.mark.parametrize("role", [None, "train"])
def test_figures_of_clips_learnt_from_are_refused(role: str | None) -> None:
    with pytest.raises(CoverageError, match="never learnt from"):
        coverage.figures_of(report({}, role))


def test_figures_of_a_part_or_of_nothing_are_refused() -> None:
    with pytest.raises(CoverageError, match="without --limit"):
        coverage.figures_of({**report({}), "limit": 100})
    with pytest.raises(CoverageError, match="nothing was heard"):
        coverage.figures_of({**report({}), "weights": None})


def test_what_is_not_heard_shows_no_figure(tmp_path: Path) -> None:
    numbers = orjson.loads(NUMBERS)
    figure = {"metric": "AUC", "value": 0.5, "n": 9, "sources": 9, "split": "dev"}
    numbers["figures"] = {"default": {"moan": figure}, "research": {}}
    rows = load(tmp_path, with_moan(moan("not covered")), numbers)
    assert [r.covers["default"].figure for r in rows if r.attribute == "moan"] == [None]
    lines = coverage.markdown(rows).splitlines()
    assert len(lines) == len(rows) + 2
    assert [line for line in lines if "| moan |" in line] == [
        "|  | moan | not covered | – | not covered | – |  |"
    ]
    assert any("| happy | trained, 837 clips |" in line for line in lines)


def test_a_figure_from_elsewhere_is_written_in_the_row(tmp_path: Path) -> None:
    figure = '{ metric = "recall", value = 0.9, n = 50, sources = 10, split = "made" }'
    row = moan("measured", figures=f"{{ default = {figure} }}")
    shown = {row.attribute: row.covers for row in load(tmp_path, with_moan(row))}
    assert str(shown["moan"]["default"].figure) == "recall 0.90, n = 50, made"
    assert shown["moan"]["research"].figure is None
