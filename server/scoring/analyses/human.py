"""What people thought, how far they agree, and whether automatic metrics go with it.

Only ratings and votes that people gave; where there are none, it says so.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeVar

from pydantic import BaseModel

from server.arena import ballots
from server.arena.ballots import counted, newest
from server.arena.strength import elo
from server.scoring.analyses.rated import Key, Rated, Who, gathered
from server.scoring.drawing import FEWEST
from server.scoring.scored import Row, Scored
from server.scoring.statistics import (
    Agreement,
    Correlation,
    Estimate,
    alpha,
    mean_interval,
    spearman,
)

About = Literal["reply", "session"]
Group = Literal["user", "expert", "everybody"]
T = TypeVar("T")
MOST_DRAWS = 1000  # of strengths

# Which question people were asked is the one an automatic metric tries to answer.
MATCHING: Final[Mapping[str, frozenset[str]]] = {
    "ctx_fit": frozenset({"ctx_fit", "aeq_coherence"}),
    "resp_nat": frozenset({"resp_nat", "aeq_naturalness"}),
    "colloq_deg": frozenset({"colloq_deg"}),
    "speech_rel": frozenset({"speech_rel", "aeq_supportiveness", "humdial_insight"}),
    "vocal_empathy": frozenset(
        {
            "ves",
            "vocalbench_acoustic",
            "vocal_fit",
            "emo_align",
            "aeq_expressiveness",
            "humdial_congruence",
            "vstyle",
        }
    ),
}
FEWER_DRAWS = 500  # for the many pairs that are not meant to go together


class Mean(BaseModel):
    by: Who
    about: About
    dimension: str
    mean: Estimate
    raters: int


class Agreed(BaseModel):
    """Krippendorff's alpha, ordinal, over what at least two people rated."""

    by: Group
    about: About
    dimension: str
    agreement: Agreement


class Goes(BaseModel):
    """How an automatic metric goes with what people said, Spearman's rho."""

    metric: str
    dimension: str
    by: Who
    about: About
    matching: bool  # the metric is meant to measure what people were asked
    correlation: Correlation


class Standing(BaseModel):
    """A system of the arena. `strength` in natural units, 0 the mean of all; `elo` as in chess."""

    name: str
    strength: float
    low: float
    high: float
    elo: float
    wins: int
    losses: int
    ties: int
    bad: int  # both were: it changes no strength


class Human(BaseModel):
    ratings: int  # by people; 0: nobody has rated anything yet
    raters: int
    left_out: int  # of a "user" who was a recording that a benchmark played
    note: str
    means: list[Mean] = []
    agreement: list[Agreed] = []
    correlations: list[Goes] = []
    votes: int = 0
    votes_left_out: int = 0  # on systems that were set up otherwise since
    votes_prepared: int = 0  # of those that count: a recording spoke, and not who voted
    systems: list[Standing] = []


def analyse(scored: Scored) -> Human:
    played = {row.session_id for row in scored.rows if row.annotation.benchmark is not None}
    rated, left_out = gathered(scored.ratings, played)
    systems = newest(scored.votes)
    labels = {each.name: each.label for each in systems}
    arena = counted(systems, scored.votes, min(scored.draws, MOST_DRAWS), scored.seed)
    return Human(
        ratings=rated.count,
        raters=len({rater for told in rated.opinions.values() for rater in told}),
        left_out=left_out,
        note=_note(rated, left_out),
        means=_means(rated, scored),
        agreement=_agreements(rated, scored),
        correlations=[*_of_replies(rated, scored), *_of_sessions(rated, scored)],
        votes=arena.rounds,
        votes_left_out=arena.left_out,
        votes_prepared=sum(each.source == "prepared" for each in scored.votes),
        systems=[_standing(each, labels[each.name]) for each in arena.systems],
    )


def _standing(told: ballots.Standing, label: str) -> Standing:
    record, strength = told.record, told.strength
    return Standing(
        name=label,
        strength=strength.value,
        low=strength.low,
        high=strength.high,
        elo=elo(strength.value),
        wins=record.wins,
        losses=record.losses,
        ties=record.ties,
        bad=record.bad,
    )


def _note(rated: Rated, left_out: int) -> str:
    told = [] if rated.count else ["No ratings by people yet."]
    if left_out:
        told.append("Ratings in the name of a user whom a benchmark played are left out.")
    return " ".join(told)


def _means(rated: Rated, scored: Scored) -> list[Mean]:
    found: dict[tuple[Who, About, str], list[tuple[Key, str, float]]] = defaultdict(list)
    for key, opinions in rated.opinions.items():
        for rater, value in opinions.items():
            found[key.by, key.about, key.dimension].append((key, rater, value))
    return [
        Mean(
            by=by,
            about=about,
            dimension=dimension,
            mean=mean_interval(
                [value for _, _, value in told],
                [key.session_id for key, _, _ in told],
                scored.draws,
                scored.seed,
            ),
            raters=len({rater for _, rater, _ in told}),
        )
        for (by, about, dimension), told in sorted(found.items())
    ]


def _agreements(rated: Rated, scored: Scored) -> list[Agreed]:
    units: dict[tuple[Group, About, str], dict[tuple[str, str | None], dict[str, float]]]
    units = defaultdict(lambda: defaultdict(dict))
    for key, opinions in rated.opinions.items():
        groups: tuple[Group, ...] = (key.by, "everybody")
        for group in groups:
            unit = units[group, key.about, key.dimension][key.session_id, key.item_id]
            unit.update({f"{key.by} {rater}": value for rater, value in opinions.items()})
    found = []
    for (group, about, dimension), told in sorted(units.items()):
        agreed = alpha(list(told.values()), "ordinal", scored.draws, scored.seed)
        if agreed.units:
            found.append(Agreed(by=group, about=about, dimension=dimension, agreement=agreed))
    return found


def _of_replies(rated: Rated, scored: Scored) -> Iterable[Goes]:
    rows: dict[tuple[str, str | None], Row]
    rows = {(row.session_id, row.reply_item): row for row in scored.rows if row.reply_item}
    means = {
        key: (rows[key.session_id, key.item_id], value)
        for key, value in rated.means().items()
        if (key.session_id, key.item_id) in rows
    }
    return _correlations("reply", means, scored, lambda row, metric: row.values.get(metric))


def _of_sessions(rated: Rated, scored: Scored) -> Iterable[Goes]:
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in scored.rows:
        rows[row.session_id].append(row)
    means = {
        key: (rows[key.session_id], value)
        for key, value in rated.means().items()
        if key.about == "session" and key.session_id in rows
    }

    def mean(told: Sequence[Row], metric: str) -> float | None:
        values = [row.values[metric] for row in told if metric in row.values]
        return sum(values) / len(values) if values else None

    return _correlations("session", means, scored, mean)


def _correlations(
    about: About,
    means: Mapping[Key, tuple[T, float]],
    scored: Scored,
    value_of: Callable[[T, str], float | None],
) -> Iterable[Goes]:
    people: dict[tuple[Who, str], list[tuple[Key, T, float]]] = defaultdict(list)
    for key, (scores, value) in means.items():
        people[key.by, key.dimension].append((key, scores, value))
    for (by, dimension), told in sorted(people.items(), key=lambda item: item[0]):
        for metric in scored.measures:
            pairs = [
                (key.session_id, automatic, value)
                for key, scores, value in told
                if (automatic := value_of(scores, metric)) is not None
            ]
            if len({session for session, _, _ in pairs}) < FEWEST:
                continue
            matching = metric in MATCHING.get(dimension, ())
            yield Goes(
                metric=metric,
                dimension=dimension,
                by=by,
                about=about,
                matching=matching,
                correlation=spearman(
                    [automatic for _, automatic, _ in pairs],
                    [value for _, _, value in pairs],
                    scored.draws if matching else min(scored.draws, FEWER_DRAWS),
                    scored.seed,
                    clusters=[session for session, _, _ in pairs],
                ),
            )
