"""How well perception does on a labelled collection: `python -m models.perception.evaluate`.

Each clip is heard from its sound alone, without its words. The report, by key:

    weights                   as the percepts name them; null where nothing could be heard
    manifest, role, limit     what was scored
    rows                      of the manifest, after --role and --limit
    scored                    clips heard; the rest have no label to score, or are listed below
    excluded                  rows the manifest tells not to use
    skipped                   [{path, reason}]: files missing, broken or refused
    unmapped, unscored        {column: {label: rows}}: labels that labels.toml does not know, and
                              those it knows to have no counterpart
    seconds_per_audio_second  CPU time of perception (reading the files is not counted)
    corpora                   {corpus or "all": {column: cell}}

and a cell's:

    n                         clips with a label
    labels, confusion         rows are the truth, columns the answer, both in the order of `labels`
                              ("unanswered": the percept held none of the column's names)
    uar, macro_f1             means over the classes that occur among the labels
    recall, support, sources  {class: share recognised, its clips, its speakers}
    auc                       {class: how often its clips get a higher chance of it than others do}
    ece, reliability          of the answer's chance, in 15 bins: n, confidence and accuracy of each
    lacking                   classes that occur and the weights have no name for: recall 0
    unknown, known            answers the percept itself marked unknown; n and uar of the others
    seconds_per_audio_second
    ci                        95 % intervals of uar, macro_f1, ece, recall and auc: 1000 bootstrap
                              resamples of what `resampled_by` says, of which there are `groups`

A figure that cannot be worked out (an interval from one speaker) is null.
"""

import io
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np
import orjson
import soundfile
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table

from models.audio import resample
from models.errors import BackendError
from models.percept import Percept
from models.perception import labels, scores
from models.perception.manifest import Clip, ManifestError, read_manifest
from models.perception.windows import HIGHEST_RATE, LOWEST_RATE
from models.types import EAR_RATE, Samples
from models.weights import WeightsError

COMMAND = "python -m models.perception.evaluate"
ALL = "all"
UNANSWERED = "unanswered"


class Perceives(Protocol):
    """What is scored."""

    def percept_of(self, samples: Samples, words: str = "") -> Percept:
        """What 16 kHz mono sound tells; blocks. Refuses sound it cannot take by ValueError."""


class WeightsChoice(StrEnum):
    DEFAULT = "default"
    RESEARCH = "research"


class Place(NamedTuple):
    """Where a percept holds a name."""

    field: str
    dimension: str  # what the percept calls it when it does not know


def _places() -> dict[str, Place]:
    places = {
        name: Place(dimension.field, dimension.name)
        for dimension in labels.DIMENSIONS.values()
        for name in dimension.answers
    }
    for dimension in labels.DIMENSIONS.values():
        for name in labels.BEYOND.get(dimension.field, ()):
            places[name] = Place(dimension.field, dimension.name)
    return places


# The names a column may ask for, in the taxonomy's order. An event may be anywhere in a percept:
# sobbing is physiological, applause is environment.
CANDIDATES: dict[str, dict[str, Place]] = {
    column: {name: place for name, place in _places().items() if labels.spellings(column, name)}
    for column in labels.COLUMNS
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a percept says to one column of a manifest."""

    truth: str
    chosen: str
    chances: Mapping[str, float]  # of the column's names that the percept holds
    unknown: bool  # the percept itself says not to rely on it


@dataclass(frozen=True, slots=True)
class Heard:
    """A clip and what was made of it."""

    clip: Clip
    answers: Mapping[str, Answer]
    weights: str
    audio_sec: float
    cpu_sec: float


def answer(percept: Percept, column: str, truth: str) -> Answer:
    """The likeliest of the names that the column may ask for."""
    chances = {
        name: held[name]
        for name, place in CANDIDATES[column].items()
        if name in (held := getattr(percept, place.field))
    }
    if not chances:
        return Answer(truth, UNANSWERED, chances, unknown=True)
    chosen = max(chances, key=chances.__getitem__)
    unknown = CANDIDATES[column][chosen].dimension in percept.unknown
    return Answer(truth, chosen, chances, unknown)


def read_clip(file: Path) -> Samples:
    """A recording as the ear takes it: mono, 16 kHz; raises ValueError for one that is unfit."""
    try:
        # From memory: given a name, soundfile would go by its ending.
        data = io.BytesIO(file.read_bytes())
        samples, rate = soundfile.read(data, dtype="float32", always_2d=True)
    except OSError as error:
        raise ValueError(error.strerror) from error
    except soundfile.LibsndfileError as error:
        raise ValueError(f"no recording: {error.error_string}") from error
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise ValueError(f"claims {rate} samples a second; no voice is recorded so")
    if not len(samples):
        raise ValueError("holds no sound")
    if not np.isfinite(samples).all():
        raise ValueError("holds samples that are no numbers")
    return resample(np.ascontiguousarray(samples.mean(axis=1)), rate, EAR_RATE)


def hear(
    clips: Iterable[Clip], audio: Path, perceiver: Perceives
) -> tuple[list[Heard], list[dict[str, str]]]:
    """What was made of the clips, and those that could not be heard, with the reason."""
    heard, skipped = [], []
    for clip in clips:
        try:
            samples = read_clip(audio / clip.path)
            start = time.process_time()
            percept = perceiver.percept_of(samples)
            cpu_sec = time.process_time() - start
        except (ValueError, BackendError) as error:
            skipped.append({"path": clip.path, "reason": str(error)})
            continue
        answers = {column: answer(percept, column, name) for column, name in clip.truth.items()}
        audio_sec = len(samples) / EAR_RATE
        heard.append(Heard(clip, answers, percept.weights, audio_sec, cpu_sec))
    return heard, skipped


def evaluate(
    manifest: Path,
    audio: Path,
    perceiver: Perceives,
    role: str | None = None,
    limit: int | None = None,
    console: Console | None = None,
    resamples: int = scores.RESAMPLES,
) -> dict[str, Any]:
    """Score a manifest, showing the progress on a console; the module's docstring has the keys."""
    found = read_manifest(manifest, role, limit)
    shown = track(found.clips, "hearing", console=console, disable=console is None)
    heard, skipped = hear(shown, audio, perceiver)
    offered: dict[str, set[str]] = defaultdict(set)
    for clip in heard:
        for column, given in clip.answers.items():
            offered[column].update(given.chances)
    corpora: dict[str, dict[str, Any]] = {}
    for corpus in (*sorted({h.clip.corpus for h in heard}), ALL):
        clips = [h for h in heard if corpus in (ALL, h.clip.corpus)]
        corpora[corpus] = {
            column: cell(labelled, column, offered[column], resamples)
            for column in labels.COLUMNS
            if (labelled := [h for h in clips if column in h.answers])
        }
    return {
        "weights": heard[0].weights if heard else None,
        "manifest": manifest.name,
        "role": role,
        "limit": limit,
        "rows": found.rows,
        "scored": len(heard),
        "excluded": found.excluded,
        "skipped": skipped,
        "unmapped": found.unmapped,
        "unscored": found.unscored,
        "seconds_per_audio_second": pace(heard),
        "corpora": corpora,
    }


def cell(
    heard: Sequence[Heard], column: str, offered: set[str], resamples: int = scores.RESAMPLES
) -> dict[str, Any]:
    """The scores of one task on one corpus; `offered` are the names the weights have for it."""
    answers = [h.answers[column] for h in heard]
    occurring = {given.truth for given in answers}
    named = occurring | {given.chosen for given in answers}
    order = [name for name in (*CANDIDATES[column], UNANSWERED) if name in named]
    truth = np.array([order.index(given.truth) for given in answers])
    chosen = np.array([order.index(given.chosen) for given in answers])
    chances = np.array([[given.chances.get(name, 0.0) for name in order] for given in answers])
    answered = np.array([bool(given.chances) for given in answers])
    known = np.array([not given.unknown for given in answers])
    confidence = np.clip(chances[np.arange(len(heard)), chosen], 0, 1)
    groups, resampled_by = _groups([h.clip for h in heard])
    classes = {name: order.index(name) for name in order if name in occurring}

    def matrix(clips: scores.Counts) -> scores.Counts:
        return scores.confusion(truth[clips], chosen[clips], len(order))

    def trust(clips: scores.Counts) -> scores.Reliability:
        clips = clips[answered[clips]]
        return scores.reliability(confidence[clips], truth[clips] == chosen[clips])

    def figures(clips: scores.Counts) -> scores.Figures:
        table = matrix(clips)
        recalls = scores.recalls(table)[list(classes.values())]
        # A draw without one of the classes is an easier task: its means do not count.
        whole = not np.isnan(recalls).any()
        uar, f1 = (scores.uar(table), scores.macro_f1(table)) if whole else (math.nan, math.nan)
        aucs = [
            scores.auc(chances[clips, i], truth[clips] == i) if name in offered else math.nan
            for name, i in classes.items()
        ]
        return np.array([uar, f1, trust(clips).ece, *recalls, *aucs])

    everything = np.arange(len(heard))
    trusted = trust(everything)
    uar, macro_f1, ece, *of_classes = figures(everything).tolist()
    intervals = scores.bootstrap(figures, groups, resamples).tolist()

    def by_class(values: Sequence[Any]) -> dict[str, dict[str, Any]]:
        halves = values[: len(classes)], values[len(classes) :]
        return {
            key: dict(zip(classes, half, strict=True))
            for key, half in zip(("recall", "auc"), halves, strict=True)
        }

    return {
        "n": len(heard),
        "labels": order,
        "confusion": matrix(everything).tolist(),
        "uar": uar,
        "macro_f1": macro_f1,
        **by_class(of_classes),
        "support": {name: int((truth == i).sum()) for name, i in classes.items()},
        "sources": {name: len(set(groups[truth == i])) for name, i in classes.items()},
        "ece": ece,
        "reliability": {
            "n": trusted.n.tolist(),
            "confidence": trusted.confidence.tolist(),
            "accuracy": trusted.accuracy.tolist(),
        },
        "lacking": [name for name in classes if name not in offered],
        "unknown": int((~known).sum()),
        "known": {"n": int(known.sum()), "uar": scores.uar(matrix(everything[known]))},
        "seconds_per_audio_second": pace(heard),
        "ci": {
            **dict(zip(("uar", "macro_f1", "ece"), intervals[:3], strict=True)),
            **by_class(intervals[3:]),
        },
        "resampled_by": resampled_by,
        "groups": int(groups.max()) + 1,
    }


def pace(heard: Sequence[Heard]) -> float:
    """CPU seconds per second of sound."""
    audio_sec = sum(h.audio_sec for h in heard)
    return sum(h.cpu_sec for h in heard) / audio_sec if audio_sec else math.nan


def _groups(clips: Sequence[Clip]) -> tuple[scores.Counts, str]:
    """Which clips are drawn together, and what they have in common."""
    # Speakers of two corpora may share a number. A clip whose speaker is not known stands alone.
    names = [(clip.corpus, clip.speaker or f"clip {i}") for i, clip in enumerate(clips)]
    numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
    named = sum(bool(clip.speaker) for clip in clips)
    by = "speaker" if named == len(clips) else "speaker or clip" if named else "clip"
    return np.array([numbers[name] for name in names]), by


def show(report: Mapping[str, Any], console: Console) -> None:
    """The report in a few lines, for a person."""
    title = f"{report['weights'] or 'no'} weights"
    table = Table("corpus", Column("task", no_wrap=True), title=title, box=SIMPLE_HEAD)
    for heading in ("n", "UAR", "95 %", "macro-F1", "ECE", "unknown"):
        table.add_column(heading, justify="right", no_wrap=True)
    for corpus, tasks in report["corpora"].items():
        for task, found in tasks.items():
            low, high = (_figure(value) for value in found["ci"]["uar"])
            means = [_figure(found[key]) for key in ("macro_f1", "ece")]
            row = [corpus, task, str(found["n"]), _figure(found["uar"]), f"{low}-{high}"]
            table.add_row(*row, *means, str(found["unknown"]))
    console.print(table)
    unmapped = sum(sum(spellings.values()) for spellings in report["unmapped"].values())
    if unmapped or report["skipped"]:
        skipped = len(report["skipped"])
        console.print(f"{unmapped} labels unmapped, {skipped} files skipped: see the report")


def _figure(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.3f}"


def main(
    manifest: Annotated[Path, typer.Option(help="A CSV table with the speech pack's columns.")],
    audio: Annotated[Path, typer.Option(help="The folder its paths start from.")],
    out: Annotated[Path, typer.Option(help="Write the report here, as JSON.")],
    weights: Annotated[WeightsChoice, typer.Option(help="Which weights.")] = WeightsChoice.DEFAULT,
    role: Annotated[str | None, typer.Option(help="Only rows of this role, such as dev.")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only so many rows, drawn at random.")
    ] = None,
) -> None:
    """Score perception on a labelled collection of recordings."""
    # Imported late: the networks behind it are needed only here.
    from models.perception.perceiver import AttunePerceiver

    console = Console(stderr=True)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        report = evaluate(manifest, audio, AttunePerceiver(weights=weights), role, limit, console)
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        out.write_bytes(orjson.dumps(report, option=options))
    except (ManifestError, BackendError, WeightsError, OSError) as error:
        typer.echo(f"evaluate: {error}", err=True)
        raise typer.Exit(1) from None
    show(report, console)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(main)
    app(prog_name=COMMAND)
