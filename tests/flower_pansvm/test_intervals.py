"""Intervals by patient: they hold as often as they say, whatever rows of a patient have in common."""

from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from flower_pansvm.agreement_intervals import agreement_intervals
from flower_pansvm.counts import confusion_counts, decision_histogram, patient_squares
from flower_pansvm.metrics import Evaluation, agreement, area_under_curve, histogram_middles
from flower_pansvm.shares import (
    all_right,
    area_interval,
    balanced_interval,
    effective_rows,
    right_of_classes,
    share,
    share_by_class,
)

TIMES, EACH = 400, 5


def drawn_test(
    generator: np.random.Generator, patients: int, accuracy: float, alike: float, *, unequal: bool
) -> dict[str, Any]:
    """Return the result of a test of rows with this chance to be right, whose correlation within a patient is given."""
    counts = generator.integers(1, 2 * EACH, patients) if unequal else np.full(patients, EACH)
    whose = np.repeat(np.arange(patients), counts)
    true = generator.integers(0, 2, len(whose) if unequal else patients)
    true = true if unequal else true[whose]
    odds = (1 - alike) / max(alike, 1e-9)
    chance = (
        generator.beta(accuracy * odds, (1 - accuracy) * odds, patients)
        if alike
        else np.full(patients, accuracy)
    )
    right = generator.random(len(whose)) < chance[whose]
    return result(true, np.where(right, true, 1 - true), whose)


def result(true: np.ndarray, said: np.ndarray, whose: np.ndarray, classes: int = 2) -> dict[str, Any]:
    confusion = confusion_counts(true, said, classes)
    right = np.diag(confusion)
    return {
        "patient_id": "mrn",
        "classes": [*map(str, range(classes))],
        "confusion": confusion.tolist(),
        "patient_squares": patient_squares(true, said, whose, classes).tolist(),
        "accuracy": float(right.sum() / confusion.sum()),
        "balanced_accuracy": float(np.mean(right / np.maximum(confusion.sum(axis=1), 1))),
        "rows_test": len(true),
    }


SETTINGS = [
    (patients, accuracy, alike, unequal)
    for patients, (accuracy, alike), unequal in product(
        (40, 150), ((0.7, 0.0), (0.7, 0.3), (0.7, 0.8), (0.9, 0.3), (0.9, 0.7)), (False, True)
    )
]


@pytest.mark.slow
def test_with_five_rows_a_patient_95_percent_intervals_hold_in_95_percent_of_cases() -> None:
    """Twenty settings; intervals of rows that count as independent ones hold in 55 to 70 % where rows are alike."""
    held, naive = np.zeros((len(SETTINGS), 3)), np.zeros(len(SETTINGS))
    for place, (patients, accuracy, alike, unequal) in enumerate(SETTINGS):
        generator = np.random.default_rng(place)
        for _ in range(TIMES):
            found = drawn_test(generator, patients, accuracy, alike, unequal=unequal)
            whole, balanced, positive = all_right(found), balanced_interval(found), right_of_classes(found)[1]
            rows = all_right({**found, "patient_id": None})
            assert whole is not None
            assert balanced is not None
            assert positive is not None
            assert rows is not None
            held[place] += [
                whole.low <= accuracy <= whole.high,
                balanced[0] <= accuracy <= balanced[1],
                positive.low <= accuracy <= positive.high,
            ]
            naive[place] += rows.low <= accuracy <= rows.high
    # Of each setting six standard errors below or above; of all together what is promised.
    reach = 6 * np.sqrt(0.95 * 0.05 / TIMES)
    assert (np.abs(held / TIMES - 0.95) < reach).all()
    assert ((held.mean(axis=0) / TIMES > 0.93) & (held.mean(axis=0) / TIMES < 0.97)).all()
    alike = np.array([one[2] >= 0.7 for one in SETTINGS])
    assert naive[alike].mean() / TIMES < 0.75


@pytest.mark.parametrize(
    ("ill", "well"), [((40, 5), (40, 5)), ((6, 30), (300, 1)), ((20, 10), (200, 1)), ((200, 1), (20, 10))]
)
def test_intervals_by_class_hold_where_patients_of_one_come_more_often(
    ill: tuple[int, int], well: tuple[int, int]
) -> None:
    """With one design effect for all rows, that of sensitivity held in 82 % of cases."""
    generator, held, value, times = np.random.default_rng(1), np.zeros(2), 0.8, 400
    for _ in range(times):
        true, said, patients = [], [], []
        for positive, (many, visits) in enumerate((well, ill)):
            right = generator.random(many) < value  # all rows of a patient alike
            true += [positive] * many * visits
            said += np.repeat(np.where(right, positive, 1 - positive), visits).tolist()
            patients += np.repeat(len(set(patients)) + np.arange(many), visits).tolist()
        found = result(np.array(true), np.array(said), np.array(patients))
        for place, (number, right_ones) in enumerate(((1, (3, 2)), (0, (0, 1)))):
            cells = np.asarray(found["confusion"], dtype=float).ravel()
            one = share_by_class(found, number, *cells[list(right_ones)])
            assert one is not None
            held[place] += one.low <= value <= one.high
    assert (held / times > 0.93).all()


def test_where_each_row_is_a_patient_it_is_wilsons_interval() -> None:
    generator = np.random.default_rng(0)
    true, said = generator.integers(0, 2, (2, 90))
    by_patient = result(true, said, np.arange(90))
    assert all_right(by_patient) == all_right({**by_patient, "patient_id": None})
    assert balanced_interval(by_patient) == balanced_interval({**by_patient, "patient_id": None})


@pytest.mark.parametrize("classes", [2, 3])
def test_copies_of_every_row_make_an_interval_no_narrower(classes: int) -> None:
    """A table whose rows are there ten times tells as much as with each once."""
    generator = np.random.default_rng(1)
    true, said = generator.integers(0, classes, (2, 60))
    once = all_right(result(true, said, np.arange(60), classes))
    ten = all_right(result(np.repeat(true, 10), np.repeat(said, 10), np.repeat(np.arange(60), 10), classes))
    assert once is not None
    assert ten is not None
    assert ten.high - ten.low == pytest.approx(once.high - once.low, rel=0.06)
    assert ten.high - ten.low >= once.high - once.low


def test_where_all_are_right_the_rows_of_a_patient_count_as_one() -> None:
    true = np.repeat([0, 1], 50)
    found = result(true, true, np.repeat(np.arange(20), 5))
    right, few = all_right(found), share(20, 0)
    assert right is not None
    assert few is not None
    assert right.low <= few.low
    assert effective_rows(found, [0, 3], [1, 2]) < 20


def test_one_patient_with_half_of_all_rows_leaves_little_certain() -> None:
    generator = np.random.default_rng(2)
    whose = np.concatenate([np.zeros(100, dtype=np.int64), np.arange(1, 101)])
    true = np.where(whose == 0, 1, generator.integers(0, 2, 200))
    said = np.where(whose == 0, 0, true)
    right, rows = all_right(result(true, said, whose)), share(100, 100)
    assert right is not None
    assert rows is not None
    assert right.high - right.low > 2 * (rows.high - rows.low)


def test_where_nobody_counted_by_patient_nothing_is_certain() -> None:
    found = {
        **result(*np.random.default_rng(3).integers(0, 2, (2, 40)), np.arange(40) // 4),
        "patient_squares": None,
    }
    right = all_right(found)
    assert right is not None
    assert (right.low, right.high) == (0.0, 1.0)


def test_at_dp_the_rows_of_a_patient_that_take_part_count_as_one() -> None:
    cells = {
        "patient_id": "mrn",
        "confusion": [[50.3, 9.7], [12.1, 47.9]],
        "count_noise": 2.0,
        "accuracy": 0.82,
    }
    widths = []
    for most in (1, 4):
        right = all_right({**cells, "rows_test": 120, "config": {"rows-per-patient": most}})
        assert right is not None
        widths.append(right.high - right.low)
        assert right.low < 0.82 < right.high
    assert widths[1] > 1.5 * widths[0]


@pytest.mark.parametrize(("ill", "well"), [(15, 45), (60, 60), (10, 200)])
@pytest.mark.parametrize("area", [0.7, 0.9, 0.97])
@pytest.mark.parametrize("each", [1, EACH])
def test_intervals_of_areas_hold_in_95_of_100_cases(ill: int, well: int, area: float, each: int) -> None:
    """Decisions are normal, with two deviations between patients for one between the rows of a patient."""
    generator, held = np.random.default_rng(0), 0
    true = np.repeat([0, 1], [well, ill])
    whose, shift = np.repeat(np.arange(len(true)), each), norm.ppf(area) * np.sqrt(2)
    for _ in range(TIMES):
        between = generator.normal(size=len(true)) + shift * true
        within = generator.normal(size=len(whose))
        decision = (
            between[whose]
            if each == 1
            else shift * true[whose]
            + (np.sqrt(0.8) * (between - shift * true)[whose] + np.sqrt(0.2) * within)
        )
        said = (decision > shift / 2).astype(int)
        told = result(true[whose], said, whose)
        told |= {
            "auc": area_under_curve(decision_histogram(decision, true[whose] == 1)),
            "rows_test": len(whose),
        }
        low, high = area_interval(told)
        held += low <= area <= high
    assert 0.92 <= held / TIMES <= 1.0


@pytest.mark.parametrize("rows", [(20, 20, 20), (10, 30, 160)])
def test_of_three_classes_the_interval_holds_no_less_often(rows: tuple[int, ...]) -> None:
    """The mean of each class's area against all others, of decisions that have much in common."""
    generator, true = np.random.default_rng(0), np.repeat([0, 1, 2], rows)

    def areas(true: np.ndarray) -> list[float | None]:
        common = generator.normal(size=(len(true), 1))
        decisions = common + generator.normal(size=(len(true), 3)) + 1.5 * np.eye(3)[true]
        return [area_under_curve(decision_histogram(decisions[:, one], true == one)) for one in range(3)]

    population = np.mean([areas(np.repeat([0, 1, 2], [100 * count for count in rows])) for _ in range(10)])
    held = 0
    for _ in range(TIMES):
        found = areas(true)
        told = {"confusion": np.diag(rows).tolist(), "auc": np.mean(found), "auc_by_class": found}
        low, high = area_interval(told)
        held += low <= population <= high
    assert 0.92 <= held / TIMES <= 1.0


def test_an_area_of_one_may_be_less() -> None:
    told = result(np.repeat([0, 1], 20), np.repeat([0, 1], 20), np.arange(40)) | {"auc": 1.0}
    low, high = area_interval(told)
    assert 0.85 < low < 0.99 < high <= 1.0
    assert area_interval(told | {"auc": None}) is None


@pytest.mark.parametrize("slope", [0.5, 1.0, 3.0])
def test_probabilities_agree_with_outcomes_as_far_as_the_intervals_say(slope: float) -> None:
    """The model says twice the log odds of a slope of .5, and so on; each figure also beside scikit-learn's on rows."""
    generator, middles = np.random.default_rng(0), None
    edges = np.linspace(-6, 6, 513)
    middles, held = (edges[:-1] + edges[1:]) / 2, np.zeros(2)
    for _ in range(TIMES // 2):
        places = generator.integers(0, 512, 300)
        true = generator.random(300) < expit(slope * middles[places])  # in the mean as many as the model says
        histogram = np.stack(
            [np.bincount(places[true == one], minlength=512) for one in (False, True)]
        ).astype(float)
        found = agreement(histogram, expit(middles))
        told = agreement_intervals({"agreement": asdict(found)})
        held += [
            told[name][1] <= value <= told[name][2] for name, value in (("slope", slope), ("intercept", 0.0))
        ]
    assert (held / (TIMES // 2) >= 0.9).all()
    assert found.brier == pytest.approx(brier_score_loss(true, expit(middles[places])))
    fitted = LogisticRegression(C=np.inf, tol=1e-8).fit(middles[places][:, None], true)
    assert found.slope == pytest.approx(fitted.coef_[0, 0], rel=1e-3)


@pytest.mark.parametrize(
    ("others", "own", "given"),
    [
        (100, 400, expit(np.linspace(-6, 6, 512))),
        (100, 400, np.full(512, 0.4)),
        (400, 100, expit(np.linspace(-60, 60, 512))),
    ],
    ids=["told without error", "one probability", "all wrong"],
)
def test_without_a_slope_there_is_still_a_brier_score(
    others: int, own: int, given: NDArray[np.float64]
) -> None:
    histogram = np.zeros((2, 512))
    histogram[0, others], histogram[1, own] = 30, 30
    found = agreement(histogram, given)
    assert found.slope is None
    assert found.brier == pytest.approx(np.mean([given[others] ** 2, (1 - given[own]) ** 2]))
    assert "brier" in agreement_intervals({"agreement": asdict(found)})
    assert agreement_intervals({"agreement": None}) == {}


@pytest.mark.parametrize("shift", [-25.0, -8.0, 8.0, 25.0])
def test_probabilities_that_are_far_off_have_an_intercept_that_says_how_far(shift: float) -> None:
    histogram = np.zeros((2, 512))
    middles = np.linspace(-2, 2, 512)
    histogram[:, ::8] = 1000 * np.stack([expit(-middles), expit(middles)])[:, ::8]
    found = agreement(histogram, expit(middles - shift))
    assert found.intercept == pytest.approx(shift, abs=1e-2)
    assert found.slope == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("odds", "spread", "rows"), [(-4.0, 0.7, 40), (0.0, 6.0, 40), (0.0, 1.0, 100)])
def test_the_brier_scores_interval_holds_of_a_rare_class_and_of_sure_probabilities(
    odds: float, spread: float, rows: int
) -> None:
    """By the spread of the rows' errors alone it held in 60 and 89 % of cases: where none is wrong, that is nothing."""
    generator, probabilities, held = np.random.default_rng(0), expit(histogram_middles()), []
    many = expit(generator.normal(odds, spread, 100_000))
    for _ in range(200):
        decisions = generator.normal(odds, spread, rows)
        true = (generator.random(rows) < expit(decisions)).astype(int)
        confusion = confusion_counts(true, (decisions > 0).astype(int), 2)
        histograms = decision_histogram(decisions, true == 1)[None]
        found = asdict(Evaluation.from_counts(confusion, histograms, probabilities))
        told = agreement_intervals({**found, "rows_test": rows, "decision_groups": found["groups"]})["brier"]
        held.append(told[1] <= np.mean(many * (1 - many)) <= told[2])
    assert np.mean(held) > 0.91
