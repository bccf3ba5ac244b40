"""Where poor replies went wrong, as a flow."""

from server.scoring.analyses.flow import BEGIN, FINE, UNKNOWN, Flow, Tally
from server.scoring.report.analysed import analysed, without
from server.scoring.report.blocks import (
    Block,
    Bullets,
    Cell,
    Figure,
    Folded,
    Para,
    Section,
    Table,
    figure,
    plain,
)
from server.scoring.report.drawings.flow import Link, Node, flow
from server.scoring.report.figures import counted, share
from server.scoring.report.material import Material


def went_wrong(material: Material) -> Section:
    found = analysed(material, "flow", Flow)
    name, heading = "flow", "Where poor replies went wrong"
    if found is None:
        sentence = (
            "No reply was judged or could be compared with a reference: none can be called poor."
        )
        return Section(name, heading, (without(material, "flow", sentence),))
    blocks: list[Block] = [Para(_told(found)), _figure(found), _stages(found)]
    about = tuple(f"{stage.title}: {stage.about}" for stage in found.stages)
    blocks.append(Folded("What counts as going wrong", (Para(found.rule), Bullets(about))))
    return Section(name, heading, tuple(blocks))


def _told(found: Flow) -> str:
    told = (
        f"{counted(found.poor, 'reply', 'replies')} of {found.good + found.poor:,} are poor "
        f"({found.by_judge:,} by a judge's word, {found.by_proxy:,} by proxies)."
    )
    if found.undecided:
        told += f" Of {found.undecided:,} nobody can say."
    if found.poor:
        titles = {node.name: node.title for node in found.nodes}
        first = {name: n for name, n in found.went_wrong.items() if n}
        parts = ", ".join(f"{titles.get(name, name).lower()} {n:,}" for name, n in first.items())
        told += f" What went wrong first: {parts}."
    return told


def _figure(found: Flow) -> Figure:
    stages = [stage.name for stage in found.stages]
    columns = {BEGIN: 0}
    for place, stage in enumerate(stages):
        columns[f"after_{stage}"] = columns[stage] = place + 1
    last = len(stages) + 1
    nodes: list[Node] = []
    places: dict[str, int] = {}
    total = found.good + found.poor
    for node in found.nodes:
        came = [link for link in found.links if link.target == node.name]
        count = total if node.name == BEGIN else sum(link.good + link.poor for link in came)
        if not count:
            continue
        poor = found.poor if node.name == BEGIN else sum(link.poor for link in came)
        places[node.name] = len(nodes)
        passing = node.name == BEGIN or node.name.startswith("after_")
        kind = (
            "unknown"
            if node.name == UNKNOWN
            else "fine"
            if passing or node.name == FINE
            else "poor"
        )
        told = f"{count:,}" + (f", {poor:,} poor" if poor else "")
        shown = "" if passing and node.name != BEGIN else node.title
        nodes.append(Node(shown, columns.get(node.name, last), count, kind, told))
    links = [
        Link(places[link.source], places[link.target], n, kind)
        for link in found.links
        for n, kind in ((link.poor, "poor"), (link.good, "fine"))
        if n
    ]
    links.sort(key=lambda link: link.target)  # what goes on lies above what ends
    heads = ("All replies", *(stage.name.capitalize() for stage in found.stages), "End")
    drawn = flow(
        "From the user's words to the reply: where poor replies went wrong", heads, nodes, links
    )
    caption = (
        f"All {total:,} replies from left to right; each leaves the stream at the first stage "
        "known to be wrong. Orange bands are poor replies, green ones good. What nobody measured "
        "is “not known”, never “fine”."
    )
    if found.by_proxy:
        caption += (
            f" Of {found.by_proxy:,} no judge was asked: among those, a quarter of the run is poor "
            "by construction, since the replies least like their references are called so."
        )
    return Figure(drawn, caption)


def _stages(found: Flow) -> Table:
    rows = tuple(
        plain(stage.title, *_tallied(stage.poor), *_tallied(stage.good)) for stage in found.stages
    )
    head = ("Stage", "Poor: wrong", "of known", "not known", "Good: wrong", "of known", "not known")
    caption = (
        "How often each stage was wrong, whatever came before it, among poor and good replies."
    )
    return Table(head, rows, caption, frozenset(range(1, 7)))


def _tallied(tally: Tally) -> tuple[Cell, ...]:
    known = tally.wrong + tally.fine
    part = share(tally.wrong / known if known else None)
    return tuple(figure(told) for told in (f"{tally.wrong:,}", part, f"{tally.unknown:,}"))
