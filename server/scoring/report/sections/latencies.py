"""How long replies took: distributions and a waterfall."""

from server.scoring.analyses.latencies import Latencies, Stage
from server.scoring.report.analysed import analysed
from server.scoring.report.blocks import (
    Block,
    Figure,
    Grid,
    Section,
    Table,
    figure,
    nothing,
    plain,
)
from server.scoring.report.drawings.histogram import histogram
from server.scoring.report.drawings.waterfall import Span, waterfall
from server.scoring.report.figures import number
from server.scoring.report.material import Material

MAIN = ("reply_latency_ms", "first_sent", "first_audio", "first_token", "words", "gate")
MOST = 6  # histograms
HEAR = ("paused", "judged", "gate", "decision", "words", "percept", "transcribed")
SPEAK = ("first_audio", "first_sent", "heard", "reply_latency_ms")


def latencies(material: Material) -> Section:
    found = analysed(material, "latencies", Latencies)
    name, heading = "latency", "Latency"
    if found is None:
        return Section(name, heading, (nothing("No exchange has timings."),))
    blocks: list[Block] = []
    if found.waterfall is not None:
        spans = [
            Span(_spelt(step.name), step.start_ms, step.end_ms, _kind(step.name))
            for step in found.waterfall.steps
        ]
        drawn = waterfall("Mean waterfall from the end of speech to the reply", spans)
        caption = (
            "What passes between the end of speech (0) and the reply, stage after stage: means "
            f"over n = {found.waterfall.n:,} replies that reached all of them. Green is hearing, "
            "orange thinking, blue speaking."
        )
        blocks.append(Figure(drawn, caption))
    blocks.append(_table(found))
    chosen = [stage for name_ in MAIN for stage in found.stages if stage.name == name_]
    chosen += [stage for stage in found.stages if stage not in chosen]
    blocks.append(Grid(tuple([_histogram(stage)] for stage in chosen[:MOST])))
    return Section(name, heading, tuple(blocks))


def _table(found: Latencies) -> Table:
    rows = tuple(
        plain(
            _spelt(stage.name),
            *(figure(number(value, 0)) for value in (stage.p50, stage.p90, stage.p95, stage.p99)),
            figure(number(stage.mean, 0)),
            figure(f"{number(stage.least, 0)} to {number(stage.most, 0)}"),
            figure(f"{stage.n:,}"),
            stage.about,
        )
        for stage in found.stages
    )
    head = ("Stage", "p50", "p90", "p95", "p99", "Mean", "From, to", "n", "When")
    caption = "Milliseconds after the end of speech. Negative: before the end was certain."
    return Table(head, rows, caption, frozenset(range(1, 8)))


def _histogram(stage: Stage) -> Figure:
    drawn = histogram(
        f"Distribution of {_spelt(stage.name)}",
        stage.histogram.edges,
        stage.histogram.counts,
        (("p50", stage.p50), ("p95", stage.p95)),
    )
    outside = stage.histogram.below + stage.histogram.above
    caption = f"{_spelt(stage.name)}: n = {stage.n:,}" + (
        f", of which {outside:,} far outside are not drawn." if outside else "."
    )
    return Figure(drawn, caption)


def _spelt(name: str) -> str:
    return "in the recording" if name == "reply_latency_ms" else name.replace("_", " ")


def _kind(name: str) -> str:
    return "hear" if name in HEAR else "speak" if name in SPEAK else "think"
