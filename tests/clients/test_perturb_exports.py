"""What happens to tables in hospitals' hands: which exports go on with their copy, and which are refused."""

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clients.budget import end_ledger, new_ledger
from clients.ledger.home import tables_home
from clients.ledger.ledger import read_ledger
from clients.ledger.tables import link_table
from clients.perturb import PerturbedTerms, perturbed_table, rules
from clients.perturb.kept import noise_of_counts, settled_column
from clients.table.table import Table
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import BudgetError, TableError
from flower_pansvm.privacy.discrete_noise import random_bits

ROWS = 400


def own_table(rows: int = ROWS) -> Table:
    generator = np.random.default_rng(3)
    X = np.column_stack(
        [generator.gamma(9, 20, rows), generator.normal(50, 7, rows), generator.integers(0, 3, rows)]
    )
    ids = np.array([f"P{number:05d}" for number in generator.permutation(rows)])
    return Table(("chol", "age", "code"), X, np.where(X[:, 1] > 55, "yes", "no"), ids=ids)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_ledger(tmp_path / "state", 0.2)
    return tmp_path / "state"


def copy_of(table: Table, folder: Path, label: str = "label", joins: bool = True) -> Table:
    link_table(folder, table, joins=joins)
    return perturbed_table(table, label, None, PerturbedTerms(0.5), folder)


def without(table: Table, share: float, column: int = 0) -> Table:
    """Return a table with a share of one column's cells empty."""
    X = table.X.copy()
    X[np.random.default_rng(5).random(len(X)) < share, column] = np.nan
    return replace(table, X=X)


def times(table: Table, factor: float, column: int = 0) -> Table:
    X = table.X.copy()
    X[:, column] *= factor
    return replace(table, X=X)


def test_columns_that_are_rounded_are_named_and_no_second_source_is(folder: Path) -> None:
    """Rounded rows are more alike: the text was of patients that are there twice."""
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.lognormal(1, 1, (300, 5)).round(2), generator.integers(0, 3, (300, 3))])
    ids = np.array([f"P{7 * number}" for number in range(300)])
    table = Table(tuple("abcdefgh"), X, np.where(X[:, 0] > 3, "yes", "no"), ids=ids)
    copy_of(table, folder)
    with pytest.raises(TableError) as failure:
        perturbed_table(replace(table, X=X.round()), "label", None, PerturbedTerms(0.5), folder)
    assert "In column 'a', 'b', 'c', 'd', 'e'" in failure.value.detail


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_results_that_come_later_are_no_other_unit(share: float, folder: Path) -> None:
    table = own_table()
    before, after = copy_of(without(table, share), folder), copy_of(table, folder)
    assert np.array_equal(before.X[:, 1], after.X[:, 1])
    assert np.isnan(after.X[:, 0]).sum() < np.isnan(before.X[:, 0]).sum()


def test_a_column_that_was_empty_in_between_may_not_come_back_converted(folder: Path) -> None:
    table = own_table()
    for export in (table, without(table, 1.0)):
        copy_of(export, folder)
    with pytest.raises(TableError):
        copy_of(times(table, 0.95), folder)
    copy_of(table, folder)


@pytest.mark.parametrize("filled", [0.04, 0.1])
@pytest.mark.parametrize("factor", [0.5, 1.05, 2.0])
def test_a_column_that_few_records_have_is_not_converted_unnoticed(
    filled: float, factor: float, folder: Path
) -> None:
    table = without(own_table(2000), 1 - filled)
    copy_of(table, folder)
    with pytest.raises(TableError):
        copy_of(times(table, factor), folder)


@pytest.mark.parametrize("written", [str.lower, lambda one: one.replace("P0", "P"), lambda one: f" {one}-"])
@pytest.mark.parametrize("share", [0.1, 0.45])
def test_ids_that_some_records_have_otherwise_are_refused(
    share: float, written: Callable[[str], str], folder: Path
) -> None:
    table = own_table()
    copy_of(table, folder)
    others = np.random.default_rng(1).random(ROWS) < share
    ids = [written(one) if other else one for one, other in zip(table.ids.tolist(), others, strict=True)]
    with pytest.raises(TableError):
        copy_of(replace(table, ids=np.array(ids)), folder)


def part(table: Table, rows: slice) -> Table:
    return replace(table, X=table.X[rows], labels=table.labels[rows], ids=table.ids[rows])


@pytest.mark.parametrize("codes", [False, True])
def test_patients_may_come_and_go(codes: bool, folder: Path) -> None:
    """Of codes alone many records are alike: those that have gone are there under other ids."""
    table = own_table()
    table = (
        replace(table, X=np.random.default_rng(0).integers(0, 2, (ROWS, 3)).astype(float)) if codes else table
    )
    copy_of(part(table, slice(300)), folder)
    copy_of(part(table, slice(100, ROWS)), folder)


def test_numbers_in_which_a_gap_is_closed_later_stay_ids(folder: Path) -> None:
    table = own_table()
    numbered = replace(table, ids=np.arange(1, ROWS + 1).astype(str))
    gap = np.delete(np.arange(ROWS), 57)
    copy_of(replace(numbered, X=table.X[gap], labels=table.labels[gap], ids=numbered.ids[gap]), folder)
    copy_of(numbered, folder)


@pytest.mark.parametrize("pending", [0.1, 0.3])
def test_labels_of_another_name_have_one_copy_however_many_are_pending(pending: float, folder: Path) -> None:
    table, generator = own_table(), np.random.default_rng(2)
    copies = [copy_of(table, folder)]
    for name in ("outcome 1", "outcome 2", "outcome 3"):
        labels = np.where(generator.random(ROWS) < pending, "pending", table.labels)
        copies.append(copy_of(replace(table, labels=labels), folder, name))
    assert len(read_ledger(folder).copy["labels"]) == 1


def test_outcomes_that_are_alike_in_part_are_two(folder: Path) -> None:
    table, other = own_table(), np.random.default_rng(2).random(ROWS) < 0.25
    copy_of(table, folder)
    for name in ("relapse", "label", "relapse"):
        labels = np.where(other & (name == "relapse"), "yes", table.labels)
        copy_of(replace(table, labels=labels), folder, name)
    assert len(read_ledger(folder).copy["labels"]) == 2


@pytest.mark.parametrize("draw", ["normal", "exponential", "two kinds"])
def test_a_narrow_range_takes_no_noise_away(draw: str) -> None:
    """A coordinator's schema file names the range; cells beyond it show as its ends."""
    generator = np.random.default_rng(4)
    x: Floats = {
        "normal": generator.normal(0.5, 0.12, ROWS),
        "exponential": generator.exponential(0.1, ROWS),
        "two kinds": np.where(generator.random(ROWS) < 0.6, generator.normal(0.3, 0.01, ROWS), 0.8),
    }[draw] + generator.normal(0, 0.002, ROWS)
    ends = tuple(np.quantile(x, [0.02, 0.55]).tolist())
    bits = random_bits(bytes(32))
    column = settled_column(x, 0, ends, 5, noise_of_counts(bits), bits)
    assert column.deviation > 0.8 * x.std()
    assert (column.low, column.high) == ends


def test_what_a_check_looks_at_settles_nothing(folder: Path) -> None:
    """A check says that ids are missing; they can be named until a run has begun."""
    table = own_table()
    link_table(folder, replace(table, ids=None), joins=False)
    fewer = replace(table, columns=table.columns[:2], X=table.X[:, :2])
    link_table(folder, fewer, joins=False)
    copy_of(table, folder)
    with pytest.raises(BudgetError):
        link_table(folder, replace(table, ids=None), joins=False)


def test_a_ledger_from_before_the_copy_is_noticed_and_begins_no_second_one(
    folder: Path, tmp_path: Path
) -> None:
    """Five restored backups and a row more at each export left half of the noise, and told 99 % of labels."""
    table = own_table()
    link_table(folder, table)
    shutil.copytree(tables_home(), tmp_path / "backup")
    copy_of(part(table, slice(1, ROWS)), folder)
    shutil.copytree(tables_home(), tmp_path / "latest")
    shutil.copytree(tmp_path / "backup", tables_home(), dirs_exist_ok=True)
    with pytest.raises(BudgetError):
        copy_of(table, folder)
    shutil.copytree(tmp_path / "latest", tables_home(), dirs_exist_ok=True)
    copy_of(table, folder)
    shutil.copytree(tmp_path / "backup", tables_home(), dirs_exist_ok=True)
    end_ledger(folder)
    copy_of(table, folder)


@pytest.mark.parametrize(("again", "refused"), [(2, False), (40, True), (150, True)])
def test_a_second_source_of_the_same_patients_is_refused(again: int, refused: bool, folder: Path) -> None:
    """Under its own ids their records had a second copy each."""
    table = own_table()
    copy_of(table, folder)
    twice = np.concatenate([np.arange(ROWS), np.arange(again)])
    ids = np.array([*table.ids.tolist(), *(f"Q{7 * number}" for number in range(again))])
    merged = replace(table, X=table.X[twice], labels=table.labels[twice], ids=ids)
    if refused:
        with pytest.raises(TableError):
            copy_of(merged, folder)
    copy_of(table if refused else merged, folder)


@pytest.mark.parametrize("visits", [1, 3])
def test_a_second_source_is_refused_where_visits_of_known_patients_may_be_alike(
    visits: int, folder: Path
) -> None:
    """Under another patient-id and row-id, with another code, half of the patients had a second copy."""
    first = measured(100, 0, True)
    X, whose = np.tile(first.X, (visits, 1)), np.tile([f"M{number}" for number in range(100)], visits)
    X[:, 0] = np.random.default_rng(1).normal(50, 7, len(X)).round(1)
    ids = np.array([f"V{7 * number}" for number in range(len(X))])
    table = replace(first, X=X, labels=np.tile(first.labels, visits), ids=ids, patients=whose)
    copy_of(table, folder)
    again = np.flatnonzero(np.arange(len(X)) % 100 < 50)
    merged = {
        name: np.concatenate([values, np.char.add("Z", values[again])])
        for name, values in (("ids", ids), ("patients", whose))
    }
    cells = X[again].copy()
    cells[:, 6] = (cells[:, 6] + 1) % 3
    labels = np.concatenate([table.labels, table.labels[again]])
    with pytest.raises(TableError, match="a second copy"):
        copy_of(replace(table, X=np.vstack([X, cells]), labels=labels, **merged), folder)


@pytest.mark.parametrize("values", [2, 6, 12])
def test_rows_that_are_alike_by_chance_are_no_second_source(values: int, folder: Path) -> None:
    """A pilot of few rows has hardly two that are equal, the whole table many."""
    X = np.random.default_rng(0).integers(0, values, (3000, 3)).astype(float)
    ids = np.array([f"P{7 * number}" for number in range(3000)])
    table = Table(("a", "b", "c"), X, np.where(X[:, 0] > values / 3, "yes", "no"), ids=ids)
    for rows in (60, 300, 3000):
        copy_of(part(table, slice(rows)), folder)


def without_ids(rows: int = ROWS, columns: int = 8, codes: bool = False) -> Table:
    generator = np.random.default_rng(7)
    X = generator.integers(0, 2, (rows, columns)) if codes else generator.normal(50, 7, (rows, columns))
    names = tuple(f"c{number}" for number in range(columns))
    return Table(names, X.astype(float), np.where(generator.random(rows) < 0.5, "yes", "no"))


@pytest.mark.parametrize("cells", [1, 3])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.2])
def test_records_without_ids_that_a_month_corrects_are_few_or_refused(
    share: float, cells: int, folder: Path
) -> None:
    """With a tenth a month, or an age that changes once a year, two copies of each record in a year: .25 to .19."""
    table = without_ids()
    copy_of(table, folder)
    X, changed = table.X.copy(), np.random.default_rng(1).random(ROWS) < share
    X[changed, :cells] += 1
    if share < 0.05:
        copy_of(replace(table, X=X), folder)
    else:
        with pytest.raises(TableError):
            copy_of(replace(table, X=X), folder)


@pytest.mark.parametrize("codes", [False, True])
def test_patients_without_ids_may_come_and_go(codes: bool, folder: Path) -> None:
    """Of codes alone many records are alike: those that have gone differ from others in one cell."""
    table = without_ids(codes=codes)
    for start in (0, 50, 100):
        rows = slice(start, start + 300)
        copy_of(replace(table, X=table.X[rows], labels=table.labels[rows]), folder)


def measured(rows: int, seed: int, with_ids: bool) -> Table:
    """Return a table of six columns of measurements, as rounded as laboratories do it, and two of codes."""
    generator = np.random.default_rng(seed)
    X = np.column_stack(
        [generator.normal(50, 7, (rows, 6)).round(1), generator.integers(0, 3, (rows, 2)).astype(float)]
    )
    ids = np.array([f"P{7 * number}" for number in range(rows)]) if with_ids else None
    return Table(tuple(f"c{number}" for number in range(8)), X, np.where(X[:, 0] > 50, "yes", "no"), ids=ids)


@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("merged", [True, False])
def test_no_record_gets_a_second_copy_by_another_id_and_another_cell(
    with_ids: bool, merged: bool, folder: Path
) -> None:
    """One other cell hid that a second source, or new ids of a half, had given each record a second copy."""
    check_again(0, with_ids, merged, 0.4, [0], folder)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    with_ids=st.booleans(),
    merged=st.booleans(),
    share=st.sampled_from([0.2, 0.4, 1.0]),
    other=st.lists(st.integers(0, 7), max_size=2, unique=True),
)
def test_no_record_gets_a_second_copy_by_any_other_cells(
    seed: int,
    with_ids: bool,
    merged: bool,
    share: float,
    other: list[int],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        account = tmp_path_factory.mktemp("account")
        patch.setenv("XDG_STATE_HOME", str(account))
        new_ledger(account / "state", 0.2)
        check_again(seed, with_ids, merged, share, other, account / "state")


def check_again(
    seed: int, with_ids: bool, merged: bool, share: float, other: list[int], folder: Path
) -> None:
    """Check that an export is refused that has records again, under other ids or with a few other cells.

    ``share`` is that of the records, and ``other`` are the columns in which they differ. They come instead of the first
    ones, or if ``merged`` beside them. Without ids, and without other cells, they are the same records.
    """
    table = measured(200, seed, with_ids)
    again = np.random.default_rng(seed).permutation(200)[: int(200 * share)]
    X, ids, labels = table.X.copy(), table.ids, table.labels
    X[np.ix_(again, other)] += 1
    if with_ids:
        ids = np.array([f"{one}x" if place in again else one for place, one in enumerate(table.ids.tolist())])
    if merged:
        X, labels = np.vstack([table.X, X[again]]), np.concatenate([labels, labels[again]])
        ids = np.concatenate([table.ids, ids[again]]) if with_ids else None
    second = replace(table, X=X, labels=labels, ids=ids)
    copy = copy_of(table, folder)
    if with_ids or other or merged:
        with pytest.raises(TableError):
            copy_of(second, folder)
    else:
        assert np.array_equal(copy.X, copy_of(second, folder).X[:200], equal_nan=True)


@pytest.mark.parametrize("with_ids", [True, False])
@pytest.mark.parametrize("rows", [30, 60])
def test_a_small_table_of_which_a_month_changes_little_goes_on(
    rows: int, with_ids: bool, folder: Path
) -> None:
    """Five patients are new, one is gone, and a cell is corrected; without ids the fourth month was refused."""
    table, generator = measured(100, 3, with_ids), np.random.default_rng(0)
    for month in range(6):
        there = slice(month, rows + 5 * month)
        ids = None if table.ids is None else table.ids[there]
        copy_of(replace(table, X=table.X[there], labels=table.labels[there], ids=ids), folder)
        table.X[generator.integers(month + 1, rows), generator.integers(6)] += 1


@pytest.mark.parametrize(("there", "refused"), [(3, False), (0, True)])
def test_corrections_of_months_do_not_count_as_those_of_one(
    there: int, refused: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rows look alike, a month may show none by chance. Those that were put back are new ones later."""
    table, real = measured(60, 3, False), rules._came_back

    def export(corrected: int) -> None:
        X = table.X.copy()
        X[:corrected, 0] += 1
        copy_of(replace(table, X=X), folder)

    export(0)
    export(3)
    monkeypatch.setattr(rules, "_came_back", lambda *_: 0.0)
    export(there)
    monkeypatch.setattr(rules, "_came_back", real)
    with pytest.raises(TableError) if refused else nullcontext():
        export(5)


@pytest.mark.parametrize(("twice", "refused"), [(2, False), (60, True)])
def test_a_copy_does_not_begin_with_records_that_are_there_under_two_ids(
    twice: int, refused: bool, folder: Path
) -> None:
    table = measured(200, 0, True)
    rows = np.concatenate([np.arange(200), np.arange(twice)])
    ids = np.array([f"P{7 * number}" for number in range(200 + twice)])
    merged = replace(table, X=table.X[rows], labels=table.labels[rows], ids=ids)
    if refused:
        with pytest.raises(TableError, match="twice"):
            copy_of(merged, folder)
        assert not read_ledger(folder).copy
    copy_of(table if refused else merged, folder)


@pytest.mark.parametrize("begun", [False, True])
def test_rows_that_a_join_repeats_have_no_label_drawn_once_more(begun: bool, folder: Path) -> None:
    """Five rows of each record, as of one joined with its visits, were five draws of its label."""
    table = measured(200, 0, False)
    if begun:
        copy_of(table, folder)
    rows = np.tile(np.arange(200), 5)
    with pytest.raises(TableError, match="a second copy" if begun else "twice"):
        copy_of(replace(table, X=table.X[rows], labels=table.labels[rows]), folder)


def test_visits_of_known_patients_may_be_alike_and_more(folder: Path) -> None:
    """Half of the columns stay the same from visit to visit."""
    first = measured(100, 0, True)
    visits, patients = [first.X], np.array([f"M{number}" for number in range(100)])
    for month in range(1, 4):
        X = first.X.copy()
        X[:, :3] += np.random.default_rng(month).normal(0, 9, (100, 3)).round(1)
        visits.append(X)
        rows = 100 * len(visits)
        ids = np.array([f"V{7 * number}" for number in range(rows)])
        labels, whose = np.tile(first.labels, len(visits)), np.tile(patients, len(visits))
        copy_of(replace(first, X=np.vstack(visits), labels=labels, ids=ids, patients=whose), folder)


def test_first_visits_that_a_later_export_drops_are_no_records_under_other_ids(folder: Path) -> None:
    """Other visits of the same patients are like them, and were before."""
    table = measured(100, 0, True)
    X = np.vstack([table.X, table.X])
    X[100:, 0] += 1
    whose = np.tile([f"M{number}" for number in range(100)], 2)
    ids = np.array([f"V{7 * number}" for number in range(200)])
    visits = replace(table, X=X, labels=np.tile(table.labels, 2), ids=ids, patients=whose)
    copy_of(visits, folder)
    later = np.r_[30:200]
    kept = replace(visits, X=X[later], labels=visits.labels[later], ids=ids[later], patients=whose[later])
    copy_of(kept, folder)
    moved = np.array([f"{one}x" if place < 50 else one for place, one in enumerate(kept.ids.tolist())])
    with pytest.raises(TableError):
        copy_of(replace(kept, ids=moved), folder)


def test_the_second_rows_of_a_few_patients_may_be_taken_out_again(folder: Path) -> None:
    table = measured(200, 0, True)
    rows = np.concatenate([np.arange(200), np.arange(5)])
    ids = np.array([f"P{7 * number}" for number in range(205)])
    twice = replace(table, X=table.X[rows], labels=table.labels[rows], ids=ids)
    copy_of(twice, folder)
    copy_of(part(twice, slice(200)), folder)
