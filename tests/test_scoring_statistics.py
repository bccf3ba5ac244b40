"""Statistics against values computed by hand, by scipy and by the krippendorff package."""

import itertools
from collections.abc import Sequence
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats

from server.scoring import chance, drawing
from server.scoring.chance import by_sides, by_signs
from server.scoring.drawing import AT_ONCE, FEWEST
from server.scoring.statistics import (
    Level,
    alpha,
    holm,
    interval,
    mean_interval,
    paired,
    spearman,
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
    assert interval([3.0] * FEWEST) == (3.0, 3.0)


def test_few_clusters_have_no_interval_since_it_would_be_little_more_than_they_are() -> None:
    """Of two sessions it would be their two means; of five, 1 draw in 3,125 is one alone."""
    assert FEWEST == 5
    values, sessions = [0.0, 100.0, 0.0, 50.0] * 10, ["a", "b", "c", "d"] * 10
    assert interval(values, sessions) is None
    assert interval([*values, 0.0], [*sessions, "e"]) is not None
    few = mean_interval(values, sessions)
    assert (few.mean, few.low, few.high, few.n) == (37.5, None, None, 40)
    assert spearman([1, 2, 3, 4], [1, 2, 4, 3]).low is None
    assert alpha([{"a": n, "b": n} for n in range(4)]).low is None


def test_clusters_are_drawn_whole() -> None:
    """Six sessions of ten equal exchanges each know no more than six values do."""
    values = [100.0 * (n // 10 % 2) for n in range(60)]
    sessions = [n // 10 for n in range(60)]
    assert interval(values, sessions) == interval(values[::10])
    alone = interval(values)
    assert alone is not None and 35 < alone.low < 40 and 60 < alone.high < 65


def test_a_cluster_counts_by_its_size() -> None:
    """Four sessions of a 0 each, one of a hundred 100s: a draw with it has a mean of 96 or more.

    If sessions counted the same, it would be 20 a time.
    """
    values, sessions = [0.0] * 4 + [100.0] * 100, [*"abcd"] + ["e"] * 100
    found = interval(values, sessions)
    assert found is not None and found.low == 0 and found.high > 99


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
    assert found.p == pytest.approx(1 / 4001)  # no other signs are as far apart


def test_pairs_that_are_alike_differ_by_chance_alone() -> None:
    alike = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = paired(alike, alike)
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
    apart = unpaired(alike, alike)
    assert (apart.mean, apart.p) == (0.0, 1.0)


def test_p_is_near_that_of_a_t_test_where_its_assumptions_hold() -> None:
    apart = np.random.default_rng(11).normal(0.25, 1, size=100)
    found = paired(np.zeros(100), apart, draws=20_000)
    assert found.p == pytest.approx(stats.ttest_1samp(apart, 0).pvalue, abs=0.01)


@pytest.mark.parametrize("count", [5, 6, 8])
def test_p_of_pairs_is_scipys_permutation_test(count: int) -> None:
    apart = np.random.default_rng(count).normal(0.8, 1, size=count)
    known = stats.permutation_test((apart,), np.mean, permutation_type="samples", vectorized=False)
    assert paired(np.zeros(count), apart).p == pytest.approx(known.pvalue)


def test_p_of_two_samples_is_near_scipys_permutation_test() -> None:
    random = np.random.default_rng(4)
    first, second = random.normal(size=6), random.normal(1, size=7)
    known = stats.permutation_test(
        (first, second), lambda a, b: np.mean(b) - np.mean(a), vectorized=False
    )  # all 1,716 ways
    assert unpaired(first, second, draws=20_000).p == pytest.approx(known.pvalue, abs=0.01)


def test_few_pairs_are_never_sure_however_far_apart() -> None:
    """Signs of n pairs can be given in 2 ** n ways, and 2 of them are as extreme as it gets."""
    assert paired([0.0, 0.0], [0.1, 0.3]).p is None
    assert paired([0.0] * 4, [9.0] * 4).p is None
    assert paired([0.0] * 5, [9.0] * 5).p == 2 / 2**5
    assert paired([0.0] * 6, [9.0, 8.0, 7.0, 6.0, 5.0, 4.0]).p == 2 / 2**6
    assert unpaired([0.0] * 4, [9.0] * 50).p is None


def test_p_is_of_clusters_and_not_of_their_values() -> None:
    """Six sessions of twenty pairs, all but one of them better: 2 * (1 + 6) / 64 by hand."""
    sessions = [n // 20 for n in range(120)]
    apart = [-1.0 if session == 0 else 1.0 for session in sessions]
    assert paired([0.0] * 120, apart, sessions).p == pytest.approx(14 / 64)
    first, second = [0.0] * 120, [1.0 * (session > 0) for session in sessions]
    alone = unpaired(first, second, sessions, sessions)
    assert alone.p is not None and 0.005 < alone.p < 0.03  # 12 of C(12, 6) = 924 ways


def test_all_signs_and_chance_agree_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = np.random.default_rng(9).normal(0.5, 1, size=12)
    known = by_signs(sums, 2**12, 1)
    monkeypatch.setattr(chance, "AT_ONCE", 500)
    assert by_signs(sums, 2**12, 1) == known
    assert by_signs(sums, 4000, 1) == pytest.approx(known, abs=0.02)
    sides = (sums[:6], np.ones(6)), (sums[6:] + 1, np.ones(6))
    few = by_sides(*sides, 4000, 1)
    monkeypatch.setattr(chance, "AT_ONCE", 1 << 20)
    assert few == pytest.approx(by_sides(*sides, 4000, 2), abs=0.03)


@pytest.mark.parametrize("count", [5, 6, 8, 12])
def test_where_nothing_differs_one_finding_in_twenty_is_made_at_most(count: int) -> None:
    random = np.random.default_rng(count)
    rare = [by_signs(random.normal(size=count), 500, 7) < 0.05 for _ in range(400)]
    ones = np.ones(count)
    apart = [
        by_sides((random.normal(size=count), ones), (random.normal(size=count), ones), 200, 7)
        < 0.05
        for _ in range(400)
    ]
    assert np.mean(rare) < 0.08 and np.mean(apart) < 0.08  # 0.05, and what 400 tries vary by


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
    """Three sessions in which both rise together, three in which one falls: nearly all is possible.

    One draw in 64 has none of either kind, so that the ends are those of one among six.
    """
    rising = np.arange(20.0)
    x, y = np.tile(rising, 6), np.r_[np.tile(rising, 3), np.tile(-rising, 3)]
    sessions = spearman(x, y, clusters=[n // 20 for n in range(120)])
    assert sessions.low is not None and sessions.high is not None
    assert sessions.low < -0.5 and sessions.high > 0.5
    alone = spearman(x, y)
    assert alone.low is not None and alone.low > -0.5


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
