"""A table's ledger is found by its rows: by whatever an operator exports again, and by no other patients' rows."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from clients.budget import end_ledger, new_ledger
from clients.ledger.home import read_own, tables_home
from clients.ledger.ledger import LEDGER_FILE, Charge, change_ledger, read_ledger, read_link
from clients.ledger.tables import FEWEST, KEY_FILE, ROWS_FILE, SMALLEST, KnownTables, link_table
from clients.table.form import TableForm
from clients.table.reading import read_whole_file
from clients.table.table import Table
from flower_pansvm.errors import BudgetError
from flower_pansvm.table_schema import TableColumn, TableSchema

NAMES = ("age", "dose", "pulse", "sex", "height", "sugar")


def patients(seed: int = 0, rows: int = 200) -> Table:
    """Make a table of plausible cells, with a missing one and a zero."""
    draw = np.random.default_rng(seed)
    X = np.column_stack(
        [
            draw.integers(20, 90, rows),
            draw.normal(size=rows).round(2),
            draw.integers(50, 120, rows),
            draw.integers(0, 2, rows),
            draw.normal(170, 10, rows).round(1),
            draw.gamma(4, 1.5, rows).round(1),
        ]
    ).astype(np.float64)
    X[0, 1], X[1, 1] = np.nan, 0.0
    return Table(NAMES, X, None)


def columns(table: Table, *names: str) -> Table:
    return Table(names, table.X[:, [table.columns.index(name) for name in names]], None)


def with_column(table: Table, name: str, cells: np.ndarray) -> Table:
    return Table((*table.columns, name), np.column_stack([table.X, cells]), None)


def with_cells(table: Table, where: tuple[int | slice, int], change: Callable[[Any], Any]) -> Table:
    X = table.X.copy()
    X[where] = change(X[where])
    return replace(table, X=X)


ORDER = np.random.default_rng(9).permutation(200)
AGAIN: dict[str, Callable[[Table], Table]] = {
    "as it was": lambda table: table,
    "rows in another order": lambda table: replace(table, X=table.X[ORDER]),
    "rows added": lambda table: replace(table, X=np.vstack([table.X, patients(7, 40).X])),
    "three times as many rows": lambda table: replace(table, X=np.vstack([table.X, patients(7, 400).X])),
    "rows twice": lambda table: replace(table, X=np.vstack([table.X, table.X])),
    "half of the rows": lambda table: replace(table, X=table.X[ORDER[:100]]),
    "a cell corrected": lambda table: with_cells(table, (5, 0), lambda age: age + 1),
    "a minus before a zero": lambda table: with_cells(table, (1, 1), lambda zero: -zero),
    "in single precision": lambda table: replace(table, X=table.X.astype(np.float32).astype(np.float64)),
    "a column in other units": lambda table: with_cells(table, (slice(None), 5), lambda mg: mg * 18.0182),
    "columns in another order": lambda table: columns(table, *reversed(NAMES)),
    "a column added": lambda table: with_column(table, "bmi", np.arange(200) / 7),
    "the columns of a study": lambda table: columns(table, "age", "pulse", "sex", "height"),
    "a column renamed": lambda table: replace(table, columns=("years", *NAMES[1:])),
    "all columns renamed": lambda table: replace(table, columns=tuple(map(str.upper, NAMES))),
    "all columns renamed, rows gone": lambda table: Table(
        tuple(map(str.upper, NAMES)), table.X[ORDER[:100]], None
    ),
}


def begin(folder: Path, table: Table) -> None:
    new_ledger(folder, 0.2)
    link_table(folder, table)


def ledgers() -> list[Path]:
    return sorted(tables_home().glob("*/"))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    begin(tmp_path / "state", patients())
    return tmp_path / "state"


@pytest.mark.parametrize("how", AGAIN)
def test_a_second_folder_finds_the_ledger_of_a_table_that_was_exported_again(how: str, state: Path) -> None:
    """It shares it, or is refused where rows would change sides; and there is no new budget."""
    spent = Charge("1", "", "private_step", "train", 0.1)
    change_ledger(state, lambda ledger: replace(ledger, charges=(spent,)))
    table = AGAIN[how](patients())
    new_ledger(state.parent / "second", 0.2)
    if set(table.columns) >= set(NAMES):
        assert link_table(state.parent / "second", table).charges == (spent,)
        assert read_ledger(state.parent / "second") == read_ledger(state)
    else:
        with pytest.raises(BudgetError, match="lacks"):
            link_table(state.parent / "second", table)
    assert len(ledgers()) == 1


def test_a_column_in_which_all_rows_differ_is_known_by_any_name(tmp_path: Path) -> None:
    """Names in capital letters, another column left out and a third in another unit made a second budget."""
    generator, more = np.random.default_rng(3), {}
    for seed in (0, 1):
        more[seed] = with_column(patients(seed), "weight", generator.normal(70, 12, 200))
    begin(tmp_path / "first", more[0])
    X = more[0].X[20:, 1:] * [1, 1, 1, 1, 18.0182, 1]
    for folder, table in {"second": Table(tuple("ABCDEF"), X, None), "third": more[1]}.items():
        new_ledger(tmp_path / folder, 0.2)
        if folder == "second":
            with pytest.raises(BudgetError, match="lacks"):
                link_table(tmp_path / folder, table)
        else:
            link_table(tmp_path / folder, table)
    assert len(ledgers()) == 2


def test_after_a_person_has_ended_the_budget_columns_may_be_missing(state: Path) -> None:
    spent = Charge("1", "", "private_step", "train", 0.1)
    change_ledger(state, lambda ledger: replace(ledger, charges=(spent,)))
    fewer = columns(patients(), "age", "pulse", "sex", "height")
    with pytest.raises(BudgetError, match="lacks"):
        link_table(state, fewer)
    end_ledger(state)
    assert len(link_table(state, fewer).columns) == 4


def test_a_table_that_grows_is_the_same_in_all_steps(state: Path) -> None:
    """Also when no row of the first export is left."""
    rows = np.vstack([patients(seed).X for seed in range(4)])
    for start in range(0, 700, 100):
        link_table(state, replace(patients(), X=rows[start : start + 200]))
    begin(state.parent / "second", patients())
    begin(state.parent / "third", replace(patients(), X=rows[-200:]))
    assert len(ledgers()) == 1


@pytest.mark.parametrize("rows", [200, 20 * SMALLEST])
def test_other_patients_have_a_ledger_of_their_own(rows: int, state: Path) -> None:
    for seed in range(1, 6):
        begin(state.parent / str(seed), patients(seed, rows))
        begin(state.parent / f"{seed} again", columns(patients(seed, rows), *NAMES[1:], NAMES[0]))
    assert len(ledgers()) == 6


def test_of_a_large_table_a_tenth_is_found(tmp_path: Path) -> None:
    """And more rows than are kept of it take part in the comparison."""
    table = patients(rows=40 * SMALLEST)
    begin(tmp_path / "state", table)
    begin(tmp_path / "part", replace(table, X=table.X[7::10]))
    assert len(ledgers()) == 1
    begin(tmp_path / "other", patients(3, rows=1000))
    assert len(ledgers()) == 2


def test_tables_of_few_different_rows_count_as_one_and_that_is_the_safe_side(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    for name in ("one", "other"):
        begin(tmp_path / name, Table(("a", "b", "c"), draw.integers(0, 2, (100, 3)).astype(float), None))
    assert len(ledgers()) == 1


@pytest.mark.parametrize("rows", [0, 2, 5, FEWEST - 1])
def test_a_table_of_few_rows_finds_its_ledger_again_and_one_of_none_is_nobodys(
    rows: int, tmp_path: Path
) -> None:
    begin(tmp_path / "one", patients(rows=rows or 5))
    if rows:
        link_table(tmp_path / "one", patients(rows=rows))
        begin(tmp_path / "second", replace(patients(), X=patients(rows=rows).X[::-1]))
    assert len(ledgers()) == 1
    begin(tmp_path / "other", patients(1))
    begin(tmp_path / "others", replace(patients(), X=patients(2).X[:rows]))
    assert len(ledgers()) == 3


def test_a_folder_of_one_table_is_not_used_for_another(state: Path) -> None:
    with pytest.raises(BudgetError, match="not those of the ledger"):
        link_table(state, patients(1))
    assert len(ledgers()) == 1


def test_a_table_that_joins_two_is_refused(state: Path) -> None:
    begin(state.parent / "other", patients(1))
    both = replace(patients(), X=np.vstack([patients().X, patients(1).X]))
    for folder in (state, state.parent / "new"):
        if folder != state:
            new_ledger(folder, 0.2)
        with pytest.raises(BudgetError, match="tables"):
            link_table(folder, both)


def test_nothing_of_the_table_can_be_read_in_the_place(state: Path) -> None:
    """By which it is found: no name and no number; and by another key other digests."""
    text = " ".join(file.read_text() for file in tables_home().rglob(ROWS_FILE))
    assert not any(name in text for name in NAMES)
    own, other = ledgers()[0], tables_home().with_name("other")
    other.mkdir()
    found = KnownTables(other, patients())
    found.add(other)
    assert set(found.columns).isdisjoint(KnownTables(tables_home(), patients()).columns)
    here, there = (
        {digest for kind in read_own(folder / ROWS_FILE).values() for one in kind.values() for digest in one}
        for folder in (own, other)
    )
    assert len(here) > 200
    assert not here & there


@pytest.mark.parametrize(
    ("file", "content"),
    [*product((KEY_FILE, ROWS_FILE), (None, "", "{}", "zz", "7b7d\n[]", "a digit"))],
)
def test_without_the_digests_no_table_has_a_budget(file: str, content: str | None, state: Path) -> None:
    """The ledger that cannot be compared may be that of the table, also where the folder is new."""
    other = state.parent / "other"
    begin(other, patients(1))
    path = tables_home() / file if file == KEY_FILE else tables_home() / read_link(state).table / file
    text = path.read_text()
    if content == "a digit":
        content = text[:-9] + ("1" if text[-9] == "0" else "0") + text[-8:]  # beyond the checksum
    path.unlink() if content is None else path.write_text(content)
    new_ledger(state.parent / "new", 0.2)
    for folder, table in ((state, patients()), (state.parent / "new", patients(2)), (other, patients(1))):
        with pytest.raises(BudgetError, match="backup"):
            link_table(folder, table)
    assert len(ledgers()) == 2
    # What else the text advises: a person deletes what cannot be compared, and ends its budgets.
    shutil.rmtree(path.parent)
    lost = [(state, patients()), (other, patients(1))][: 2 if file == KEY_FILE else 1]
    for folder, table in lost:
        with pytest.raises(BudgetError, match="spent"):
            link_table(folder, table)
        end_ledger(folder)
    for folder, table in ((state, patients()), (other, patients(1))):
        link_table(folder, table)
    assert len(ledgers()) == 2


def test_a_file_of_another_ledger_s_folder_is_refused(state: Path) -> None:
    """Two tables' budgets, or rows, that a hand has exchanged: each would be charged to the other one."""
    other = state.parent / "other"
    begin(other, patients(1))
    for file in (LEDGER_FILE, ROWS_FILE):
        own, foreign = (tables_home() / read_link(folder).table / file for folder in (state, other))
        texts = own.read_text(), foreign.read_text()
        own.write_text(texts[1])
        foreign.write_text(texts[0])
        for folder, table in ((state, patients()), (other, patients(1))):
            with pytest.raises(BudgetError, match="backup"):
                link_table(folder, table)
        own.write_text(texts[0])
        foreign.write_text(texts[1])
        link_table(state, patients())
        link_table(other, patients(1))


def test_a_process_that_dies_while_it_begins_leaves_nothing_that_counts(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_ledger(state.parent / "other", 0.2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(OSError(28, os.strerror(28))))
        with pytest.raises(OSError, match="space"):
            link_table(state.parent / "other", patients(1))
    assert read_ledger(state.parent / "other").key == ""
    link_table(state.parent / "other", patients(1))
    assert len(sorted(tables_home().glob("[0-9a-f]*/"))) == 2


@pytest.mark.parametrize("names", [NAMES, tuple(map(str.upper, NAMES))], ids=["same", "other names"])
@pytest.mark.parametrize(("ids", "known"), [("random", True), ("counter", False), ("year", False)])
def test_a_table_of_which_all_cells_changed_is_known_by_its_row_ids(
    ids: str, known: bool, names: tuple[str, ...], tmp_path: Path
) -> None:
    """As by another unit; but not by ids that other patients' tables have, too."""
    numbers = np.random.default_rng(5).permutation(10**5 if ids == "random" else 220)[:200]
    texts = np.array([f"{'2024-' * (ids == 'year')}P{number:05}" for number in numbers])
    begin(tmp_path / "first", replace(patients(), ids=texts))
    begin(tmp_path / "second", Table(names, patients().X * 1.13 + 0.01, None, ids=texts))
    assert (len(ledgers()) == 1) == known


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_study_of_other_columns_of_a_file_finds_the_ledger_of_the_file(suffix: str, tmp_path: Path) -> None:
    """A coordinator chooses the columns by its schema file. Other patients in a file like it have their own ledger."""

    def studied(folder: str, seed: int, column: str) -> None:
        generator, file = np.random.default_rng(seed), tmp_path / f"{seed}{suffix}"
        codes = {"sex": generator.integers(2, size=60), "ward": generator.choice(["A", "B"], 60)}
        frame = pd.DataFrame({"case": np.arange(60), "age": generator.normal(size=60), **codes})
        frame.to_csv(file, index=False) if suffix == ".csv" else frame.to_parquet(file)
        new_ledger(tmp_path / folder, 0.2)
        schema = TableSchema((TableColumn(column),))
        table = Table((column,), frame[[column]].to_numpy(dtype=np.float64), None)
        link_table(tmp_path / folder, table, lambda: read_whole_file(file, TableForm(schema=schema)))

    studied("first", 0, "sex")
    with pytest.raises(BudgetError, match="lacks"):
        studied("second", 0, "age")
    studied("third", 1, "age")
    assert len(ledgers()) == 2


def test_a_file_of_which_all_rows_have_gone_is_known_in_a_study_of_other_columns(tmp_path: Path) -> None:
    """Exports of the last year, month by month; the first study is of codes, in which no row is told apart."""
    cells, file = np.random.default_rng(0).integers((3, 10**6), size=(600, 2)), tmp_path / "ward.csv"

    def studied(month: int, column: str) -> None:
        year = pd.DataFrame(cells[20 * (month - 12) : 20 * month], columns=["ward", "age"])
        year.to_csv(file, index=False)
        table = Table((column,), year[[column]].to_numpy(dtype=np.float64), None)
        link_table(tmp_path / column, table, lambda: read_whole_file(file, TableForm()), version=str(month))

    for column in ("ward", "age"):
        new_ledger(tmp_path / column, 0.2)
    for month in range(12, 26):
        studied(month, "ward")
    with pytest.raises(BudgetError, match="lacks"):
        studied(26, "age")


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_a_file_saved_in_another_format_is_known_in_a_study_of_other_columns(
    suffix: str, tmp_path: Path
) -> None:
    """With decimal commas only the whole numbers were the same, and no two of three columns told rows apart."""
    generator = np.random.default_rng(0)
    codes = {"sex": generator.integers(2, size=60), "ward": generator.integers(4, size=60)}
    frame = pd.DataFrame({"age": generator.normal(50, 9, 60), **codes})
    first, second = tmp_path / "first.csv", tmp_path / f"second{suffix}"
    frame.to_csv(first, index=False)
    if suffix == ".csv":
        frame.to_csv(second, index=False, sep=";", decimal=",")
    elif suffix == ".xlsx":
        frame.to_excel(second, index=False)
    else:
        frame.astype({"age": "float32"}).to_parquet(second)
    form = TableForm.of({"separator": ";", "decimal": ","} if suffix == ".csv" else {}, None)
    for folder, column, read in (
        ("one", "sex", lambda: read_whole_file(first, TableForm())),
        ("two", "ward", lambda: read_whole_file(second, form)),
    ):
        new_ledger(tmp_path / folder, 0.2)
        table = Table((column,), frame[[column]].to_numpy(dtype=np.float64), None)
        if folder == "one":
            link_table(tmp_path / folder, table, read)
        else:
            with pytest.raises(BudgetError, match="lacks"):
                link_table(tmp_path / folder, table, read)
    assert len(ledgers()) == 1
