"""A table saved in another format has the same copy: no second draw for a cell, and no cell in a difference."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clients.budget import new_ledger
from clients.ledger.tables import link_table
from clients.perturb import PerturbedTerms, perturbed_table
from clients.table.form import TableForm
from clients.table.reading import read_table
from clients.table.table import Table
from flower_pansvm.errors import TableError
from flower_pansvm.table_schema import CATEGORY, YES_NO, TableColumn, TableSchema

HALF, ROWS = PerturbedTerms(0.5), 120
MEASURED = ["full", "small", "sparse", "coded"]
SCHEMA = TableSchema(
    (
        *map(TableColumn, ("full", "small", "sparse", "age", "step")),
        TableColumn("coded", missing=("-99.9",)),
        TableColumn("smoker", kind=YES_NO),
        TableColumn("icd", kind=CATEGORY, categories=("a", "b", "c")),
    )
)


def own_frame(seed: int, power: int) -> pd.DataFrame:
    """Return a table with full precision, codes for missing cells, steps of a tenth and all kinds of columns."""
    generator = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "case": [f"P{7 * number:05d}" for number in generator.permutation(ROWS)],
            "full": generator.normal(200, 40, ROWS) * 10.0**power,
            "small": generator.lognormal(0, 2, ROWS) * 1e-3,
            "sparse": np.where(generator.random(ROWS) < 0.8, 0, generator.exponential(3, ROWS)),
            "age": generator.integers(20, 90, ROWS),
            "step": generator.integers(0, 4, ROWS) / 10,
            "coded": np.where(generator.random(ROWS) < 0.1, -99.9, generator.normal(5, 1, ROWS).round(2)),
            "smoker": generator.random(ROWS) < 0.4,
            "icd": generator.choice(["a", "b", "c"], ROWS),
            "label": np.where(generator.random(ROWS) < 0.4, 1, 0),
        }
    )
    frame.loc[generator.random(ROWS) < 0.05, "small"] = np.nan
    return frame


def digits(frame: pd.DataFrame, many: int) -> pd.DataFrame:
    return frame.assign(**{name: [float(f"{x:.{many}g}") for x in frame[name]] for name in MEASURED})


def single(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(dict.fromkeys(MEASURED, "float32"))


Write = Callable[[pd.DataFrame, Path], object]
FORMATS: dict[str, tuple[str, dict[str, str], Write]] = {
    "full": (".csv", {}, lambda frame, path: frame.to_csv(path, index=False)),
    "scientific": (".csv", {}, lambda frame, path: frame.to_csv(path, index=False, float_format="%.17e")),
    "decimal commas": (
        ".csv",
        {"decimal": ",", "separator": ";"},
        lambda frame, path: frame.to_csv(path, index=False, sep=";", decimal=","),
    ),
    "whole numbers with a point": (
        ".csv",
        {},
        lambda frame, path: frame.astype({"age": float, "label": float, "smoker": float}).to_csv(
            path, index=False
        ),
    ),
    "words, another order": (
        ".csv",
        {"encoding": "utf-16"},
        lambda frame, path: (
            frame.assign(smoker=np.where(frame.smoker, "yes", "no"))
            .sort_values("full")[[*frame.columns[::-1]]]
            .to_csv(path, index=False, encoding="utf-16", na_rep="NA")
        ),
    ),
    "15 digits": (".csv", {}, lambda frame, path: digits(frame, 15).to_csv(path, index=False)),
    "single in text": (".csv", {}, lambda frame, path: single(frame).to_csv(path, index=False)),
    "single in doubles": (
        ".csv",
        {},
        lambda frame, path: single(frame).astype(dict.fromkeys(MEASURED, float)).to_csv(path, index=False),
    ),
    "parquet": (
        ".parquet",
        {},
        lambda frame, path: frame.astype({"age": "Int64", "icd": "category"}).to_parquet(path),
    ),
    "single parquet": (".parquet", {}, lambda frame, path: single(frame).to_parquet(path)),
    "excel": (".xlsx", {}, lambda frame, path: digits(frame, 15).to_excel(path, index=False)),
}


def copy_of(frame: pd.DataFrame, name: str, row_id: str | None, folder: Path) -> Table:
    """Return the copy of a table that a hospital has saved in a format, in the order of the ages and ids."""
    suffix, options, write = FORMATS[name]
    path = folder.parent / f"ward{suffix}"
    write(frame if row_id else frame.drop(columns="case"), path)
    table = read_table(path, None, row_id, TableForm.of(options, SCHEMA))
    link_table(folder, table)
    copy = perturbed_table(table, "label", SCHEMA, HALF, folder)
    order = np.lexsort(np.float32(table.X[:, :2]).T)
    return Table(copy.columns, copy.X[order], copy.labels[order])


@pytest.mark.parametrize("row_id", ["case", None])
@pytest.mark.parametrize("name", [*FORMATS])
def test_a_table_saved_in_another_format_has_its_copy(name: str, row_id: str | None, tmp_path: Path) -> None:
    new_ledger(tmp_path / "state", 0.2)
    copy, again = (copy_of(own_frame(0, 0), one, row_id, tmp_path / "state") for one in ("full", name))
    assert np.array_equal(copy.X, again.X, equal_nan=True)
    assert np.array_equal(copy.labels, again.labels)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    first=st.sampled_from([*FORMATS]),
    second=st.sampled_from([*FORMATS]),
    row_id=st.sampled_from(["case", None]),
    seed=st.integers(0, 2**20),
    power=st.integers(-12, 9),
)
def test_a_table_has_one_copy_in_all_formats(
    first: str,
    second: str,
    row_id: str | None,
    seed: int,
    power: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("account") / "state"
        patch.setenv("XDG_STATE_HOME", str(folder.parent))
        new_ledger(folder, 0.2)
        frame = own_frame(seed, power)
        copy, again = (copy_of(frame, name, row_id, folder) for name in (first, second))
    assert np.array_equal(copy.X, again.X, equal_nan=True)
    assert np.array_equal(copy.labels, again.labels)


@pytest.mark.parametrize("many", [3, 5, 7])
@pytest.mark.parametrize("row_id", ["case", None])
def test_fewer_digits_are_other_cells(many: int, row_id: str | None, tmp_path: Path) -> None:
    new_ledger(tmp_path / "state", 0.2)
    frame = own_frame(0, 0)
    copy_of(frame, "full", row_id, tmp_path / "state")
    with pytest.raises(TableError):
        copy_of(digits(frame, many), "full", row_id, tmp_path / "state")


def test_a_cell_between_two_numbers_of_single_precision_pays_as_a_corrected_one(tmp_path: Path) -> None:
    """15 digits may make another one of it: its two copies are independent, and all other cells keep theirs."""
    new_ledger(tmp_path / "state", 0.2)
    generator, rows = np.random.default_rng(0), 2000
    X = generator.normal(200, 40, (rows, 1))
    between = generator.permutation(rows)[:40]
    X[between, 0] = np.float32(X[between, 0]).astype(float) + np.spacing(np.float32(X[between, 0])) / 2
    moved = X.copy()
    moved[between] = np.nextafter(np.nextafter(X[between], -np.inf), -np.inf)
    ids = np.array([f"P{7 * number}" for number in range(rows)])
    copies = []
    for cells in (X, moved):
        table = Table(("full",), cells, None, ids=ids)
        link_table(tmp_path / "state", table)
        copies.append(perturbed_table(table, "", None, HALF, tmp_path / "state").X[:, 0])
    crossed = np.float32(X[:, 0]) != np.float32(moved[:, 0])
    assert 10 < crossed.sum() <= len(between)
    assert np.array_equal(copies[0][~crossed], copies[1][~crossed])
    noises = [(copy - X[:, 0])[crossed] for copy in copies]
    assert abs(np.corrcoef(*noises)[0, 1]) < 6 / np.sqrt(crossed.sum())
    assert not np.isclose(*noises, rtol=1e-6).any()


@pytest.mark.parametrize(("option", "refused"), [("blank", False), ("apostrophe", False), ("comma", True)])
def test_marks_of_thousands_that_make_another_number_are_another_reading(option: str, refused: bool) -> None:
    plain, grouped = (TableForm.of(options, None).readings(["c"]) for options in ({}, {"thousands": option}))
    assert (plain != grouped) == refused
