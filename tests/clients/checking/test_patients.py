"""Columns that repeat as patients' ids do are asked about; measurements and codes are not."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clients.checking.finding import NOTE, WARNING, Finding
from clients.checking.patients import patient_findings
from clients.table.form import AS_IT_IS, TableForm
from flower_pansvm.table_schema import TableSchema

ROWS, EACH = 900, 5


@pytest.fixture
def ward() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": draw.normal(60, 15, ROWS).round().astype(int),
            "crp": draw.gamma(2, 10, ROWS).round(1),
            "platelets": (draw.normal(250, 60, ROWS).round() * 1000).astype(int),
            "zip": draw.integers(10_000, 10_300, ROWS),
            "patient_age": draw.integers(20, 90, ROWS),
            "diagnosis": np.where(
                draw.random(ROWS) < 0.5, "I10", [f"E{n}" for n in draw.integers(10, 99, ROWS)]
            ),
            "sex": draw.integers(0, 2, ROWS // EACH)[np.repeat(np.arange(ROWS // EACH), EACH)],
            "label": draw.integers(0, 2, ROWS),
        }
    )


def found(frame: pd.DataFrame, form: TableForm = AS_IT_IS) -> list[Finding]:
    return list(patient_findings(frame, "label", form))


def test_measurements_and_codes_are_not_taken_for_ids(ward: pd.DataFrame) -> None:
    assert found(ward) == []
    assert found(ward.assign(case_id=[f"C{n}" for n in range(ROWS)])) == []


def test_numbers_with_a_sign_are_not_taken_for_ids(ward: pd.DataFrame) -> None:
    """Neighbours of an angle are the opposite of each other, as ids' are, and share what goes with it."""
    of_each = np.repeat(np.arange(ROWS // EACH), EACH)
    drawn = np.random.default_rng(1).permutation(2 * (ROWS // EACH))[: ROWS // EACH]
    ids = drawn[of_each]
    assert len(found(ward.assign(qrst=ids + 1))) == 1
    assert found(ward.assign(qrst=ids - ROWS // EACH)) == []
    assert len(found(ward.assign(qrst=np.where(ids == ids[0], -1, ids)))) == 1


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("record_id", "{}", str),
        ("record_id", "{}", int),
        ("patient", "P{:04}", str),
        ("PatientID", "{}", str),
        ("PatientID", "{}", int),
        ("subject no", "{}", str),
        ("subject no", "{}", int),
        ("Kennung", "X{:05}", str),
        ("nummer", "7{:05}", str),
        ("nummer", "7{:05}", int),
    ],
)
def test_a_column_that_repeats_as_ids_do_is_asked_about(
    name: str, text: str, read: Callable[[str], Any], ward: pd.DataFrame
) -> None:
    ids = [text.format(13 * (number // EACH)) for number in range(ROWS)]
    (finding,) = found(ward.assign(**{name: [read(one) for one in ids]}))
    assert finding.level == WARNING
    assert name in finding.text
    assert "patient-id" in finding.text
    assert ids[-1] not in finding.text


@pytest.mark.parametrize("alike", ["sex", "born", "sodium"])
def test_ids_in_any_language_are_noticed_by_what_their_rows_share(alike: str, ward: pd.DataFrame) -> None:
    """Labels differ by visit; the rest of the table is another in each row."""
    draw, many = np.random.default_rng(2), ROWS // EACH
    own = {
        "sex": draw.integers(0, 2, many),
        "born": draw.integers(1930, 2000, many),
        "sodium": draw.normal(139, 4, many),
    }
    shared = own[alike][np.repeat(np.arange(many), EACH)] + 0.5 * (alike == "sodium") * draw.normal(size=ROWS)
    ids = np.repeat(draw.permutation(many) + 50_000, EACH)
    frame = ward.drop(columns="sex").assign(dosya=ids, shared=shared.round(1))
    (finding,) = found(frame.sample(frac=1, random_state=1))
    assert "'dosya'" in finding.text


def test_ids_whose_neighbours_are_the_opposite_are_noticed() -> None:
    """Of a trial that randomised clusters in turns, the arm alternates from one to the next."""
    clusters = np.repeat(np.arange(5001, 5061), 2)
    frame = pd.DataFrame({"cluster": clusters, "arm": clusters % 2, "label": np.arange(120) % 3 % 2})
    (finding,) = found(frame)
    assert "'cluster'" in finding.text


def test_what_is_computed_from_a_measurement_or_ends_with_the_outcome_makes_no_id(ward: pd.DataFrame) -> None:
    draw, dead = np.random.default_rng(1), ward["label"] == 1
    days = pd.Series(draw.integers(1, 90, ROWS))
    assert found(ward.assign(group=ward["age"] // 20, bmi=ward["age"] / 2.5)) == []
    assert found(ward.assign(distance=draw.normal(size=300)[ward["zip"] - 10_000])) == []
    assert found(ward.assign(followed=days.where(dead, 365))) == []
    assert found(ward.assign(until_death=days.where(dead))) == []


def test_ids_that_merged_cells_leave_in_the_first_row_of_each_patient_are_asked_about(
    ward: pd.DataFrame,
) -> None:
    ids = [f"P{number}" if number % EACH == 0 else None for number in range(ROWS)]
    (finding,) = found(ward.assign(patient=ids))
    assert f"'patient' is empty in {ROWS - ROWS // EACH} of {ROWS} rows" in finding.text
    assert "merged" in finding.text


def test_with_a_patient_id_rows_and_patients_are_counted(ward: pd.DataFrame) -> None:
    schema = TableSchema.from_mapping({"patient-id": "mrn", "columns": {"age": {}}}, "schema")
    ids = np.repeat([f"P{number}" for number in range(ROWS // EACH)], EACH)
    (counted,) = found(ward.assign(mrn=ids), TableForm(schema=schema))
    assert counted.level == NOTE
    assert f"{ROWS // EACH} patients" in counted.text


@pytest.mark.parametrize(
    "ids", [range(ROWS), [f"visit {number}" for number in range(ROWS)]], ids=["rows", "visits"]
)
def test_an_id_of_rows_as_patient_id_is_noted(ids: Sequence[object], ward: pd.DataFrame) -> None:
    schema = TableSchema.from_mapping({"patient-id": "mrn", "columns": {"age": {}}}, "schema")
    (asked,) = found(ward.assign(mrn=ids), TableForm(schema=schema))
    assert asked.level == NOTE
    assert f"another text in every one of {ROWS} rows" in asked.text
    # Of a handful of rows it is what chance does.
    assert found(ward.assign(mrn=ids).head(12), TableForm(schema=schema)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("P01", "p01"), ("7", "007"), ("P 01", "P01"), ("A\u00a01", "a1"), ("P007", "P7"), ("Ö1", "ö1")],
)
def test_ids_that_differ_in_how_they_are_written_are_asked_about(
    one: str, other: str, ward: pd.DataFrame
) -> None:
    schema = TableSchema.from_mapping({"patient-id": "mrn", "columns": {"age": {}}}, "schema")
    ids = np.repeat([f"X{number}" for number in range(ROWS // EACH)], EACH).astype(object)
    ids[:EACH], ids[EACH : 2 * EACH] = one, other
    (asked,) = [
        finding
        for finding in found(ward.assign(mrn=ids), TableForm(schema=schema))
        if finding.level == WARNING
    ]
    assert "1 ids in 'mrn' differ" in asked.text
    assert f"data row {EACH + 1}" in asked.text
    assert one not in asked.text.replace(f"row {EACH + 1}", "")


def test_ids_that_are_others_are_not_asked_about(ward: pd.DataFrame) -> None:
    schema = TableSchema.from_mapping({"patient-id": "mrn", "columns": {"age": {}}}, "schema")
    ids = np.repeat([f"{number % 3}-{number:04}/A" for number in range(ROWS // EACH)], EACH)
    assert [one.level for one in found(ward.assign(mrn=ids), TableForm(schema=schema))] == [NOTE]


def test_one_patient_with_half_of_all_rows_is_asked_about(ward: pd.DataFrame) -> None:
    schema = TableSchema.from_mapping({"patient-id": "mrn", "columns": {"age": {}}}, "schema")
    ids = np.where(np.arange(ROWS) < ROWS // 2, "unknown", np.arange(ROWS).astype(str))
    findings = found(ward.assign(mrn=ids), TableForm(schema=schema))
    assert [one.level for one in findings] == [NOTE, WARNING]


def test_a_column_that_is_mostly_empty_makes_no_id_of_another(ward: pd.DataFrame) -> None:
    draw = np.random.default_rng(1)
    empty = np.where(draw.random(ROWS) < 0.02, draw.choice(["a", "b"], ROWS), None)
    assert found(ward.assign(remark=empty)) == []
