"""Tables by a schema file: the same columns whatever a site writes, and refusals that show no cell."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.table.cells import canonical_labels
from clients.table.encoding import places_of_cells
from clients.table.file import checked_frame
from clients.table.form import TableForm
from clients.table.reading import read_table, table_from_frame
from flower_pansvm.table_schema import TableColumn, TableSchema
from tests.clients.conftest import refusal

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


def test_columns_categories_and_codes(write) -> None:
    text = (
        "pain,mrn,name,smoker,chol,outcome\n"
        "typical,P1,Ann,yes,212.5,yes\n"
        "Atypical ,P2,,N,0,YES\n"
        "3.0,P3,Bob,1,-999.0,No\n"
        "unknown,P4,,9,N/A,no\n"
        ",P5,,,,no\n"
    )
    table, nan = read_table(write(text), form=FORM), np.nan
    assert table.columns == SCHEMA.features
    expected = [[212.5, 1, 1, 0, 0], [nan, 0, 0, 1, 0], [nan, 1, 0, 0, 1], [nan] * 5, [nan] * 5]
    np.testing.assert_array_equal(table.X, expected)
    assert table.labels.tolist() == ["yes", "yes", "no", "no", "no"]


@given(st.permutations(range(4)), st.permutations(["mrn", "chol", "smoker", "pain", "outcome"]), st.data())
@pytest.mark.slow
def test_neither_order_of_columns_nor_who_else_is_there_changes_a_row(rows, columns, data) -> None:
    frame = pd.DataFrame(
        {
            "mrn": ["a", "b", "c", "d"],
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


ONES, LONG = [True, 1, 1.0, b"1", [1]], 2**53 + 1
MIXED = [*ONES, 10, 1.5, Decimal("1E+1"), Decimal("1.50"), b"a", "a", None, date(2020, 1, 1), LONG]
"""Cells as of SQL or Excel, of which some are equal but not written alike."""


@pytest.mark.parametrize("first", MIXED, ids=repr)
def test_the_type_of_a_first_row_changes_no_other_one(first: object) -> None:
    """One whole number kept the labels b"0" and b"1" of all others from being classes; one 1E+1 renamed all 10."""
    column = TableColumn("c", kind="category", categories=("1", "True", "10", "1E+1", "1.50", "a", "[1]"))

    def read(*cells: object) -> tuple[str, str | None]:
        frame = pd.DataFrame({"c": pd.Series(list(cells), dtype=object)})
        frame = checked_frame(frame, "a.sql", TableForm())
        return repr(places_of_cells(frame["c"], column)[-1]), canonical_labels(frame["c"])[-1]

    for cell in MIXED:
        assert read(first, cell) == read(cell), cell


def test_typed_columns_read_as_text_does(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "mrn": ["a", "b", "c"],
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
def test_a_table_that_does_not_fit_is_refused_without_its_content(write, text: str) -> None:
    refusal(read_table, write(text), form=FORM)
