"""Whether the judge prefers what we did to what we did not do; and EmpathyEval's score."""

from server.scoring.analyses.counterfactual import Counterfactual
from server.scoring.analyses.empathy_eval import EmpathyEval, Standing
from server.scoring.report.analysed import analysed, without
from server.scoring.report.blocks import (
    Block,
    Figure,
    Heading,
    Para,
    Row,
    Section,
    Table,
    figure,
    plain,
)
from server.scoring.report.drawings.dots import Point, dots
from server.scoring.report.figures import DASH, number, span
from server.scoring.report.material import Material

OF = {"voice": "Our voice, not a flat one", "words": "Our words, not another cue's"}
SETTINGS = {"all": "All", "context": "Context varies", "tone": "Tone varies"}


def counterfactual(material: Material) -> Section:
    blocks: list[Block] = [*_pairs(material), Heading("EmpathyEval"), *_choices(material)]
    return Section("counterfactual", "Counterfactual pairs and EmpathyEval", tuple(blocks))


def _pairs(material: Material) -> list[Block]:
    found = analysed(material, "counterfactual", Counterfactual)
    if found is None:
        sentence = (
            "No judge compared our replies with the same words in a flat voice, or with a reply "
            "to another cue."
        )
        return [without(material, "counterfactual", sentence)]
    points = [
        Point(
            OF[each.of],
            each.mean,
            each.low,
            each.high,
            f"{number(each.mean, 0)} %, n = {each.n:,}",
            "two" if each.of == "voice" else "one",
        )
        for each in found.pairs
    ]
    title = "How often the judge prefers ours"
    drawn = dots(title, points, low=0, high=100, at=50, at_told="no preference", unit="%")
    caption = (
        "How often the judge prefers our reply, asked in both orders, with 95 % intervals. A check "
        "of the judge as much as of the reply: voice and words apart, "
        "one says nothing of the other."
    )
    rows = tuple(
        plain(
            OF[each.of],
            figure(f"{each.ours:,}"),
            figure(f"{each.split:,}"),
            figure(f"{each.other:,}"),
            figure(f"{number(each.first, 0)} ({span(each.first_low, each.first_high)})"),
            figure(f"{each.n:,}"),
        )
        for each in found.pairs
    )
    head = ("Pair", "Ours in both orders", "Split", "The other", "First place wins, %", "n")
    sentences = [Para(each.sentence) for each in found.pairs]
    table = Table(head, rows, numeric=frozenset(range(1, 6)))
    return [*sentences, Figure(drawn, caption), table]


def _choices(material: Material) -> list[Block]:
    found = analysed(material, "empathy_eval", EmpathyEval)
    if found is None:
        return [without(material, "empathy_eval", "No EmpathyEval item was judged.")]
    rows = [_row(SETTINGS.get(each.setting, each.setting), each) for each in found.standings]
    rows += [_row(kind, each) for kind, each in found.by_kind.items()]
    head = ("Items", "Score", "95 % interval", "Correct", "of", "Groups right", "of", "Incomplete")
    caption = (
        f"Score = {found.formula}; intervals over groups. Context and tone are never merged but in "
        "the line of all, which is the challenge's own."
    )
    return [Table(head, tuple(rows), caption, frozenset(range(1, 8)))]


def _span(each: Standing) -> str:
    if each.low is None or each.high is None:
        return DASH
    return f"{number(each.low, 3)} to {number(each.high, 3)}"


def _row(name: str, each: Standing) -> Row:
    return plain(
        name,
        figure(number(each.score, 3), strong=True),
        figure(_span(each)),
        figure(f"{each.correct:,}"),
        figure(f"{each.items:,}"),
        figure(f"{each.groups_correct:,}"),
        figure(f"{each.groups:,}"),
        figure(f"{each.incomplete:,}"),
    )
