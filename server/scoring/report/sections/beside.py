"""Our figures beside the published ones, and what of them may be compared."""

from collections.abc import Mapping

from server.scoring.analyses.empathy_eval import EmpathyEval
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
from server.scoring.report.figures import DASH, number
from server.scoring.report.material import Material, Tally
from server.scoring.report.published import Column, Published, tables

CUES = {
    "true": "true cue given",
    "none": "no cue",
    "perceived": "cue perceived",
    None: "as it is",
}
EMPATHY_EVAL = "analysis:empathy_eval."


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
    return number(value, places) if isinstance(value, float) else DASH


def _places(published: Published) -> list[int]:
    """Of each column: as many decimals as were published, and two for one of ours alone."""
    columns = list(zip(*published.rows.values(), strict=True))
    places = [max((_decimals(each) for each in column), default=0) or 2 for column in columns]
    small = all(each < 10 for column in columns for each in column if isinstance(each, float))
    return [max(places)] * len(places) if small else places


def _decimals(value: float | str) -> int:
    return len(f"{value:.4f}".rstrip("0").partition(".")[2]) if isinstance(value, float) else 0


def _ours(published: Published, material: Material) -> list[Row]:
    """A row for each way the cue was given; of this data set if the run has it."""
    names = [column.ours for column in published.columns]
    rows = []
    same = {place for place in material.tallies if place[0] == published.benchmark}
    for benchmark, cue in sorted(same or material.tallies, key=str):
        tallies = material.tallies[benchmark, cue]
        cells = [
            _value(column, places, tallies, material if same else None)
            for column, places in zip(published.columns, _places(published), strict=True)
        ]
        if not any(cell.text != DASH for cell in cells):
            continue
        n = max((tallies[each].n for each in names if each and each in tallies), default=0)
        where = "" if same else f", {benchmark or 'own talk'}: other data"
        about = f"n = {n:,} at most" if n else ""
        name = Cell(f"Attune, {CUES.get(cue, str(cue))}{where}", about=about)
        rows.append(Row((name, *cells), ours=True))
    return rows


def _value(
    column: Column, places: int, tallies: Mapping[str, Tally], material: Material | None
) -> Cell:
    if column.ours is None:
        return figure(DASH)
    if column.ours.startswith(EMPATHY_EVAL):
        return _analysed(column.ours.removeprefix(EMPATHY_EVAL), material)
    tally = tallies.get(column.ours)
    if tally is None or tally.mean is None:
        return figure(DASH)
    value = tally.mean * column.scale
    return figure(number(value, places), about=f"{column.ours}, n = {tally.n}")


def _analysed(setting: str, material: Material | None) -> Cell:
    """EmpathyEval's score is none of a single exchange."""
    found = analysed(material, "empathy_eval", EmpathyEval) if material is not None else None
    standing = [] if found is None else [s for s in found.standings if s.setting == setting]
    if not standing:
        return figure(DASH)
    return figure(number(standing[0].score, 3), about=f"{standing[0].items} items")


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
        lines.append((told + column.note).strip())
    lines.append("† judged by a model: other judge, other numbers. ‡ differs as told here.")
    return tuple(lines)
