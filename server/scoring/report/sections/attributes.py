"""Which cues are hard: figures by attribute and by dimension, and words against voice."""

from models.perception.labels import DIMENSIONS
from server.reports import Group, Metric
from server.scoring.report.blocks import (
    Block,
    Figure,
    Heading,
    Para,
    Row,
    Section,
    Table,
    figure,
    nothing,
    plain,
)
from server.scoring.report.drawings.heat import Heat, heat
from server.scoring.report.drawings.scatter import Place, scatter
from server.scoring.report.figures import digits, measured, number, span
from server.scoring.report.material import Material

FEW = 12  # cues below which those that do not occur get no row
COLUMNS = 10  # metrics a heat map has room for
CHOSEN = (
    "cue_recall",
    "ctx_fit",
    "speech_rel",
    "ves",
    "emo_align",
    "vocalbench_acoustic",
    "wer",
    "choice_understanding",
    "choice_reasoning",
    "steering_minilm",
    "similarity_minilm",
    "rouge_l",
    "aeq_supportiveness",
    "aeq_expressiveness",
    "humdial_congruence",
    "bertscore_minilm",
    "dnsmos_ovrl",
    "reply_latency_ms",
)
SPELT = {
    "nonverbal": "non-verbal", "human_sounds": "human sounds", "sudden_events": "sudden events",
}  # fmt: skip
LINGUISTIC = ("speech_rel", "ctx_fit", "aeq_supportiveness", "steering_minilm", "similarity_minilm")
VOCAL = ("ves", "aeq_expressiveness", "humdial_congruence", "vocalbench_acoustic", "emo_align")

Groups = dict[str, dict[str, Group]]


def attributes(material: Material) -> Section:
    cues = material.groups("cue")
    blocks: list[Block] = []
    metrics = _chosen(material, cues)
    if not metrics:
        blocks.append(
            nothing(
                "No true cue is known of these exchanges, or there is only one: figures by cue "
                "need a data set that tells how things were said."
            )
        )
        return Section("cues", "By cue", tuple(blocks))
    rows = [
        (SPELT.get(dimension.name, dimension.name), attribute)
        for dimension in DIMENSIONS.values()
        for attribute in dimension.attributes
    ]
    if "neutral" in cues:
        rows.append(("none", "neutral"))
    absent = [name for _, name in rows if name not in cues]
    if len(rows) - len(absent) < FEW:
        rows = [row for row in rows if row[1] in cues]
    blocks += _map("attribute", rows, cues, metrics)
    if absent:
        told = f"{len(absent)} of EchoMind's 39 attributes do not occur: {', '.join(absent)}."
        blocks.append(Para(told, "note"))
    dimensions = material.groups("dimension")
    if dimensions:
        names = [("", name) for name in (*DIMENSIONS, *dimensions) if name in dimensions]
        names = list(dict.fromkeys(names))
        blocks.append(Heading("By dimension"))
        blocks += _map("dimension", names, dimensions, metrics)
    blocks += _against(material, cues)
    return Section("cues", "By cue", tuple(blocks))


def _chosen(material: Material, cues: Groups) -> list[Metric]:
    told = {name for groups in cues.values() for name, each in groups.items() if each.n}
    found = material.scored(name for name in CHOSEN if name in told)
    return found[:COLUMNS]


def _map(
    what: str, rows: list[tuple[str, str]], groups: Groups, metrics: list[Metric]
) -> list[Block]:
    cells = {}
    for index, (_, name) in enumerate(rows):
        for place, metric in enumerate(metrics):
            found = groups.get(name, {}).get(metric.name)
            if found is not None and found.mean is not None:
                cells[index, place] = _cell(found, metric, groups)
    known = sum(1 for _, name in rows if name in groups)
    those = f"; {known} of {len(rows)} occur" if known < len(rows) else ""
    caption = (
        f"Mean of each metric by {what}{those}. The stronger the colour, the better within its "
        "column; the small figure is the number of exchanges."
    )
    title = f"Mean of {len(metrics)} metrics by {what}"
    drawn = heat(title, rows, [each.title for each in metrics], cells, row=32.0)
    told = [_read(name, groups[name], metrics) for _, name in rows if name in groups]
    head = (what.capitalize(), *(each.title for each in metrics))
    table = Table(head, tuple(told), numeric=frozenset(range(1, len(head))))
    return [Figure(drawn, caption, table)]


def _cell(found: Group, metric: Metric, groups: Groups) -> Heat:
    assert found.mean is not None
    others = [each[metric.name].mean for each in groups.values() if metric.name in each]
    known = [each for each in others if each is not None]
    low, high = min(known), max(known)
    if metric.smallest is not None and metric.largest is not None:
        # A quarter of the scale at least, so that small differences stay pale.
        room = max(0.0, (metric.largest - metric.smallest) / 4 - (high - low)) / 2
        low, high = low - room, high + room
    share = (found.mean - low) / (high - low) if high > low else 0.5
    if metric.higher_is_better is False:
        share = 1 - share
    about = (
        f"{found.value}, {metric.title}: {measured(found.mean, metric)} "
        f"({span(found.low, found.high, metric)}), n = {found.n}"
    )
    return Heat(share, number(found.mean, digits(found.mean, metric)), f"{found.n}", about)


def _read(name: str, found: dict[str, Group], metrics: list[Metric]) -> Row:
    cells = []
    for metric in metrics:
        group = found.get(metric.name)
        if group is None or group.mean is None:
            cells.append(figure("–"))
        else:
            told = (
                f"{measured(group.mean, metric)} ({span(group.low, group.high, metric)}; {group.n})"
            )
            cells.append(figure(told))
    return plain(name, *cells)


def _against(material: Material, cues: Groups) -> list[Block]:
    """What is said and how, against each other by cue."""
    pair = (material.scored(LINGUISTIC)[:1], material.scored(VOCAL)[:1])
    if not pair[0] or not pair[1]:
        return []
    words, voice = pair[0][0], pair[1][0]
    places = []
    for name, found in sorted(cues.items()):
        x, y = found.get(words.name), found.get(voice.name)
        if x is not None and y is not None and x.mean is not None and y.mean is not None:
            about = f"{name}: {measured(x.mean, words)} and {measured(y.mean, voice)}, n = {x.n}"
            places.append(Place(name, x.mean, y.mean, _ends(x), _ends(y), about))
    if len(places) < 3:
        return []
    drawn = scatter(
        f"{words.title} against {voice.title} by cue",
        places,
        words.title,
        voice.title,
        _axis(words, [(each.x, each.x_span) for each in places]),
        _axis(voice, [(each.y, each.y_span) for each in places]),
    )
    caption = (
        f"What replies say ({words.title}) against how they sound ({voice.title}): a dot is a cue, "
        f"lines are 95 % intervals; {len(places)} cues. Two figures side by side, never a sum."
    )
    return [Heading("Words against voice"), Figure(drawn, caption)]


def _ends(group: Group) -> tuple[float, float] | None:
    return None if group.low is None or group.high is None else (group.low, group.high)


def _axis(
    metric: Metric, known: list[tuple[float, tuple[float, float] | None]]
) -> tuple[float, float]:
    values = [each for value, span_ in known for each in (value, *(span_ or ()))]
    low, high = min(values), max(values)
    margin = (high - low) * 0.08 or 1.0
    least = low - margin if metric.smallest is None else max(metric.smallest, low - margin)
    most = high + margin if metric.largest is None else min(metric.largest, high + margin)
    return least, most
