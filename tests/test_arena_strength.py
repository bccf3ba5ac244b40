"""Bradley-Terry strengths: against what can be worked out otherwise, and against known truths."""

from math import exp, log

import numpy as np
import pytest

from server.arena.strength import Strength, Tally, elo, strengths

FEW = 300  # draws, where only the width matters roughly


def likelihood(values: list[float], tallies: dict[tuple[int, int], Tally], prior: float) -> float:
    """Written down anew, from the definition."""
    total = 0.0
    for first in range(len(values)):
        for second in range(first + 1, len(values)):
            tally = tallies.get((first, second), Tally())
            won = 1 / (1 + exp(values[second] - values[first]))
            total += (prior + tally.first + tally.tie / 2) * log(won)
            total += (prior + tally.second + tally.tie / 2) * log(1 - won)
    return total


def test_two_systems_differ_by_the_logarithm_of_their_odds() -> None:
    first, second = strengths(2, {(0, 1): Tally(first=7, second=3, tie=2)})
    assert first.value - second.value == pytest.approx(log((7 + 1 + 0.5) / (3 + 1 + 0.5)))
    assert first.value == pytest.approx(-second.value)


def test_the_interval_of_two_systems_is_that_of_jeffreys() -> None:
    first, second = strengths(2, {(0, 1): Tally(first=7, second=3)}, draws=20_000)
    assert (second.low, second.high) == pytest.approx((-first.high, -first.low))
    share = np.linspace(0, 1, 100_001)
    density = share**6.5 * (1 - share) ** 2.5  # Beta(7 + 1/2, 3 + 1/2)
    below = np.cumsum(density) / density.sum()
    expected = [share[np.searchsorted(below, each)] for each in (0.025, 0.975)]
    found = [1 / (1 + exp(-2 * each)) for each in (first.low, first.high)]
    assert found == pytest.approx(expected, abs=0.01)


def test_three_systems_are_where_the_likelihood_is_greatest() -> None:
    tallies = {(0, 1): Tally(6, 2, 1), (1, 2): Tally(5, 4), (0, 2): Tally(3, 3, 4)}
    found = [each.value for each in strengths(3, tallies, FEW)]
    best = likelihood(found, tallies, 1 / 3)
    for system in range(3):
        for step in (-0.01, 0.01):
            moved = [value + step * (place == system) for place, value in enumerate(found)]
            assert likelihood(moved, tallies, 1 / 3) < best
    assert sum(found) == pytest.approx(0, abs=1e-9)


def test_a_pair_may_be_told_either_way_round() -> None:
    one = strengths(2, {(0, 1): Tally(5, 2, 1)}, FEW)
    assert strengths(2, {(1, 0): Tally(2, 5, 1)}, FEW) == one
    assert strengths(2, {(0, 1): Tally(3, 1, 1), (1, 0): Tally(1, 2)}, FEW) == one


def test_ties_draw_systems_together_and_narrow_the_interval() -> None:
    apart = strengths(2, {(0, 1): Tally(6, 2)}, FEW)[0]
    together = strengths(2, {(0, 1): Tally(6, 2, 20)}, FEW)[0]
    assert together.value < apart.value
    assert together.high - together.low < apart.high - apart.low


@pytest.mark.parametrize("won", [1, 3, 30])
def test_who_never_lost_is_finite_and_surer_the_more_they_won(won: int) -> None:
    first, second = strengths(2, {(0, 1): Tally(first=won)}, FEW)
    assert 0 < first.value < 5
    assert first.low < first.value < first.high < 20
    assert (first.low > 0) == (won > 5)  # three wins in a row may be luck
    assert second.value == pytest.approx(-first.value)


def test_systems_nobody_compared_are_all_the_same_and_nobody_knows() -> None:
    found = strengths(4, {}, FEW)
    assert [each.value for each in found] == pytest.approx([0, 0, 0, 0], abs=1e-9)
    assert all(each.low < -2 and each.high > 2 for each in found)


def test_two_groups_that_never_met_stay_finite() -> None:
    found = strengths(4, {(0, 1): Tally(9, 1), (2, 3): Tally(9, 1)}, FEW)
    assert found[0].value > found[1].value
    assert found[0].value == pytest.approx(found[2].value)
    assert np.isfinite([[each.low, each.high] for each in found]).all()


def test_the_same_votes_give_the_same_intervals() -> None:
    tallies = {(0, 1): Tally(4, 2), (1, 2): Tally(3, 3)}
    assert strengths(3, tallies) == strengths(3, tallies)


def test_points_are_those_of_chess() -> None:
    assert elo(0) == 1000
    assert elo(log(10)) == pytest.approx(1400)  # ten to one is 400 points
    assert strengths(1, {}) == [Strength(0, 0, 0)]


def test_simulated_strengths_are_found_again_and_lie_in_their_intervals() -> None:
    truth = np.array([0.9, 0.2, -0.3, -0.8])
    chance = np.random.default_rng(3)
    inside, off = 0, []
    runs = 60
    for _ in range(runs):
        tallies = {}
        for first in range(4):
            for second in range(first + 1, 4):
                won = 1 / (1 + np.exp(truth[second] - truth[first]))
                wins = int(chance.binomial(40, won))
                tallies[first, second] = Tally(wins, 40 - wins)
        found = strengths(4, tallies, FEW)
        inside += sum(
            each.low <= real <= each.high for each, real in zip(found, truth, strict=True)
        )
        off.append([each.value for each in found] - truth)
    assert np.abs(np.mean(off, axis=0)).max() < 0.06
    assert 0.9 <= inside / (4 * runs) <= 0.99  # of 95 %, and some chance
