"""The first part of the report: what a clinician can repeat, from new results and from older ones."""

import html
import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strategies.report import clinician
from strategies.report.cautions import cautions
from strategies.report.sections import FOR_CLINICIANS, shown
from tests.strategies.report.test_curves import group
from tests.strategies.report.test_section import BARE, PHASE, page_of

TWO: dict[str, Any] = {
    **BARE,
    "strategy": "pan-svm",
    "site_names": ["Ulm", "Kiel", "Bern"],
    "sites_with_one_class": [],
    "site_differences": [],
    "rows_train": 400,
    "rows_train_by_class": [300, 100],
    "rows_test": 120,
    "classes": ["healthy", "ill"],
    "features": 13,
    "accuracy": 0.875,
    "balanced_accuracy": 0.825,
    "auc": 0.91,
    "confusion": [[90, 10], [5, 15]],
    "decision_groups": [[group(80, 2, 0.05), group(20, 18, 0.6)]],
    "model_sha256": "ab" * 32,
    "model_kind": "pan-svc",
    "tested_on": "true records",
    "phases": {"join": {**PHASE, "round_trips": 1, "bytes_up": 2_500_000}},
    "config": {"strategy": "pan-svm", "C": 4.0, "seed": 0},
}


def text_of(name: str, **changes: Any) -> str:
    """Return what a section says, without its tags."""
    return plain(getattr(clinician, name)({**TWO, **changes}))


def plain(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_a_model_that_was_not_tried_is_not_praised() -> None:
    nothing = {"accuracy": None, "balanced_accuracy": None, "auc": None, "rows_test": 0}
    result = {**TWO, **nothing, "confusion": None, "decision_groups": None}
    assert any("tried on no patient" in text for text in cautions(result))
    titles = [one.title for one in shown(FOR_CLINICIANS, result)]
    assert titles == ["The patients"]
    unproven = {**result, "level": "exact", "noise": None}
    assert "tested on" not in plain(clinician.level(unproven))
    assert clinician.level_headline(unproven)["tested on"] == "no record"


def test_the_four_figures_with_intervals() -> None:
    text = text_of("accuracy")
    for words in (
        "Sensitivity of those with “ill”, found 15 of 20 75% 53% to 89%",
        "Specificity of those with “healthy”, recognised as such 90 of 100 90% 83% to 94%",
        "Positive predictive value of those called “ill”, right 15 of 25 60% 41% to 77%",
        "Negative predictive value of those called “healthy”, right 90 of 95 95% 88% to 98%",
        "88% (95% confidence interval 80% to 92%)",
        "(balanced accuracy), is 82% (95% confidence interval 71% to 90%).",
    ):
        assert words in text
    assert "noise" not in text


def test_noise_is_told_and_counts_are_approximate() -> None:
    text = text_of("accuracy", confusion=[[90.4, 10.2], [5.1, 15.3]], count_noise=2.0)
    assert "about 15 of about 20" in text
    assert "The counts carry noise" in text
    # What single classes were taken for is not known where wrong and right were counted only.
    several = {"classes": ["a", "b", "c"], "confusion": None, "wrong_and_right": [[1.0, 9.0]] * 3}
    text = text_of("accuracy", **several, count_noise=2.0)
    assert "Specificity and predictive values are not known" in text
    assert "Predictive values hold" not in text


def test_patients_of_each_class_and_whose_they_are() -> None:
    text = text_of("patients")
    assert "healthy 300 100 ill 100 20" in text
    assert "hospitals 3: Ulm, Kiel, Bern" in text
    assert "23 November 2026, 00:43 UTC" in text
    assert "simulated" not in text
    simulated = text_of("patients", site_names=["site-000", "site-001", "site-002"], config={"data": "heart"})
    assert "heart, partitioned over simulated hospitals" in simulated


VISITS = {"patient_id": "mrn", "patients_train": 90, "patients_test": 31}


def test_what_counts_rows_says_rows_where_patients_have_several() -> None:
    sections = ("accuracy", "patients", "mistakes", "thresholds", "certainty")
    counted = {**VISITS, "patient_squares": np.diag([270, 30, 15, 45]).tolist()}
    ours, rows = (" ".join(text_of(name, **one) for name in sections) for one in ({}, counted))
    for text in (
        "Of 120 {}s that the model had not seen",
        "figure {}s share",
        "{}s for training 400 {}s for the test 120 columns per {} 13",
        "each {} a value",
        "{}s the model says have it",
        "Of {}s with about the same probability",
    ):
        assert text.replace("{}", "patient") in ours
        assert text.replace("{}", "row") in rows
    assert "A row of a hospital’s table counts as a patient" in ours
    assert "patients for training 90 patients for the test 31" in rows
    assert "Rows of each class" in rows
    assert "both the training and the test" not in rows


@pytest.mark.parametrize(
    ("changes", "counted", "intervals"),
    [
        (
            {"patient_squares": np.diag([9, 9, 9, 9]).tolist()},
            "patients for training 90",
            "clustered by patient",
        ),
        ({"patients_train": None, "patients_test": None}, "not counted by pan-svm", "as wide as can be"),
        (
            {"level": "dp", "count_noise": 2.0, "patients_train": None, "patients_test": None},
            "patients for the test as many as rows: one row of each takes part",
            "",
        ),
        (
            {
                **{"level": "dp", "count_noise": 2.0, "patients_train": None, "patients_test": None},
                "config": {"rows-per-patient": 3},
            },
            "not counted at level dp: at most 3 rows of each take part",
            "at most 3, count as one in every interval",
        ),
    ],
)
def test_how_patients_were_counted_and_intervals_made_is_told(
    changes: dict[str, Any], counted: str, intervals: str
) -> None:
    run = {"config": {"rows-per-patient": 1}, **VISITS, **changes}
    assert counted in text_of("patients", **run)
    assert intervals in text_of("accuracy", **run)
    assert ("count as one" in text_of("accuracy", **run)) == ("count as one" in intervals)
    assert "clustered" not in text_of("accuracy")


def test_cautions_of_few_rows_do_not_call_them_patients() -> None:
    few = {**TWO, "rows_train_by_class": [300, 7]}
    for one, words in ((few, "few patients of"), ({**few, **VISITS}, "few rows of")):
        assert any(words in text for text in cautions(one))


def test_mistakes_are_a_table_and_of_many_classes_a_list_and_a_picture() -> None:
    assert "healthy 90 10 ill 5 15" in text_of("mistakes")
    classes = [chr(ord("a") + number) for number in range(12)]
    counts = [[5 if row == column else 0 for column in range(12)] for row in range(12)]
    counts[2][7], counts[4][1] = 3, 4
    text = text_of("mistakes", classes=classes, confusion=counts)
    assert "2 kinds of mistake were made" in text
    assert "4 “e” “b” 3 “c” “h”" in text


def test_calibration_compares_what_the_model_says_with_what_is_there() -> None:
    text = text_of("certainty")
    assert "82 5% 2% 0.7% to 8%" in text
    assert "38 60% 47% 32% to 63%" in text
    without = [[{**group, "probability": None} for group in TWO["decision_groups"][0]]]
    assert "gives no probabilities" in text_of("certainty", decision_groups=without)
    assert "--probability true" in text_of("certainty", decision_groups=without)
    assert "--probability true" not in text_of("certainty", decision_groups=without, strategy="random-kernel")
    several = text_of("certainty", classes=["a", "b", "c"], config={**TWO["config"], "probability": True})
    assert "cannot show whether these hold" in several
    assert "gives no probabilities" not in several


@pytest.mark.parametrize("known", [(), ("intercept",), ("intercept", "slope")])
def test_calibration_is_told_as_far_as_it_is_known(known: tuple[str, ...]) -> None:
    names = ("intercept", "slope", "brier")
    fitted = {name: 0.25 if name in (*known, "brier") else None for name in names}
    errors = {f"{name}_error": value and 0.01 for name, value in fitted.items()}
    text = text_of("certainty", agreement={**fitted, **errors})
    assert "Brier score 0.250" in text
    for name in ("intercept", "slope"):
        assert (f"{name} 0.25" in text) == (name in known)


@pytest.mark.parametrize("strategy", ["pan-svm", "ensemble"])
def test_a_model_of_several_classes_without_probabilities_is_not_said_to_give_any(strategy: str) -> None:
    text = text_of("certainty", classes=["a", "b", "c"], strategy=strategy)
    assert "gives no probabilities" in text
    assert "add up to 1" not in text
    assert ("--probability true" in text) == (strategy == "pan-svm")


@pytest.mark.parametrize(
    ("task", "part", "how", "true"),
    [("scores", "histogram", "summed", True), ("kernel_points", "kernel", "disclosed", False)],
)
def test_that_no_value_of_a_patient_leaves_is_said_only_where_it_is_true(
    task: str, part: str, how: str, true: bool
) -> None:
    left = {"task": task, "result": part, "how": how, "numbers_per_site": 9, "times": 1}
    assert ("nobody’s own value does" in text_of("thresholds", disclosed=[left])) == true


def test_areas_of_classes_are_those_of_the_result_and_not_of_the_drawing() -> None:
    several = {"classes": ["a", "b", "c"], "confusion": None, "decision_groups": TWO["decision_groups"] * 3}
    text = text_of("thresholds", **several, auc_by_class=[0.921, 0.911, 0.901])
    assert "Smallest areas: “c” 0.901, “b” 0.911, “a” 0.921." in text


@pytest.mark.parametrize(("site", "joined"), [("Ulm", True), ("site-000", False)])
def test_that_a_site_joins_small_groups_is_said_of_hospitals_alone(site: str, joined: bool) -> None:
    counted = {"column": "sex", "groups": [{"name": "f", "confusion": [[9, 1], [1, 2]]}]}
    text = text_of("subgroups", subgroups=counted, site_names=[site], level="exact")
    assert ("with the last one" in text) == joined


def test_columns_that_were_selected_are_named() -> None:
    text = text_of("patients", selected=["age", "<b>"], ranking=["age", "<b>", "sex"])
    assert "columns per patient 2 of 3: age, <b>" in text


def test_a_category_is_one_column_as_in_the_list_of_predictors() -> None:
    """Five predictors were listed, and six columns counted above them."""
    assert (
        "columns per patient 2 " in text_of("patients", predictors=[{"name": "age"}, {"name": "sex"}]) + " "
    )


@pytest.mark.parametrize("asked", [{"sensitivity": 0.9}, {"threshold": 0.5}])
def test_figures_at_another_threshold_than_predictions_say_so(asked: dict[str, float]) -> None:
    """The first table told a sensitivity of 68%; the run had asked for 99.9%, and predict found all."""
    assert "at the model’s own boundary" not in text_of("accuracy")
    probable = [
        [
            {**one, "probability": p, "least": p}
            for one, p in zip(TWO["decision_groups"][0], (0.1, 0.7), strict=True)
        ]
    ]
    text = text_of("accuracy", config={**TWO["config"], **asked}, decision_groups=probable)
    assert "its sensitivity is 90%, its specificity 80%" in text


def test_names_from_tables_are_never_markup(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    result = {
        **TWO,
        "classes": [evil, "ill"],
        "site_names": [evil, "Kiel", "Bern"],
        "sites_with_one_class": [evil],
        "constant_columns": [evil],
        "dropped_sites": [evil],
        "rows_train_by_class": [300, 3],
        "config": {"data": evil},
        "phases": {evil: PHASE},
        "disclosed": [{"task": evil, "result": evil, "how": "summed", "numbers_per_site": 3, "times": 1}],
    }
    page = page_of(result, tmp_path)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") > 8


def test_the_page_needs_nothing_from_elsewhere_and_is_read_out(tmp_path: Path) -> None:
    page = page_of(TWO, tmp_path)
    links = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\')\s>]+)', page)
    assert links
    assert all(link.startswith("#") for link in links)
    assert '<html lang="en">' in page
    assert 'name="viewport"' in page
    for drawing in re.findall(r"<svg[^>]*>", page):
        assert re.search(r'role="img" aria-label="[^"]{10,}"', drawing)
    assert page.count("<h1>") == 1
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_the_clinicians_part_comes_first_and_has_no_jargon(tmp_path: Path) -> None:
    first, second = page_of(TWO, tmp_path).split("For the engineer")
    for word in ("hyperparameter", "landmark", "cutting plane", "objective", "secure sum", "round trip"):
        assert word not in plain(first).lower()
    assert "Settings and versions" in second


def test_counts_of_classes_of_copies_are_told_from_true_ones() -> None:
    assert "perturbed copies" in text_of("patients", level="perturbed")
    assert "perturbed copies" not in text_of("patients", level="exact")
    assert "perturbed copies" not in text_of("patients", level="perturbed", rows_train_by_class=None)


def test_the_worst_of_several_groups_is_told_to_be_partly_chance() -> None:
    groups = [{"name": name, "confusion": [[9, 1], [wrong, 9]]} for name, wrong in (("Ulm", 1), ("Kiel", 4))]
    text = text_of("subgroups", subgroups={"column": "site", "groups": groups}, level="exact")
    assert "expect the worst to be better among other patients" in text
