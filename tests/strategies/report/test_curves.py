"""ROC curves and calibration from grouped counts, against numbers computed by hand and scikit-learn's."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

from flower_pansvm.counts import decision_histogram
from flower_pansvm.metrics import decision_groups
from flower_pansvm.shares import share
from strategies.report.curves import bands_of, roc_curves
from strategies.report.plots import roc_figure


def group(others: int, of_class: int, probability: float | None = None) -> dict[str, Any]:
    return {"others": others, "of_class": of_class, "probability": probability}


THREE = [group(6, 0, 0.1), group(3, 2, 0.4), group(1, 8, 0.9)]


def test_the_curve_and_its_area_by_hand() -> None:
    (curve,) = roc_curves({"classes": ["healthy", "ill"], "decision_groups": [THREE]})
    assert curve.name == "ill"
    assert curve.alarms == pytest.approx([0.0, 0.1, 0.4, 1.0])
    assert curve.hits == pytest.approx([0.0, 0.8, 1.0, 1.0])
    assert curve.area == pytest.approx(0.1 * 0.4 + 0.3 * 0.9 + 0.6)


def test_groups_cut_little_of_the_area() -> None:
    generator = np.random.default_rng(0)
    ill = generator.random(2000) < 0.3
    values = generator.normal(size=2000) + 1.5 * ill
    groups = [asdict(one) for one in decision_groups(decision_histogram(values, ill))]
    (curve,) = roc_curves({"classes": ["healthy", "ill"], "decision_groups": [groups]})
    assert curve.area == pytest.approx(roc_auc_score(ill, values), abs=2e-3)


def test_each_of_several_classes_has_a_curve_unless_nobody_or_everybody_has_it() -> None:
    nobody = [group(9, 0), group(16, 0)]
    curves = roc_curves({"classes": ["a", "b", "c"], "decision_groups": [THREE, nobody, THREE]})
    assert [curve.name for curve in curves] == ["a", "c"]


def test_bands_are_groups_put_together_with_the_mean_probability_of_their_patients() -> None:
    first, second = bands_of({"decision_groups": [THREE]}, bands=2)
    assert (first.rows, first.share.right, first.share.of) == (11, 2, 11)
    assert first.probability == pytest.approx((6 * 0.1 + 5 * 0.4) / 11)
    assert (second.rows, second.share.right, second.probability) == (9, 8, pytest.approx(0.9))
    # Wilson's interval of 8 of 9 by hand: (8 + 1.92) / (9 + 3.84) -/+ 1.96 sqrt(8 / 9 + 0.96) / (9 + 3.84)
    assert (second.share.low, second.share.high) == pytest.approx((0.5650, 0.9801), abs=5e-4)


def test_a_bands_interval_is_by_patient() -> None:
    """Ten patients with two equal rows each tell as much as ten rows, which Student's quantile makes fewer."""
    few = (norm.isf(0.025) / student.isf(0.025, 9)) ** 2
    result = {"decision_groups": [THREE], "confusion": [[10, 0], [0, 10]], "patient_id": "mrn"}
    twice = {**result, "patient_squares": np.diag([20, 0, 0, 20]).tolist()}
    for one, rows in ((twice, 9 / 2 * few), (result, 0)):
        band = bands_of(one, bands=2)[1].share
        expected = share(8, 1, rows=rows)
        assert expected is not None
        assert (band.value, band.low, band.high) == pytest.approx((8 / 9, expected.low, expected.high))
    (known, unknown), every = (bands_of(one, bands=2)[1].share for one in (twice, result)), share(8, 1)
    assert every is not None
    assert unknown.low < known.low < every.low


def test_the_models_own_threshold_within_a_group_is_a_corner_of_the_curve() -> None:
    result = {"classes": ["healthy", "ill"], "decision_groups": [THREE]}
    (cut,) = roc_curves(result)
    middle = (cut.alarms[1] + cut.alarms[2]) / 2, (cut.hits[1] + cut.hits[2]) / 2
    rows = np.array([sum(group[key] for group in THREE) for key in ("others", "of_class")])
    own = np.array(middle) * rows
    (curve,) = roc_curves({**result, "confusion": np.column_stack([rows - own, own]).tolist()})
    assert middle in list(zip(curve.alarms.tolist(), curve.hits.tolist(), strict=True))
    assert len(curve.hits) == len(cut.hits) + 1
    # Noise in the counts puts it beside the curve, and who takes all or nobody for ill is at an end of it.
    for other in (own * [1.5, 0.5], rows, rows * 0):
        (curve,) = roc_curves({**result, "confusion": np.column_stack([rows - other, other]).tolist()})
        assert set(curve.hits.tolist()) == set(cut.hits.tolist())


def test_the_models_own_threshold_is_marked_on_the_curve() -> None:
    result = {"classes": ["healthy", "ill"], "decision_groups": [THREE], "confusion": [[9, 1], [2, 8]]}
    (axes,) = roc_figure(result, roc_curves(result)).axes
    marked = axes.lines[-1]
    assert (marked.get_xdata()[0], marked.get_ydata()[0]) == (0.1, 0.8)
    chance = roc_figure({**result, "confusion": None}, roc_curves(result)).axes[0]
    assert len(chance.lines) == len(axes.lines) - 1
