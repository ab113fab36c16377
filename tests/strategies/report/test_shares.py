"""Shares and their intervals against numbers computed by hand and from textbooks."""

import numpy as np
import pytest

from flower_pansvm.shares import all_right, share
from strategies.report.shares import class_figures

TWO = {
    "classes": ["healthy", "ill"],
    "confusion": [[90, 10], [5, 15]],
    "accuracy": 105 / 120,
    "rows_test": 120,
    "count_noise": 0.0,
}


def test_wilsons_interval_as_in_newcombe_1998() -> None:
    # Newcombe 1998, table I: 81 of 263 and 15 of 148.
    for right, of, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)):
        found = share(right, of - right)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_figures_of_two_classes_by_hand() -> None:
    healthy, ill = class_figures(TWO)
    for found, right, of in (
        (ill.sensitivity, 15, 20),
        (ill.specificity, 90, 100),
        (ill.ppv, 15, 25),
        (ill.npv, 90, 95),
        (healthy.sensitivity, 90, 100),
        (healthy.ppv, 90, 95),
    ):
        assert (found.right, found.of) == (right, of)
    assert ill.patients == 20
    right = all_right(TWO)
    assert (right.right, right.of, right.value) == (105, 120, 0.875)


def test_figures_of_three_classes_by_hand() -> None:
    result = {**TWO, "classes": ["a", "b", "c"], "confusion": [[5, 1, 0], [2, 6, 1], [0, 0, 9]]}
    b = class_figures(result)[1]
    assert (b.sensitivity.right, b.sensitivity.of) == (6, 9)
    assert (b.specificity.right, b.specificity.of) == (14, 15)
    assert (b.ppv.right, b.ppv.of) == (6, 7)
    assert (b.npv.right, b.npv.of) == (14, 17)


def test_nobody_to_count_is_no_share() -> None:
    never_said = {**TWO, "confusion": [[9, 0], [3, 0]]}
    assert class_figures(never_said)[1].ppv is None
    assert share(0, 0) is None
    assert all_right({"accuracy": None}) is None


def test_wrong_and_right_give_sensitivities_only() -> None:
    result = {
        "classes": ["a", "b", "c"],
        "confusion": None,
        "wrong_and_right": [[1.5, 9.0], [0.0, 3.0], [2.0, 2.0]],
        "count_noise": 1.0,
    }
    a = class_figures(result)[0]
    assert (a.sensitivity.right, a.sensitivity.of) == (9.0, 10.5)
    assert (a.specificity, a.ppv, a.npv) == (None, None, None)


def test_noise_makes_intervals_wider_the_more_the_wider() -> None:
    widths = []
    for noise in (0.0, 1.0, 3.0, 10.0):
        found = share(80.0, 20.0, noise)
        assert found.low < 0.8 < found.high
        widths.append(found.high - found.low)
    assert widths == sorted(widths)
    assert widths[3] > 2 * widths[0]


@pytest.mark.parametrize(("true", "patients", "noise"), [(0.9, 60, 3.0), (0.5, 30, 2.0), (1.0, 40, 5.0)])
@pytest.mark.slow
def test_intervals_of_noisy_counts_hold_the_true_share_in_95_of_100_cases(
    true: float, patients: int, noise: float
) -> None:
    generator = np.random.default_rng(0)
    held, tries = 0, 200
    for _ in range(tries):
        right = generator.binomial(patients, true)
        counts = np.array([right, patients - right]) + generator.normal(0, noise, 2)
        found = share(*counts.tolist(), noise=noise)
        held += found is not None and found.low <= true <= found.high
    assert held >= 0.95 * tries


def test_accuracy_of_noisy_counts_has_room_for_the_noise_of_all_of_them() -> None:
    exact, noisy = all_right(TWO), all_right({**TWO, "count_noise": 4.0})
    assert noisy.low < exact.low < exact.high < noisy.high
