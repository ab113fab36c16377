"""Tables of numbers: canonical labels, missing cells, order of columns, and refusals that show no cell."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.table.cells import parse_numbers
from clients.table.form import TableForm
from clients.table.reading import read_table, table_from_frame
from clients.table.table import Table, align
from flower_pansvm.labels import canonical_label
from tests.clients.conftest import assert_same, refusal


def test_a_table_read_from_csv(write):
    path = write("age,outcome,smoker,dose\n63,yes,True,1e-3\n,no,false,-2.5\n? , yes ,NA,nan\n")
    table = read_table(path, "outcome")
    assert table.columns == ("age", "smoker", "dose")
    assert table.X.dtype == np.float64
    np.testing.assert_array_equal(table.X, [[63, 1, 1e-3], [np.nan, 0, -2.5], [np.nan] * 3])
    assert table.labels.tolist() == ["yes", "no", "yes"]
    # The label column is label unless another is named; and printing a table shows no cell.
    table = read_table(write("age,label,other\n4711,4711,3\n"))
    assert table.columns == ("age", "other")
    assert "4711" not in repr(table)


def test_the_same_table_from_csv_and_parquet_is_the_same_to_the_bit(tmp_path):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "real": generator.standard_normal(50),
            "whole": pd.array([None, *range(49)], dtype="Int64"),
            "truth": pd.array([None, *([True, False] * 24), True], dtype="boolean"),
            "code": pd.Categorical([str(number % 3) for number in range(50)]),
            "text": ["1.5", None] * 25,
            "label": generator.integers(0, 3, 50),
        }
    )
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.astype({"label": float}).to_csv(tmp_path / "b.csv", index=False)
    first, *others = (read_table(tmp_path / name) for name in ("a.parquet", "a.csv", "b.csv"))
    for other in others:
        assert_same(other, first)


@pytest.mark.parametrize(
    "labels",
    [
        *([1, 0], [1.0, 0.0], [True, False], ["1", "0"], ["1.0", " 0.00 "], ["TRUE", "false"], ["+1", "-0"]),
        pd.Categorical([1, 0]),
    ],
)
def test_labels_of_every_type_agree(labels):
    table = table_from_frame(pd.DataFrame({"age": [1, 2], "label": labels}), "label", "ward.csv")
    assert table.labels.tolist() == ["1", "0"]


def test_no_other_row_decides_what_a_label_or_an_id_is(write):
    """With a 1 beside it, 1.0 stayed 1.0: one row more, and no other was of a listed class."""
    rows = "1.0,0,1\n2.0,1,2\n"
    tables = [read_table(write(f"id,label,age\n{text}"), row_id="id") for text in (rows, rows + "3,1.0,2\n")]
    assert tables[1].labels.tolist() == [*tables[0].labels, "1"]
    assert tables[1].ids.tolist() == [*tables[0].ids, "3"]
    refusal(read_table, write(f"id,label,age\n{rows}1,0,1\n"), None, "id")


CANONICAL = {"-1.0": "-1", "2.": "2", "-0": "0", " malignant ": "malignant", "2 ": "2"}
CODES = ("0.50", "01", "12345678901234567", "1_0", "1E1")


@pytest.mark.parametrize(("text", "canonical"), [*CANONICAL.items(), *zip(CODES, CODES, strict=True)])
def test_canonical_label(text, canonical):
    assert canonical_label(text) == canonical


ODD = (
    "",
    "NA",
    "nan",
    " ?",
    "True",
    "false ",
    "inf",
    "-Infinity",
    "1_000",
    "0x10",
    "1,5",
    "1e5",
    " 7",
    "old",
    "१",
)


@given(
    st.lists(
        st.one_of(st.sampled_from(ODD), st.text("0123456789.,eE+-_ naif"), st.floats().map(repr)), min_size=1
    )
)
@pytest.mark.slow
def test_a_cell_means_the_same_whatever_stands_beside_it(cells: list[str]) -> None:
    """Where all cells are text, those that are numbers as they stand go another way than where one is not text."""
    together, are_text = parse_numbers(np.array(cells, dtype=object), TableForm())
    for cell, number, is_text in zip(cells, together, are_text, strict=True):
        one, one_is_text = parse_numbers(np.array([cell, None], dtype=object), TableForm())
        assert one[0] == number or (np.isnan(one[0]) and np.isnan(number))
        assert one_is_text[0] == is_text


@given(st.text(max_size=12) | st.floats(allow_nan=False).map(str) | st.integers().map(str))
def test_canonical_label_is_idempotent(text):
    assert canonical_label(canonical_label(text)) == canonical_label(text)


@given(st.integers(-(10**9), 10**9))
def test_whole_numbers_have_one_label(number):
    assert (
        canonical_label(f"{number}") == canonical_label(f"{number}.0") == canonical_label(str(float(number)))
    )


cells = st.none() | st.floats(-1e12, 1e12)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=8))
@pytest.mark.slow
def test_every_number_that_can_be_added_up_survives_csv(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    lines = [",".join(["" if cell is None else repr(cell) for cell in row]) + ",x" for row in rows]
    path.write_text("\n".join(["a,b,label", *lines]))
    expected = [[np.nan if cell is None else cell for cell in row] for row in rows]
    np.testing.assert_array_equal(read_table(path).X, expected)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("age,label\n", None),
        ("label\n1\n", None),
        ("age,lable\n1,2\n", None),
        ("age,diagnosis\n1,2\n", "Diagnosis"),
        ("age,label\n1,a\n2,\n3, NA\n", None),
        ("age,name,label\n1,,a\n2,secret,b\n", None),
        ("a,b,c,label\n1,2,secret,a\nx,4711x,3,b\n", None),
        ('age,label\n"4711,5",1\n', None),
        ("age,label\n1_000,1\n", None),
        ("age,label\n1,1\n-inf,1\n", None),
        ("age,label\n1e400,1\n", None),
        ("age,dose,label\n1,2,1\n3,-4711e12,1\n", None),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_without_its_content(write, text, label):
    refusal(read_table, write(text), label)


def test_dates_and_infinity_in_parquet_are_refused(tmp_path):
    path = tmp_path / "ward.parquet"
    pd.DataFrame({"seen": pd.to_datetime(["2020-01-01"]), "label": [1]}).to_parquet(path)
    assert "column 'seen', data row 1" in refusal(read_table, path)
    pd.DataFrame({"age": [1.0, np.inf], "label": [1, 2]}).to_parquet(path)
    assert "column 'age', data row 2" in refusal(read_table, path)
    pd.DataFrame({"age": [1.0, 2.0], "label": [None, 2.0]}).to_parquet(path)
    assert "1 of 2 rows, the first is data row 1" in refusal(read_table, path)


def _table(columns: str) -> Table:
    X = np.arange(2.0 * len(columns.split())).reshape(2, -1)
    return Table(tuple(columns.split()), X, np.array(["x", "y"]))


@given(st.permutations(range(6)))
def test_align_repairs_the_order(order):
    table = _table("a b c d e f")
    there = align(table, [table.columns[place] for place in order])
    np.testing.assert_array_equal(there.X, table.X[:, order])
    assert_same(align(there, table.columns), table)


def test_align_names_missing_and_extra_columns_and_fills_the_zeros_that_libsvm_text_leaves_out(write):
    assert "no column 'chol'" in refusal(align, _table("age dose"), ["age", "chol", "dose"])
    assert "has column 'id'" in refusal(align, _table("age id dose"), ["age", "dose"])
    # Only LIBSVM text leaves columns of zeros out.
    assert "no column 'f3'" in refusal(align, _table("f1 f2"), ["f1", "f2", "f3"])
    path = write("+1 1:2\n-1 2:4\n", "a.libsvm")
    assert "first field of each line" in refusal(read_table, path, "diagnosis")
    table = read_table(path)
    assert table.labels.tolist() == ["1", "-1"]
    assert align(table, ["f1", "f2", "f3"]).X.tolist() == [[2, 0, 0], [0, 4, 0]]
    assert "no column 'age'" in refusal(align, table, ["f1", "f2", "age"])


def test_pandas_reads_what_was_counted_row_by_row(write):
    """The check of row lengths and pandas must mean the same rows, or numbers in errors would be wrong."""
    text = 'age,label\n1,"a, b"\n\n2,"say ""no"""\r\n3,\'\n'
    table = read_table(write(text))
    assert table.X.ravel().tolist() == [1, 2, 3]
    assert table.labels.tolist() == ["a, b", 'say "no"', "'"]
    assert len(pd.read_csv(io.StringIO(text))) == 3
