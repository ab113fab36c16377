"""The perturbed copy of a table: what is promised of it, sentence by sentence."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clients.budget import end_ledger, new_ledger
from clients.ledger.home import tables_home
from clients.ledger.ledger import LEDGER_FILE, read_ledger
from clients.ledger.tables import link_table
from clients.perturb import PerturbedTerms, perturbed_table
from clients.perturb.draws import GRID_BITS
from clients.perturb.kept import Kept
from clients.perturb.settling import settled_of
from clients.table.form import TableForm
from clients.table.table import Table
from flower_pansvm.errors import BudgetError, SettingError, TableError
from flower_pansvm.table_schema import CATEGORY, TableColumn, TableSchema
from flower_pansvm.terms import NOISES, replaced_share

KEY = bytes(range(32))
HALF = PerturbedTerms(0.5)
COLOURS = TableSchema(
    (TableColumn("b"), TableColumn("colour", CATEGORY, categories=("red", "green", "blue")))
)


def table(X: np.ndarray, labels: np.ndarray | None = None, ids: np.ndarray | None = None) -> Table:
    names = tuple(f"c{number}" for number in range(X.shape[1]))
    labels = np.resize(["no", "yes"], len(X)) if labels is None else labels
    return Table(names, X.astype(np.float64), labels, ids=ids)


def normal(rows: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(50, 7, (rows, columns))


def ids_of(rows: int) -> np.ndarray:
    return np.array([f"P{number:06d}" for number in range(rows)])


def copy_of(own: Table, how: PerturbedTerms = HALF, key: Path | bytes = KEY, **more: object) -> Table:
    if isinstance(key, Path):
        link_table(key, own)  # as a site does when it joins a run
    return perturbed_table(own, "label", None, how, key, **more)


def rows_of(own: Table, rows: np.ndarray | slice) -> Table:
    return replace(
        own, X=own.X[rows], labels=own.labels[rows], ids=None if own.ids is None else own.ids[rows]
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_ledger(tmp_path / "state", 0.2)
    return tmp_path / "state"


# ---- measurements


@pytest.mark.parametrize("noise", NOISES)
def test_noise_has_the_promised_variance_and_goes_with_nothing_else(noise: float) -> None:
    X = normal(20_000, 4)
    noises = (copy_of(table(X), PerturbedTerms(noise)).X - X) / X.std(axis=0)
    assert np.sqrt((noises**2).mean(axis=0)) == pytest.approx(noise, rel=0.03)
    assert noises.mean(axis=0) == pytest.approx(0, abs=5 * noise / np.sqrt(len(X)))
    # Of a normal distribution, kurtosis too; not with the cells, other columns or the record beside.
    assert ((noises / noise) ** 4).mean(axis=0) == pytest.approx(3, abs=0.35)
    together = np.corrcoef(np.hstack([noises, X, np.roll(noises, 1, axis=0)]).T)
    assert np.abs(together[:4] - np.eye(12)[:4]).max() < 0.04


def test_noise_of_a_record_does_not_depend_on_its_value() -> None:
    """No unbiased guess is nearer than σ: the copies of one value over many keys are spread by σ s around it."""
    X = normal(200, 1)
    copies = np.array([copy_of(table(X), key=number.to_bytes(32, "big")).X[:, 0] for number in range(200)])
    inner = np.argsort(X[:, 0])[50:-50]
    spread = np.nanstd(copies, axis=0)[inner] / X.std()
    assert spread.mean() == pytest.approx(0.5, rel=0.06)
    assert spread == pytest.approx(0.5, rel=0.35)
    assert np.abs(np.nanmean(copies, axis=0) - X[:, 0])[inner].max() < 6 * 0.5 * X.std() / np.sqrt(200)


def test_more_noise_is_made_of_less() -> None:
    """Else a coordinator that is shown two levels solves for the cell: 2 x(0.25) - x(0.5) was x itself."""
    X = normal(20_000, 1)
    small, large = ((copy_of(table(X), PerturbedTerms(noise)).X - X)[:, 0] / X.std() for noise in (0.25, 0.5))
    added = large - small
    assert abs(np.corrcoef(added, small)[0, 1]) < 0.04
    assert added.std() == pytest.approx(np.sqrt(0.5**2 - 0.25**2), rel=0.03)
    # The best linear guess of both is the copy with less noise alone.
    weights = np.linalg.lstsq(np.column_stack([small + X[:, 0], large + X[:, 0]]), X[:, 0], rcond=None)[0]
    assert abs(weights[1]) < 0.1


def perturbed_settled(own: Table, how: PerturbedTerms = HALF, schema: TableSchema | None = None) -> Kept:
    return settled_of(own, "label", schema, how, KEY)


def steps_of(copy: np.ndarray, deviation: float) -> np.ndarray:
    """Return a copy in steps of its grid, which knows of the deviation between which powers of two it is."""
    return np.asarray(copy / 2.0 ** (np.frexp(deviation)[1] - GRID_BITS))


@given(st.integers(0, 2**31), st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
@settings(max_examples=25, deadline=None)
def test_low_bits_tell_nothing(seed: int, centre: float, spread: float) -> None:
    """A copy is a whole number of steps, which tell neither the record nor the exact deviation or mean."""
    X = np.random.default_rng(seed).normal(0, 1, (30, 2)) * spread + centre
    column = perturbed_settled(table(X)).features[0]
    assume(column.measured)  # far from 0, single precision leaves few numbers, which are codes
    steps = steps_of(copy_of(table(X)).X[:, 0], column.deviation)
    assert (steps == np.round(steps)).all()


def test_a_value_of_many_bits_and_one_of_few_have_the_same_low_bits() -> None:
    few = np.round(normal(4000, 1))
    many = few + np.random.default_rng(1).random(few.shape) * 0.9
    for X in (few, many):
        column = perturbed_settled(table(X, ids=ids_of(4000))).features[0]
        steps = steps_of(copy_of(table(X, ids=ids_of(4000))).X[:, 0], column.deviation)
        counts = np.bincount(steps.astype(np.int64) % 16, minlength=16)
        assert ((counts - 250) ** 2 / 250).sum() < 45, "chi square with 15 degrees of freedom"


# ---- codes


@pytest.mark.parametrize("noise", NOISES)
def test_codes_have_the_promised_likelihood_ratio(noise: float) -> None:
    generator = np.random.default_rng(2)
    X = generator.choice([0.0, 1, 2], (40_000, 1), p=[0.6, 0.3, 0.1])
    labels = generator.choice(["a", "b"], len(X), p=[0.8, 0.2])
    copy = copy_of(table(X, labels, ids_of(len(X))), PerturbedTerms(noise))
    r = replaced_share(noise)
    for true, drawn in ((X[:, 0], copy.X[:, 0]), (labels, copy.labels)):
        for value in np.unique(true):
            p = np.mean(true == value)
            kept, become = np.mean(drawn[true == value] == value), np.mean(drawn[true != value] == value)
            # One record in eight draws from even shares, not from the site's own.
            assert kept == pytest.approx(1 - r + r * p, abs=0.015 + r / 32)
            assert become == pytest.approx(r * p, abs=0.015 + r / 32)
    # Two codes of a record, and code and label, are drawn apart.
    changed = np.corrcoef(copy.X[:, 0] != X[:, 0], copy.labels != labels)[0, 1]
    assert abs(changed) < 0.03
    assert [replaced_share(own) for own in (0, 0.25, 0.5)] == pytest.approx([0, 0.10, 0.25])


def test_two_copies_of_a_code_tell_no_more_than_the_one_with_less_noise() -> None:
    X = np.random.default_rng(3).integers(0, 2, (40_000, 1)).astype(np.float64)
    own = table(X, ids=ids_of(len(X)))
    small, large = (copy_of(own, PerturbedTerms(noise)).X[:, 0] for noise in (0.25, 0.5))
    for code in (0, 1):
        differ = (small == code) & (large != code)
        same = (small == code) & (large == code)
        assert np.mean(X[differ, 0]) == pytest.approx(np.mean(X[same, 0]), abs=0.025)


def test_what_fewer_than_min_cluster_records_have_is_not_in_the_copy() -> None:
    """Extremes are those of more records, rare codes become missing, a rare label is drawn anew."""
    X = normal(300, 1)
    X[:4, 0] = [1e6, -1e6, 1e5, -1e5]
    X[4] = np.nan
    column, own = perturbed_settled(table(X)).features[0], copy_of(table(X)).X
    assert np.count_nonzero(own == column.low) >= 5
    assert np.count_nonzero(own == column.high) >= 5
    copy = copy_of(table(X, np.array(["common"] * 150 + ["other"] * 147 + ["rare"] * 3)))
    assert np.abs(copy.X).max() < 200
    assert set(copy.labels) == {"common", "other"}
    X = np.zeros((200, 1))
    X[:60], X[60:70], X[70:72], X[72] = 1, np.nan, 2, 3
    column = perturbed_settled(table(X)).features[0]
    assert (column.values, column.missing, column.measured) == ([0.0, 1.0], True, False)
    assert not np.isin(copy_of(table(X)).X, [2, 3]).any()
    X[:170], X[170:, 0] = 1, np.arange(30) // 4 + 2
    own = table(X, ids=ids_of(200))
    listed = perturbed_settled(own).features[0].values  # with noise, and so a few of these, too
    rare = copy_of(own).X[~np.isin(X, listed)]
    assert len(rare) >= 10
    assert np.mean(np.isnan(rare)) == pytest.approx(1 - 0.25 + 0.25 * 0.15, abs=0.2)


def test_missing_cells_and_zeros_of_a_sparse_column_are_codes() -> None:
    X = normal(20_000, 1)
    X[::4] = np.nan
    copy = copy_of(table(X, ids=ids_of(len(X)))).X
    absent, r = np.isnan(X), replaced_share(0.5)
    assert np.mean(np.isnan(copy[absent])) == pytest.approx(1 - r + r / 4, abs=0.02)
    assert np.mean(np.isnan(copy[~absent])) == pytest.approx(r / 4, abs=0.02)
    # What is made up looks like the other measurements.
    made_up, others = copy[absent & ~np.isnan(copy)], copy[~absent & ~np.isnan(copy)]
    assert made_up.mean() == pytest.approx(others.mean(), abs=0.6)
    assert made_up.std() == pytest.approx(others.std(), rel=0.1)
    X = np.where(np.random.default_rng(4).random((20_000, 1)) < 0.9, 0, normal(20_000, 1))
    copy = copy_of(table(X, ids=ids_of(len(X)))).X
    assert np.mean(copy[X == 0] == 0) == pytest.approx(1 - r + 0.9 * r, abs=0.02)
    assert np.mean(copy[X != 0] == 0) == pytest.approx(0.9 * r, abs=0.02)


def test_a_category_stays_one_hot_and_is_one_code() -> None:
    places = np.random.default_rng(5).integers(0, 3, 9000)
    one_hot = np.eye(3)[places]
    one_hot[:900] = np.nan
    own = Table(COLOURS.features, np.column_stack([normal(9000, 1), one_hot]), np.resize(["a", "b"], 9000))
    copy = perturbed_table(own, "label", COLOURS, HALF, KEY).X[:, 1:]
    absent = np.isnan(copy)
    assert (absent.all(axis=1) | ~absent.any(axis=1)).all()
    there = copy[~absent.any(axis=1)]
    assert set(np.unique(there)) == {0.0, 1.0}
    assert (there.sum(axis=1) == 1).all()
    r = replaced_share(0.5)
    same = np.mean(np.nan_to_num(copy[900:]).argmax(axis=1) == places[900:])
    assert same == pytest.approx(1 - r + r * 0.3, abs=0.04)


def test_a_schema_file_that_spells_one_class_otherwise_draws_no_label_again(folder: Path) -> None:
    """Where the two copies of a label differed, the true one was sure to be of that class."""
    own = table(normal(400, 3))
    first = copy_of(own, key=folder).labels
    respelt = replace(own, labels=np.where(own.labels == "yes", "Yes", own.labels))
    again = copy_of(respelt, key=folder).labels
    assert set(again) == {"no", "Yes"}
    assert np.array_equal(again == "Yes", first == "yes")


def test_another_label_column_is_another_set_of_codes_beside_the_same_features(folder: Path) -> None:
    own = table(normal(2000, 2), np.resize(["a", "b"], 2000))
    other = replace(own, labels=np.random.default_rng(1).permutation(own.labels))
    link_table(folder, own)
    first, second = (
        perturbed_table(one, label, None, HALF, folder) for one, label in ((own, "one"), (other, "two"))
    )
    assert (first.X == second.X).all()
    flipped = [one.labels != true.labels for one, true in ((first, own), (second, other))]
    assert abs(np.corrcoef(*flipped)[0, 1]) < 6 / np.sqrt(2000)
    assert (perturbed_table(own, "one", None, HALF, folder).labels == first.labels).all()


@pytest.mark.parametrize("name", [" Label", "LABEL ", "outcome", "status_30d"])
def test_the_same_labels_under_another_name_have_the_same_copy(name: str, folder: Path) -> None:
    """Nine names gave all labels at noise .5."""
    own = table(normal(600, 2), np.resize(["no", "no", "no", "yes"], 600))
    first = copy_of(own, key=folder)
    corrected = replace(own, labels=np.where(np.arange(600) == 17, "yes", own.labels))
    again = perturbed_table(corrected, name, None, HALF, folder).labels
    assert (np.delete(again, 17) == np.delete(first.labels, 17)).all()


@pytest.mark.parametrize("name", ["label", "outcome"])
def test_labels_of_a_settled_column_that_are_written_otherwise_are_refused(name: str, folder: Path) -> None:
    own = table(normal(600, 2), np.resize(["benign", "benign", "malignant"], 600))
    copy_of(own, key=folder)
    coded = replace(own, labels=np.where(own.labels == "benign", "2", "4"))
    with pytest.raises(TableError, match="second copy"):
        perturbed_table(coded, name, None, HALF, folder)


# ---- the same copy


@given(st.integers(0, 2**31), st.integers(30, 60), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_copy_does_not_depend_on_the_order_of_rows_and_columns_nor_on_blocks(
    seed: int, rows: int, with_ids: bool
) -> None:
    generator = np.random.default_rng(seed)
    X = np.column_stack([generator.normal(size=(rows, 2)), generator.integers(0, 3, rows)])
    X[generator.random(X.shape) < 0.1] = np.nan
    # Of equal records, which only ids tell apart, the order says whose draw is whose.
    assume(with_ids or len({row.tobytes() for row in X}) == rows)
    own = table(X, ids=ids_of(rows) if with_ids else None)
    copy, order, columns = copy_of(own), generator.permutation(rows), generator.permutation(3)
    turned = replace(own, X=X[:, columns], columns=tuple(own.columns[column] for column in columns))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clients.perturb.draws.BLOCK", 20)
        again = copy_of(rows_of(turned, order))
    assert np.array_equal(again.X, copy.X[np.ix_(order, columns)], equal_nan=True)
    assert (again.labels == copy.labels[order]).all()


@pytest.mark.parametrize("with_ids", [False, True])
def test_the_copy_is_the_same_after_a_restart_and_beside_new_rows(folder: Path, with_ids: bool) -> None:
    X = np.column_stack([normal(300, 2), np.resize([0, 1, 1], 300)])
    X[280:, 0] += 2 * (X[280:, 0] - 50)
    X[250:, 2] = 7
    own = table(X, ids=ids_of(300) if with_ids else None)
    before = rows_of(own, slice(200))
    copy = copy_of(before, key=folder)
    kept = read_ledger(folder).copy
    again, later = copy_of(before, key=folder), copy_of(own, key=folder)
    for other in (again, rows_of(later, slice(200))):
        assert np.array_equal(other.X, copy.X)
        assert (other.labels == copy.labels).all()
    assert np.nanmax(later.X[:, 2]) == 1, "a code that was not there when the frequencies were settled"
    now = read_ledger(folder).copy
    assert {**now, "marks": None} == {**kept, "marks": None}, "but for marks of the records that came later"


@pytest.mark.parametrize("noise", NOISES)
def test_a_cell_that_is_filled_in_later_is_told_by_neither_copy(
    folder: Path, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one draw for both, a code that changed was the true one, and a made-up number told the noise of the next."""
    monkeypatch.setattr("clients.perturb.rules.CORRECTED", 1.0)  # else so many are refused
    generator, rows, how = np.random.default_rng(4), 20_000, PerturbedTerms(noise)
    later = np.column_stack([generator.normal(size=rows), generator.integers(0, 2, rows)])
    before = np.where(generator.random((rows, 2)) < 0.3, np.nan, later)
    first, second = (copy_of(table(X, ids=ids_of(rows)), how, folder).X for X in (before, later))
    seen = np.isnan(first[:, 1]) & ~np.isnan(second[:, 1])
    # Of the cells, 30 % are missing and 35 % have either code.
    right, there = 1 - 0.65 * replaced_share(noise), 1 - 0.3 * replaced_share(noise)
    assert np.mean((second == later)[seen, 1]) == pytest.approx(right / there, abs=0.03)
    made_up = np.isnan(before[:, 0]) & ~np.isnan(first[:, 0]) & ~np.isnan(second[:, 0])
    of_noise = (second - later)[made_up, 0]
    assert np.count_nonzero(made_up) > 300
    assert abs(np.corrcoef(of_noise, first[made_up, 0])[0, 1]) < 0.15


@pytest.mark.parametrize("noise", NOISES)
def test_labels_of_records_that_are_equal_without_ids_are_perturbed_each_for_itself(noise: float) -> None:
    """With one draw for all, two labels among equal copies were both true."""
    X, right = np.repeat(normal(10_000, 1), 2, axis=0), 1 - replaced_share(noise) / 2
    labels = np.resize(["no", "yes"], len(X))
    for order in (slice(None), slice(None, None, -1)):
        pairs = copy_of(table(X[order], labels[order]), PerturbedTerms(noise)).labels.reshape(-1, 2)
        mixed = pairs[:, 0] != pairs[:, 1]
        share = np.mean((pairs == labels[order].reshape(-1, 2))[mixed])
        assert share == pytest.approx(right**2 / (right**2 + (1 - right) ** 2), abs=0.01)
    same = copy_of(
        table(X, np.repeat(np.resize(["no", "yes"], len(X) // 2), 2)), PerturbedTerms(noise)
    ).labels
    assert np.mean(same[::2] == same[1::2]) == pytest.approx(right**2 + (1 - right) ** 2, abs=0.02)


def test_a_corrected_cell_changes_itself_alone_with_an_id_and_without_its_record(
    folder: Path, tmp_path: Path
) -> None:
    X, labels = np.column_stack([normal(200, 3), np.resize([0, 1], 200)]), np.full(200, "a")
    X[1] = X[0]
    corrected = X.copy()
    corrected[17, 1] += 1
    copy, again = (copy_of(table(one, ids=ids_of(200)), key=folder) for one in (X, corrected))
    assert [*zip(*np.nonzero(again.X != copy.X), strict=True)] == [(17, 1)]
    assert (again.labels == copy.labels).all()
    # Its noise is another one: the difference does not tell by how much it was corrected.
    assert abs(again.X[17, 1] - copy.X[17, 1] - 1) > 1e-3
    new_ledger(tmp_path / "other", 0.2)
    copy, again = (copy_of(table(one + 1, labels), key=tmp_path / "other") for one in (X, corrected))
    assert (copy.X[0] == copy.X[1]).all()
    assert (again.X[17, :3] != copy.X[17, :3]).all()
    assert (np.delete(again.X, 17, axis=0) == np.delete(copy.X, 17, axis=0)).all()


def test_another_key_and_other_deviations_have_other_noise() -> None:
    """With the same draws and two deviations, two copies would be two equations for a cell."""
    X = normal(5000, 1)
    larger = np.vstack([X, normal(5000, 1, seed=1) * 3])
    ids = ids_of(10_000)
    first = (copy_of(table(X, ids=ids[:5000])).X - X)[:, 0]
    for own, key in ((table(X, ids=ids[:5000]), b"k" * 32), (table(larger, ids=ids), KEY)):
        second = (copy_of(own, key=key).X[:5000] - X)[:, 0]
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.07


# ---- bad input


def test_the_copy_is_the_tables_own_from_whichever_folder(folder: Path, tmp_path: Path) -> None:
    """With a second key, the mean of two copies would be nearer to each record."""
    own = table(normal(200, 3))
    copy = copy_of(own, key=folder)
    new_ledger(tmp_path / "second", 0.2)
    shuffled = np.random.default_rng(0).permutation(200)
    again = copy_of(rows_of(own, shuffled), key=tmp_path / "second")
    assert (copy.X[shuffled] == again.X).all()
    assert (again.labels == copy.labels[shuffled]).all()
    end_ledger(folder)
    assert (copy_of(own, key=folder).X == copy.X).all()


def test_a_lost_or_damaged_ledger_is_an_error_and_no_second_copy(folder: Path) -> None:
    own = table(normal(50, 2))
    with pytest.raises(BudgetError):
        perturbed_table(own, "label", None, HALF, folder)  # before the table was looked at
    copy_of(own, key=folder)
    (file,) = tables_home().glob(f"*/{LEDGER_FILE}")
    content = file.read_text()
    for damaged in (content[:-5], content.replace('"mean"', '"men"'), "[]", "{}", "null", None):
        if damaged is None:
            file.unlink()
        else:
            file.write_text(damaged)
        with pytest.raises(BudgetError) as error:
            copy_of(own, key=folder)
        assert str(folder) not in str(error.value)
        with pytest.raises(BudgetError):
            perturbed_table(own, "label", None, HALF, folder)
    assert not file.exists()


@pytest.mark.parametrize("with_ids", [False, True])
def test_the_ledger_of_another_table_is_an_error(folder: Path, with_ids: bool) -> None:
    X = normal(60, 3)
    own = table(X, ids=ids_of(60) if with_ids else None)
    copy_of(own, key=folder)
    kept = read_ledger(folder)
    others = [
        replace(own, columns=("c0", "c1", "renamed")),
        replace(own, columns=("c0", "c1"), X=X[:, :2]),
        table(normal(60, 3, seed=9), ids=None if not with_ids else np.array([f"Q{n}" for n in range(60)])),
        replace(own, ids=None if with_ids else ids_of(60)),
    ]
    for other in others:
        with pytest.raises((TableError, BudgetError)):
            copy_of(other, key=folder)
    assert read_ledger(folder) == kept


@pytest.mark.parametrize("with_ids", [False, True])
@pytest.mark.parametrize(
    "changed",
    [
        {"missing": ("-1",)},
        {"below_limit": "half"},
        {"kind": "yes/no"},
        *({"reading": (one,)} for one in (("thousands", ","), ("comment", "63"), ("skip_footer", "1"))),
        {"reading": (("encoding", "latin-1"),)},
    ],
    ids=str,
)
def test_a_schema_file_that_reads_cells_otherwise_is_refused(
    folder: Path, changed: dict[str, Any], with_ids: bool
) -> None:
    """Few records change with each, and those get one more copy: 35 such files took two thirds off the noise.

    Or they are missing: of remarks that begin with 63, just the records whose first cell does. Without ids they would
    change sides, too.
    """
    own = table(normal(60, 3), ids=ids_of(60) if with_ids else None)
    column, *rest = (TableColumn(f"c{number}") for number in range(3))

    def copy(first: TableColumn, **more: Any) -> Table:
        schema = TableSchema((first, *rest), **more)
        read = replace(own, readings=TableForm.of({}, schema).readings(own.columns))
        link_table(folder, read)
        return perturbed_table(read, "label", schema, HALF, folder)

    before = copy(column)
    described = replace(column, unit="mg", ends=(0.0, 1.0))
    assert np.array_equal(copy(described, classes=("no", "yes")).X, before.X)
    assert np.array_equal(copy(column, reading=(("decimal", ","), ("separator", ";"))).X, before.X)
    with pytest.raises(TableError if with_ids else (BudgetError, TableError), match="schema file"):
        copy(column, **changed) if "reading" in changed else copy(replace(column, **changed))


@pytest.mark.parametrize("first", ["one column", "no ids"])
def test_no_copy_begins_where_sides_follow_from_less_than_the_copy(first: str, folder: Path) -> None:
    """After a run with one column of codes all copies of a code were next to each other, which told the true one."""
    own = table(np.column_stack([np.resize([0, 1], 60), normal(60, 2)]), ids=ids_of(60))
    one_column = replace(own, columns=("c0",), X=own.X[:, :1])
    link_table(folder, replace(one_column if first == "one column" else own, ids=None))
    with pytest.raises(TableError, match="first used with fewer columns"):
        copy_of(replace(own, ids=None) if first == "one column" else own, key=folder)


def test_sides_follow_from_all_that_a_copy_has_when_its_budget_was_ended(folder: Path) -> None:
    """A run with one column of codes settled sides anew: in the copy's order all records of a code were together."""
    own = table(np.column_stack([np.resize([0, 1], 60), normal(60, 2)]), ids=ids_of(60))
    copy_of(replace(own, ids=None), key=folder)
    end_ledger(folder)
    with pytest.raises(BudgetError, match="and its perturbed copy"):
        link_table(folder, replace(own, columns=("c0", "c1"), X=own.X[:, :2], ids=None))
    with pytest.raises(TableError, match="without row ids"):
        copy_of(own, key=folder)


@pytest.mark.parametrize("kept", [0.1, 0.9, 0.98])
def test_most_records_without_ids_have_to_be_the_same_as_before(folder: Path, kept: float) -> None:
    """As after an export that writes a code for missing cells."""
    X = normal(400, 3)
    X[np.random.default_rng(1).random(len(X)) >= kept, 2] = -1
    copy_of(table(X), key=folder)
    X[X == -1] = np.nan
    if kept < 0.95:
        with pytest.raises(TableError):
            copy_of(table(X), key=folder)
    else:
        copy_of(table(X), key=folder)


def test_ids_that_repeat_and_a_noise_that_is_no_step_are_errors() -> None:
    with pytest.raises(TableError):
        copy_of(table(normal(30, 2), ids=np.resize(ids_of(29), 30)))
    for noise in (0.0, -0.5, 0.3, float("nan"), 2.0):
        with pytest.raises(SettingError):
            copy_of(table(normal(30, 2)), PerturbedTerms(noise))


def test_a_few_records_settle_nothing_for_good(folder: Path) -> None:
    with pytest.raises(TableError):
        copy_of(table(normal(5, 2)))
    X = normal(400, 3)
    with pytest.raises(TableError):
        copy_of(table(X[:9], np.full(9, "a")), key=folder)
    assert not np.isnan(copy_of(table(X), key=folder).X).any()
    key = read_ledger(folder).key
    assert key not in repr(read_ledger(folder)) + repr(Kept(key))


def test_constant_empty_and_tiny_columns_tell_nothing() -> None:
    tiny = np.random.default_rng(0).random(40) * 1e-200  # zero in single precision
    with np.errstate(divide="raise", invalid="raise"):
        X = copy_of(table(np.column_stack([np.full(40, 3.0), np.full(40, np.nan), tiny, normal(40, 1)]))).X
    assert (X[:, 0] == 3).all()
    assert np.isnan(X[:, 1]).all()
    assert (X[:, 2] == 0).all()
    assert not np.isnan(X[:, 3]).any()


def test_zeros_of_either_sign_and_missing_cells_of_any_bits_are_one_record() -> None:
    X = normal(50, 2)
    X[3:5] = [0.0, np.nan]
    other = X.copy()
    other[3] = [-0.0, -np.nan]
    assert np.array_equal(copy_of(table(X)).X, copy_of(table(other)).X, equal_nan=True)


@pytest.mark.slow
def test_a_column_of_a_million_codes_is_one_of_measurements_and_a_million_labels_an_error() -> None:
    X = np.arange(1e6)[:, None]
    copy = copy_of(table(X)).X
    assert (copy - X).std() / X.std() == pytest.approx(0.5, rel=0.01)
    with pytest.raises(TableError):
        copy_of(table(X, np.arange(1_000_000).astype(np.str_)))


def test_the_copy_is_the_same_in_each_version() -> None:
    """A change of the draws would be a second copy of each record, which is averaged with the first."""
    X = np.column_stack([np.arange(40.0) ** 2, np.resize([0, 1], 40), np.resize([np.nan, 3, 4], 40)])
    copy = copy_of(table(X, ids=ids_of(40)))
    known = [
        [-90.459, -68.6719, -25.7598, 144.4229, 201.4922, 410.4658],
        [0.0, 1.0, 0.0, 1.0, 1.0, 1.0],
        [np.nan, 3.0, 4.0, np.nan, 3.0, 4.0],
    ]
    assert copy.X[:6] == pytest.approx(np.transpose(known), abs=1e-3, nan_ok=True)
    assert "".join(label[0] for label in copy.labels[:20]) == "nynynnnynynynynynyny"


def test_no_draw_is_used_twice() -> None:
    """A table of one code and one measurement a thousand times: every column has noise of its own."""
    X = np.repeat(normal(100, 1), 50, axis=1)
    noises = copy_of(table(X)).X - X
    assert max(Counter(noises.ravel().round(9)).values()) == 1
