"""Our figures beside the published ones, and what of them may be compared."""

from collections.abc import Sequence
from typing import Any

from server.scoring.analyses.empathy_eval import EmpathyEval
from server.scoring.arms import OWN_TALK
from server.scoring.report.analysed import analysed
from server.scoring.report.blocks import (
    Block,
    Bullets,
    Cell,
    Folded,
    Para,
    Row,
    Section,
    Table,
    figure,
)
from server.scoring.report.figures import DASH, number, share
from server.scoring.report.material import Material, Way
from server.scoring.report.published import Column, Published, tables

CUES = {
    "true": "true cue given",
    "none": "no cue",
    "perceived": "cue perceived",
    None: "as it is",
}
SPEECH = {"human": "people's speech", "synthetic": "synthetic speech"}
ANALYSIS = "analysis:"
USUAL = (None, "perceived")  # what analyses are over
ELSEWHERE, CAUTION = "§", "‡"
JUDGED = ("respond", "resume", "final")  # of HumDial's composite


def beside(material: Material) -> Section:
    blocks: list[Block] = [
        Para(
            "Published figures were given by other judges, with other prompts, mostly on other "
            "recordings. Language models' scores are not comparable between judges: read across "
            "these rows for what is large and what is small, not for who wins.",
            "warning",
        )
    ]
    without = []
    for published in tables():
        rows = _ours(published, material)
        if rows:
            blocks += _shown(published, rows, material)
        else:
            without.append(published)
    for published in without:
        told = Para("This run has no figure that could stand beside these.", "none")
        inside: tuple[Block, ...] = (told, *_shown(published, [], material))
        blocks.append(Folded(f"{published.title} (published)", inside))
    return Section("beside", "Beside what others published", tuple(blocks))


def _shown(published: Published, ours: list[Row], material: Material) -> list[Block]:
    head = ("System", *(_head(column) for column in published.columns))
    decimals = _places(published)
    theirs = [
        Row(
            (
                Cell(name),
                *(
                    figure(_published(value, places))
                    for value, places in zip(values, decimals, strict=True)
                ),
            )
        )
        for name, values in published.rows.items()
    ]
    group = Row((Cell(f"Published, other judge — {published.source}"),), heading=True)
    mine = [Row((Cell("This run"),), heading=True), *ours] if ours else []
    caption = (
        f"{published.title}. {published.about} Published judge: {published.judge}. "
        f"Licence: {published.licence}."
    )
    numeric = frozenset(range(1, len(head)))
    found: list[Block] = [Table(head, (*mine, group, *theirs), caption, numeric)]
    if notes := _notes(published, material):
        found.append(Folded(f"What may be compared: {published.title}", (Bullets(notes),)))
    return found


def _head(column: Column) -> str:
    unit = f" {column.unit}" if column.unit else ""
    arrow = {True: " ↑", False: " ↓", None: ""}[column.higher_is_better]
    mark = {"computed": "", "judged": " †", "caution": " ‡"}[column.relation]
    return f"{column.title}{unit}{arrow}{mark}"


def _published(value: float | str, places: int) -> str:
    return DASH if isinstance(value, str) else number(value, places)


def _places(published: Published) -> list[int]:
    """Of each column: as many decimals as were published, columns of small figures all alike."""
    columns = [
        [each for each in column if not isinstance(each, str)]
        for column in zip(*published.rows.values(), strict=True)
    ]
    places = [max((_decimals(each) for each in column), default=2) for column in columns]
    small = [all(each < 10 for each in column) for column in columns]
    most = max((each for each, is_small in zip(places, small, strict=True) if is_small), default=0)
    return [most if is_small else each for each, is_small in zip(places, small, strict=True)]


def _decimals(value: float) -> int:
    return len(f"{value:.4f}".rstrip("0").partition(".")[2])


def _ours(published: Published, material: Material) -> list[Row]:
    """A row for each way of playing; of this data set if the run has it."""
    same = any(way.benchmark == published.benchmark for way in material.tallies)
    rows = []
    for played in _played(published, material, same):
        first = played[0]
        usual = same and all(way.cue_given in USUAL for way in played)
        cells = [
            _value(column, places, played, material, usual=usual)
            for column, places in zip(published.columns, _places(published), strict=True)
        ]
        if not any(cell.text != DASH for cell in cells):
            continue
        told = _named(first, published, same) + _silent(played, material)
        rows.append(Row((Cell(told), *cells), ours=True))
    return rows


def _played(published: Published, material: Material, same: bool) -> list[list[Way]]:
    """Ways that make a row together; the first names it. What was not told joins every row."""
    names = ("benchmark", *published.apart)
    ways = [w for w in material.tallies if not same or w.benchmark == published.benchmark]
    keys = {tuple(getattr(way, name) for name in names) for way in ways}
    whole = [key for key in keys if not any(_joins(key, other) for other in keys - {key})]
    return [
        sorted(
            (w for w in ways if _joins(tuple(getattr(w, name) for name in names), key)),
            key=lambda w: (sum(getattr(w, name) is None for name in names), str(w)),
        )
        for key in sorted(whole, key=str)
    ]


def _joins(key: tuple[str | None, ...], other: tuple[str | None, ...]) -> bool:
    return key[0] == other[0] and all(
        one in (None, another) for one, another in zip(key, other, strict=True)
    )


def _named(way: Way, published: Published, same: bool) -> str:
    parts = [CUES.get(way.cue_given, str(way.cue_given))]
    if "prompt" in published.apart and way.prompt:
        parts.append(f"{way.prompt} prompt")
    if "speech" in published.apart and way.speech:
        parts.append(SPEECH.get(way.speech, way.speech))
    if not same:
        parts.append(f"{way.benchmark or OWN_TALK}: other data")
    return f"Attune, {', '.join(parts)}"


def _silent(played: Sequence[Way], material: Material) -> str:
    asked = [tally for way in played if (tally := material.answered.get(way)) is not None]
    n = sum(each.n for each in asked)
    missing = n - sum(each.total for each in asked)
    return f"; {share(missing / n)} got no reply" if missing else ""


def _value(
    column: Column, places: int, played: Sequence[Way], material: Material, *, usual: bool
) -> Cell:
    if column.ours is None:
        return figure(DASH)
    if column.ours.startswith(ANALYSIS):
        path = column.ours.removeprefix(ANALYSIS).split(".")
        value = _analysed(path, material) if usual else None
        return figure(number(value, places))
    for task in column.tasks or (None,):
        ways = [way for way in played if _fits(way, column, task)]
        found = [t for way in ways if (t := material.tallies[way].get(column.ours)) is not None]
        if n := sum(each.n for each in found):
            value = sum(each.total for each in found) / n * column.scale
            marks = "" if not column.tasks or task == column.tasks[0] else ELSEWHERE
            marks += "" if _has_encoder(column, material) else CAUTION
            told = f"{number(value, places)}{f' {marks}' if marks else ''}"
            return figure(told, about=f"{column.ours}, n = {n}")
    return figure(DASH)


def _fits(way: Way, column: Column, task: str | None) -> bool:
    """People's own talk has no task; it stands in rows that say so."""
    if column.speech is not None and way.speech != column.speech:
        return False
    return task is None or way.task in (None, task)


def _has_encoder(column: Column, material: Material) -> bool:
    """Whether the folder of the encoder names the network that theirs was made with."""
    if not column.encoder:
        return True
    run = material.head.run
    told = (run.settings.get("encoders") or {}) if run is not None else {}
    folder = told.get("semsim") if isinstance(told, dict) else None
    return column.encoder.lower() in str(folder or "").lower()


def _analysed(path: Sequence[str], material: Material) -> float | None:
    """What is none of a single exchange: EmpathyEval's counts, HumDial's composite."""
    if path[0] == "empathy_eval":
        found = analysed(material, path[0], EmpathyEval)
        standing = [s for s in found.standings if s.setting == path[1]] if found else []
        return getattr(standing[0], path[2] if len(path) > 2 else "score") if standing else None
    told: Any = material.head.analyses
    for name in path:
        # What no judge has said stands beside no judge's opinion; a delay is a delay.
        if name in JUDGED and isinstance(told, dict) and told.get("behaviour") == "timed":
            return None
        told = told.get(name) if isinstance(told, dict) else None
    return float(told) if isinstance(told, int | float) else None


def _notes(published: Published, material: Material) -> tuple[str, ...]:
    lines = []
    for column in published.columns:
        told = f"{column.title}: "
        if column.ours is None:
            told += "we have no such figure. "
        elif column.relation == "judged":
            metric = material.metrics.get(column.ours)
            judge = metric.judge if metric is not None and metric.judge else "none in this run"
            told += f"{column.ours}, judged; our judge: {judge}. "
        else:
            told += f"{column.ours}. "
        if column.never:
            told += f"Never {', '.join(column.never)}. "
        if column.tasks:
            told += f"Over {_listed(column.tasks)}{_of(column)}. "
        if column.encoder and not _has_encoder(column, material):
            told += f"‡: the encoder of this run is not called {column.encoder}. "
        lines.append((told + column.note).strip())
    lines.append(
        "† judged by a model: other judge, other numbers. ‡ differs as told here. § over the "
        "second kind of item that is named, since the run has none of the first. Clean plays only."
    )
    return tuple(lines)


def _listed(tasks: Sequence[str]) -> str:
    return " items, or else ".join(task.replace("_", " ") for task in tasks) + " items"


def _of(column: Column) -> str:
    return f" of {SPEECH[column.speech]}" if column.speech else ""
