"""What was perceived by what was really there."""

from server.scoring.analyses.confusion import Confusion, Matrix
from server.scoring.report.analysed import analysed, without
from server.scoring.report.blocks import (
    Block,
    Figure,
    Folded,
    Grid,
    Para,
    Section,
    Table,
    figure,
    nothing,
    plain,
)
from server.scoring.report.drawings.heat import Heat, heat
from server.scoring.report.figures import counted, number, span
from server.scoring.report.material import Material

READ = (
    "Rows are what was true, columns what was perceived. Cells are counts; the stronger the "
    "colour, the larger the share of the row. Right answers are outlined."
)


def confusion(material: Material) -> Section:
    found = analysed(material, "confusion", Confusion)
    name, heading = "confusion", "Perceived and true cue"
    if found is None:
        sentence = (
            "No exchange has a true cue: what was perceived cannot be compared with anything."
        )
        return Section(name, heading, (without(material, "confusion", sentence),))
    blocks: list[Block] = []
    if found.overall.n:
        blocks.append(_summary(found))
        shown = [each for each in found.dimensions if each.n]
        blocks.append(Para(READ, "note"))
        blocks.append(Grid(tuple([_matrix(each)] for each in shown)))
        if len(found.dimensions) > 1:
            blocks.append(Folded("All dimensions in one matrix", (_matrix(found.overall),)))
    if found.no_percept:
        blocks.append(
            Para(f"{counted(found.no_percept, 'exchange')} with a true cue had no percept.", "note")
        )
    if found.again:
        blocks.append(
            Para(
                f"{counted(found.again, 'further exchange')} played a recording once more, with "
                "another question; each recording is counted once.",
                "note",
            )
        )
    if found.given:
        blocks.append(
            Para(
                f"{counted(found.given, 'exchange')} had the true cue given; to know it there is "
                "no merit, and they are not counted here.",
                "note",
            )
        )
    return Section(name, heading, tuple(blocks) or (nothing("Nothing was perceived."),))


def _summary(found: Confusion) -> Table:
    rows = tuple(
        plain(
            matrix.dimension.replace("_", " "),
            figure(number(matrix.accuracy.mean, 1), strong=True),
            figure(span(matrix.accuracy.low, matrix.accuracy.high)),
            figure(f"{matrix.n:,}"),
            figure(number(matrix.balanced, 1)),
            figure(f"{matrix.unsure:,}"),
        )
        for matrix in (*found.dimensions, found.overall)
    )
    head = ("Dimension", "Right %", "95 % interval", "n", "Balanced %", "Not sure")
    caption = (
        "How often the likeliest cue of the true one's dimension was the true one. “Not sure” is "
        "not right. Balanced: the mean over cues, whatever their number."
    )
    return Table(head, rows, caption, frozenset(range(1, 6)))


def _matrix(matrix: Matrix) -> Figure:
    cells, right = {}, []
    for i, true in enumerate(matrix.true):
        total = sum(matrix.counts[i]) or 1
        for j, seen in enumerate(matrix.perceived):
            count = matrix.counts[i][j]
            if true == seen:
                right.append((i, j))
            if count or true == seen:
                about = f"{true} perceived as {seen}: {count} of {total}"
                cells[i, j] = Heat(count / total, f"{count}", about=about)
    what = matrix.dimension.replace("_", " ")
    title = f"Perceived against true cue: {what}"
    rows = [("", name) for name in matrix.true]
    drawn = heat(title, rows, matrix.perceived, cells, cell=44.0, outlined=right)
    caption = f"{what.capitalize()}, n = {matrix.n:,}."
    table = Table(
        ("True", *matrix.perceived),
        tuple(
            plain(name, *(figure(f"{count}") for count in counts))
            for name, counts in zip(matrix.true, matrix.counts, strict=True)
        ),
        numeric=frozenset(range(1, len(matrix.perceived) + 1)),
    )
    return Figure(drawn, caption, table, unfolds=False)
