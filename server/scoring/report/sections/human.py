"""What people thought, how far they agree, and whether metrics and judges go with it."""

from server.scoring.analyses.human import Goes, Human
from server.scoring.report.analysed import analysed, title, without
from server.scoring.report.blocks import (
    Block,
    Figure,
    Folded,
    Heading,
    Para,
    Section,
    Table,
    figure,
    nothing,
    plain,
)
from server.scoring.report.drawings.dots import Point, dots
from server.scoring.report.figures import counted, number, span
from server.scoring.report.material import Material

NONE = "No ratings by people yet."
WHO = {"user": "users", "expert": "experts", "everybody": "everybody"}
MOST = 60  # correlations in the table


def human(material: Material) -> Section:
    found = analysed(material, "human", Human)
    name, heading = "human", "People"
    if found is None:
        return Section(name, heading, (without(material, "human", NONE),))
    if not found.ratings and not found.votes:
        return Section(name, heading, (nothing(found.note or NONE),))
    blocks: list[Block] = []
    if found.ratings:
        told = (
            f"{counted(found.ratings, 'rating')} by {counted(found.raters, 'person', 'people')}. "
            "Only what people said is here, of each person the last word on a question."
        )
        blocks.append(Para(f"{told} {found.note}".strip()))
        blocks += [_means(found, material), *_agreement(found, material)]
        blocks += _correlations(found, material)
    else:
        blocks.append(nothing(found.note or NONE))
    blocks += _arena(found)
    return Section(name, heading, tuple(blocks))


def _means(found: Human, material: Material) -> Figure:
    points = [
        Point(
            f"{title(material, each.dimension)}, {WHO[each.by]}",
            each.mean.mean,
            each.mean.low,
            each.mean.high,
            f"{number(each.mean.mean)}, n = {each.mean.n:,}",
            "one" if each.about == "reply" else "two",
        )
        for each in found.means
    ]
    drawn = dots("Ratings by people", points, low=1, high=5)
    caption = (
        "Mean ratings by people, 1 to 5, with 95 % intervals: green of single replies, orange of "
        f"whole sessions. {counted(found.ratings, 'rating')}."
    )
    rows = tuple(
        plain(
            title(material, each.dimension),
            WHO[each.by],
            each.about,
            figure(number(each.mean.mean)),
            figure(span(each.mean.low, each.mean.high)),
            figure(f"{each.mean.n:,}"),
            figure(f"{each.raters:,}"),
        )
        for each in found.means
    )
    head = ("Asked", "By", "Of", "Mean", "95 % interval", "n", "Raters")
    return Figure(drawn, caption, Table(head, rows, numeric=frozenset({3, 4, 5, 6})))


def _agreement(found: Human, material: Material) -> list[Block]:
    head = Heading("How far people agree")
    if not found.agreement:
        return [head, nothing("Nothing was rated by two people: agreement cannot be told.")]
    rows = tuple(
        plain(
            title(material, each.dimension),
            WHO[each.by],
            each.about,
            figure(number(each.agreement.alpha), strong=True),
            figure(span(each.agreement.low, each.agreement.high)),
            figure(f"{each.agreement.units:,}"),
            figure(f"{each.agreement.raters:,}"),
        )
        for each in found.agreement
    )
    caption = (
        "Krippendorff's α, ordinal, over what at least two people rated: 1 is full agreement, 0 "
        "what chance would give. Below 0.67 little should be concluded."
    )
    names = ("Asked", "By", "Of", "α", "95 % interval", "Units", "Raters")
    return [head, Table(names, rows, caption, frozenset({3, 4, 5, 6}))]


def _correlations(found: Human, material: Material) -> list[Block]:
    head = Heading("Whether metrics and judges go with people")
    meant = [each for each in found.correlations if each.matching]
    rest = [each for each in found.correlations if not each.matching]
    if not found.correlations:
        return [head, nothing("Too few rated exchanges have scores: no correlation can be told.")]
    blocks: list[Block] = [head]
    if meant:
        points = [
            Point(
                f"{title(material, each.metric)} · {WHO[each.by]}",
                each.correlation.rho,
                each.correlation.low,
                each.correlation.high,
                f"ρ {number(each.correlation.rho)}, n = {each.correlation.n:,}",
                "one" if each.about == "reply" else "two",
            )
            for each in meant
        ]
        drawn = dots("Correlation of metrics with people", points, low=-1, high=1, at=0)
        caption = (
            "Spearman's ρ of a metric with people's answer to the question it is meant to answer, "
            "with 95 % intervals; green over replies, orange over whole sessions."
        )
        blocks.append(Figure(drawn, caption, _pairs(meant, material)))
    if rest:
        strongest = sorted(rest, key=lambda each: -abs(each.correlation.rho or 0.0))
        inside: list[Block] = [
            Para("Many pairs: some look strong by chance.", "note"),
            _pairs(strongest[:MOST], material),
        ]
        summary = f"All other pairs of metric and question ({len(rest):,})"
        blocks.append(Folded(summary, tuple(inside)))
    return blocks


def _pairs(pairs: list[Goes], material: Material) -> Table:
    rows = tuple(
        plain(
            title(material, each.metric),
            title(material, each.dimension),
            WHO[each.by],
            each.about,
            figure(number(each.correlation.rho)),
            figure(span(each.correlation.low, each.correlation.high)),
            figure(f"{each.correlation.n:,}"),
        )
        for each in pairs
    )
    head = ("Metric", "Question", "By", "Of", "ρ", "95 % interval", "n")
    return Table(head, rows, numeric=frozenset({4, 5, 6}))


def _arena(found: Human) -> list[Block]:
    head = Heading("The arena: who is preferred, blind")
    if not found.systems:
        return [head, nothing("No votes yet.")]
    points = [
        Point(
            each.name,
            each.strength,
            each.low,
            each.high,
            f"Elo {number(each.elo, 0)}, {each.wins}–{each.losses}–{each.ties}–{each.bad}",
        )
        for each in found.systems
    ]
    drawn = dots("Strength of systems by people's votes", points, at=0, at_told="mean")
    caption = (
        f"Bradley–Terry strengths from {counted(found.votes, 'blind vote')} by people, with 95 % "
        "intervals; 0 is the mean of all, ln 2 more is twice as strong. Under each "
        "Elo and wins–losses–ties–both bad, which changes no strength."
    )
    if found.votes_prepared:
        caption += f" In {found.votes_prepared:,} a recording spoke, and not who voted."
    if found.votes_left_out:
        caption += f" Left out: {found.votes_left_out:,} on systems set up otherwise since."
    return [head, Figure(drawn, caption)]
