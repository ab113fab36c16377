"""`pansvm hospital check` says first what a run at level perturbed would end with, and settles nothing."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clients.deployment.checks import check_hospital
from clients.ledger.ledger import read_ledger
from flower_pansvm.errors import SettingError, TableError
from simulations.attack.active import registry
from simulations.attack.active.hospitals import Hospitals, account_of, drawn_table
from simulations.attack.active.nearness import asked_at

NAME = "first"


@pytest.fixture
def hospitals(tmp_path: Path) -> Iterator[Hospitals]:
    with registry.own_account(tmp_path):
        made = Hospitals(tmp_path / "study", {NAME: 200, "second": 60, "third": 60}, asked_at("perturbed"))
        node = made.nodes[NAME]
        table = drawn_table(200, NAME).assign(
            mrn=[f"P{one:05d}" for one in np.random.default_rng(1).permutation(200)]
        )
        table.to_csv(str(node["data"]), index=False)
        node["row-id"] = "mrn"
        config = Path(str(node["state"])).parent / "node.toml"
        config.write_text(f'row-id = "mrn"\n{config.read_text()}')
        yield made


def check(hospitals: Hospitals) -> list[str]:
    with account_of(hospitals.homes[NAME]):
        return list(check_hospital(Path(str(hospitals.nodes[NAME]["state"])).parent))


def test_a_table_that_was_exported_again_is_refused_by_the_check(hospitals: Hospitals) -> None:
    state, data = (Path(str(hospitals.nodes[NAME][key])) for key in ("state", "data"))
    assert any(line.startswith("copy: ") for line in check(hospitals))
    with account_of(hospitals.homes[NAME]):
        assert not read_ledger(state).copy
    hospitals.copy_of(NAME)
    with account_of(hospitals.homes[NAME]):
        before = read_ledger(state).copy
    check(hospitals)
    text = data.read_text()
    lines = text.splitlines()
    head = lines[0].split(",")
    place = head.index("x0")
    changed = [line.split(",") for line in lines[1:]]
    for line in changed:
        line[place] = repr(float(line[place]) * 0.95)
    data.write_text("\n".join([lines[0], *map(",".join, changed)]) + "\n")
    with pytest.raises(TableError) as refused:
        check(hospitals)
    assert "x0" in refused.value.with_detail()
    data.write_text(text)
    check(hospitals)
    with account_of(hospitals.homes[NAME]):
        assert read_ledger(state).copy == before


def test_a_table_too_small_to_begin_a_copy_is_refused_by_the_check(hospitals: Hospitals) -> None:
    data = Path(str(hospitals.nodes[NAME]["data"]))
    data.write_text("\n".join(data.read_text().splitlines()[:20]) + "\n")
    with pytest.raises(TableError):
        check(hospitals)


@pytest.mark.parametrize(("least", "starts"), [(0.2, True), (0.3, False)])
def test_a_hospital_does_not_start_where_the_copy_hides_less_than_it_asks_for(
    least: float, starts: bool, hospitals: Hospitals
) -> None:
    """Columns that have nothing to do with each other: a guess is off by nearly the whole noise, 0.25."""
    config = Path(str(hospitals.nodes[NAME]["state"])).parent / "node.toml"
    config.write_text(f"least-error = {least}\n{config.read_text()}")
    if starts:
        check(hospitals)
    else:
        with pytest.raises(SettingError, match="least-error"):
            check(hospitals)
