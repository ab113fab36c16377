"""The lasting key of a site: a hospital's is its table's, that of a simulated site follows from the seed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clients.budget import new_ledger
from clients.hospital import Hospital, SimulatedContext
from clients.ledger.lasting_split import key_of, lasting_secret
from clients.ledger.tables import link_table
from clients.table.table import Table
from flower_pansvm.errors import BudgetError
from flower_pansvm.terms import Scalar
from tests.contexts import own_hospital

Node = dict[str, Scalar]


@pytest.fixture
def table() -> Table:
    return Table(("age",), np.random.default_rng(0).normal(size=(60, 1)), None)


def hospital(folder: Path, run_id: int = 1, **config: object) -> Hospital:
    return own_hospital({"name": "north", "state": str(folder)}, run_id, **config)


def test_it_is_the_same_in_every_run_whatever_its_settings(table: Table, tmp_path: Path) -> None:
    new_ledger(tmp_path / "north", 0.2)
    link_table(tmp_path / "north", table)
    first = lasting_secret(hospital(tmp_path / "north"))
    assert len(first) == 32
    assert {lasting_secret(hospital(tmp_path / "north", run_id)) for run_id in range(2, 6)} == {first}
    for other in ({"seed": 1, "C": 7.0, "test_fraction": 0.4}, {"aggregation": "k-secure"}, {"noise": 1.0}):
        assert lasting_secret(hospital(tmp_path / "north", **other)) == first


def test_it_is_the_tables_own(table: Table, tmp_path: Path) -> None:
    others = replace(table, X=table.X + 1)
    for name, own in (("north", table), ("again", table), ("south", others)):
        new_ledger(tmp_path / name, 0.2)
        link_table(tmp_path / name, own)
    north, again, south = (lasting_secret(hospital(tmp_path / name)) for name in ("north", "again", "south"))
    assert north == again != south


def test_a_hospital_never_makes_one_itself(table: Table, tmp_path: Path) -> None:
    """With a new key each record would get a second copy."""
    with pytest.raises(BudgetError) as refused:
        lasting_secret(hospital(tmp_path / "north"))
    assert str(tmp_path) not in str(refused.value)
    assert str(tmp_path) in refused.value.detail
    new_ledger(tmp_path / "north", 0.2)
    with pytest.raises(BudgetError):
        lasting_secret(hospital(tmp_path / "north"))


def test_that_of_a_simulated_site_follows_from_the_seed(state_home: Path) -> None:
    def simulated(site: int, seed: int, run_id: int = 1) -> bytes:
        node: Node = {"partition-id": site, "num-partitions": 3}
        here = own_hospital(node, run_id, SimulatedContext, data="wine", sites=3, seed=seed)
        assert key_of(here) == lasting_secret(here)
        return lasting_secret(here)

    assert simulated(0, 0) == simulated(0, 0, run_id=2)
    assert len({simulated(site, seed) for site in range(3) for seed in range(3)}) == 9
    assert not state_home.exists()
