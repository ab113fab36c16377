"""Partitions: every row at exactly one site, and each split does what its name says."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clients.table.table import Table
from flower_pansvm.errors import SettingError
from simulations.data.datasets import load_dataset
from simulations.data.partition import partition


def _table(values: list[float], classes: int) -> Table:
    """Return a table whose column `row` numbers the rows."""
    rows = np.arange(float(len(values)))
    labels = np.array([f"class {row * 7919 % classes}" for row in range(len(values))])
    return Table(("row", "value"), np.column_stack([rows, values]), labels)


def _row_numbers(part: Table) -> list[int]:
    return [int(number) for number in part.X[:, part.columns.index("row")]]


def _assert_every_row_once(table: Table, parts: list[Table]) -> None:
    """Every row is at one site, whole and with its own label, and no site is empty or out of order."""
    assert sorted(number for part in parts for number in _row_numbers(part)) == list(range(len(table.X)))
    for part in parts:
        numbers = _row_numbers(part)
        assert numbers
        assert numbers == sorted(numbers)
        kept = [table.columns.index(column) for column in part.columns]
        np.testing.assert_array_equal(part.X, table.X[np.ix_(numbers, kept)])
        np.testing.assert_array_equal(part.labels, table.labels[numbers])


tables = st.builds(
    _table,
    st.lists(st.sampled_from([-1.5, 0.0, 2.0, 3.0, np.nan]), min_size=1, max_size=40),
    st.integers(1, 5),
)
seeds = st.integers(0, 2**32)


@given(tables, st.integers(1, 12), seeds, st.sampled_from(["iid", "feature:value"]))
def test_equal_parts(table, sites, seed, split):
    assume(sites <= len(table.X))
    parts = partition(table, sites, split, seed)
    _assert_every_row_once(table, parts)
    sizes = [len(part.X) for part in parts]
    assert len(sizes) == sites
    assert max(sizes) - min(sizes) <= 1


@given(tables, st.integers(1, 12), seeds, st.floats(0, 1e6, exclude_min=True))
def test_dirichlet_gives_every_row_to_one_site_and_every_site_a_row(table, sites, seed, concentration):
    assume(sites <= len(table.X))
    parts = partition(table, sites, f"dirichlet:{concentration!r}", seed)
    _assert_every_row_once(table, parts)
    assert len(parts) == sites


@given(st.integers(1, 8), st.integers(0, 5), seeds)
def test_a_least_number_of_rows_of_each_class_is_kept(sites, least, seed):
    table = _table([0.0] * 150, 3)
    parts = partition(table, sites, f"dirichlet:0.05:{least}", seed)
    _assert_every_row_once(table, parts)
    for part in parts:
        names, counts = np.unique(part.labels, return_counts=True)
        assert not least or (len(names) == 3 and counts.min() >= least)


def test_more_rows_of_a_class_than_there_are_cannot_be_asked_for():
    with pytest.raises(SettingError, match="5 sites 11 rows of each class, and the class 'class 0' has 50"):
        partition(_table([0.0] * 150, 3), 5, "dirichlet:0.05:11", 0)


@given(tables, st.integers(1, 12), seeds)
def test_feature_segments_do_not_overlap(table, sites, seed):
    assume(sites <= len(table.X))
    values = [part.X[:, 1] for part in partition(table, sites, "feature:value", seed)]
    for left, right in itertools.pairwise(values):
        # Missing values are last.
        assert np.max(left[~np.isnan(left)], initial=-np.inf) <= np.min(
            right, initial=np.inf, where=~np.isnan(right)
        )
        assert not np.isnan(left).any() or np.isnan(right).all()


@given(tables, seeds)
def test_by_column_is_one_site_per_value_and_drops_the_column(table, seed):
    assume(not np.isnan(table.X[:, 1]).any())
    parts = partition(table, 3, "by:value", seed)
    _assert_every_row_once(table, parts)
    values = [{float(table.X[row, 1]) for row in _row_numbers(part)} for part in parts]
    assert values == [{value} for value in sorted(set(table.X[:, 1].tolist()))]
    assert all(part.columns == ("row",) for part in parts)


@pytest.mark.parametrize("split", ["iid", "dirichlet:0.5"])
def test_the_seed_alone_decides(split):
    table = _table([0.0] * 200, 3)

    def dealt(seed):
        return [_row_numbers(part) for part in partition(table, 4, split, seed)]

    assert dealt(1) == dealt(1)
    assert dealt(1) != dealt(2)


def _largest_class_share(table: Table, split: str) -> float:
    """Return the mean over sites and seeds of the share of a site's most frequent class."""
    shares = []
    for seed in range(5):
        for part in partition(table, 5, split, seed):
            counts = np.unique(part.labels, return_counts=True)[1]
            shares.append(counts.max() / counts.sum())
    return float(np.mean(shares))


def test_label_skew_grows_as_the_concentration_falls():
    table = _table([0.0] * 1000, 4)
    skewed, mild, even = (
        _largest_class_share(table, split) for split in ("dirichlet:0.05", "dirichlet:1", "iid")
    )
    assert skewed > 0.75
    assert skewed > mild + 0.15 > even + 0.25
    assert even < 0.35
    assert _largest_class_share(table, "dirichlet:1e6") < 0.27


def test_iid_is_no_cut_of_the_order():
    """A file sorted by class must not give each site one class."""
    rows = np.arange(300.0)
    table = Table(("row",), rows[:, None], np.repeat(["a", "b", "c"], 100))
    for part in partition(table, 3, "iid", 0):
        assert np.unique(part.labels, return_counts=True)[1].min() > 20


@pytest.mark.parametrize(
    ("sites", "split", "text"),
    [
        (3, "idd", "no split 'idd'. Did you mean 'iid'"),
        (3, "", "no split ''.*Choose one of: by, checkerboard, dirichlet, feature, iid, quantity"),
        (3, "iid:3", "Write it as iid"),
        (3, "dirichlet", "Write it as dirichlet:A"),
        (3, "feature:", "Write it as feature:COLUMN"),
        (3, "by", "Write it as by:COLUMN"),
        (3, "dirichlet:0", "A must be a number above 0"),
        (3, "dirichlet:nan", "A must be a number above 0"),
        (3, "dirichlet:inf", "A must be a number above 0"),
        (3, "dirichlet:much", "A must be a number above 0"),
        (3, "dirichlet:1:some", "N, if it is there, a whole number"),
        (3, "dirichlet:1:-1", "N, if it is there, a whole number"),
        (3, "quantity:0", "A must be a number above 0"),
        (3, "quantity:1:2", "gives each of 3 sites 2 rows, and there are 4"),
        (3, "feature:valeu", "no feature column 'valeu'.*'value'"),
        (3, "by:label", "no feature column 'label' .*not a feature"),
        (3, "by:value", "2 of 4 rows have none"),
        (5, "iid", "4 rows cannot be split over 5 sites"),
        (0, "iid", "cannot be split over 0 sites"),
        (6, "checkerboard:3", "Write it as checkerboard:RxS, such as checkerboard:4x2"),
        (6, "checkerboard:0x2", "Write it as checkerboard:RxS"),
        (5, "checkerboard:5x1", "4 rows and 2 columns has no 5 blocks of rows and 1 of columns"),
        (1, "checkerboard:1x1", "is one site"),
    ],
)
def test_splits_that_cannot_be_made(sites, split, text):
    with pytest.raises(SettingError, match=text):
        partition(_table([1.0, np.nan, np.nan, 2.0], 2), sites, split, 0)


def test_by_the_only_column_and_dirichlet_without_labels():
    table = Table(("value",), np.array([[1.0], [2.0]]), None)
    with pytest.raises(SettingError, match="feature"):
        partition(table, 2, "by:value", 0)
    with pytest.raises(SettingError, match="labels"):
        partition(table, 2, "dirichlet:1", 0)
    assert [part.labels for part in partition(table, 2, "iid", 0)] == [None, None]


def test_three_value_segments_of_fourclass_as_in_the_paper(shared_data):
    """Lu 2016, Figure 3.6: with f1 scaled to [-1, 1] the cuts are at -0.307692 and 0.285714."""
    table = load_dataset("fourclass", None, shared_data)
    values = table.X[:, 0]
    scaled = [
        2 * (part.X[:, 0] - values.min()) / np.ptp(values) - 1
        for part in partition(table, 3, "feature:f1", 0)
    ]
    assert max(scaled[0]) == pytest.approx(-0.307692, abs=0.02)
    assert max(scaled[1]) == pytest.approx(0.285714, abs=0.02)


def test_a_checkerboard_deals_each_cell_once_and_labels_and_ids_to_all_columns():
    X = np.arange(35.0).reshape(7, 5)
    table = Table(tuple("abcde"), X, np.array(list("0101101")))
    cells = partition(table, 2, "checkerboard:3×2", 4)
    assert [cell.columns for cell in cells] == [tuple("abc"), tuple("de")] * 3
    for left, right in zip(cells[::2], cells[1::2], strict=True):
        assert left.ids.tolist() == right.ids.tolist()
        rows = np.array([int(str(row).removeprefix("row-")) for row in left.ids])
        assert np.array_equal(np.hstack([left.X, right.X]), X[rows])
        assert left.labels.tolist() == right.labels.tolist() == table.labels[rows].tolist()
    ids = [str(row).removeprefix("row-") for cell in cells[::2] for row in cell.ids]
    assert sorted(map(int, ids)) == list(range(7))
    again = partition(table, 6, "checkerboard:3x2", 4)
    assert [cell.ids.tolist() for cell in again] == [cell.ids.tolist() for cell in cells]


@given(tables, st.integers(1, 12), seeds, st.floats(0, 1e6, exclude_min=True), st.integers(0, 3))
def test_quantity_gives_every_row_to_one_site_and_every_site_its_least(
    table, sites, seed, concentration, least
):
    assume(max(least, 1) * sites <= len(table.X))
    parts = partition(table, sites, f"quantity:{concentration!r}:{least}", seed)
    _assert_every_row_once(table, parts)
    assert len(parts) == sites
    assert min(len(part.X) for part in parts) >= max(least, 1)


def test_quantity_skews_sizes_and_leaves_the_mix_of_classes():
    table = _table([0.0] * 6000, 2)
    parts = partition(table, 4, "quantity:0.5:200", 1)
    sizes = [len(part.X) for part in parts]
    assert max(sizes) > 3 * min(sizes)
    for part in parts:
        assert np.mean(part.labels == table.labels[0]) == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize(
    "split", ["iid", "dirichlet:0.5", "quantity:0.5", "feature:value", "by:row", "checkerboard:3x2"]
)
def test_no_partition_takes_a_patients_rows_apart(split: str) -> None:
    draw = np.random.default_rng(0)
    whose = draw.integers(0, 40, 200)
    X = np.column_stack([draw.integers(0, 4, 200).astype(float), draw.normal(size=200)])
    table = Table(("row", "value"), X, draw.choice(["a", "b"], 200), patients=whose.astype(str))
    parts = partition(table, 4, split, seed=1)
    found = [set(part.patients.tolist()) for part in parts if part.patients is not None]
    if split.startswith("checkerboard"):
        found = found[::2]  # two cells have the same rows
    assert sum(map(len, found)) == len(np.unique(whose)) == len(set().union(*found))
    rows = sum(len(part.X) for part in parts) // (2 if split.startswith("checkerboard") else 1)
    assert rows == 200
