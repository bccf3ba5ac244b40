"""Multiple choice by kind of question, beside what guessing would get right."""

from server.scoring.analyses.choices import Asked, Choices, Level
from server.scoring.report.analysed import analysed, without
from server.scoring.report.blocks import Block, Figure, Heading, Para, Section
from server.scoring.report.drawings.dots import Point, dots
from server.scoring.report.figures import number, span
from server.scoring.report.material import Material
from server.scoring.report.sections.opening import CUES
from server.scoring.statistics import Estimate

LEVELS = {"understanding": "Understanding the voice", "reasoning": "Reasoning about it"}


def choices(material: Material) -> Section:
    found = analysed(material, "choices", Choices)
    name, heading = "choices", "Multiple choice"
    if found is None:
        sentence = "No question of choice was asked."
        return Section(name, heading, (without(material, "choices", sentence),))
    blocks: list[Block] = []
    for asked in found.asked:
        if len(found.asked) > 1:
            blocks.append(Heading(_run(asked)))
        for level in asked.levels:
            blocks += _level(level, _run(asked))
    return Section(name, heading, tuple(blocks))


def _run(asked: Asked) -> str:
    parts = [CUES.get(asked.cue_given or "", ""), asked.condition or ""]
    return ", ".join(part for part in parts if part).capitalize() or "As it is"


def _level(found: Level, run: str) -> list[Block]:
    title = LEVELS.get(found.level, found.level)
    points = [
        _point("all questions", found.micro, found.chance, "two"),
        *(_point(each.kind, each.accuracy, each.chance, "one") for each in found.kinds),
    ]
    drawn = dots(f"{title}: accuracy by kind of question", points, low=0, high=100, unit="%")
    caption = (
        f"{title} ({run}): right answers by kind of question, with 95 % intervals; the dashed mark "
        f"is what guessing gets. Mean over kinds {number(found.macro.mean, 1)} % "
        f"({span(found.macro.low, found.macro.high)}; {found.macro.n:,} kinds), over questions "
        f"{number(found.micro.mean, 1)} %. n = {found.micro.n:,}."
    )
    blocks: list[Block] = [Figure(drawn, caption)]
    if found.missing:
        blocks.append(Para(f"No question of these kinds: {', '.join(found.missing)}.", "note"))
    return blocks


def _point(name: str, found: Estimate, chance: float, kind: str) -> Point:
    told = f"{number(found.mean, 0)} % (guessing {number(chance, 0)}), n = {found.n:,}"
    return Point(name, found.mean, found.low, found.high, told, kind, mark=chance)
