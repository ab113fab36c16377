"""Large tables: read in parts, and the same as if they were read as a whole."""

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clients.hospital import Hospital
from clients.rows import true_table
from clients.table.form import TableForm
from clients.table.reading import read_table
from clients.table.table import Table
from clients.table.units import check_units
from flower_pansvm.errors import TableError
from flower_pansvm.table_schema import TableColumn, TableSchema
from simulations.engines.in_process import train_in_process
from strategies.svm_settings import PanSvmSettings
from tests.clients.conftest import assert_same
from tests.contexts import own_hospital

ROWS = 1000

COLUMNS = 60


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all but the smallest tables count as large, and be read a hundred rows at a time."""
    monkeypatch.setattr("clients.table.sources.parquet.LARGEST_AT_ONCE", 1000)
    monkeypatch.setattr("clients.table.sources.parquet.CELLS_AT_ONCE", 400)


def frame(**columns: object) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    cells = generator.normal(size=(ROWS, 2))
    cells[generator.random(cells.shape) < 0.1] = np.nan
    found = pd.DataFrame(cells, columns=["age", "dose"])
    found["smokes"] = generator.random(ROWS) < 0.3
    return found.assign(**{"label": generator.choice(["ill", "well", "at risk"], ROWS), **columns})


@pytest.mark.parametrize("index", [None, "stay"])
def test_a_table_that_is_read_in_parts_is_the_same(
    index: str | None, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "ward.parquet"
    # An index of no order is stored as a column, and so there in each part.
    order = np.random.default_rng(1).permutation(ROWS)
    frame().set_index(pd.Index(order, name=index)).to_parquet(path, row_group_size=130)
    whole = read_table(path)
    assert whole.columns == ((index,) if index else ()) + ("age", "dose", "smokes")
    request.getfixturevalue("small_memory")
    assert_same(read_table(path), whole)
    # Also one of a range, which only the whole file has.
    frame().rename_axis(index).to_parquet(path)
    assert read_table(path).columns == whole.columns


def test_an_error_in_a_later_part_says_from_where_rows_are_counted(
    tmp_path: Path, small_memory: None
) -> None:
    labels = ["ill"] * 503 + [None] * (ROWS - 503)
    frame(label=labels).to_parquet(tmp_path / "ward.parquet")
    with pytest.raises(TableError, match="label") as caught:
        read_table(tmp_path / "ward.parquet")
    assert "the first is data row 4. Count from data row 501 on." in caught.value.detail
    assert "501" not in str(caught.value)


def test_units_are_judged_by_all_rows(tmp_path: Path, small_memory: None) -> None:
    """The first rows of a sorted table may all be outside of a range."""
    columns = TableColumn("age", ends=(18.0, 120.0)), TableColumn("smokes", "yes/no"), TableColumn("dose")
    form = TableForm(schema=TableSchema(columns))
    ages = np.linspace(0.0, 100.0, ROWS)
    frame(age=ages).to_parquet(tmp_path / "ward.parquet")
    check_units(read_table(tmp_path / "ward.parquet", form=form), form.schema, "ward.parquet")
    frame(age=ages / 10).to_parquet(tmp_path / "ward.parquet")
    other = read_table(tmp_path / "ward.parquet", form=form)
    with pytest.raises(TableError, match="'age'"):
        check_units(other, form.schema, "ward.parquet")


def test_a_table_that_is_changed_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ward.csv"
    path.write_text("age,label\n1,a\n")

    def read(hospital: Hospital) -> Table:
        table = read_table(path)
        path.write_text("age,label\n1,a\n2,b\n")
        return table

    monkeypatch.setattr("clients.table.opening.open_table", read)
    hospital = own_hospital({"data": str(path), "name": "ward"})
    with pytest.raises(TableError, match="changed"):
        true_table(hospital)


def peak_of_training(folder: Path, rows: int) -> int:
    """Return the most bytes that a training run has in memory at a time, with so many rows at each of three sites."""
    generator, files = np.random.default_rng(0), []
    for site in range(3):
        X = generator.normal(size=(rows, COLUMNS))
        table = pd.DataFrame(X, columns=[f"x{number}" for number in range(COLUMNS)])
        files.append(str(folder / f"{rows}-{site}.parquet"))
        table.assign(label=(X[:, :3].sum(axis=1) > 0).astype(int)).to_parquet(files[-1])
    tracemalloc.start()
    try:
        train_in_process(PanSvmSettings(data="|".join(files), sites=3, landmarks=10, tol=0.5))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_run_has_the_cells_of_a_table_in_memory_a_few_times_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all sites' tables in one process: the table, its perturbed copy, and training and test rows of it."""
    monkeypatch.setattr("clients.systems.pan_svm.LARGEST_KEPT", 0)
    monkeypatch.setattr("clients.systems.pan_svm.LANDMARK_ROWS", 1000)
    monkeypatch.setattr("clients.systems.pan_svm.WARM_START_ROWS", 300)
    monkeypatch.setattr("clients.table.sources.parquet.LARGEST_AT_ONCE", 10_000)
    monkeypatch.setattr("clients.table.sources.parquet.CELLS_AT_ONCE", 50_000)
    monkeypatch.setattr("clients.perturb.draws.BLOCK", 50_000)
    # What a first run imports counts as memory, too.
    peak_of_training(tmp_path, 100)
    cells = 8 * 3 * 20_000 * COLUMNS
    assert peak_of_training(tmp_path, 20_000) < 3.5 * cells
