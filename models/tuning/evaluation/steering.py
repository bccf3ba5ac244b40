"""Whether replies follow from how something was said: the words are the same, only the cue differs.

A reply to the target cue should be nearer to the target's references than to the alternative's, and
the other way round. One who does not listen is right in one of the two: half of the time. Whatever
the cue, one of the two may be the nearer for what it is about: that cancels out in `follows`,
whether the two replies together are nearer to their own references than to each other's.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean
from typing import Any

from models.corpus.exchange import DIMENSION_OF, Exchange, Way
from models.corpus.references import References, of_author
from models.tuning.evaluation.intervals import figure
from models.tuning.evaluation.meaning import Nearness
from models.tuning.evaluation.questions import name

TWO = (Way.TARGET, Way.ALTERNATIVE)
GENDER = "gender"  # nothing should follow from it: it is counted apart


@dataclass(frozen=True, slots=True)
class Steered:
    """One reply, and whether it went the way of its cue."""

    script: str
    way: Way
    dimensions: frozenset[str]
    lead: float  # of its own references over the other's

    @property
    def right(self) -> float:
        return float(self.lead > 0)


def steered(
    exchanges: Sequence[Exchange],
    replies: Mapping[str, str],
    near: Nearness,
    references: References = of_author,
) -> list[Steered]:
    """Every reply to a cue; a reply of no words, or right between the two, went nowhere."""
    found = []
    for each in exchanges:
        for way, other in (TWO, TWO[::-1]):
            reply = replies[name(each.id, way)]
            own, others = (
                fmean(near(reply, one) for one in references(each, which)) for which in (way, other)
            )
            found.append(Steered(each.id, way, dimensions(each, way), own - others))
    return found


def dimensions(exchange: Exchange, way: Way) -> frozenset[str]:
    """Of the cues, gender left out where there is anything else."""
    found = {DIMENSION_OF[cue.name] for cue in exchange.variants[way].cues}
    return frozenset(found - {GENDER} or found)


def of_gender(exchange: Exchange) -> bool:
    """Whether nothing but a gender tells one of its ways from the neutral one."""
    return any(dimensions(exchange, way) == {GENDER} for way in TWO)


def steering(
    exchanges: Sequence[Exchange],
    replies: Mapping[str, str],
    near: Nearness,
    seed: int,
    references: References = of_author,
) -> dict[str, Any]:
    """Shares of replies that go the way of their cue, and of scripts where any difference is."""
    apart = {each.id for each in exchanges if of_gender(each)}
    found = steered(exchanges, replies, near, references)
    counted = [one for one in found if one.script not in apart]
    by_dimension = defaultdict(list)
    for one in counted:
        for dimension in one.dimensions:
            by_dimension[dimension].append(one)
    return {
        "all": _share(counted, seed),
        **{way.value: _share([one for one in counted if one.way is way], seed) for way in TWO},
        "follows": figure([[float(fsum(leads) > 0)] for leads in _leads(counted)], seed),
        "dimensions": {each: _share(rows, seed) for each, rows in sorted(by_dimension.items())},
        "differs": figure(
            [[_differs(each, replies, *TWO)] for each in exchanges if each.id not in apart], seed
        ),
        GENDER: {
            "right": _share([one for one in found if one.dimensions == {GENDER}], seed),
            "same as neutral": figure(
                [
                    [1 - _differs(each, replies, way, Way.NEUTRAL)]
                    for each in exchanges
                    for way in TWO
                    if dimensions(each, way) == {GENDER}
                ],
                seed,
            ),
        },
    }


def _leads(rows: Sequence[Steered]) -> list[list[float]]:
    """Those of the two replies to each script."""
    scripts = defaultdict(list)
    for row in rows:
        scripts[row.script].append(row.lead)
    return list(scripts.values())


def _share(rows: Sequence[Steered], seed: int) -> Any:
    scripts = defaultdict(list)
    for row in rows:
        scripts[row.script].append(row.right)
    return figure(list(scripts.values()), seed)


def _differs(exchange: Exchange, replies: Mapping[str, str], one: Way, other: Way) -> float:
    return float(replies[name(exchange.id, one)] != replies[name(exchange.id, other)])
