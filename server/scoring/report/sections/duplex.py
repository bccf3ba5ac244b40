"""Who speaks when: Full-Duplex-Bench's tables and HumDial's composite."""

from server.scoring.analyses.duplex import Duplex, Task
from server.scoring.analyses.humdial import HumDial
from server.scoring.report.analysed import analysed, title, without
from server.scoring.report.blocks import (
    Block,
    Cell,
    Heading,
    Row,
    Section,
    Table,
    figure,
    nothing,
    plain,
)
from server.scoring.report.figures import chance, measured, number, span, suffix
from server.scoring.report.material import Material

TASKS = {
    "pause": "Pauses: it should wait",
    "backchannel": "Backchannels: it should nod, not talk",
    "turn_taking": "Turns: it should answer",
    "interruption": "Interruptions: it should answer",
    "user_interruption": "The user interrupts",
    "user_backchannel": "The user nods along",
    "talking_to_other": "The user talks to somebody else",
    "background_speech": "Somebody else talks",
    "conversation": "Plain conversation",
}
TIMED = "A composite after HumDial's, from the recording alone"


def duplex(material: Material) -> Section:
    found = analysed(material, "duplex", Duplex)
    name, heading = "duplex", "Who speaks when"
    if found is None:
        sentence = "Nothing was recorded of which one could tell who spoke when."
        return Section(name, heading, (without(material, "duplex", sentence),))
    blocks: list[Block] = []
    parts = (
        ("Full-Duplex-Bench 1.0", found.v1),
        ("Full-Duplex-Bench 1.5: being talked over", found.v15),
    )
    for head, tasks in parts:
        known = [task for task in tasks if any(each.n for each in task.figures)]
        blocks.append(Heading(head))
        blocks.append(
            _table(known, material) if known else nothing("No figure of this in this run.")
        )
    blocks += _changes(found, material)
    blocks += _humdial(found.humdial)
    return Section(name, heading, tuple(blocks))


def _table(tasks: list[Task], material: Material) -> Table:
    rows: list[Row] = []
    for task in tasks:
        rows.append(
            Row((Cell(f"{TASKS.get(task.task, task.task)} ({task.n:,} exchanges)"),), heading=True)
        )
        for each in task.figures:
            metric = material.metrics.get(each.metric)
            if not each.n:
                continue
            value = measured(each.mean, metric) if metric is not None else number(each.mean)
            better = metric.higher_is_better if metric is not None else None
            arrow = {True: " ↑", False: " ↓", None: ""}[better]
            if each.metric == "take_over" and task.task == "conversation":
                arrow = ""
            rows.append(
                plain(
                    title(material, each.metric) + arrow,
                    figure(value, strong=True),
                    figure(span(each.low, each.high, metric)),
                    figure(f"{each.n:,}"),
                    figure(f"{each.unscored:,}", faint=True),
                )
            )
    head = ("Task and metric", "Mean", "95 % interval", "n", "Unscored")
    return Table(head, tuple(rows), "", frozenset({1, 2, 3, 4}))


def _changes(found: Duplex, material: Material) -> list[Block]:
    if not found.changes:
        return []
    rows = tuple(
        plain(
            TASKS.get(each.task, each.task),
            title(material, each.metric),
            figure(number(each.mean) + suffix(each.unit)),
            figure(span(each.low, each.high)),
            figure(chance(each.p).removeprefix("p ").removeprefix("= ")),
            figure(number(each.t)),
            figure(f"{each.n:,}"),
        )
        for each in found.changes
    )
    caption = (
        "The reply's voice after an overlap less before, with 95 % bootstrap intervals, p by "
        "permutation (signs flipped), and Student's t."
    )
    head = ("Task", "Change", "Mean", "95 % interval", "p", "t", "n")
    return [
        Heading("The voice after an overlap"),
        Table(head, rows, caption, frozenset(range(2, 7))),
    ]


def _humdial(found: HumDial | None) -> list[Block]:
    if found is None:
        return []
    timed = found.behaviour == "timed"
    blocks: list[Block] = [Heading(TIMED if timed else "HumDial's composite")]
    if found.final is None:
        missing = ", ".join(found.missing) or "a part"
        blocks.append(nothing(f"It cannot be told: {missing} could not be scored."))
    rows = (
        plain(
            "Interruptions answered, %",
            figure(number(found.respond, 1)),
            figure(f"{found.n.get('respond', 0):,}"),
        ),
        plain(
            "All else let pass, %",
            figure(number(found.resume, 1)),
            figure(f"{found.n.get('resume', 0):,}"),
        ),
        plain("Mean delay, s", figure(number(found.delay_sec, 3)), figure("–")),
        plain("Delay score", figure(number(found.delay_score, 1)), figure("–")),
        plain("Final", figure(number(found.final, 1), strong=True), figure("–")),
    )
    by = (
        "No judge was asked: what was answered and let pass is told by when both sides sound, so "
        "these figures are not to be held against published ones. "
        if timed
        else ""
    )
    caption = (
        f"{by}0.4 · answered + 0.4 · let pass + 0.2 · delay score; the delay score is 100 at "
        f"{found.least_sec:g} s and 50 at {found.baseline_sec:g} s. {found.note}"
    )
    blocks.append(Table(("Part", "Value", "n"), rows, caption.strip(), frozenset({1, 2})))
    return blocks
