"""The second part of the report: whom a promise is about, a row or a patient with all rows."""

from typing import Any

import pytest

from strategies.report import engineer
from tests.strategies.report.test_clinicians_part import TWO, VISITS, plain

PROMISE = {
    "epsilon": 1.0,
    "delta": 1e-5,
    "epsilon_train": 1.0,
    "epsilon_test": 1.0,
    "colluders": 1,
    "spent": [{"task": "gram", "rows": "training", "answers": 2, "rho": 0.1}],
    "not_covered": [],
    "accuracy_noise": None,
    "rows": 400,
}
RELEASED = {
    "mode": "release",
    "towards": "whoever gets the model.",
    "epsilon": 1.0,
    "lambda": 0.1,
    "gap": 1e-6,
    "not_covered": ["test rows"],
}
LOCAL = {**RELEASED, "mode": "local", "lambda": None, "lambda_times_rows": 2.0}


def said(part: str, **changes: Any) -> str:
    """Return headline and section of a part, without tags."""
    result = {**TWO, "config": {"rows-per-patient": 3}, **changes}
    headline = getattr(engineer, f"{part}_headline")(result)
    return " ".join([*headline.values(), plain(getattr(engineer, part)(result))])


def test_the_promise_of_dp_sums_is_about_a_patient_where_it_is_known_whose_rows_are_whose() -> None:
    of_rows, of_patients = (said("privacy", privacy=PROMISE, **one) for one in ({}, VISITS))
    for words in (
        "for every row",
        "one row more or fewer",
        "A patient with several rows has less",
        "different rows",
    ):
        assert words in of_rows
        assert words not in of_patients
    for words in (
        "for every patient",
        "one patient more or fewer",
        "at most 3 rows take part",
        "different patients",
    ):
        assert words in of_patients
        assert words not in of_rows


@pytest.mark.parametrize(
    ("guarantee", "visits", "whose"),
    [(RELEASED, {}, "row"), (LOCAL, {}, "row"), (RELEASED, VISITS, "row"), (LOCAL, VISITS, "patient")],
    ids=["release", "local", "release with patient-id", "local with patient-id"],
)
def test_a_released_models_promise_is_about_a_row_as_no_hospital_bounds_a_patients_rows(
    guarantee: dict[str, Any], visits: dict[str, Any], whose: str
) -> None:
    text = said("guarantee", guarantee=guarantee, **visits)
    assert f"for every training {whose}," in text
    assert ("any one training row" in text) == ("k times ε" in text) == (whose == "row")
    assert ("any one training patient’s" in text) == (whose == "patient")
