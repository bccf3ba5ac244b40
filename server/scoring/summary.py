"""Every metric over all exchanges, and over those that have something in common. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from server.reports import Breakdown, Figures, Group, Metric
from server.scoring.arms import DATA, arms, cluster, data
from server.scoring.attributes import ORDER
from server.scoring.drawing import Floats, belonging, drawn
from server.scoring.score import JudgeNamed, Measure
from server.scoring.scored import Row
from server.scoring.statistics import PERCENTILES

MOST_GROUPS = 60  # of one attribute: more of them nobody reads


def metrics(
    rows: Sequence[Row],
    measures: Mapping[str, Measure],
    judges: Mapping[str, JudgeNamed],  # by metric
    *,
    draws: int,
    seed: int,
) -> list[Metric]:
    """Over the rows of the headline: see server/scoring/arms.py."""
    rows = arms(rows).headline(rows)
    figures = _figures(rows, list(measures), draws, seed)
    reasons: dict[str, Counter[str]] = {name: Counter() for name in measures}
    for row in rows:
        for name, reason in row.unscored.items():
            reasons[name][reason] += 1
    return [
        Metric(
            **_told(measure),
            **figures[name].model_dump(),
            judge=judges[name].name if name in judges else None,
            reasons=dict(reasons[name].most_common()),
        )
        for name, measure in measures.items()
    ]


def breakdowns(
    rows: Sequence[Row], measures: Mapping[str, Measure], *, draws: int, seed: int
) -> list[Breakdown]:
    """By every attribute that has two values or more; other arms only where they are the point."""
    found = []
    chosen = arms(rows)
    for by in ORDER:
        groups: dict[str, list[Row]] = {}
        for row in rows:
            value = data(row) if by == DATA else row.attributes.get(by)
            if value is not None and chosen.has(row, but=by):
                groups.setdefault(value, []).append(row)
        if len(groups) < 2:
            continue
        largest = sorted(groups, key=lambda value: (-len(groups[value]), value))[:MOST_GROUPS]
        found.append(
            Breakdown(
                by=by,
                groups=[
                    Group(metric=name, value=value, **each.model_dump())
                    for value in sorted(largest)
                    for name, each in _figures(groups[value], list(measures), draws, seed).items()
                    if each.n
                ],
            )
        )
    return found


def _told(measure: Measure) -> dict[str, Any]:
    return {
        "name": measure.name,
        "title": measure.title,
        "family": measure.family,
        "about": measure.about,
        "caveat": measure.caveat,
        "unit": measure.unit,
        "higher_is_better": measure.higher_is_better,
        "smallest": measure.smallest,
        "largest": measure.largest,
    }


def _figures(
    rows: Sequence[Row], names: Sequence[str], draws: int, seed: int
) -> dict[str, Figures]:
    """Exchanges of one script or session are drawn together: they are not independent.

    Metrics over the very same clusters share their draws, which makes many of them cheap.
    """
    values = np.array([[row.values.get(name, np.nan) for name in names] for row in rows])
    values = values.reshape(len(rows), len(names))
    there = ~np.isnan(values)
    belongs, count = belonging([cluster(row) for row in rows], len(rows))
    sums, sizes = np.zeros((count, len(names))), np.zeros((count, len(names)))
    np.add.at(sums, belongs, np.where(there, values, 0.0))
    np.add.at(sizes, belongs, there)
    alike: dict[bytes, list[int]] = {}
    for place in range(len(names)):
        alike.setdefault((sizes[:, place] > 0).tobytes(), []).append(place)
    found: dict[int, Figures] = {}
    for places in alike.values():
        some = sizes[:, places[0]] > 0
        ends = _intervals(sums[some][:, places], sizes[some][:, places], draws, seed)
        for nth, place in enumerate(places):
            n = int(there[:, place].sum())
            low, high = (None, None) if ends is None else (float(end) for end in ends[:, nth])
            found[place] = Figures(
                mean=float(sums[:, place].sum() / n) if n else None,
                n=n,
                unscored=len(rows) - n,
                low=low,
                high=high,
            )
    return {name: found[place] for place, name in enumerate(names)}


def _intervals(sums: Floats, sizes: Floats, draws: int, seed: int) -> Floats | None:
    """[low and high, metrics]; None where there are too few clusters to draw from."""
    parts: list[Floats] = []

    def means(times: Floats) -> Floats:
        parts.append((times @ sums) / (times @ sizes))
        return parts[-1][:, 0]

    if drawn(len(sums), len(sums), draws, seed, means) is None:
        return None
    ends: Floats = np.percentile(np.concatenate(parts), PERCENTILES, axis=0)
    return ends
