"""A hospital's rows never change sides: whatever a coordinator sends, at every level, with ids or without."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flwr.app import RecordDict

from clients.budget import end_ledger, new_ledger
from clients.folds import folds_of
from clients.ledger.lasting_split import lasting_numbers, lasting_split
from clients.ledger.ledger import Ledger
from clients.ledger.tables import link_own_table
from clients.rows import true_table
from clients.site import Site
from clients.table.table import Table
from flower_pansvm import records
from flower_pansvm.errors import BudgetError, SettingError, TableError
from flower_pansvm.secure_sum import tags
from flower_pansvm.systems.common import SchemaBroadcast
from flower_pansvm.terms import Scalar
from tests.contexts import own_hospital

TOLD = SchemaBroadcast(("age", "dose"), ("no", "yes"), (), 0.2, 5, 0)
LEVELS = ("exact", "perturbed", "dp")


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "mrn": [f"P{number}" for number in range(300)],
            "age": draw.normal(60, 9, 300),
            "dose": draw.gamma(2, 3, 300),
            "label": np.where(draw.random(300) < 0.3, "yes", "no"),
        }
    )
    frame.to_csv(tmp_path / "ward.csv", index=False)
    return tmp_path / "ward.csv"


@pytest.fixture
def node(ward: Path, tmp_path: Path) -> dict[str, Scalar]:
    new_ledger(tmp_path / "state", 0.2)
    return {"name": "north", "data": str(ward), "row-id": "mrn", "state": str(tmp_path / "state")}


def site_of(node: dict[str, Scalar], level: str = "exact", told: SchemaBroadcast = TOLD) -> Site:
    """Return a site that has joined a run and was told a schema."""
    site = Site.of(own_hospital(node), level)
    link_own_table(site, true_table(site))
    records.write(message := RecordDict(), "broadcast.schema", told)
    site.keep_broadcasts(message)
    return site


def sides(node: dict[str, Scalar], fraction: float = 0.2) -> np.ndarray:
    """Return which rows, by id or in order, are kept for evaluation."""
    site = site_of(node)
    return lasting_split(Path(str(node["state"])), site.table(), fraction).held_out


def change(ward: Path, changed: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    changed(pd.read_csv(ward)).to_csv(ward, index=False)


@pytest.mark.parametrize("level", LEVELS)
def test_neither_seed_nor_classes_of_the_coordinator_choose_rows_or_folds(
    level: str, node: dict[str, Scalar]
) -> None:
    first = site_of(node, level)
    for told in (
        replace(TOLD, seed=1),
        replace(TOLD, classes=("negative", "positive"), positive_labels=("yes",)),
        replace(TOLD, classes=("negative", "positive"), positive_labels=("no",)),
        replace(TOLD, columns=("dose", "age")),
    ):
        own = {"positive": told.positive_labels[0]} if told.positive_labels else {}
        other = site_of(node | own, level, told)
        order = [TOLD.columns.index(name) for name in told.columns]
        assert np.array_equal(other.train().X, first.train().X[:, order], equal_nan=True)
        assert np.array_equal(other.test().X, first.test().X[:, order], equal_nan=True)
        assert np.array_equal(folds_of(other), folds_of(first))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("own", [{}, {"positive": "no"}], ids=str)
def test_positive_labels_that_are_told_have_to_be_the_hospitals(
    own: dict[str, Scalar], level: str, node: dict[str, Scalar]
) -> None:
    """A coordinator could have a site join without them, and tell them later."""
    told = replace(TOLD, classes=("negative", "positive"), positive_labels=("yes",))
    for rows in (Site.train, Site.test, folds_of):
        with pytest.raises(SettingError, match="positive"):
            rows(site_of(node | own, level, told))


def test_rows_are_on_the_same_side_at_every_level(node: dict[str, Scalar]) -> None:
    """The copy of a record is where the record is, but in an order that tells nothing."""
    exact, perturbed, dp = (site_of(node, level) for level in LEVELS)
    kept = sides(node)
    assert 0.1 < kept.mean() < 0.3
    for site in (exact, perturbed, dp):
        X = site.table().X
        in_order = sorted if site is perturbed else list
        assert in_order(site.test().X.tolist()) == in_order(X[kept].tolist())
        assert in_order(site.train().X.tolist()) == in_order(X[~kept].tolist())
    assert site_of(node, "perturbed").train().X.tolist() != perturbed.table().X[~kept].tolist()
    assert not np.array_equal(perturbed.test().X, exact.test().X, equal_nan=True)
    assert np.array_equal(dp.test().X, exact.test().X)


@pytest.mark.parametrize("level", ["exact", "perturbed"])
def test_who_knows_the_ids_does_not_know_the_order(level: str, node: dict[str, Scalar], ward: Path) -> None:
    """Anyone can hash case numbers: with the copies in that order, each was known by its number."""
    site = site_of(node, level)
    split, ids = site.split(), np.sort(pd.read_csv(ward)["mrn"].to_numpy())[~sides(node)]
    hashed = np.array(
        [int.from_bytes(hashlib.sha256(tags.SIDE + one.encode()).digest()[:8], "little") for one in ids]
    )
    rows = {
        tuple(row): place for row, place in zip(split.train.X.tolist(), split.train.patients, strict=True)
    }
    places = np.array([rows[tuple(row)] for row in site.table().X[~sides(node)].tolist()])
    for one in np.unique(site.table().labels[~sides(node)]):
        own = site.table().labels[~sides(node)] == one
        assert abs(np.corrcoef(np.argsort(np.argsort(hashed[own])), places[own])[0, 1]) < 0.4
        assert abs(np.corrcoef(np.arange(own.sum()), places[own])[0, 1]) < 0.4


def test_the_order_of_codes_does_not_go_with_the_codes() -> None:
    """It was that of a sum over the cells: all differences between two records that differ in one column were equal."""
    X = np.array(list(product((0.0, 1.0), repeat=6)))
    table, ledger = Table(tuple("abcdef"), X, None), Ledger(0.2, "5a" * 32, tuple("abcdef"))
    numbers = lasting_numbers(table, ledger)[1]
    differences = numbers[X[:, 0] == 1] - numbers[X[:, 0] == 0]
    assert len(np.unique(differences)) == len(differences)
    assert len(np.unique(numbers)) == len(X)


def test_folds_are_even_within_each_class(node: dict[str, Scalar]) -> None:
    site = site_of(node)
    for own in (folds_of(site), *(folds_of(site)[site.train().classes == one] for one in (0, 1))):
        counts = np.bincount(own, minlength=5)
        assert counts.max() - counts.min() <= 1


def test_a_corrected_cell_of_a_row_with_an_id_moves_it_nowhere(node: dict[str, Scalar], ward: Path) -> None:
    before = sides(node)
    change(ward, lambda frame: frame.assign(age=frame["age"] + (np.arange(300) < 60)))
    assert np.array_equal(sides(node), before)
    change(ward, lambda frame: frame.drop(columns="mrn"))
    with pytest.raises(BudgetError):
        site_of({key: value for key, value in node.items() if key != "row-id"})


def test_without_ids_new_rows_and_another_order_move_no_row(node: dict[str, Scalar], ward: Path) -> None:
    change(ward, lambda frame: frame.drop(columns="mrn"))
    del node["row-id"]
    before = sides(node)
    change(ward, lambda frame: pd.concat([frame.head(40).assign(age=np.arange(40.0)), frame[::-1]]))
    assert np.array_equal(sides(node)[40:], before[::-1])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "changed",
    [{}, {"decimal": "comma"}, {"missing": "40"}, {"thousands": "comma"}, {"schema": "dose.missing = [1]"}],
    ids=str,
)
def test_without_ids_cells_are_read_as_at_first(
    changed: dict[str, Scalar], level: str, node: dict[str, Scalar], ward: Path
) -> None:
    """A record that changed its side would be charged to the budgets of both; a new column or format moves none."""
    change(ward, lambda frame: frame.drop(columns="mrn").round().astype({"age": int, "dose": int}))
    del node["row-id"]
    schema = ward.with_name("schema.toml")
    schema.write_text("[columns]\nage.kind = 'number'\ndose.range = [0, 99]\n")
    before = sides(node)
    change(ward, lambda frame: frame.assign(new=np.where(np.arange(300) < 9, -1, 5)))
    own = f"[columns]\nnew.missing = [-1]\nage.unit = 'years'\n{changed.get('schema', 'dose.unit = 1')}\n"
    schema.write_text(own.replace("unit = 1", "unit = 'mg'"))
    node |= {**changed, "schema": str(schema)}
    if changed.keys() - {"decimal"}:
        with pytest.raises(BudgetError):
            site_of(node, level)
    else:
        assert np.array_equal(sides(node), before)


def test_row_ids_that_come_later_move_no_row_nor_does_a_person_that_ends_the_budget(
    node: dict[str, Scalar], ward: Path
) -> None:
    without = {key: value for key, value in node.items() if key != "row-id"}
    ids = pd.read_csv(ward)["mrn"]
    change(ward, lambda frame: frame.drop(columns="mrn"))
    before = sides(without)
    change(ward, lambda frame: frame.assign(mrn=ids))
    for _ in range(2):
        assert np.array_equal(sides(node), before[np.argsort(ids.to_numpy())])
        end_ledger(Path(str(node["state"])))


def test_hospitals_that_share_a_patient_keep_it_on_the_same_side(
    node: dict[str, Scalar], ward: Path, tmp_path: Path
) -> None:
    other = ward.with_name("other.csv")
    frame = pd.read_csv(ward)
    frame.assign(age=1.5 * np.arange(300.0), dose=np.arange(300.0) ** 2).to_csv(other, index=False)
    new_ledger(tmp_path / "south", 0.2)
    south = {**node, "name": "south", "data": str(other), "state": str(tmp_path / "south")}
    assert np.array_equal(sides(node), sides(south))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "change",
    [
        *({"test_fraction": fraction} for fraction in (0.0, 0.5, 0.98)),
        *({"classes": classes} for classes in (("no", "yes", "maybe"), ("no", "yes", "yes"), ("maybe",))),
    ],
    ids=str,
)
def test_another_share_for_evaluation_and_classes_that_are_not_listed_are_refused(
    change: dict[str, Any], level: str, node: dict[str, Scalar]
) -> None:
    node["classes"] = "no,yes"
    with pytest.raises(SettingError):
        site_of(node, level, replace(TOLD, **change)).train()
    site_of(node, level).train()


def test_too_few_rows_are_an_error_but_at_dp(node: dict[str, Scalar]) -> None:
    """There, that a run is refused would tell how many rows there are."""
    node["min-cluster"] = 290
    for level in ("exact", "perturbed"):
        with pytest.raises(TableError):
            site_of(node, level).train()
    assert len(site_of(node, "dp").train().classes) < 290
