"""How long replies took: distributions and a waterfall."""

from server.scoring.analyses.latencies import FEW, Latencies, Stage
from server.scoring.report.analysed import analysed, without
from server.scoring.report.blocks import (
    Block,
    Figure,
    Grid,
    Para,
    Section,
    Table,
    figure,
    plain,
)
from server.scoring.report.drawings.histogram import histogram
from server.scoring.report.drawings.strip import strip
from server.scoring.report.drawings.waterfall import Span, waterfall
from server.scoring.report.figures import number
from server.scoring.report.material import Material

MAIN = ("reply_latency_ms", "first_sent", "first_audio", "first_token", "words", "gate")
MOST = 6  # histograms
HEAR = ("judged", "gate", "words", "percept")
SPEAK = ("first_audio", "first_sent", "reply_latency_ms")


def latencies(material: Material) -> Section:
    found = analysed(material, "latencies", Latencies)
    name, heading = "latency", "Latency"
    if found is None:
        return Section(name, heading, (without(material, "latencies", "No exchange has timings."),))
    blocks: list[Block] = []
    if found.waterfall is not None:
        spans = [
            Span(_spelt(step.name), step.start_ms, step.end_ms, _kind(step.name))
            for step in found.waterfall.steps
        ]
        drawn = waterfall("Mean waterfall from the end of speech to the reply", spans)
        caption = (
            "What passes between the end of speech (0) and the first sound that goes out, stage "
            f"after stage: means over n = {found.waterfall.n:,} replies that reached all of them. "
            "Green is hearing, orange thinking, blue speaking."
        )
        blocks.append(Figure(drawn, caption))
        if later := found.waterfall.later:
            told = ", ".join(f"{_spelt(name)} ({at:,.0f} ms)" for name, at in later.items())
            blocks.append(
                Para(
                    f"Reached after the first sound, on average: {told}. Nobody waits for that: an "
                    "opening is already heard.",
                    "note",
                )
            )
    blocks.append(_table(found))
    chosen = [stage for name_ in MAIN for stage in found.stages if stage.name == name_]
    chosen += [stage for stage in found.stages if stage not in chosen]
    blocks.append(Grid(tuple([_histogram(stage)] for stage in chosen[:MOST])))
    return Section(name, heading, tuple(blocks))


def _table(found: Latencies) -> Table:
    rows = tuple(
        plain(
            _spelt(stage.name),
            figure(f"{stage.n:,}"),
            *(figure(number(value, 0)) for value in (stage.p50, stage.p90, stage.p95, stage.p99)),
            figure(number(stage.mean, 0)),
            figure(f"{number(stage.least, 0)} to {number(stage.most, 0)}"),
            stage.about,
        )
        for stage in found.stages
    )
    head = ("Stage", "n", "p50", "p90", "p95", "p99", "Mean", "From, to", "When")
    caption = (
        "Milliseconds after the end of speech. Negative: before the end was certain. Of fewer than "
        f"{FEW} there is no p95 and no p99."
    )
    return Table(head, rows, caption, frozenset(range(1, 8)))


def _histogram(stage: Stage) -> Figure:
    title = f"Distribution of {_spelt(stage.name)}"
    if stage.values:
        drawn = strip(title, stage.values, (("p50", stage.p50),))
        return Figure(drawn, f"{_spelt(stage.name)}: n = {stage.n:,}, each a dot.")
    marks = [(name, at) for name, at in (("p50", stage.p50), ("p95", stage.p95)) if at is not None]
    drawn = histogram(title, stage.histogram.edges, stage.histogram.counts, marks)
    outside = stage.histogram.below + stage.histogram.above
    caption = f"{_spelt(stage.name)}: n = {stage.n:,}" + (
        f", of which {outside:,} far outside are not drawn." if outside else "."
    )
    return Figure(drawn, caption)


def _spelt(name: str) -> str:
    return "in the recording" if name == "reply_latency_ms" else name.replace("_", " ")


def _kind(name: str) -> str:
    return "hear" if name in HEAR else "speak" if name in SPEAK else "think"
