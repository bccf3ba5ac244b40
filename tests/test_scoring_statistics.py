"""Statistics against values computed by hand, by scipy and by the krippendorff package."""

import itertools
from collections.abc import Sequence
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats

from server.scoring import drawing
from server.scoring.drawing import AT_ONCE
from server.scoring.statistics import (
    Level,
    alpha,
    holm,
    interval,
    mean_interval,
    paired,
    spearman,
    two_sided,
    unpaired,
)

RANDOM = np.random.default_rng(3)
SKEWED = RANDOM.exponential(size=80)

# Krippendorff's worked example: four observers, twelve units, nominal 0.743, ordinal 0.815,
# interval 0.849 ("Computing Krippendorff's alpha-reliability", 2011).
OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def units(table: str = OBSERVERS) -> list[dict[str, float]]:
    rows = [line.split() for line in table.strip().splitlines()]
    columns = zip(*rows, strict=True)
    return [
        {f"observer {at}": float(cell) for at, cell in enumerate(column) if cell != "."}
        for column in columns
    ]


def matrix(rated: Sequence[dict[Any, Any]]) -> list[list[float]]:
    """Raters by units, as the krippendorff package wants it."""
    raters = sorted({rater for unit in rated for rater in unit})
    return [[float(unit.get(rater, "nan")) for unit in rated] for rater in raters]


# -- means


def test_the_interval_of_a_mean_is_scipys_within_what_chance_draws() -> None:
    found = mean_interval(SKEWED, draws=20_000)
    known = stats.bootstrap(
        (SKEWED,), np.mean, n_resamples=20_000, method="percentile", random_state=1
    ).confidence_interval
    assert found.mean == pytest.approx(SKEWED.mean())
    assert found.n == 80
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=0.01)


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    assert interval([4.0]) is None
    assert (alone := mean_interval([4.0])).mean == 4.0 and alone.low is None and alone.n == 1
    assert (empty := mean_interval([])).mean is None and empty.n == 0


def test_values_that_never_differ_have_an_interval_of_no_width() -> None:
    assert interval([3.0, 3.0, 3.0]) == (3.0, 3.0)


def test_clusters_are_drawn_whole() -> None:
    """Two sessions of ten equal exchanges each know no more than two values do."""
    values, sessions = [0.0] * 10 + [100.0] * 10, ["a"] * 10 + ["b"] * 10
    assert interval(values, sessions) == (0.0, 100.0)
    alone = interval(values)
    assert alone is not None and 20 < alone.low < 35 and 65 < alone.high < 80


def test_a_cluster_counts_by_its_size() -> None:
    """Drawn means of sessions of 1 and 3 values are 0, 100 or 3 * 100 / 4, never 50."""
    means = {
        round(float(value), 6)
        for seed in range(5)
        for value in interval([0.0, 100.0, 100.0, 100.0], ["a", "b", "b", "b"], 100, seed) or ()
    }
    assert means <= {0.0, 75.0, 100.0} and means


def test_all_in_one_cluster_has_no_interval() -> None:
    assert interval([1.0, 2.0, 3.0], ["a", "a", "a"]) is None


def test_every_value_needs_its_cluster() -> None:
    with pytest.raises(ValueError, match="every value needs its cluster"):
        interval([1.0, 2.0], ["a"])


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_interval([1.0, float("nan")])


def test_the_same_seed_gives_the_same_interval_and_another_gives_another() -> None:
    assert interval(SKEWED, seed=5) == interval(SKEWED, seed=5)
    assert interval(SKEWED, seed=5) != interval(SKEWED, seed=6)


def test_memory_is_bounded_whatever_the_number_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """No chunk of draws is larger than allowed, remembered or not, and both agree."""
    monkeypatch.setattr(drawing, "AT_ONCE", 1000)
    widest = []

    def mean(times: drawing.Floats) -> drawing.Floats:
        widest.append(times.size)
        means: drawing.Floats = (times @ SKEWED) / times.sum(axis=1)
        return means

    remembered = drawing.drawn(80, 80, 400, 7, mean)
    monkeypatch.setattr(drawing, "KEPT", 0)
    afresh = drawing.drawn(80, 80, 400, 7, mean)
    assert max(widest) <= 1000 < AT_ONCE
    assert remembered is not None and afresh is not None
    assert remembered == pytest.approx(afresh)


# -- differences


def test_a_paired_difference_is_what_the_second_is_more() -> None:
    before = RANDOM.normal(size=60)
    after = before + 0.5 + RANDOM.normal(scale=0.2, size=60)
    found = paired(before, after, draws=4000)
    known = stats.bootstrap(
        (after - before,), np.mean, n_resamples=4000, method="percentile", random_state=1
    ).confidence_interval
    assert found.mean == pytest.approx((after - before).mean())
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=0.01)
    assert found.p == pytest.approx(2 / 4001)  # none of the draws is on the other side


def test_pairs_that_are_alike_differ_by_chance_alone() -> None:
    found = paired([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_p_is_near_that_of_a_t_test_where_its_assumptions_hold() -> None:
    apart = np.random.default_rng(11).normal(0.25, 1, size=100)
    found = paired(np.zeros(100), apart, draws=20_000)
    assert found.p == pytest.approx(stats.ttest_1samp(apart, 0).pvalue, abs=0.01)


def test_p_counts_the_draws_on_the_rarer_side_twice() -> None:
    assert two_sided(np.array([1.0] * 98 + [-1.0])) == pytest.approx(2 * 2 / 100)


def test_one_pair_has_a_difference_and_nothing_to_say_how_sure() -> None:
    found = paired([1.0], [3.0])
    assert (found.mean, found.low, found.p, found.n) == (2.0, None, None, 1)
    assert paired([], []).mean is None


def test_an_unpaired_difference_is_wider_than_a_paired_one() -> None:
    before = RANDOM.normal(size=60)
    after = before + 0.1
    alone, together = unpaired(before, after), paired(before, after)
    assert alone.mean == pytest.approx(0.1) and together.mean == pytest.approx(0.1)
    assert together.p is not None and together.p < 0.01
    assert alone.p is not None and alone.p > 0.2
    known = stats.bootstrap(
        (after, before),
        lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
        method="percentile",
        random_state=1,
    ).confidence_interval
    assert (alone.low, alone.high) == pytest.approx((known.low, known.high), abs=0.04)
    assert unpaired([], [1.0]).mean is None


# -- rank correlation


@pytest.mark.parametrize("ties", [False, True])
def test_rho_is_scipys(ties: bool) -> None:
    x = RANDOM.normal(size=50)
    y = x + RANDOM.normal(size=50)
    if ties:
        x, y = np.round(x), np.round(y)
    assert spearman(x, y).rho == pytest.approx(stats.spearmanr(x, y).statistic)


def test_rho_of_five_by_hand() -> None:
    """Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6 * (1+1+1+1) / (5 * 24) = 0.8."""
    assert spearman([10, 20, 30, 40, 50], [2, 1, 40, 3, 500]).rho == pytest.approx(0.8)


def test_the_interval_of_rho_is_scipys_within_what_chance_draws() -> None:
    x = np.round(RANDOM.normal(size=40), 1)
    y = np.round(x + RANDOM.normal(size=40), 1)
    found = spearman(x, y, draws=3000)
    random = np.random.default_rng(1)
    known = []
    for _ in range(800):
        drawn = random.integers(0, 40, 40)
        known.append(stats.spearmanr(x[drawn], y[drawn]).statistic)
    assert (found.low, found.high) == pytest.approx(
        tuple(np.percentile(known, (2.5, 97.5))), abs=0.04
    )


def test_what_never_changes_goes_with_nothing() -> None:
    found = spearman([3, 3, 3, 3], [1, 2, 3, 4])
    assert (found.rho, found.low, found.n) == (None, None, 4)
    assert spearman([1, 2], [1, 2]).rho is None


def test_rho_of_clusters_is_no_surer_than_there_are_clusters() -> None:
    """One session in which both rise together, one in which one falls: anything is possible."""
    rising = np.arange(20.0)
    x, y = np.r_[rising, rising], np.r_[rising, -rising]
    sessions = spearman(x, y, clusters=["a"] * 20 + ["b"] * 20)
    assert (sessions.low, sessions.high) == pytest.approx((-1, 1))
    alone = spearman(x, y)
    assert alone.low is not None and alone.low > -0.9


# -- agreement


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_the_published_example(level: Level, published: float) -> None:
    found = alpha(units(), level)
    assert found.alpha == pytest.approx(published, abs=0.0005)
    assert (found.units, found.raters) == (11, 4)  # one of the twelve was rated once
    assert found.low is not None and found.high is not None
    assert found.low < published < found.high <= 1


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(4))
def test_alpha_is_that_of_the_krippendorff_package(level: Level, seed: int) -> None:
    random = np.random.default_rng(seed)
    truth = random.integers(1, 6, 30)
    rated: list[dict[Any, Any]] = [
        {
            rater: float(np.clip(value + random.integers(-1, 2), 1, 5))
            for rater in range(4)
            if random.random() < 0.7
        }
        for value in truth
    ]
    known = krippendorff.alpha(matrix(rated), level_of_measurement=level)
    assert alpha(rated, level, draws=100).alpha == pytest.approx(known)


def test_alpha_by_hand() -> None:
    """Two raters, units (1,1) (1,2) (2,2), nominal: n = 6, counts 3 and 3.

    Observed: 2 of 6 values differ from their partner, 1/3; expected: (36-18)/(6*5) = 0.6.
    """
    rated = [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}]
    assert alpha(rated, "nominal").alpha == pytest.approx(1 - (1 / 3) / 0.6)


def test_alpha_of_names_that_are_no_numbers() -> None:
    rated = [{"a": "sad", "b": "sad"}, {"a": "sad", "b": "happy"}, {"a": "happy", "b": "happy"}]
    assert alpha(rated, "nominal").alpha == pytest.approx(1 - (1 / 3) / 0.6)


def test_nobody_who_agrees_without_ever_differing_can_be_told_from_chance() -> None:
    found = alpha([{"a": 4, "b": 4}, {"a": 4, "b": 4}])
    assert (found.alpha, found.units) == (None, 2)
    assert alpha([{"a": 1}, {"b": 2}]).units == 0


def test_the_interval_of_alpha_is_drawn_over_units() -> None:
    """By the krippendorff package over the same kind of draws."""
    rated = [unit for unit in units() if len(unit) > 1]
    random = np.random.default_rng(2)
    known = []
    for _ in range(600):
        some = [rated[at] for at in random.integers(0, len(rated), len(rated))]
        if len({value for unit in some for value in unit.values()}) > 1:
            known.append(krippendorff.alpha(matrix(some), level_of_measurement="ordinal"))
    found = alpha(rated, "ordinal", draws=4000)
    assert (found.low, found.high) == pytest.approx(
        tuple(np.percentile(known, (2.5, 97.5))), abs=0.06
    )


# -- many tests


def test_holm_by_hand() -> None:
    """0.01 * 4, 0.02 * 3, 0.03 * 2 = 0.06, and 0.04 no less than the one before it."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])


def test_holm_never_passes_one_and_keeps_the_order() -> None:
    found = holm([0.9, 0.5, 0.001])
    assert found == pytest.approx([1.0, 1.0, 0.003])
    assert holm([]) == []
    ps = list(np.random.default_rng(0).random(20))
    ordered = [adjusted for _, adjusted in sorted(zip(ps, holm(ps), strict=True))]
    assert all(a <= b for a, b in itertools.pairwise(ordered))
