"""All sections in their order."""

from server.scoring.report.blocks import Facts, Heading, Para, Section
from server.scoring.report.clips import Conversations
from server.scoring.report.material import Material
from server.scoring.report.sections.attributes import attributes
from server.scoring.report.sections.beside import beside
from server.scoring.report.sections.choices import choices
from server.scoring.report.sections.confusion import confusion
from server.scoring.report.sections.counterfactual import counterfactual
from server.scoring.report.sections.cue_gap import cue_gap
from server.scoring.report.sections.duplex import duplex
from server.scoring.report.sections.exchanges import exchanges
from server.scoring.report.sections.flow import went_wrong
from server.scoring.report.sections.headline import headline
from server.scoring.report.sections.human import human
from server.scoring.report.sections.judges import judges
from server.scoring.report.sections.latencies import latencies
from server.scoring.report.sections.made import made
from server.scoring.report.sections.missing import missing
from server.scoring.report.sections.opening import opening
from server.scoring.report.sections.robustness import robustness
from server.scoring.report.sections.variants import variants

KEPT = ("human",)  # that nobody was asked is worth a heading


def sections(material: Material, conversations: Conversations | None) -> tuple[Section, ...]:
    """Those that have nothing to say are one list, before what was not scored."""
    parts = _parts(material, conversations)
    empty = {each.name: _why(each) for each in parts if each.name not in KEPT}
    absent = tuple((each.title, why) for each in parts if (why := empty.get(each.name)))
    found: list[Section] = []
    for each in parts:
        if each.name == "unscored" and absent:
            found.append(Section("absent", "Not in this run", (Facts(absent),)))
        if not empty.get(each.name):
            found.append(each)
    return tuple(found)


def _why(section: Section) -> str:
    """There is nothing in it; empty where there is something."""
    told = [each for each in section.blocks if not isinstance(each, Heading)]
    if not all(isinstance(each, Para) and each.kind in ("none", "note") for each in told):
        return ""
    return " ".join(each.text for each in told if isinstance(each, Para) and each.kind == "none")


def _parts(material: Material, conversations: Conversations | None) -> tuple[Section, ...]:
    return (
        opening(material),
        headline(material),
        beside(material),
        attributes(material),
        confusion(material),
        cue_gap(material),
        choices(material),
        variants(material),
        went_wrong(material),
        robustness(material),
        latencies(material),
        duplex(material),
        counterfactual(material),
        human(material),
        judges(material),
        exchanges(material, conversations),
        missing(material),
        made(material),
    )
