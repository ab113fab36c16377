"""Schema files: what they say, and what a person is told of one that cannot be."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flower_pansvm.errors import SettingError
from flower_pansvm.table_schema import TableColumn, TableSchema

FULL = """
label = "outcome"
classes = ["no", "yes", "maybe"]
positive = ["yes"]
patient-id = "mrn"
leave-out = ["ward"]

[columns.cholesterol]
unit = "mg/dl"
range = [50, 700]
missing = [0, -999, "n/a"]

[columns.smoker]
kind = "yes/no"

[columns."chest pain"]
kind = "category"
categories = ["typical", "atypical", "3"]
"""


def read(folder: Path, text: str) -> TableSchema:
    path = folder / "schema.toml"
    path.write_text(text)
    return TableSchema.read(path)


def test_what_a_file_says(tmp_path: Path) -> None:
    schema = read(tmp_path, FULL)
    assert schema.columns[0] == TableColumn(
        "cholesterol", "number", "mg/dl", (50, 700), (), ("0", "-999", "n/a")
    )
    assert schema.features == (
        *("cholesterol", "smoker"),
        *("chest pain=typical", "chest pain=atypical", "chest pain=3"),
    )
    assert schema.public_ends["cholesterol"] == (50, 700)
    assert schema.public_ends["chest pain=3"] == (0, 1)
    assert (schema.label, schema.patient_id) == ("outcome", "mrn")
    assert (schema.classes, schema.positive) == (("no", "yes", "maybe"), ("yes",))
    assert schema.changes_cells
    assert not read(tmp_path, "[columns.age]\nrange = [0, 120]\n").changes_cells


def test_only_numbers_are_outside_of_a_range() -> None:
    cells = np.array([49.9, 50.0, 700.0, 700.1, np.nan, np.inf])
    bounded, free = (TableColumn("cholesterol", ends=ends) for ends in ((50.0, 700.0), None))
    assert bounded.outside(cells).tolist() == [True, False, False, True, False, True]
    assert not free.outside(cells).any()


def test_comments_and_spelling_of_numbers_do_not_matter_and_all_else_does(tmp_path: Path) -> None:
    schema = read(tmp_path, FULL)
    again = read(tmp_path, "# ours\n" + FULL.replace("[50, 700]", "[50.0, 7e2]").replace("[0, -", '["0", -'))
    assert again.digest == schema.digest
    for old, new in (
        ("mg/dl", "mmol/l"),
        ("700", "701"),
        ('"3"', '"4"'),
        ("mrn", "id"),
        ('"maybe"]', '"may"]'),
        ('= ["yes"]', '= ["no"]'),
    ):
        assert read(tmp_path, FULL.replace(old, new)).digest != schema.digest


def test_a_model_remembers_all_of_it(tmp_path: Path) -> None:
    schema = read(tmp_path, FULL)
    assert TableSchema.from_json(schema.text) == schema
    assert TableSchema.from_json(schema.text).digest == schema.digest


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
    )
)
@pytest.mark.slow
def test_no_content_of_a_changed_model_is_more_than_an_error(said: object) -> None:
    for one in (said, {"columns": said}, {"columns": {"age": said}}, {"columns": {"age": {"missing": said}}}):
        try:
            TableSchema.from_json(json.dumps(one))
        except (SettingError, ValueError):
            continue


def test_a_schema_nested_too_deep_is_an_error() -> None:
    with pytest.raises(ValueError, match="deep"):
        TableSchema.from_json("[" * 100_000)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "names no column"),
        ("age,label\n4711,1\n", "is not TOML .at line 1"),
        ("[columns.age]\nrange = [0", "is not TOML"),
        ("lable = 'a'\n[columns.age]", "unknown key 'lable'. Did you mean 'label'"),
        ("LABEL = 'a'\n[columns.age]", "unknown key 'LABEL'. Did you mean 'label'"),
        ("columns = 3", "wrong type for columns"),
        ("columns = ['age']", "wrong type for columns"),
        ("[columns]\nage = 3", "expected a table"),
        ("[columns.age]\nkind = 'nubmer'", "unknown kind for column 'age'. It is one of number"),
        ("[columns.age]\nRange = [0, 1]", "unknown key 'Range' for column 'age'. Did you mean 'range'"),
        ("[columns.age]\nrange = [1, 0]", "invalid range for column 'age'"),
        ("[columns.age]\nrange = [0]", "range for column 'age'"),
        ("[columns.age]\nrange = [0, nan]", "range for column 'age'"),
        ("[columns.age]\nrange = [0, inf]", "range for column 'age'"),
        ("[columns.age]\nrange = ['0', '1']", "range for column 'age'"),
        ("[columns.age]\nrange = [false, true]", "range for column 'age'"),
        ("[columns.age]\nkind = 'yes/no'\nrange = [0, 1]", "for columns of numbers only"),
        ("[columns.sex]\nkind = 'category'", "names categories for column 'sex' or none"),
        ("[columns.sex]\ncategories = ['f', 'm']", "names categories for column 'sex' or none"),
        ("[columns.sex]\nkind = 'category'\ncategories = ['m', 'M']", "differ only in how they are spelt"),
        ("[columns.sex]\nkind = 'category'\ncategories = ['m', 'm']", "wrong value for categories"),
        ("[columns.sex]\nkind = 'category'\ncategories = 'm'", "wrong value for categories"),
        ("label = 'age'\n[columns.age]", "column 'age' as label and as a feature"),
        ("label = 'ill'\npatient-id = 'ill'\n[columns.age]", "column 'ill' as label and as patient-id"),
        ("patient-id = 'age'\n[columns.age]", "column 'age' as patient-id and as a feature"),
        ("leave-out = ['age']\n[columns.age]", "column 'age' as leave-out and as a feature"),
        ("classes = ['a']\n[columns.age]", "invalid classes"),
        ("classes = ['1', '1.0']\n[columns.age]", "invalid classes"),
        ("classes = ['yes', '1']\n[columns.age]", "invalid classes"),
        ("classes = ['12.5', '13.5']\n[columns.age]", "invalid classes"),
        ("classes = [0, 1]\npositive = [2]\n[columns.age]", "invalid positive labels"),
        ("classes = ['no', 'yes']\npositive = ['Yes']\n[columns.age]", "invalid positive labels"),
        ("classes = [0, 1]\npositive = [0, 1]\n[columns.age]", "invalid positive labels"),
        ("positive = 1\n[columns.age]", "wrong value for positive"),
        ("label = 3\n[columns.age]", "wrong type for label"),
        ("leave-out = 'name'\n[columns.age]", "wrong value for leave-out"),
        ("[columns.'  ']", "whose name is empty"),
        ("[columns.x]\nkind = 'category'\ncategories = [1.1, 1.10]", "quotation marks"),
        ("[columns.x]\nbelow-limit = 'third'", "one of half, limit"),
        ("[columns.x]\n[reading]\nsep = ';'", "unknown key 'sep' for reading"),
        ("[columns.x]\n[reading]\nseparator = '::'", "single character"),
        ("[columns.x]\nkind = 'category'\ncategories = ['a', 'b']\nmissing = ['b']", "as missing"),
        ("[columns.a]\nkind = 'category'\ncategories = ['b', 'c']\n[columns.'a=b']", "another's category"),
    ],
)
def test_a_file_that_cannot_be_says_what_and_where(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingError) as error:
        read(tmp_path, text)
    assert re.search(told, str(error.value)), error.value
    assert "'schema.toml'" in str(error.value)
    assert "4711" not in str(error.value)
    assert str(tmp_path) not in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"'none.toml'"):
        TableSchema.read(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingError, match="UnicodeDecodeError"):
        TableSchema.read(tmp_path / "a.toml")
