"""Each caution is there where it is true, and not elsewhere."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from strategies.report.cautions import cautions
from strategies.report.words.system import EXACT_SUMS, SystemWords, TaskWords, cautions_of_sums
from tests.command_line import finished
from tests.strategies.report.test_section import BARE

GOOD: dict[str, Any] = {
    **BARE,
    "model_sha256": "ab" * 32,
    "classes": ["healthy", "ill"],
    "accuracy": 0.95,
    "balanced_accuracy": 0.95,
    "rows_test": 200,
    "confusion": [[95, 5], [5, 95]],
    "rows_train_by_class": [400, 400],
    "sites_with_one_class": [],
    "site_differences": [],
    "constant_columns": [],
    "converged": True,
    "tested_on": "true records",
    "disclosed": [{"task": "cuts", "how": "perturbed"}, {"task": "scores", "how": "exact"}],
}


COPIES: dict[str, Any] = {"level": "perturbed", "config": {"probability": True}}


def sloped(slope: float) -> dict[str, Any]:
    """Return the part of a result with a calibration slope, give or take .2."""
    figures = {"brier": 0.1, "intercept": 0.0, "slope": slope}
    errors = {"brier_error": 0.01, "intercept_error": 0.1, "slope_error": 0.1}
    return {"agreement": {**figures, **errors}}


def test_a_good_run_has_none() -> None:
    assert cautions(GOOD) == cautions({**GOOD, **sloped(1.1)}) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"accuracy": None, "confusion": None, "rows_test": 0}, "it was tried on no patient"),
        ({"confusion": [[180, 0], [20, 0]], "accuracy": 0.9}, "is not better than no model"),
        ({"confusion": [[56, 54], [45, 55]], "accuracy": 111 / 210}, "may not be better than no model"),
        ({"confusion": [[175, 5], [10, 10]], "accuracy": 0.925}, "tells the classes apart"),
        ({"confusion": [[150, 30], [2, 18]], "accuracy": 0.84}, "tells the classes apart"),
        ({"confusion": [[180, 0], [20, 0]], "accuracy": 0.9, "auc": 0.9}, "With another threshold it may be"),
        ({"confusion": [[150, 10], [30, 10]], "accuracy": 0.8}, "“healthy” is right for 80%"),
        ({"confusion": [[180, 0], [20, 0]], "accuracy": 0.9}, "The model never says “ill”"),
        (
            {"confusion": [[95, 5], [1, 18]], "accuracy": 113 / 119, "rows_test": 119},
            "“ill” (19 to try it on)",
        ),
        ({"rows_train_by_class": [400, 7]}, "“ill” (7 to learn from)"),
        ({"model_sha256": None}, "This run leaves no model"),
        ({"dropped_sites": ["Ulm"]}, "Sites stopped answering and were left out: Ulm"),
        ({"sites_with_one_class": ["Ulm"]}, "Sites that named one class only: Ulm"),
        ({"converged": False}, "Training ended before"),
        ({"constant_columns": ["zip code"]}, "millionth of their numbers: zip code"),
        (
            {"constant_columns": ["ward=9"], "predictors": [{"name": "ward", "categories": ["7", "9"]}]},
            "Categories that none of the training patients has, or all have: ward=9. The model",
        ),
        ({"aggregation": "plain"}, "Nothing was masked"),
        ({"tested_on": "perturbed records"}, "perturbed copies"),
        (
            {
                "agreement": {"slope": None},
                "decision_groups": [[{"probability": 0.54}, {"probability": 0.54 + 2e-16}]],
            },
            "the model gives all test patients about the same one",
        ),
        (
            {"agreement": {"slope": None}, "decision_groups": [[{"probability": 0.1}, {"probability": 0.9}]]},
            "apart without error",
        ),
        (
            {
                "agreement": {"slope": None},
                "bin_noise": 9.7,
                "decision_groups": [[{"probability": 0.1}, {"probability": 0.9}]],
            },
            "as the noise of the test is too large",
        ),
        ({**COPIES}, "was not measured. Take"),
        ({**COPIES, "tested_on": "perturbed records", **sloped(0.5)}, "was not measured"),
        (
            {**COPIES, **sloped(1.6)},
            "too moderate: those near 0 or 1 should be nearer (calibration slope 1.60",
        ),
        (
            {**COPIES, **sloped(0.6)},
            "too extreme: those near 0 or 1 should be less so (calibration slope 0.60",
        ),
        ({**COPIES, **sloped(1.1)}, "finds no fault in them"),
        (
            sloped(0.4),
            "too extreme: those near 0 or 1 should be less so (calibration slope 0.40, 95% interval 0.20",
        ),
        (sloped(1.4), "not their size: in the test they are too moderate"),
        ({"count_noise": 3.2}, "each is off by about 3.2"),
        ({"disclosed": [{"task": "cuts", "how": "exact"}]}, "can be computed from these"),
        ({"disclosed": [{"task": "rff_cuts", "how": "exact"}]}, "can be computed from these"),
        ({"disclosed": [{"task": "consensus", "how": "exact"}]}, "can be computed from these"),
        # Of a system that nothing is said of, and so neither that its sums are few.
        ({"disclosed": [{"task": "gram", "how": "exact"}]}, "can be computed from these"),
    ],
)
def test_a_caution_is_there_where_it_is_true(changes: dict[str, Any], words: str) -> None:
    assert [text for text in cautions({**GOOD, **changes}) if words in text]


def test_a_model_that_tells_classes_apart_is_not_called_no_better_than_none() -> None:
    """Class weights find more of a rare class, and fewer rows are right."""
    said = " ".join(cautions({**GOOD, "confusion": [[150, 30], [2, 18]], "accuracy": 0.84}))
    assert "better than no model" not in said
    assert "“healthy” is right for 90%" in said
    assert "how often it is right when it says so" in said
    told = {"confusion": None, "wrong_and_right": [[30.0, 150.0], [2.0, 18.0]], "balanced_accuracy": 0.87}
    said = " ".join(cautions({**GOOD, **told, "accuracy": 0.84, "count_noise": 0.1}))
    assert "judge it by how many of each class it finds." in said, "no other figure is in the report"


def test_a_category_that_nobody_has_is_no_column_of_dates() -> None:
    described = [{"name": "ward", "categories": ["7", "9"]}, {"name": "zip"}]
    said = " ".join(cautions({**GOOD, "constant_columns": ["ward=9", "zip"], "predictors": described}))
    assert "of their numbers: zip. The first" in said


def test_a_systems_exact_sums_bring_the_caution_unless_its_file_says_that_they_are_few() -> None:
    gram, counts = TaskWords("products", "weights"), TaskWords("counts", "accuracy")
    undescribed = SystemWords({"gram": gram, "gram_scores": counts})
    described = SystemWords({"gram": gram, "gram_scores": replace(counts, few_sums=True)}, "Own words.")
    for task, system, texts in (
        ("gram", undescribed, [EXACT_SUMS]),
        ("gram_scores", undescribed, [EXACT_SUMS]),
        ("gram", described, ["Own words."]),
        ("gram_scores", described, []),
    ):
        assert cautions_of_sums({task}, {"ridge": system}) == texts


def test_the_model_is_not_blamed_for_classes_that_no_test_patient_has() -> None:
    confusion = [[90, 5, 0], [5, 90, 0], [0, 0, 0]]
    said = cautions({**GOOD, "classes": ["a", "b", "c"], "confusion": confusion, "accuracy": 0.947})
    assert not [text for text in said if "never says" in text]


@pytest.mark.parametrize("classes", [["benign", "normal"], ["-1", "0"], ["control", "healthy"], ["a", "b"]])
def test_where_order_alone_says_which_class_is_positive_a_caution_does(classes: list[str]) -> None:
    run = {**GOOD, "classes": classes, "positive_class": classes[1]}
    assert [text for text in cautions(run) if f"“{classes[1]}” was taken" in text]
    assert not cautions({**run, "positive_labels": [classes[1]]})


@pytest.mark.parametrize("classes", [["nein", "ja"], ["healthy donor", "CLL"], ["grade 0", "grade 2"]])
def test_names_that_say_which_class_is_positive_need_no_caution(classes: list[str]) -> None:
    assert not cautions({**GOOD, "classes": classes, "positive_class": classes[1]})


def test_columns_of_which_a_model_learns_are_not_said_to_tell_it_nothing(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    ill = generator.integers(0, 2, 240)
    far = 1e9 + 2 * ill + generator.normal(size=240)
    pd.DataFrame({"file": far, "same": 7, "ill": ill}).to_csv(tmp_path / "ward.csv", index=False)
    run = finished(
        tmp_path / "out", data=str(tmp_path / "ward.csv"), label="ill", landmarks="20", privacy="exact"
    )
    assert run["accuracy"] > 0.75
    (text,) = [text for text in cautions(run) if "file, same" in text]
    assert "may tell it much" in text
