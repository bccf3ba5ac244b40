"""Scores against values worked out by hand."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from models.perception import scores
from models.perception.scores import Counts, Figures

# Four a, two b, no c: three a and one b are recognised, one a is taken for c, one b for a.
TRUTH = np.array([0, 0, 0, 0, 1, 1])
CHOSEN = np.array([0, 0, 0, 2, 1, 0])
MATRIX = np.array([[3, 0, 1], [1, 1, 0], [0, 0, 0]])


def test_rows_of_the_confusion_are_the_truth() -> None:
    np.testing.assert_array_equal(scores.confusion(TRUTH, CHOSEN, 3), MATRIX)


def test_a_class_that_never_occurred_has_no_recall_and_does_not_count() -> None:
    np.testing.assert_array_equal(scores.recalls(MATRIX), [0.75, 0.5, math.nan])
    assert scores.uar(MATRIX) == pytest.approx((0.75 + 0.5) / 2)


def test_f1_pays_for_clips_taken_for_another_class() -> None:
    # a: precision 3/4, recall 3/4. b: precision 1, recall 1/2.
    assert scores.macro_f1(MATRIX) == pytest.approx((0.75 + 2 / 3) / 2)


def test_of_nothing_there_is_no_figure() -> None:
    nothing = np.zeros((2, 2), np.int64)
    assert math.isnan(scores.uar(nothing))
    assert math.isnan(scores.macro_f1(nothing))
    assert math.isnan(scores.reliability(np.zeros(0), np.zeros(0, np.bool_)).ece)


def test_calibration_is_the_weighted_gap_between_claimed_and_true() -> None:
    confidence = np.array([0.9, 0.9, 0.9, 0.9, 0.3, 1.0])
    correct = np.array([True, True, True, False, True, True])
    found = scores.reliability(confidence, correct, bins=10)
    np.testing.assert_array_equal(found.n, [0, 0, 0, 1, 0, 0, 0, 0, 0, 5])
    assert found.confidence[9] == pytest.approx(4.6 / 5)
    assert found.accuracy[9] == pytest.approx(4 / 5)
    assert math.isnan(found.accuracy[0])
    assert found.ece == pytest.approx((5 * 0.12 + 1 * 0.7) / 6)


def test_certainty_that_is_right_is_perfectly_calibrated() -> None:
    assert scores.reliability(np.ones(7), np.ones(7, np.bool_)).ece == 0


@pytest.mark.parametrize(
    ("chance", "positive", "expected"),
    [
        ([0.1, 0.2, 0.8, 0.9], [False, False, True, True], 1.0),
        ([0.1, 0.2, 0.8, 0.9], [True, True, False, False], 0.0),
        ([0.1, 0.8, 0.2, 0.9], [False, False, True, True], 0.75),
        ([0.5, 0.5, 0.5, 0.5], [False, True, False, True], 0.5),
    ],
)
def test_auc_is_how_often_a_positive_ranks_above_a_negative(
    chance: list[float], positive: list[bool], expected: float
) -> None:
    assert scores.auc(np.array(chance), np.array(positive)) == pytest.approx(expected)


def test_auc_needs_both_kinds() -> None:
    assert math.isnan(scores.auc(np.array([0.1, 0.9]), np.array([True, True])))


def mean_of(values: Figures) -> Callable[[Counts], Figures]:
    return lambda clips: np.array([values[clips].mean()])


def test_the_interval_is_that_of_the_mean_and_the_same_each_time() -> None:
    values = np.random.default_rng(7).normal(5, 1, 400)
    low, high = scores.bootstrap(mean_of(values), np.arange(400))[0]
    half = 1.96 * values.std() / math.sqrt(400)
    assert low == pytest.approx(values.mean() - half, abs=0.02)
    assert high == pytest.approx(values.mean() + half, abs=0.02)
    assert (low, high) == tuple(scores.bootstrap(mean_of(values), np.arange(400))[0])


def test_clips_of_one_speaker_are_drawn_together() -> None:
    values = np.repeat(np.random.default_rng(7).normal(5, 1, 20), 20)  # 20 speakers, each alike
    speakers = np.repeat(np.arange(20), 20)
    alone = np.ptp(scores.bootstrap(mean_of(values), np.arange(400))[0])
    together = np.ptp(scores.bootstrap(mean_of(values), speakers)[0])
    assert together == pytest.approx(alone * math.sqrt(20), rel=0.1)


def test_one_speaker_gives_no_interval() -> None:
    found = scores.bootstrap(mean_of(np.arange(5.0)), np.zeros(5, np.int64))
    assert np.isnan(found).all()


def test_a_figure_missing_from_some_resamples_keeps_its_interval() -> None:
    def only_of_the_first(clips: Counts) -> Figures:
        return np.array([1.0 if (clips == 0).any() else math.nan])

    np.testing.assert_array_equal(scores.bootstrap(only_of_the_first, np.arange(4))[0], [1, 1])
