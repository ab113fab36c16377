"""A table that is exported again is refused before anything leaves, or its two copies are independent."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clients.budget import end_copy, main, new_ledger
from clients.ledger.home import tables_home
from clients.ledger.ledger import LEDGER_FILE, read_ledger
from clients.ledger.tables import link_table
from clients.perturb import PerturbedTerms, perturbed_table
from clients.perturb.kept import FEWEST_RECORDS, KeptColumn, noise_of_counts, settled_column
from clients.perturb.rules import same_labels
from clients.state_folder import read_checked, write_checked
from clients.table.table import Table
from flower_pansvm.errors import BudgetError, TableError
from flower_pansvm.privacy.discrete_noise import random_bits
from flower_pansvm.table_schema import CATEGORY, TableColumn, TableSchema
from flower_pansvm.terms import replaced_share

HALF = PerturbedTerms(0.5)
ROWS = 3000
CHANGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "unit": lambda x: (x / 38.67).round(2),
    "calibrated": lambda x: x * 0.95,
    "rounded": lambda x: x.round(),
    "logarithm": np.log,
    "a code for missing": lambda x: np.where(x > np.quantile(x, 0.9), -999, x),
    "corrected": lambda x: np.where(np.arange(len(x)) % 50 == 0, x + 1, x),
    "nothing": lambda x: x.copy(),
}


NINES = [*np.repeat(np.arange(9.0), 10).tolist(), *[9.0] * 4, *[10.0] * 4]
TENS = np.resize(np.arange(10.0), 29).tolist()
MANY = np.arange(30.0).tolist()
OTHERS = [*np.resize(np.arange(10.0), 80).tolist(), *np.arange(20.0, 31.0).tolist()]
HALVES = [*np.arange(2.0, 52.0).tolist(), *[1.0] * 50]
FEW = [*[0.0] * 4, *np.arange(1.0, 17.0).tolist()]


def own_table(rows: int = ROWS, seed: int = 0, with_ids: bool = True) -> Table:
    generator = np.random.default_rng(seed)
    X = np.column_stack(
        [generator.gamma(9, 20, rows), generator.normal(50, 7, rows), generator.integers(0, 3, rows)]
    )
    ids = np.array([f"P{number:05d}" for number in generator.permutation(rows)]) if with_ids else None
    return Table(("chol", "age", "code"), X, np.where(X[:, 1] > 55, "yes", "no"), ids=ids)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_ledger(tmp_path / "state", 0.2)
    return tmp_path / "state"


def copy_of(table: Table, folder: Path, schema: TableSchema | None = None, label: str = "label") -> Table:
    link_table(folder, table)
    return perturbed_table(table, label, schema, HALF, folder)


def rows_of(table: Table, rows: np.ndarray | slice) -> Table:
    ids = None if table.ids is None else table.ids[rows]
    return replace(table, X=table.X[rows], labels=table.labels[rows], ids=ids)


def check_independent(true: np.ndarray, copy: np.ndarray, again: np.ndarray, changed: np.ndarray) -> None:
    """Check that two copies of cells tell no more than two draws do."""
    rows = true != changed
    first, second = (copy - true)[rows], (again - changed)[rows]
    inside = ~np.isnan(first) & ~np.isnan(second)
    first, second = first[inside], second[inside]
    assert abs(np.corrcoef(first, second)[0, 1]) < 6 / np.sqrt(len(first))
    assert not np.isclose(first, second, rtol=1e-6).any()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from([*CHANGES]), with_ids=st.booleans(), seed=st.integers(0, 2**20))
def test_two_exports_are_refused_or_their_copies_independent(
    name: str, with_ids: bool, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("account") / "state"
        patch.setenv("XDG_STATE_HOME", str(folder.parent))
        check_two_exports(name, with_ids, seed, folder)


def check_two_exports(name: str, with_ids: bool, seed: int, folder: Path) -> None:
    new_ledger(folder, 0.2)
    table = own_table(seed=seed, with_ids=with_ids)
    copy = copy_of(table, folder)
    X = table.X.copy()
    X[:, 0] = CHANGES[name](X[:, 0])
    try:
        again = copy_of(replace(table, X=X), folder)
    except (TableError, BudgetError):
        assert name != "nothing"
        return
    assert name in ("a code for missing", "corrected", "nothing"), "all records have changed"
    same = table.X[:, 0] == X[:, 0]
    assert np.array_equal(again.X[same], copy.X[same], equal_nan=True)
    if name == "corrected":
        check_independent(table.X[:, 0], copy.X[:, 0], again.X[:, 0], X[:, 0])


@pytest.mark.parametrize("name", ["unit", "calibrated", "rounded"])
def test_without_the_refusal_the_copies_are_independent(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal is not what keeps the cells: the difference of two copies was x - f(x)."""
    monkeypatch.setattr("clients.perturb.rules.CORRECTED", 2.0)
    table = own_table()
    X = table.X.copy()
    X[:, 0] = CHANGES[name](X[:, 0])
    copy, again = copy_of(table, folder).X[:, 0], copy_of(replace(table, X=X), folder).X[:, 0]
    if name != "unit":  # below the settled end all copies are the end
        check_independent(table.X[:, 0], copy, again, X[:, 0])
    found = {"unit": copy - again, "calibrated": (copy - again) / 0.05, "rounded": copy - again}[name]
    assert np.mean(np.round(found) == np.round(table.X[:, 0])) < 0.05


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    share=st.sampled_from([0.005, 0.02, 0.06, 0.2, 1.0]),
    how=st.sampled_from(["f", "permuted", "removed", "removed and shifted"]),
    scale=st.floats(-3, 3).filter(lambda one: abs(one) > 1e-3),
    shift=st.floats(-100, 100),
    digits=st.integers(0, 3),
)
def test_any_part_of_a_table_that_changes_is_refused_or_its_copy_independent(
    seed: int,
    share: float,
    how: str,
    scale: float,
    shift: float,
    digits: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    generator, table = np.random.default_rng(seed), own_table(400, seed)
    rows = np.flatnonzero(generator.random(400) < share)
    X, ids, left = table.X.copy(), table.ids.copy(), np.arange(400)
    if how == "f":
        X[rows, 0] = (scale * X[rows, 0] + shift).round(digits)
    elif how == "permuted":
        ids[rows] = generator.permutation(ids[rows])
    else:
        left = np.setdiff1d(left, rows)
        ids = ids[: len(left)] if how == "removed and shifted" else ids[left]
    changed = Table(table.columns, X[left], table.labels[left], ids=ids)
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("account") / "state"
        patch.setenv("XDG_STATE_HOME", str(folder.parent))
        new_ledger(folder, 0.2)
        first = copy_of(table, folder)
        try:
            second = copy_of(changed, folder)
        except (TableError, BudgetError):
            return
    by_id = {one: place for place, one in enumerate(table.ids)}
    was = np.array([by_id[one] for one in ids])
    for column in (0, 1):
        true, now = table.X[was, column], changed.X[:, column]
        copy, again = first.X[was, column], second.X[:, column]
        assert np.array_equal(copy[true == now], again[true == now], equal_nan=True)
        ends = np.isin(copy, [copy.min(), copy.max()]) | np.isin(again, [again.min(), again.max()])
        rows = (true != now) & ~ends
        if rows.sum() > 5:
            noises = (copy - true)[rows], (again - now)[rows]
            assert abs(np.corrcoef(*noises)[0, 1]) < 6 / np.sqrt(rows.sum())
            assert not np.isclose(*noises, rtol=1e-6).any()


@pytest.mark.parametrize(("part", "cause"), [(1.0, "another unit"), (0.1, "as -999")])
def test_what_differs_more_than_before_is_told_with_its_cause(part: float, cause: str, folder: Path) -> None:
    table, X, again = own_table(), own_table().X, own_table().X
    X[: int(part * ROWS), 0] = np.nan if part < 1 else X[:, 0] / 38.67
    if part < 1:
        again[np.isnan(X[:, 0]), 0] = -999
    copy_of(replace(table, X=X), folder)
    with pytest.raises(TableError) as failure:
        copy_of(replace(table, X=again), folder)
    assert cause in failure.value.with_detail()


@pytest.mark.parametrize("pending", [1, 4, 8, 20])
def test_labels_under_other_names_have_one_copy_whichever_records_are_pending(
    pending: int, folder: Path
) -> None:
    """Four that differed from name to name made nine copies of all labels."""
    table, generator = own_table(600), np.random.default_rng(1)
    for number in range(9):
        labels = table.labels.copy()
        labels[generator.permutation(600)[:pending]] = "pending"
        copy_of(replace(table, labels=labels), folder, label=f"outcome {number}")
    assert len(read_ledger(folder).copy["labels"]) == 1


@pytest.mark.parametrize(("turned", "told"), [(0, True), (8, True), (20, None)])
def test_labels_of_which_some_are_pending_now_are_written_as_before(turned: int, told: bool | None) -> None:
    """Of 32 marked records of a label eight or more pend now, and by chance few of the other's: it was refused."""
    before = dict(zip(map(str, range(64)), ["0"] * 32 + ["1"] * 32, strict=True))
    now = before | dict.fromkeys(map(str, range(turned)), "2")
    assert same_labels(before, now) is told


def test_two_outcomes_that_are_nearly_the_same_are_each_compared_with_itself(folder: Path) -> None:
    """Death within 30 and 90 days: after a run for one the other's labels had changed; later the ledger was damaged."""
    table, drawn = own_table(600), np.random.default_rng(1).random(600)
    outcomes = {name: np.where(drawn < share, "1", "0") for name, share in (("d30", 0.06), ("d90", 0.125))}
    first = {}
    for name in ("d30", "d90", "d30", "d90"):
        copy = copy_of(replace(table, labels=outcomes[name]), folder, label=name).labels
        assert np.array_equal(first.setdefault(name, copy), copy)


def test_an_outcome_that_grows_like_another_keeps_its_draws(folder: Path) -> None:
    table, drawn = own_table(600), np.random.default_rng(1).random(600)
    table = replace(table, labels=np.resize(["0", "1"], 600))
    copy_of(table, folder, label="one")
    before = None
    for share in (0.16, 0.14, 0.12, 0.1, 0.08, 0.06, 0.04):
        labels = np.where((drawn < share) ^ (table.labels == "1"), "1", "0")
        copy = copy_of(replace(table, labels=labels), folder, label="two").labels
        assert before is None or np.mean(before == copy) > 0.96
        before = copy


def test_labels_are_known_again_after_the_first_records_have_gone(folder: Path) -> None:
    table = own_table(1600)
    for month in range(0, 1001, 100):
        copy_of(rows_of(table, slice(month, month + 600)), folder)
    last = rows_of(table, slice(1000, 1600))
    copy_of(last, folder, label="renamed")
    assert len(read_ledger(folder).copy["labels"]) == 1
    with pytest.raises(TableError):
        copy_of(replace(last, labels=np.where(last.labels == "yes", "4", "2")), folder)


def test_labels_that_follow_from_settled_ones_are_refused(folder: Path) -> None:
    """Where both copies agreed, 99 % were right."""
    table = own_table(600)
    grade = np.random.default_rng(0).integers(0, 5, 600)
    copy_of(replace(table, labels=grade.astype(str)), folder, label="grade")
    with pytest.raises(TableError):
        copy_of(replace(table, labels=np.where(grade > 0, "yes", "no")), folder, label="any")


def test_a_table_that_did_not_change_goes_on_where_some_cells_are_far_away(folder: Path) -> None:
    """Where one cell in eighteen was far away, its records were said to differ more than before."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 3))
    for column in X.T:
        column[generator.choice(400, 22, replace=False)] = generator.normal(999, 30, 22)
    ids = np.array([f"P{7 * number}" for number in range(400)])
    table = Table(("a", "b", "c"), X, np.where(X[:, 0] > 0, "yes", "no"), ids=ids)
    assert np.array_equal(copy_of(table, folder).X, copy_of(table, folder).X)


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("rows", [30, 60])
def test_a_pilot_of_records_that_are_alike_does_not_size_the_noise(
    rows: int, ids: bool, folder: Path
) -> None:
    """The 30 middlemost of 200 settled a noise of .04 for .25."""
    table = own_table(200, with_ids=ids)
    alike = np.sort(np.argsort(np.abs(table.X[:, 0] - np.median(table.X[:, 0])))[:rows])
    copy_of(rows_of(table, alike), folder)
    with pytest.raises(TableError) as refused:
        copy_of(table, folder)
    assert "chol" in refused.value.detail


@pytest.mark.parametrize("upwards", [1, -1])
def test_a_pilot_of_records_at_one_end_does_not_size_the_noise(upwards: int, folder: Path) -> None:
    """The youngest settled a noise of .05 for .5: all others were pulled in to one number, which does not differ."""
    generator = np.random.default_rng(0)
    ages = np.concatenate([generator.uniform(18, 20, 30), generator.uniform(30, 95, 970)])[:, None] * upwards
    ids = np.array([f"P{7 * number}" for number in range(1000)])
    table = Table(("age",), ages, np.where(np.arange(1000) % 2, "yes", "no"), ids=ids)
    schema = TableSchema((TableColumn("age", ends=(float(ages.min()), float(ages.max()))),))
    copy_of(rows_of(table, slice(30)), folder, schema)
    with pytest.raises(TableError) as refused:
        copy_of(table, folder, schema)
    assert "age" in refused.value.detail


@pytest.mark.parametrize("removed", [0, 2, 7])
def test_ids_that_have_moved_are_refused(removed: int, folder: Path) -> None:
    """Row numbers of a table without some rows gave 98 % of the cells within a tenth of a deviation."""
    table = own_table(200)
    copy_of(table, folder)
    moved = replace(rows_of(table, np.roll(np.arange(200), 1)[removed:]), ids=table.ids[: 200 - removed])
    with pytest.raises(TableError) as refused:
        copy_of(moved, folder)
    assert any(word in refused.value.detail for word in ("chol", "ids"))
    assert "chol" not in str(refused.value), "what has changed is for the hospital's own log"


def test_ids_that_move_a_few_at_a_time_are_refused_in_the_end(folder: Path) -> None:
    """Visits counted from the newest, exported each week: after 60 weeks records had two copies in the mean."""
    table = own_table(200)
    copy_of(table, folder)
    ids, moved = table.ids.copy(), 0

    def export() -> None:
        nonlocal moved
        while moved < 198:
            moved += 6
            ids[moved - 6 : moved] = np.roll(ids[moved - 6 : moved], 1)
            copy_of(replace(table, ids=ids), folder)

    with pytest.raises(TableError) as refused:
        export()
    assert 200 / 8 < moved < 200 / 2
    assert "ids" in refused.value.detail


def test_cells_that_stay_empty_are_no_ids_that_move_at_each_export(folder: Path) -> None:
    X = np.random.default_rng(1).integers(0, 3, (200, 6)).astype(np.float64)
    table = replace(own_table(200), columns=tuple("abcdef"), X=X)
    copy_of(table, folder)
    X[np.arange(30), np.arange(30) % 6] = np.nan
    for _ in range(6):
        copy_of(table, folder)
    assert read_ledger(folder).copy["marks"]["swapped"] < 3


@pytest.mark.parametrize("first", [0, 1, 91])
@pytest.mark.parametrize("width", [1, 6])
def test_row_numbers_are_no_ids(first: int, width: int, folder: Path) -> None:
    table = own_table(60)
    numbers = replace(table, ids=np.array([f"{number:0{width}d}" for number in range(first, first + 60)]))
    with pytest.raises(TableError, match="row numbers"):
        copy_of(numbers, folder)
    assert not read_ledger(folder).copy
    copy_of(replace(table, ids=np.array([f"{7 * number}" for number in range(60)])), folder)


@pytest.mark.parametrize("spelt", [str.lower, lambda one: one.replace("P0", "P"), lambda one: f"new-{one}"])
def test_ids_that_are_written_otherwise_are_refused(spelt: Callable[[str], str], folder: Path) -> None:
    table = own_table(200)
    copy_of(table, folder)
    with pytest.raises(TableError, match="second copy"):
        copy_of(replace(table, ids=np.array([*map(spelt, table.ids.tolist())])), folder)


def test_records_that_came_later_are_known_too(folder: Path) -> None:
    """Marks were of the first use's records only: later ones got a copy a month without ids, .25 went to .16."""
    table = own_table(400, with_ids=False)
    copy_of(rows_of(table, slice(100)), folder)
    copy_of(table, folder)
    X = table.X.copy()
    X[100:, 0] *= 0.95
    with pytest.raises(TableError):
        copy_of(replace(table, X=X), folder)
    assert len(read_ledger(folder).copy["marks"]["last"]) == 64


def test_a_table_that_grows_and_shrinks_slowly_goes_on(folder: Path) -> None:
    table = own_table(600)
    copies = [copy_of(rows_of(table, slice(20 * month, 200 + 20 * month)), folder).X for month in range(12)]
    assert all(np.array_equal(a[20:], b[:-20], equal_nan=True) for a, b in pairwise(copies))


def test_another_unit_of_a_settled_column_is_refused(folder: Path) -> None:
    """A coordinator could ask for the difference by another unit in a new study's schema file."""

    def schema(unit: str) -> TableSchema:
        return TableSchema((TableColumn("chol", unit=unit), TableColumn("age"), TableColumn("code")))

    table = own_table(100)
    first = copy_of(table, folder, schema(""))
    for unit in ("mg/dl", "", "MG/dl"):
        assert np.array_equal(copy_of(table, folder, schema(unit)).X, first.X, equal_nan=True)
    with pytest.raises(TableError, match="unit"):
        copy_of(table, folder, schema("mmol/l"))


def test_a_copy_that_a_person_has_ended_is_followed_by_an_independent_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = own_table()
    first = copy_of(table, folder).X[:, 1]
    end_copy(folder)
    second = copy_of(table, folder).X[:, 1]
    noises = first - table.X[:, 1], second - table.X[:, 1]
    assert abs(np.corrcoef(*noises)[0, 1]) < 6 / np.sqrt(ROWS)
    assert len(read_ledger(folder).copies_ended) == 1
    main([str(folder)])
    assert "perturbed copy ended" in capsys.readouterr().out
    end_copy(folder)
    with pytest.raises(BudgetError):
        end_copy(folder)


def kept_changed(change: Callable[[dict[str, Any]], Any]) -> None:
    (file,) = tables_home().glob(f"*/{LEDGER_FILE}")
    content = read_checked(file)
    change(content["copy"])
    write_checked(file, content)


@pytest.mark.parametrize(
    "change",
    [
        lambda copy: copy.pop("marks"),
        lambda copy: copy.update(marks=[]),
        lambda copy: copy["marks"]["first"].update(dict.fromkeys(copy["marks"]["first"], "zz")),
        lambda copy: copy["marks"]["last"].update(zz="00" * 6),
        lambda copy: copy["marks"]["first"].update({"f" * 17: "00" * 6}),
        lambda copy: copy["marks"]["labels"]["label"].update({"0": "zz"}),
        lambda copy: copy["marks"]["labels"].update(label=[]),
        lambda copy: copy["marks"]["labels"].pop("label"),
        lambda copy: copy["features"][0].pop("values"),
        lambda copy: copy["features"][0].update(shares=[[1, 2]]),
        lambda copy: copy["features"][0].update(quantiles="zz"),
        lambda copy: copy["features"][0].update(deviation=0),
        lambda copy: copy["labels"]["label"].update(values=[None]),
        lambda copy: copy.update(names={"label": "another"}),
        lambda copy: copy["features"][0].update(counts=[1, 2]),
    ],
    ids=[
        *("older", "no marks", "damaged marks", "no record", "too large a number", "damaged label"),
        *("labels of no records", "no marks of labels", "no values", "shares", "quantiles", "no noise"),
        *("no label", "another label column", "another version"),
    ],
)
def test_an_older_or_damaged_copy_is_refused_and_a_person_can_end_it(
    change: Callable[[dict[str, Any]], Any], folder: Path
) -> None:
    table = own_table(100)
    copy_of(table, folder)
    kept_changed(change)
    with pytest.raises(BudgetError, match="--end-copy"):
        copy_of(table, folder)
    end_copy(folder)
    assert copy_of(table, folder).X.shape == table.X.shape


@pytest.mark.parametrize("rows", [1, 10, FEWEST_RECORDS - 1])
def test_a_pilot_does_not_settle_a_copy(rows: int, folder: Path) -> None:
    """One of 12 records settled a noise of .085 for .25."""
    table = own_table(400)
    with pytest.raises(TableError, match="fewer than"):
        copy_of(rows_of(table, slice(rows)), folder)
    assert not read_ledger(folder).copy


# ---- what is settled


def settled_columns(X: np.ndarray, keys: int, schema: TableSchema | None = None) -> list[Any]:
    from clients.perturb.settling import settled_of  # noqa: PLC0415

    table = Table(tuple(f"c{place}" for place in range(X.shape[1])), X, None)
    return [
        settled_of(table, "label", schema, HALF, number.to_bytes(32, "big")).features[0]
        for number in range(keys)
    ]


def test_a_deviation_is_settled_before_ends_are_pulled_in_and_does_not_follow_one_wrong_cell() -> None:
    for rows, wrong in ((30, False), (30, True), (500, True)):
        X = np.random.default_rng(0).normal(50, 7, (rows, 1))
        deviation = X.std()
        X[0] = 1e6 if wrong else X[0]
        found = np.array([column.deviation for column in settled_columns(X, 100)])
        far = 1.7 if wrong and rows == 30 else 1.15
        assert 0.85 * deviation < np.median(found) < far * (1 + 4 / rows) * deviation
        assert found.min() > 0.6 * deviation
        assert found.std() > 0.3 * deviation / np.sqrt(2 * rows), "it has noise of its own"


def test_public_ends_and_categories_are_settled_from_the_schema_file() -> None:
    X = np.random.default_rng(0).normal(200, 50, (100, 1))
    schema = TableSchema((TableColumn("c0", ends=(50.0, 700.0)),))
    assert {(one.low, one.high) for one in settled_columns(X, 5, schema)} == {(50.0, 700.0)}
    constant = settled_columns(np.full((100, 1), 200) + np.arange(100)[:, None] * 1e-4, 1, schema)[0]
    assert constant.deviation >= 13
    category = TableColumn("kind", CATEGORY, categories=("a", "b", "c"))
    ids = np.array([f"P{number}" for number in range(100)])
    table = Table(category.features, np.tile([1.0, 0, 0], (100, 1)), None, ids=ids)
    schema = TableSchema((category,))
    copy = np.vstack(
        [perturbed_table(table, "", schema, HALF, bytes([number] * 32)).X for number in range(20)]
    )
    assert set(np.unique(copy)) == {0.0, 1.0}, "that no record has a category is not told"
    assert copy[:, 1:].any(axis=0).all()


@pytest.mark.slow(minutes=1)
def test_the_ratio_of_likelihoods_holds_at_the_threshold_of_a_code() -> None:
    """Whether a fifth patient has a rare code was told with certainty: 10 of 10."""
    rows, keys = 60, 3000
    X = np.resize([0.0, 1.0], (rows, 1))
    X[:4] = 2
    with_it, without = X.copy(), X.copy()
    with_it[10] = 2
    ids = np.array([f"P{number}" for number in range(rows)])

    def told(cells: np.ndarray) -> tuple[float, float]:
        own, shown, listed = Table(("c",), cells, None, ids=ids), 0, 0
        for number in range(keys):
            copy = perturbed_table(own, "", None, HALF, number.to_bytes(32, "big")).X
            shown, listed = shown + int(copy[10, 0] == 2), listed + int((copy == 2).any())
        return shown / keys, listed / keys

    (shown, listed), (shown_without, listed_without) = told(with_it), told(without)
    r, p = replaced_share(0.5), 5 / rows
    promised = (1 - r + r * p) / (r * p)
    error = 6 * np.sqrt(shown_without / keys)
    assert shown <= promised * (shown_without + error)
    assert listed <= np.e * listed_without + 6 * np.sqrt(listed / keys)
    assert 0.1 < listed_without < listed < 1


def settled_often(cells: list[float], keys: int = 4000, rows: int = 100) -> list[KeptColumn]:
    """Return what is settled of a column, the rest of its rows missing, with so many keys."""
    bits = random_bits(bytes(32))
    noise, x = noise_of_counts(bits), np.array(cells + [np.nan] * (rows - len(cells)))
    return [settled_column(x, 0, None, 5, noise, bits) for _ in range(keys)]


@pytest.mark.parametrize(
    ("without", "with_it"),
    [
        pytest.param(NINES, [*NINES[1:], 10.0], id="which ten of eleven values"),
        pytest.param(TENS[:29], [*TENS[1:29], 10.5], id="an eleventh value of 29 cells"),
        pytest.param(MANY[:29], MANY[:30], id="a thirtieth cell"),
        pytest.param(OTHERS[:-1], OTHERS, id="an eleventh record with another value"),
        pytest.param([0.0] * 95, [0.0] * 95 + [np.nan] * 5, id="missing cells"),
        pytest.param(HALVES[:-1], HALVES, id="a value of half of the cells"),
        pytest.param(FEW, [*FEW, 0.0], id="a fifth equal cell of few"),
        pytest.param(FEW, [*FEW, 99.0], id="one more cell of few"),
    ],
)
def test_what_is_listed_of_a_column_is_at_most_e_times_as_likely_with_one_record(
    without: list[float], with_it: list[float]
) -> None:
    """Of codes, measurements and missing cells, each alone and all together."""
    keys = 4000
    told = []
    for cells in (without, with_it):
        events: Counter[str] = Counter()
        for column in settled_often(cells, keys):
            alone = [f"measured {column.measured}", f"missing {column.missing}", *map(str, column.values)]
            events.update([*alone, str(alone)])
        told.append(events)
    for event in told[0] | told[1]:
        one, other = told[0][event], told[1][event]
        for more, less in (
            (one, other),
            (other, one),
            (keys - one, keys - other),
            (keys - other, keys - one),
        ):
            assert more <= np.e * less + 6 * np.sqrt(max(more, less)) + 6, event


@pytest.mark.parametrize("rows", [22, 30, 40])
def test_a_small_table_keeps_its_measurements(rows: int) -> None:
    """With 24 records of a simulated site, whose cells are rounded, whole columns were missing."""
    X = np.random.default_rng(0).normal(50, 7, (rows, 1)).round()
    settled = settled_columns(X, 200)
    assert np.mean([column.measured for column in settled]) > 0.9
    assert all(column.measured or column.values for column in settled)


def test_a_value_that_one_record_has_is_listed_as_rarely_as_the_threat_model_says() -> None:
    cells = np.resize([0.0, 1.0], 60)
    cells[5] = 137
    listed = [137 in column.values for column in settled_often(cells.tolist(), 20_000, 60)]
    assert 0.009 < np.mean(listed) < 0.018


def test_made_up_measurements_look_like_the_columns() -> None:
    """They were normal where columns are skewed: ratio of likelihoods 90, where 18 is promised."""
    rows = 40_000
    X = np.random.default_rng(0).gamma(1.2, 20, (rows, 1))
    X[::5] = np.nan
    copy = perturbed_table(
        Table(("c",), X, None, ids=np.array([f"P{n}" for n in range(rows)])), "", None, HALF, bytes(32)
    ).X[:, 0]
    missing = np.isnan(X[:, 0])
    edges = np.nanquantile(copy, np.linspace(0, 1, 13))[1:-1]
    there, made_up = (
        np.bincount(np.searchsorted(edges, copy[rows & ~np.isnan(copy)]), minlength=12)
        / np.count_nonzero(rows)
        for rows in (~missing, missing)
    )
    r, p = replaced_share(0.5), 0.8
    promised = (1 - r + r * p) / (r * p)
    assert (there / made_up).max() < 1.35 * promised
