"""Tables by a schema file: the same columns whatever a site writes, and refusals that show no cell."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.table.form import TableForm
from clients.table.reading import read_table, table_from_frame
from flower_pansvm.errors import TableError
from flower_pansvm.table_schema import TableColumn, TableSchema

SCHEMA = TableSchema(
    (
        TableColumn("chol", unit="mg/dl", ends=(50, 700), missing=("0", "-999", "n/a")),
        TableColumn("smoker", "yes/no", missing=("9",)),
        TableColumn("pain", "category", categories=("typical", "atypical", "3"), missing=("unknown",)),
    ),
    label="outcome",
    classes=("no", "yes"),
    patient_id="mrn",
)
FORM = TableForm(schema=SCHEMA)


def read(folder: Path, text: str, form: TableForm = FORM) -> tuple[np.ndarray, list[str]]:
    path = folder / "ward.csv"
    path.write_text(text)
    table = read_table(path, form=form)
    assert table.columns == SCHEMA.features
    return table.X, table.labels.tolist()


def test_columns_categories_and_codes(tmp_path: Path) -> None:
    X, labels = read(
        tmp_path,
        "pain,mrn,name,smoker,chol,outcome\n"
        "typical,P1,Ann,yes,212.5,yes\n"
        "Atypical ,P2,,N,0,YES\n"
        "3.0,P3,Bob,1,-999.0,No\n"
        "unknown,P4,,9,N/A,no\n"
        ",P5,,,,no\n",
    )
    nan = np.nan
    np.testing.assert_array_equal(
        X,
        [
            [212.5, 1, 1, 0, 0],
            [nan, 0, 0, 1, 0],
            [nan, 1, 0, 0, 1],
            [nan, nan, nan, nan, nan],
            [nan, nan, nan, nan, nan],
        ],
    )
    assert labels == ["yes", "yes", "no", "no", "no"]


@given(st.permutations(range(4)), st.permutations(["chol", "smoker", "pain", "outcome"]), st.data())
@pytest.mark.slow
def test_neither_order_of_columns_nor_who_else_is_there_changes_a_row(rows, columns, data) -> None:
    frame = pd.DataFrame(
        {
            "chol": [100, 200, 0, 300],
            "smoker": ["yes", "no", "", "y"],
            "pain": ["typical", "3", "", "atypical"],
            "outcome": ["yes", "no", "no", "yes"],
        }
    )
    whole = table_from_frame(frame, "outcome", "ward.csv", FORM)
    chosen = rows[: data.draw(st.integers(1, 4))]
    part = table_from_frame(frame.iloc[chosen][columns], "outcome", "ward.csv", FORM)
    assert part.columns == whole.columns
    np.testing.assert_array_equal(part.X, whole.X[chosen])


def test_typed_columns_read_as_text_does(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "chol": [100.0, np.nan, -999.0],
            "smoker": [True, False, True],
            "pain": pd.Categorical(["typical", None, "3"]),
            "outcome": ["yes", "no", "no"],
        }
    )
    typed = table_from_frame(frame, "outcome", "a.parquet", FORM)
    frame.to_csv(tmp_path / "a.csv", index=False)
    np.testing.assert_array_equal(read_table(tmp_path / "a.csv", form=FORM).X, typed.X)


@pytest.mark.parametrize(
    "text",
    [
        "smoker,pain,outcome\n1,3,no\n",
        "Chol,smoker,pain,outcome\n1,1,3,no\n",
        "chol,smoker,pain\n100,1,3\n",
        "chol,smoker,pain,outcome\n4711x,1,3,no\n",
        "chol,smoker,pain,outcome\n100,1,3,no\n100,4711,3,no\n",
        "chol,smoker,pain,outcome\n100,1,x4711,no\n",
        "chol,smoker,pain,outcome\n100,1,3,\n",
        "chol,smoker,pain,outcome\n",
    ],
)
def test_a_table_that_does_not_fit_is_refused_without_its_content(tmp_path: Path, text: str) -> None:
    with pytest.raises(TableError) as error:
        read(tmp_path, text)
    assert "4711" not in error.value.with_detail()
    assert not re.search(r"row \d|\d rows", str(error.value))
