"""Accuracy figures from counts, against scikit-learn's from rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, roc_auc_score

from flower_pansvm.class_columns import winners
from flower_pansvm.counts import BINS, confusion_counts, decision_histogram
from flower_pansvm.metrics import Evaluation, area_under_curve, histogram_middles
from flower_pansvm.multiclass import class_decisions, one_versus_one

NOTHING = np.zeros((1, 2, BINS))


@pytest.mark.parametrize(("shift", "spread"), [(0, 1), (-1, 0.5), (3, 2), (0, 20), (-1, 0.1)])
@pytest.mark.parametrize("share", [0.5, 0.05])
def test_auc_is_close_to_scikit_learns(shift: float, spread: float, share: float) -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(3000) < share
    decision = shift + spread * (rng.normal(size=3000) + 1.2 * positive)
    exact = roc_auc_score(positive, decision)
    assert area_under_curve(decision_histogram(decision, positive)) == pytest.approx(exact, abs=0.01)


def test_auc_by_hand() -> None:
    # Of 2 x 3 pairs four are in order, one is not and one is a tie.
    decision, positive = np.array([-2.0, 0.5, -3.0, 0.5, 4.0, -2.5]), np.repeat([False, True], 3)
    pairs = [(n, p) for n in decision[~positive] for p in decision[positive]]
    expected = sum((p > n) + 0.5 * (p == n) for n, p in pairs) / len(pairs)
    assert area_under_curve(decision_histogram(decision, positive)) == expected


@pytest.mark.parametrize("positive", [[True, True], [False, False], []])
def test_auc_of_a_single_class_is_nothing(positive: list[bool]) -> None:
    truth = np.array(positive, dtype=np.bool_)
    assert area_under_curve(decision_histogram(np.ones(len(truth)), truth)) is None


def test_extreme_decisions_stay_inside_the_histogram() -> None:
    decision = np.array([-1e300, -1e9, 0.0, 1e9, 1e300])
    histogram = decision_histogram(decision, np.array([False, False, False, True, True]))
    assert histogram.shape == (2, BINS)
    assert histogram[0, 0] == 2
    assert histogram[0, BINS // 2] == 1
    assert histogram[1, BINS - 1] == 2


@pytest.mark.parametrize(("centre", "scale"), [(0.0, 1.0), (-3.0, 0.2), (1e6, 1e-3), (7.0, 1e5)])
def test_each_bin_has_one_middle_and_every_value_lies_near_that_of_its_bin(
    centre: float, scale: float
) -> None:
    middles = histogram_middles(centre, scale)
    assert np.isfinite(middles).all()
    assert (np.diff(middles) > 0).all()
    positive = np.zeros(BINS, dtype=np.bool_)
    assert (decision_histogram(middles, positive, centre, scale)[0] == 1).all()
    decision = centre + scale * np.random.default_rng(0).normal(size=500)
    for value in decision:
        place = decision_histogram(np.array([value]), positive[:1], centre, scale)[0].argmax()
        distance = abs(value - centre) / scale
        assert abs(value - middles[place]) <= 1.01 * scale * (1 + distance) ** 2 / BINS


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 200), st.integers(1, 4))
def test_figures_from_summed_counts_are_scikit_learns(seed: int, classes: int, rows: int, sites: int) -> None:
    rng = np.random.default_rng(seed)
    # A narrow range leaves out some classes among the true or the predicted ones.
    true = rng.integers(0, rng.integers(1, classes + 1), rows)
    predicted = np.where(rng.random(rows) < 0.6, true, rng.integers(0, classes, rows))
    parts = np.array_split(np.arange(rows), sites)
    confusion = np.sum([confusion_counts(true[part], predicted[part], classes) for part in parts], axis=0)
    assert (confusion == confusion_matrix(true, predicted, labels=range(classes))).all()
    found = Evaluation.from_counts(confusion, NOTHING)
    assert found.rows == rows
    assert found.accuracy == pytest.approx(accuracy_score(true, predicted))
    recalls = [np.mean(predicted[true == c] == c) for c in np.unique(true)]
    assert found.auc is None
    if len(recalls) == 1:
        assert (found.balanced_accuracy, found.f1) == (None, None)
        return
    assert found.balanced_accuracy == pytest.approx(np.mean(recalls))
    if classes == 2:
        assert found.f1 == pytest.approx(f1_score(true, predicted, zero_division=0))
    else:
        assert found.f1 == pytest.approx(f1_score(true, predicted, average="macro"))


@pytest.mark.parametrize("votes", [False, True])
def test_with_several_classes_auc_is_the_mean_over_problems(votes: bool) -> None:
    """Also one versus one, where the decisions are those of the classes."""
    rng, pairs, where = np.random.default_rng(1), one_versus_one(4), (0.0, 1.0)
    true = rng.integers(0, 4, 800)
    decisions = rng.normal(size=(800, 4)) + 1.5 * np.eye(4)[true]
    if votes:
        signal = np.stack([(true == pair.positive) * 1.0 - (true == pair.negative) for pair in pairs], axis=1)
        decisions = class_decisions(signal + rng.normal(size=signal.shape), pairs, 4)
        where = (3.0, 1.0)  # most votes are 3: there the bins are finest
    histograms = np.stack([decision_histogram(decisions[:, c], true == c, *where) for c in range(4)])
    found = Evaluation.from_counts(confusion_counts(true, winners(decisions), 4), histograms)
    expected = np.mean([roc_auc_score(true == c, decisions[:, c]) for c in range(4)])
    assert found.auc == pytest.approx(expected, abs=0.01)
    assert found.accuracy == np.mean(decisions.argmax(axis=1) == true)


def test_a_problem_without_test_rows_of_its_class_is_left_out_of_the_mean() -> None:
    positive = np.array([False, True, True, False])
    good = decision_histogram(np.where(positive, 1.0, -1.0), positive)
    empty = decision_histogram(np.ones(4), np.zeros(4, dtype=np.bool_))
    assert Evaluation.from_counts(np.eye(3), np.stack([good, empty, empty])).auc == 1.0


def test_an_empty_test_set_has_no_figures() -> None:
    assert Evaluation.from_counts(np.zeros((2, 2)), NOTHING) == Evaluation(0, None, None, None, None)
