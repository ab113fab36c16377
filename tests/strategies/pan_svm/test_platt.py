"""Probabilities from counts of held-out decision values, against scikit-learn's from the values themselves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from flower_pansvm.calibration import Calibration
from flower_pansvm.counts import BINS, decision_histogram
from flower_pansvm.metrics import histogram_middles
from strategies.pan_svm.platt import CopyNoise, calibration_of


def fitted(
    decisions: NDArray[np.float64],
    classes: NDArray[np.int64],
    centres: ArrayLike = 0.0,
    scales: ArrayLike = 0.5,
) -> Calibration:
    """Return the calibration from histograms of class decisions, shape (rows, columns)."""
    columns = decisions.shape[1]
    positive = np.arange(columns) if columns > 1 else np.array([1])
    centre, scale = np.broadcast_to(centres, columns), np.broadcast_to(scales, columns)
    parts = zip(decisions.T, positive, centre, scale, strict=True)
    histograms = np.stack([decision_histogram(d, classes == wanted, c, s) for d, wanted, c, s in parts])
    return calibration_of(histograms, centre, scale)


def scikit_learns_and_ours(
    model: BaseEstimator, X: NDArray[np.float64], y: NDArray[np.int64], *, by_votes: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Train on the first third of the rows, calibrate on the second, return probabilities of the last."""
    rng = np.random.default_rng(0)
    # Noise, so that the classes overlap and the sigmoids are not steps.
    X = StandardScaler().fit_transform(X) + rng.normal(scale=1.5, size=X.shape)
    part = rng.integers(0, 3, len(X))
    model.fit(X[part == 0], y[part == 0])
    reference = CalibratedClassifierCV(FrozenEstimator(model), method="sigmoid", ensemble=False)
    reference.fit(X[part == 1], y[part == 1])
    held_out, new = (model.decision_function(X[part == i]).reshape(sum(part == i), -1) for i in (1, 2))
    where = (
        (held_out.shape[1] - 1.0, 1.0) if by_votes else (np.median(held_out, axis=0), held_out.std(axis=0))
    )
    found = fitted(held_out, y[part == 1], *where)
    return reference.predict_proba(X[part == 2]), found.probabilities(new)


SLOW = pytest.mark.slow
REFERENCES = [
    *(
        (OneVsRestClassifier, load, C)
        for load in (load_breast_cancer, load_wine, load_digits)
        for C in (0.01, 1.0, 100.0)
    ),
    (OneVsOneClassifier, load_wine, 1.0),
    pytest.param(OneVsOneClassifier, load_wine, 100.0, marks=SLOW),
    *(pytest.param(OneVsOneClassifier, load_digits, C, marks=SLOW) for C in (1.0, 100.0)),
]


@pytest.mark.parametrize(("several", "load", "C"), REFERENCES)
def test_probabilities_are_scikit_learns(
    several: Callable[..., Any], load: Callable[..., Any], C: float
) -> None:
    by_votes = several is OneVsOneClassifier
    expected, found = scikit_learns_and_ours(several(SVC(C=C)), *load(return_X_y=True), by_votes=by_votes)
    assert found == pytest.approx(expected, abs=0.01)


def random_histogram(seed: int) -> NDArray[np.float64]:
    """Return counts from none to a million per class, overlapping or apart, with bins at the very ends or not."""
    rng = np.random.default_rng(seed)
    histogram = np.zeros((2, BINS))
    for counts in histogram:
        places = np.sort(rng.integers(0, BINS, 2)) if rng.random() < 0.8 else np.array([0, BINS - 1])
        kept = rng.integers(places[0], places[1] + 1, rng.integers(1, 6))
        counts[kept] = np.floor(10 ** rng.uniform(0, 6, len(kept)))
    return histogram


@settings(deadline=None, max_examples=200)
@given(seed=st.integers(0, 10**6))
def test_the_fit_is_the_minimum(seed: int) -> None:
    # There the probabilities and the smoothed targets have the same sum, also weighted by the decision value.
    histogram = random_histogram(seed)
    negative, positive = histogram
    found = calibration_of(histogram[None], [0.3], [2.0])
    assume(found.slopes[0] > 0)
    filled = histogram.sum(axis=0) > 0
    assume(filled.sum() > 1)
    middles = histogram_middles(0.3, 2.0)[filled]
    rows = histogram.sum(axis=0)[filled]
    target = positive * (positive.sum() + 1) / (positive.sum() + 2) + negative / (negative.sum() + 2)
    error = rows * found.probabilities(middles[:, None])[:, 1] - target[filled]
    size = rows.sum()
    assert error.sum() / size == pytest.approx(0, abs=1e-7)
    spread = np.sqrt(rows @ middles**2 / size)
    assert error @ middles / (size * spread) == pytest.approx(0, abs=1e-7)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_probabilities_never_fall_as_the_decision_value_rises(seed: int) -> None:
    histogram = random_histogram(seed)
    middles, (negative, positive) = histogram_middles(), histogram.sum(axis=1)
    below, above = histogram @ middles / histogram.sum(axis=1)
    decisions = np.linspace(-3, 3, 50)[:, None]
    found = calibration_of(histogram[None], [0.0], [1.0]).probabilities(decisions)
    assert (np.diff(found[:, 1]) >= 0).all()
    if above < below - 1e-9:
        assert found[:, 1] == pytest.approx(np.full(50, (positive + 1) / (negative + positive + 2)))
    assert found.sum(axis=1) == pytest.approx(np.ones(50))


@pytest.mark.parametrize(
    ("decisions", "classes", "low", "high"),
    [
        *(
            ([], [], 1 / 2, 1 / 2),
            ([-1.0, 0.0, 1.0], [1, 1, 1], 4 / 5, 4 / 5),
            ([-1.0, 0.5] * 4, [0] * 8, 0.1, 0.1),
        ),
        ([0.1] * 6, [0, 0, 1, 0, 0, 1], 3 / 8, 3 / 8),
        ([-1.0, 1.0] * 50, [0, 1] * 50, 1 / 52, 51 / 52),
    ],
    ids=["no row", "no negative row", "no positive row", "all equal", "separated"],
)
def test_what_tells_nothing_leaves_the_smoothed_prior_and_what_tells_all_no_certainty(
    decisions: list[float], classes: list[int], low: float, high: float
) -> None:
    found = fitted(np.array(decisions).reshape(-1, 1), np.array(classes, dtype=np.int64))
    assert found.probabilities(np.array([[-1.0], [1.0]]))[:, 1] == pytest.approx([low, high], abs=1e-3)


def test_values_beyond_all_bins_leave_the_probabilities_finite() -> None:
    decisions = np.array([-1e300, -1.0, -0.5, 0.5, 1.0, 1e300])[:, None]
    found = fitted(decisions, np.array([0, 0, 1, 0, 1, 1]))
    probabilities = found.probabilities(decisions)
    assert np.isfinite(probabilities).all()
    assert (np.diff(probabilities[:, 1]) >= 0).all()


def test_where_every_sigmoid_vanishes_the_classes_share_alike() -> None:
    calibration = Calibration(np.ones(4), np.zeros(4))
    found = calibration.probabilities(np.array([[-1e4, -2e4, -1e5, -1e4], [0.0, -1e4, -1e4, 0.0]]))
    assert found.tolist() == [[0.25, 0.25, 0.25, 0.25], [0.5, 0.0, 0.0, 0.5]]


@pytest.mark.parametrize(
    ("slopes", "intercepts"), [([1, 1], [1, 1, 1]), ([[1, 1]], [[1, 1]]), ([np.nan], [1]), ([1], [np.inf])]
)
def test_a_calibration_that_cannot_be_is_refused(slopes: Any, intercepts: Any) -> None:
    with pytest.raises(ValueError, match=r"slope"):
        Calibration(np.array(slopes, dtype=float), np.array(intercepts, dtype=float))


@pytest.mark.parametrize("redrawn", [0.1, 0.25])
@pytest.mark.parametrize("variance", [0.0, 0.5])
def test_the_sigmoid_of_copies_is_that_of_their_true_records(redrawn: float, variance: float) -> None:
    rng = np.random.default_rng(0)
    true = rng.normal(0.5, 1.0, 60_000)
    ill = rng.random(len(true)) < expit(1.5 * true - 1.0)
    labels = np.where(rng.random(len(true)) < redrawn, rng.random(len(true)) < ill.mean(), ill)
    seen = true + rng.normal(0.0, np.sqrt(variance), len(true))
    counts = decision_histogram(seen, labels, 0.0, 0.25)[None]
    plain = calibration_of(counts, [0.0], [0.25])
    found = calibration_of(counts, [0.0], [0.25], CopyNoise(redrawn, np.array([variance])))
    assert plain.slopes[0] < 1.35
    assert found.slopes[0] == pytest.approx(1.5, abs=0.1)
    assert found.probabilities(np.array([[0.5]]))[0, 1] == pytest.approx(expit(-0.25), abs=0.02)


@given(st.integers(0, 10_000), st.sampled_from([0.1, 0.25, 0.55]), st.sampled_from([0.0, 1.0, 100.0]))
def test_copies_that_say_little_give_finite_sigmoids_that_rise(
    seed: int, redrawn: float, variance: float
) -> None:
    counts = random_histogram(seed)[None]
    noise = CopyNoise(redrawn, np.full(len(counts), variance))
    found = calibration_of(counts, [0.0] * len(counts), [0.5] * len(counts), noise)
    assert (found.slopes >= 0).all()
    assert np.isfinite(found.probabilities(np.array([[-1e3] * len(counts), [1e3] * len(counts)]))).all()
