"""What is heard, how it is obtained and how well: `python -m models.perception.coverage`.

Prints the table as Markdown. `--manifest` counts the clips anew, and each `--report` of the
evaluation command brings the figures of its weights; both are kept in coverage.json.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from models.perception import labels
from models.perception.manifest import Clip, ManifestError, read_manifest

COMMAND = "python -m models.perception.coverage"
WEIGHTS = ("default", "research")
BEYOND = "beyond"  # the section of what EchoMind does not count
ENOUGH_SOURCES = 3  # speakers or recordings; of fewer, a figure says nothing about others

_HOW = Path(__file__).with_name("coverage.toml")
_NUMBERS = Path(__file__).with_name("coverage.json")


class How(StrEnum):
    """Where an answer comes from."""

    TRAINED = "trained"
    SYNTHETIC = "synthetic"
    MEASURED = "measured"
    GPU = "gpu profile only"
    NOT = "not covered"

    @property
    def heard(self) -> bool:
        """Whether the weights themselves give an answer."""
        return self not in (How.GPU, How.NOT)


class CoverageError(Exception):
    """A table that says too little or too much: one line for each fault."""


@dataclass(frozen=True, slots=True)
class Figure:
    """How well an attribute is told from the others of its kind."""

    metric: str
    value: float
    n: int  # clips of the attribute
    sources: int  # speakers or recordings they come from
    split: str
    low: float | None = None  # of the 95 % interval
    high: float | None = None

    @property
    def established(self) -> bool:
        return self.sources >= ENOUGH_SOURCES

    def __str__(self) -> str:
        if not self.established:
            return f"not established (speakers or recordings in {self.split}: {self.sources})"
        between = "" if self.low is None else f" ({self.low:.2f}–{self.high:.2f})"
        return f"{self.metric} {self.value:.2f}{between}, n = {self.n}, {self.split}"


@dataclass(frozen=True, slots=True)
class Cover:
    """What one set of weights makes of an attribute."""

    how: How
    clips: int  # recordings of it that the weights learnt from
    figure: Figure | None


@dataclass(frozen=True, slots=True)
class Row:
    """One attribute."""

    dimension: str
    attribute: str
    covers: Mapping[str, Cover]  # by weights
    note: str


def expected() -> Iterator[tuple[str, str]]:
    """Every dimension and attribute that must have a row."""
    for dimension in labels.DIMENSIONS.values():
        yield from ((dimension.name, answer) for answer in dimension.answers)
    yield from ((BEYOND, name) for names in labels.BEYOND.values() for name in names)


def load(how: Path = _HOW, numbers: Path = _NUMBERS) -> list[Row]:
    """The table in the taxonomy's order; raises CoverageError if it is not whole and sound."""
    said = tomllib.loads(how.read_text("utf-8"))
    known = orjson.loads(numbers.read_bytes())
    places = list(expected())
    written = {(dimension, name) for dimension, rows in said.items() for name in rows}
    faults = [f"{d}.{name}: no row" for d, name in places if (d, name) not in written]
    faults += [f"{d}.{name}: no such attribute" for d, name in sorted(written - {*places})]
    if faults:
        raise CoverageError("\n".join(faults))
    rows = [_row(d, name, said[d][name], known) for d, name in places]
    if faults := list(_faults(rows)):
        raise CoverageError("\n".join(faults))
    return rows


def _row(dimension: str, name: str, said: Mapping[str, Any], known: Mapping[str, Any]) -> Row:
    covers = {}
    for weights in WEIGHTS:
        try:
            how = How(said[weights])
            elsewhere = said.get("figures", {}).get(weights)
            figure = elsewhere or known["figures"][weights].get(name)
            covers[weights] = Cover(
                how,
                known["clips"][weights].get(name, 0) if how is How.TRAINED else 0,
                Figure(**figure) if figure and how.heard else None,
            )
        except (KeyError, ValueError, TypeError) as error:
            raise CoverageError(f"{dimension}.{name}, {weights}: {error}") from error
    return Row(dimension, name, covers, said.get("note", ""))


def _faults(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        for weights, cover in row.covers.items():
            if cover.how is How.TRAINED and not cover.clips:
                yield f"{row.dimension}.{row.attribute}, {weights}: trained, on no clips"
            if cover.figure and not (cover.figure.n and cover.figure.split):
                yield f"{row.dimension}.{row.attribute}, {weights}: a figure of no n or split"


def clips_learnt(clips: Sequence[Clip]) -> dict[str, dict[str, int]]:
    """By weights and attribute, how many clips were there to learn from."""
    learnt = {
        "default": [clip for clip in clips if clip.role == "train" and clip.ships],
        "research": [clip for clip in clips if clip.role == "train"],
    }
    return {
        weights: dict(Counter(name for clip in of for name in clip.truth.values()))
        for weights, of in learnt.items()
    }


def figures_of(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The evaluation's figure for each attribute that occurred.

    One of several that exclude each other is judged by its recall. A sound that stands alone is
    judged by how its chance ranks clips: its recall would rest on which others can be named.
    """
    if report["weights"] not in WEIGHTS:
        raise CoverageError(f"a report of weights {report['weights']!r}: nothing was heard")
    if report["limit"] is not None:
        raise CoverageError("a figure needs every clip: evaluate without --limit")
    if report["role"] in (None, "train"):
        raise CoverageError("a figure needs clips never learnt from: evaluate with --role dev")
    figures = {}
    for column, cell in report["corpora"]["all"].items():
        metric = "AUC" if column in ("event", "env") else "recall"
        for name, value in cell[metric.lower()].items():
            low, high = cell["ci"][metric.lower()][name]
            if value is not None:
                counts = {"n": cell["support"][name], "sources": cell["sources"][name]}
                spread = {"value": value, "low": low, "high": high}
                figures[name] = {"metric": metric, **spread, **counts, "split": report["role"]}
    return figures


def markdown(rows: Sequence[Row]) -> str:
    """The table for a reader."""
    heads = ["Dimension", "Attribute", "Default weights", "How well"]
    heads += ["Research weights", "How well", "Note"]
    lines = [heads, ["---"] * len(heads)]
    before = ""
    for row in rows:
        cells = [cell for weights in WEIGHTS for cell in _cells(row.covers[weights])]
        name = "" if row.dimension == before else row.dimension.replace("_", " ")
        lines.append([name, row.attribute, *cells, row.note])
        before = row.dimension
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cells(cover: Cover) -> tuple[str, str]:
    how = f"{cover.how}, {cover.clips:,} clips" if cover.clips else str(cover.how)
    if not cover.how.heard:
        return how, "–"
    return how, str(cover.figure or "not established")


def main(
    manifest: Annotated[Path | None, typer.Option(help="Count this manifest's clips.")] = None,
    report: Annotated[list[Path] | None, typer.Option(help="Take this report's figures.")] = None,
) -> None:
    """Print what is heard, how and how well, as Markdown."""
    try:
        known = orjson.loads(_NUMBERS.read_bytes())
        if manifest:
            known["clips"] = clips_learnt(read_manifest(manifest).clips)
        for file in report or ():
            found = orjson.loads(file.read_bytes())
            known["figures"][found["weights"]] = figures_of(found)
        if manifest or report:
            options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
            _NUMBERS.write_bytes(orjson.dumps(known, option=options))
        typer.echo(markdown(load()), nl=False)
    except (CoverageError, ManifestError, OSError, orjson.JSONDecodeError) as error:
        typer.echo(f"coverage: {error}", err=True)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(main)
    app(prog_name=COMMAND)
