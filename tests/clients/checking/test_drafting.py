"""First schema files: fit for the table, and of no use to whoever looks for a patient in them."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clients.checking.drafting import draft
from clients.table.form import TableForm
from clients.table.reading import read_table
from flower_pansvm.errors import TableError
from flower_pansvm.table_schema import TableSchema

ROWS = 300


def ward() -> pd.DataFrame:
    generator = np.random.default_rng(1)
    label = generator.integers(0, 2, ROWS)
    pain = generator.choice(["typical", "atypical", "none"], ROWS).astype(object)
    pain[:3] = "Prinzmetal"
    chol = generator.normal(220, 30, ROWS).round(1)
    chol[:20] = 0
    age = generator.normal(60, 10, ROWS).round()
    age[7] = 113
    smoker = np.where(generator.random(ROWS) < 0.5, "yes", "no")
    return pd.DataFrame(
        {
            "mrn": [f"P{n:05d}" for n in range(ROWS)],
            "surname": generator.choice(["Smith", "Ng"], ROWS),
            "doctor": generator.choice(["Dr Who", "Dr No"], ROWS),
            "born": [f"19{n % 90 + 10}-05-11" for n in range(ROWS)],
            "remark": [f"came by bus {n}" for n in range(ROWS)],
            "age": age,
            "temperature change": generator.normal(0, 1, ROWS).round(2),
            "chol": chol,
            "pain": pain,
            "smoker": smoker,
            "outcome": label,
        }
    )


def drafted(folder: Path, frame: pd.DataFrame) -> tuple[str, TableSchema]:
    path = folder / "ward.csv"
    frame.to_csv(path, index=False)
    text = draft(path, "outcome", TableForm()).text
    (folder / "schema.toml").write_text(text)
    return text, TableSchema.read(folder / "schema.toml")


def test_what_is_written_can_be_read_and_fits(tmp_path: Path) -> None:
    frame = ward()
    _, schema = drafted(tmp_path, frame)
    assert {one.name: one.kind for one in schema.columns} == {
        **{"age": "number", "temperature change": "number", "chol": "number"},
        **{"pain": "category", "smoker": "yes/no"},
    }
    assert schema.label == "outcome"
    assert schema.classes == ("0", "1")
    assert schema.leave_out == ("mrn", "surname", "doctor", "born", "remark")
    by_name = {one.name: one for one in schema.columns}
    assert by_name["chol"].missing == ("0",)
    assert by_name["pain"].categories == ("atypical", "none", "typical")
    # A rare category has to be added by somebody who knows it; all others fit.
    frame[frame["pain"] != "Prinzmetal"].to_csv(tmp_path / "ward.csv", index=False)
    assert read_table(tmp_path / "ward.csv", form=TableForm(schema=schema)).X.shape == (ROWS - 3, 7)


def test_no_cell_of_a_patient_is_in_it(tmp_path: Path) -> None:
    text, _ = drafted(tmp_path, ward())
    for cell in ("P00", "Smith", "Dr ", "1910", "bus", "Prinzmetal", "113", str(ROWS)):
        assert cell not in text, cell
    for column in ("age", "chol", "temperature change"):
        low, high = map(float, re.search(rf'"{column}".*?range = \[(.*?), (.*?)\]', text, re.DOTALL).groups())
        assert low not in ward()[column].nsmallest(4).tolist() or low == 0
        assert high not in ward()[column].nlargest(4).tolist()


def test_one_row_more_or_less_changes_no_line(tmp_path: Path) -> None:
    """Whoever knows all patients but one, and has the file, learns nothing of that one's rarest cells."""
    frame = ward()
    text, _ = drafted(tmp_path, frame)
    for row in (0, 7, int(frame["temperature change"].argmin()), int(frame["chol"].argmax())):
        assert drafted(tmp_path, frame.drop(index=row))[0] == text
    extreme = frame.iloc[[5]].assign(age=950, chol=-3.5, pain="x", mrn="P9", smoker="yes")
    assert drafted(tmp_path, pd.concat([frame, extreme]))[0] == text


def test_of_few_rows_next_to_nothing_is_written(tmp_path: Path) -> None:
    text, schema = drafted(tmp_path, ward().iloc[:8])
    assert all(column.ends is None and not column.categories for column in schema.columns)
    assert schema.classes == ()
    assert "typical" not in text


@pytest.mark.parametrize(
    "name", ['a "quoted" name', "größe", "a.b", "a = b", "tab\tin it", "back\\slash", "[red]"]
)
def test_names_of_columns_survive_toml(tmp_path: Path, name: str) -> None:
    frame = pd.DataFrame({name: np.linspace(0, 1, 50) * 3.3, "outcome": [0, 1] * 25})
    path = tmp_path / "ward.parquet"
    frame.to_parquet(path)
    assert list(tomllib.loads(draft(path, "outcome", TableForm()).text)["columns"]) == [
        name.replace("\t", " ")
    ]


def test_a_wrong_label_column_is_an_error(tmp_path: Path) -> None:
    ward().to_csv(tmp_path / "ward.csv", index=False)
    with pytest.raises(TableError) as error:
        draft(tmp_path / "ward.csv", "Outcome", TableForm())
    assert "nearest column names are 'outcome'" in error.value.with_detail()


def test_a_draft_fits_its_own_table_whatever_the_spelling_and_with_limits(tmp_path: Path) -> None:
    frame = ward()
    frame["outcome"] = [("Ja", "ja", "NEIN", "Nein")[row % 4] for row in range(ROWS)]
    frame["troponin"] = ["<5" if row % 3 == 0 else f"{5 + row / 7:.2f}" for row in range(ROWS)]
    frame = frame[frame["pain"] != "Prinzmetal"]
    _, schema = drafted(tmp_path, frame)
    assert len(schema.classes) == 2
    assert "troponin" in {one.name for one in schema.columns}
    table = read_table(tmp_path / "ward.csv", form=TableForm(schema=schema))
    assert set(table.labels) == set(schema.classes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "zeros", [("-0.00", "0.00"), ("-0.0", "0.00"), ("+0.50", "0.5"), ("-0", "0")], ids=str
)
def test_a_measurement_with_a_sign_is_no_column_of_codes(zeros: tuple[str, str], tmp_path: Path) -> None:
    """A change of potassium of -0.002 is written as -0.00."""
    frame = ward()
    frame["change"] = [*zeros, *(f"{row % 30 / 100 - 0.15:.2f}" for row in range(ROWS - 2))]
    text, schema = drafted(tmp_path, frame)
    assert {one.name: one.kind for one in schema.columns}["change"] == "number", text


def test_numbers_that_no_table_may_hold_make_no_range(tmp_path: Path) -> None:
    dose = np.random.default_rng(0).uniform(1, 9, ROWS).round(2)
    dose[:20] = 1e308 * np.random.default_rng(1).uniform(-1, 1, 20)
    _, schema = drafted(tmp_path, ward().assign(dose=dose))
    (ends,) = (column.ends for column in schema.columns if column.name == "dose")
    assert ends is not None
    assert ends[1] < 100


def test_codes_that_few_rows_have_are_left_out_as_what_they_are(tmp_path: Path) -> None:
    text, _ = drafted(tmp_path, ward().assign(code=[f"{row % 60:02d}.0" for row in range(ROWS)]))
    assert '"code",  # text: no two are in 10 rows each' in text


@pytest.mark.parametrize("cells", [["<0,5", "1.5", "2.5", "17.5"], [1e12, 1e12 + 1, 1e12 + 2, 1e12 - 7]])
def test_numbers_that_joining_refuses_in_many_rows_are_left_out(cells: list[object], tmp_path: Path) -> None:
    """The draft described them, and its own check refused the file."""
    several = np.resize(np.array(cells, dtype=object), ROWS)
    text, schema = drafted(tmp_path, ward().assign(odd=np.random.default_rng(0).permutation(several)))
    assert "odd" in schema.leave_out
    assert "none can be added up" in text


def test_ids_that_are_written_as_decimals_are_ids_and_no_numbers_in_another_form(tmp_path: Path) -> None:
    """The draft was refused: of a file with decimal commas, 4711.0 has another point than is said."""
    ids = 4711 + np.random.default_rng(0).permutation(ROWS)
    frame = ward().assign(case=[f"{one}.0" for one in ids], mrn=[f"{one // 3}.0" for one in ids])
    frame = frame.drop(columns="temperature change")
    frame.to_csv(tmp_path / "ward.csv", sep=";", decimal=",", index=False)
    form = TableForm.of({"separator": ";", "decimal": ","}, None)
    text = draft(tmp_path / "ward.csv", "outcome", form).text
    assert '"case",  # says who a patient is' in text
    assert '# patient-id = "mrn"' in text
