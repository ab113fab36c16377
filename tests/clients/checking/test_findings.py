"""What ``pansvm check`` finds, and that it tells nothing of a patient."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.checking.finding import ERROR, NOTE, WARNING, Finding
from clients.checking.findings import findings, table_warnings
from clients.checking.sentinels import heaps, sentinels
from clients.table.form import TableForm
from flower_pansvm.table_schema import TableColumn, TableSchema

ROWS = 200


def ward(**more: Any) -> pd.DataFrame:
    """Return a table with which nothing is wrong."""
    generator = np.random.default_rng(0)
    label = generator.integers(0, 2, ROWS)
    table = {
        "age": generator.normal(60, 10, ROWS).round(),
        "chol": (generator.normal(220, 30, ROWS) + 20 * label).round(1),
        "oldpeak": np.maximum(generator.normal(0, 1, ROWS), 0).round(1),
        "smoker": generator.integers(0, 2, ROWS),
        "label": label,
    }
    return pd.DataFrame({**table, **more})


def found(folder: Path, frame: pd.DataFrame, schema: TableSchema | None = None) -> list[Finding]:
    """Return what is said of a table but the notes on level perturbed and on oldpeak's zeros, which each has."""
    path = folder / "ward.csv"
    frame.to_csv(path, index=False)
    said = findings(path, None, TableForm(schema=schema))
    return [
        one
        for one in said
        if one.level != NOTE or not re.search("evel perturbed|'oldpeak' holds 0", one.text)
    ]


def texts(folder: Path, frame: pd.DataFrame, schema: TableSchema | None = None) -> list[str]:
    return [f"{one.level}: {one.text}" for one in found(folder, frame, schema)]


def test_a_sound_table_has_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path, ward()) == []


def test_what_level_perturbed_is_worth_is_told_of_a_table_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "ward.csv"
    for frame, told in ((ward(), True), (ward(sex=["f", "m"] * (ROWS // 2)), False)):
        frame.to_csv(path, index=False)
        assert any("AUC" in one.text for one in findings(path, None, TableForm())) == told


def test_a_table_that_level_perturbed_refuses_keeps_its_other_findings(tmp_path: Path) -> None:
    """The error ended the command, with --json too; a budget was to be asked for where nothing was begun."""
    measured = {name: np.random.default_rng(at).normal(size=ROWS).round(3) for at, name in enumerate("abc")}
    pd.concat([ward(**measured, patient=[f"P{n:03}" for n in range(ROWS)])] * 2).to_csv(
        tmp_path / "ward.csv", index=False
    )
    everything = findings(tmp_path / "ward.csv", None, TableForm(drop=("patient",)))
    assert any(one.text.startswith("Level perturbed refuses this table. Of the rec") for one in everything)
    assert any("repeats as ids do" in one.text for one in everything)
    assert not any("budget" in one.text for one in everything)


def test_labels_that_are_doubtful(tmp_path: Path) -> None:
    words = ward()["label"].map({0: "benign", 1: "malignant"}).tolist()
    once = texts(tmp_path, ward(label=["malingnant", *words[1:]]))
    assert not any("malingnant" in text for text in once)
    assert any("1 labels that fewer than 5 rows have" in text for text in once)
    known = TableSchema(schema().columns, classes=("benign", "malignant", "other"))
    rare = texts(tmp_path, ward(label=["other", *words[1:]]), known)
    assert any("note: " in text and "1 labels that fewer than 5 rows have" in text for text in rare)
    assert not any("get another label" in text or "names all" in text for text in rare)
    assert any("get another label" in one.text for one in findings(tmp_path / "ward.csv", None, TableForm()))
    # Of a run, nothing that is of another level or of listed classes only.
    assert not any(
        "label" in text for text in table_warnings(tmp_path / "ward.csv", None, TableForm(schema=known))
    )
    assert not any("perturbed" in text for text in table_warnings(tmp_path / "ward.csv", None, TableForm()))
    many = ward(label=[f"C{number % 40}" for number in range(ROWS)])
    assert any("does not hold classes" in text for text in texts(tmp_path, many))
    merged = TableSchema(schema().columns, positive=("C3", "C4"))
    assert not any(text.startswith("error:") for text in texts(tmp_path, many, merged))


def schema(**more: Any) -> TableSchema:
    chol = TableColumn("chol", unit="mg/dl", ends=(50, 700), **more)
    return TableSchema((*map(TableColumn, ("age", "oldpeak", "smoker")), chol), classes=("0", "1"))


def test_other_units_than_the_schemas(tmp_path: Path) -> None:
    frame = ward()
    assert found(tmp_path, frame, schema()) == []
    mmol = texts(tmp_path, frame.assign(chol=(frame["chol"] / 38.67).round(2)), schema())
    assert mmol[0].startswith("error:")
    assert "Are they in another unit?" in mmol[0]
    assert any("multiplied by 38.67 (mg/dl and mmol/l of cholesterol)" in text for text in mmol)
    one = texts(tmp_path, frame.assign(chol=[7000.0, *frame["chol"][1:]]), schema())
    assert [text for text in one if "outside of the schema's range, 50 to 700 mg/dl: 1 of 200" in text]


def test_rows_that_are_nearly_there_twice_are_asked_about(tmp_path: Path) -> None:
    frame = ward(hb=np.random.default_rng(5).normal(13, 2, ROWS).round(2))
    again = frame.head(30).assign(age=frame["age"] + 1)
    (said,) = texts(tmp_path, pd.concat([frame, again]).sample(frac=1, random_state=0))
    assert said.startswith("warning: 30 of 230 rows are the same")
    assert "'age'" in said
    # Not where few columns make it chance, nor rows of one patient.
    few = frame[["age", "smoker", "label"]]
    assert not any("the same as an earlier one in all features but" in text for text in texts(tmp_path, few))
    known = TableSchema(tuple(map(TableColumn, ("age", "chol", "oldpeak", "smoker", "hb"))), patient_id="mrn")
    for visits in (again, frame.head(30)):
        both = pd.concat([frame, visits]).assign(mrn=[*range(ROWS), *range(30)])
        assert not any("same as an earlier one" in text for text in texts(tmp_path, both, known))
    twice = pd.concat([frame, frame.head(30)]).assign(mrn=range(ROWS + 30))
    assert any("30 of 230 rows are the same" in text for text in texts(tmp_path, twice, known))


@pytest.mark.parametrize("others", [{}, {"weight": 0.01}, {"age": 1}])
def test_answers_that_the_healthy_share_are_no_rows_that_are_there_twice(
    others: dict[str, float], tmp_path: Path
) -> None:
    draw = np.random.default_rng(0)
    answers = draw.normal(size=(1200, 1)) + 0.7 * draw.normal(size=(1200, 20))
    steps = pd.DataFrame(np.searchsorted([0.2, 0.9, 1.5, 2.2], answers)).rename(columns="q{}".format)
    columns = {name: (draw.uniform(20, 90, 1200) / grid).round() * grid for name, grid in others.items()}
    frame = steps.assign(**columns, label=draw.integers(0, 2, 1200))
    assert not any(
        "the same as an earlier one in all features but" in text for text in texts(tmp_path, frame)
    )


@pytest.mark.parametrize(
    ("limit", "told"), [("<0.5", "below-limit"), ("> 97.5", "below-limit"), ("<0,5", "decimal=comma")]
)
def test_limits_are_in_another_form_only_if_their_numbers_are(limit: str, told: str, tmp_path: Path) -> None:
    crp = np.random.default_rng(0).uniform(1, 90, ROWS).round(1).astype(str)
    said = texts(tmp_path, ward(crp=[limit] * 30 + [*crp[30:]]))
    assert [told in text for text in said if text.startswith("error: Column 'crp'")] == [True]


@pytest.mark.parametrize(
    ("name", "factor", "upper", "told"),
    [
        ("chol", 38.67, 0.3, "mg/dl and mmol/l of cholesterol"),
        ("height", 100.0, 0.05, "two units?"),  # metres and centimetres, and not inches
        ("sodium", 1000.0, 0.5, "about 1"),
        ("chol", 38.67, 0.0, None),
        ("chol", 1.5, 0.3, None),
    ],
)
def test_two_units_in_one_column_are_asked_about(
    name: str, factor: float, upper: float, told: str | None, tmp_path: Path
) -> None:
    draw = np.random.default_rng(4)
    values = draw.normal(5, 0.9, ROWS) * np.where(draw.random(ROWS) < upper, factor, 1)
    frame = ward().drop(columns="chol").assign(**{name: values.round(2)})
    said = [text for text in texts(tmp_path, frame) if "two units" in text]
    assert [told in text for text in said] == [True] * (told is not None)


def test_codes_of_the_schema_are_no_doubt_and_labels_out_of_it_are(tmp_path: Path) -> None:
    frame = ward()
    frame.loc[:6, "chol"] = 0
    assert found(tmp_path, frame, schema(missing=("0",))) == []
    wrong = found(tmp_path, ward(label=["2", *ward()["label"][1:]]), schema())
    assert [one.level for one in wrong] == [WARNING]
    assert "1 labels that are none of the schema's classes" in wrong[0].text
    assert found(tmp_path, ward(label=["x"] * ROWS), schema())[0].level == ERROR


def test_what_the_schema_does_not_have_is_a_note(tmp_path: Path) -> None:
    (only,) = found(tmp_path, ward(name=["Ann"] * ROWS), schema())
    assert only.level == NOTE
    assert "does not have column 'name'" in only.text


def test_a_table_that_does_not_fit_says_why_and_all_else_too(tmp_path: Path) -> None:
    several = found(tmp_path, ward(sex=["f", "m"] * (ROWS // 2), ward=["7"] * ROWS))
    assert several[0].level == ERROR
    assert "holds text or a date" in several[0].text
    assert any("'ward' is constant" in one.text for one in several)


@given(
    st.lists(st.sampled_from(["4711.25", "secret", "", "-999", "0", "2014-01-02"]), min_size=3, max_size=30)
)
@pytest.mark.slow
def test_no_finding_shows_a_cell(tmp_path_factory: pytest.TempPathFactory, cells: list[str]) -> None:
    labels = ["4711", "secretly"] * len(cells)
    frame = pd.DataFrame({"a": cells, "b": cells[::-1], "label": labels[: len(cells)]})
    said = " ".join(texts(tmp_path_factory.mktemp("ward"), frame))
    assert "4711" not in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([212, 0, 305, 0, 250, 233, 198, 261], [0]),
        ([0, 1, 0, 2, 0, 1, 0, 3], []),
        ([0, 1] * 20, []),
        ([-1, 1] * 20, []),
        ([-1, 0, 1] * 20, []),
        ([-9, -9, *[0, 1, 2, 3] * 9], [-9]),
        ([-9, *[0, 1, 2, 3] * 9], []),
        ([99, 99, 99, *range(1, 9)] * 3, [99]),
        ([60, 70, 80, 99, 99, 88, 92, 75], []),
        ([-999, -999, 9999, 9999, *range(40, 80)], [-999, 9999]),
        ([], []),
    ],
)
def test_codes_for_missing_cells(values: list[float], codes: list[float]) -> None:
    assert sorted(sentinels(np.array(values, dtype=np.float64))) == codes


@pytest.mark.parametrize(
    ("number", "share", "seen"),
    [(-3.0, 0.33, True), (99.0, 0.1, True), (47.3, 0.2, True), (99.0, 0.005, False)],
)
def test_a_number_that_many_share_where_others_hardly_repeat(number: float, share: float, seen: bool) -> None:
    random = np.random.default_rng(1)
    for values in (random.lognormal(1, 1, 400).round(2), random.integers(30, 90, 400).astype(np.float64)):
        values[random.random(400) < share] = number
        assert heaps(values) == ([(number, False)] if seen else [])


def test_a_code_that_few_share_hides_no_filling_that_many_do() -> None:
    ages = np.arange(400) % 57 + 20.5
    assert heaps(np.concatenate([np.zeros(300), ages, np.full(30, 88.0)])) == [(88.0, False), (0.0, False)]


def test_columns_that_measurements_may_be_like(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "crp": np.where(random.random(400) < 0.33, 0, random.lognormal(1, 1, 400).round(2)),
            "counter": 1e9 + random.integers(0, 9, 400),
            "visits": random.poisson(1, 400),
            "age": random.normal(60, 12, 400).round(),
            "label": random.integers(0, 2, 400),
        }
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    told = {
        one.level: one.text
        for one in findings(tmp_path / "table.csv", "label", TableForm())
        if "'" in one.text
    }
    assert {level: [name for name in frame if f"'{name}'" in text] for level, text in told.items()} == {
        WARNING: ["counter"],
        NOTE: ["crp"],
    }


def test_rows_that_are_there_twice_are_found_whatever_their_zeros_and_missing_cells(tmp_path: Path) -> None:
    frame = ward()
    frame.loc[0, "chol"] = np.nan
    again = frame.iloc[[0, 1, 2]].assign(change=["-0.0", "0.00", "1"])
    first = frame.assign(change=["0", "-0", "2", *["3"] * (ROWS - 3)])
    said = texts(tmp_path, pd.concat([first, again]))
    assert [text for text in said if "2 of 203 rows are the same as an earlier one" in text]


@pytest.mark.parametrize("filled", ["some of the dead", "all but some of the dead"])
def test_cells_that_are_empty_or_filled_for_one_class_only_are_asked_about(
    filled: str, tmp_path: Path
) -> None:
    frame, draw = ward(), np.random.default_rng(3)
    marked = (frame["label"] == 1) & (draw.random(ROWS) < 0.4)
    weight = pd.Series(draw.normal(350, 40, ROWS).round(1))
    heart = weight.where(marked if filled == "some of the dead" else ~marked)
    (only,) = [text for text in texts(tmp_path, frame.assign(heart=heart)) if "'heart'" in text]
    assert only.startswith("warning: ")
    assert "once the outcome was known" in only
    # What is missing by chance is none, and what few rows have may be of one class by chance.
    for chance in (weight.where(draw.random(ROWS) < 0.5), weight.where(np.cumsum(marked) <= 9).where(marked)):
        assert not any("outcome" in text for text in texts(tmp_path, frame.assign(heart=chance)))


@pytest.mark.parametrize("filled", [1.0, 0.6])
def test_cells_are_of_a_class_that_nearly_all_rows_have_whether_they_are_filled_or_not(
    filled: float, tmp_path: Path
) -> None:
    draw = np.random.default_rng(2)
    age = pd.Series(draw.normal(60, 9, 5000).round(1)).where(draw.random(5000) < filled)
    frame = pd.DataFrame({"age": age, "label": (np.arange(5000) < 30).astype(int)})
    assert not any("outcome" in text for text in texts(tmp_path, frame))


@pytest.mark.parametrize(("right", "asked"), [(0.94, True), (0.8, False)])
def test_a_code_that_is_right_for_most_patients_is_asked_about(
    right: float, asked: bool, tmp_path: Path
) -> None:
    frame, draw = ward(), np.random.default_rng(5)
    code = np.where(draw.random(ROWS) < right, frame["label"], 1 - frame["label"])
    told = [text for text in texts(tmp_path, frame.assign(discharged=code)) if "told from" in text]
    assert any("'discharged'" in text for text in told) == asked
    # A measurement that tells as much may be a good one.
    marker = (code + draw.uniform(0, 0.9, ROWS)).round(3)
    assert not any(
        "told from column 'marker'" in text for text in texts(tmp_path, frame.assign(marker=marker))
    )


def test_a_run_shows_leaks_before_what_may_be_wrong_with_a_cell(tmp_path: Path) -> None:
    frame = ward()
    frame = frame.assign(
        cause=frame["label"] * 2.5, **{f"code{n}": [-999, -999, *range(ROWS - 2)] for n in range(4)}
    )
    frame = frame.assign(constant=1, empty=None)
    frame.to_csv(tmp_path / "ward.csv", index=False)
    assert "told from column 'cause' alone" in table_warnings(tmp_path / "ward.csv", None, TableForm())[0]


def test_labels_that_are_measured_are_asked_about(tmp_path: Path) -> None:
    days = ward()["age"].astype(int).to_numpy()
    assert any("If they are measured" in text for text in texts(tmp_path, ward(label=days % 20)))
    assert not any("If they are measured" in text for text in texts(tmp_path, ward(label=days % 9)))


@pytest.mark.parametrize(
    ("cells", "is_unit"),
    [
        (["1 Male", "2 Female"], False),
        (["1 männlich", "2 weiblich", "9 unbekannt"], False),
        (["5 mg", "6 mg"], True),
        (["5 mg", "6 mg", "0.5 g"], True),
    ],
)
def test_numbered_words_are_categories_and_no_units(cells: list[str], is_unit: bool, tmp_path: Path) -> None:
    many = [cells[n % len(cells)] for n in range(ROWS)]
    said = [text for text in texts(tmp_path, ward(odd=many)) if "'odd' holds" in text]
    assert ["a unit" in text for text in said] == [is_unit]
