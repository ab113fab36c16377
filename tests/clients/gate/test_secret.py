"""The lasting key of a site: no hospital makes one itself, and that of a simulated site follows from the seed."""

from pathlib import Path

import pytest

from clients.budget import new_ledger
from clients.hospital import SimulatedContext
from clients.ledger.lasting_split import key_of, lasting_secret
from flower_pansvm.errors import BudgetError
from flower_pansvm.terms import Scalar
from tests.contexts import own_hospital


def test_a_hospital_never_makes_one_itself(tmp_path: Path) -> None:
    """With a new key each record would get a second copy."""
    north = own_hospital({"name": "north", "state": str(tmp_path / "north")})
    with pytest.raises(BudgetError) as refused:
        lasting_secret(north)
    assert str(tmp_path) not in str(refused.value)
    assert str(tmp_path) in refused.value.detail
    new_ledger(tmp_path / "north", 0.2)
    with pytest.raises(BudgetError):
        lasting_secret(north)


def test_that_of_a_simulated_site_follows_from_the_seed(state_home: Path) -> None:
    def simulated(site: int, seed: int, run_id: int = 1) -> bytes:
        node: dict[str, Scalar] = {"partition-id": site, "num-partitions": 3}
        here = own_hospital(node, run_id, SimulatedContext, data="wine", sites=3, seed=seed)
        assert key_of(here) == lasting_secret(here)
        return lasting_secret(here)

    assert simulated(0, 0) == simulated(0, 0, run_id=2)
    assert len({simulated(site, seed) for site in range(3) for seed in range(3)}) == 9
    assert not state_home.exists()
