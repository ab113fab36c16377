"""The perturbed copy of a large table: made once, and kept for the next messages' processes."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from clients import cache
from clients.budget import end_ledger, new_ledger
from clients.perturb import copy as perturb_copy
from clients.rows import link_own_table
from clients.site import Site
from clients.table.table import Table
from flower_pansvm.errors import BudgetError
from flower_pansvm.terms import Scalar
from tests.clients.conftest import assert_same
from tests.contexts import own_hospital

ROWS = 60
NewSite = Callable[..., Site]
Copy = Callable[..., Table]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have every table count as large; return the noise of each block of cells that was perturbed, as it grows."""
    monkeypatch.setattr("clients.table.opening.LARGE", 0)
    monkeypatch.setattr("clients.perturb.copy.LARGE_COPY", 0)
    original, noises = perturb_copy.perturbed, []

    def perturbed(*arguments: object) -> object:
        noises.append(arguments[-1])
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(perturb_copy, "perturbed", perturbed)
    return noises  # type: ignore[return-value]


@pytest.fixture
def site(tmp_path: Path) -> NewSite:
    """Return a function that gives the hospital as a new process sees it; it has joined a run."""
    generator = np.random.default_rng(0)
    rows = [
        f"case {row},{age},{dose},{row % 2}"
        for row, (age, dose) in enumerate(generator.normal(size=(ROWS, 2)))
    ]
    (tmp_path / "ward.csv").write_text("\n".join(["case,age,dose,label", *rows]) + "\n")
    new_ledger(tmp_path / "state", 0.2)

    def new(noise: float = 0.5, **node: Scalar) -> Site:
        cache.cached_tables.values.clear()
        usual = {name: str(tmp_path / name) for name in ("state", "cache")}
        own = {"name": "a", "data": str(tmp_path / "ward.csv"), "row-id": "case", **usual, **node}
        return Site.of(own_hospital(own, noise=noise), "perturbed")

    link_own_table(new())
    return new


@pytest.fixture
def copy(site: NewSite) -> Copy:
    """Return a function that gives the copy as a new process of the hospital sees it."""
    return lambda **run: site(**run).table()


def test_the_next_process_finds_the_copy_unless_it_is_damaged_and_only_this_account_can_read_it(
    copy: Copy, made: list[float], tmp_path: Path
) -> None:
    first = copy()
    made.clear()
    assert_same(copy(), first)
    assert made == []
    files = list((tmp_path / "cache").iterdir())
    assert len(files) == 2  # the table's and the copy's
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    for node in ({}, {"cache": "none"}):  # damaged, and not to be used
        for file in files:
            content = bytearray(file.read_bytes())
            content[len(content) // 3] ^= 1
            file.write_bytes(content)
        assert_same(copy(**node), first)
        assert made != []
        made.clear()


def test_what_a_copy_is_made_of_makes_another(
    site: NewSite, copy: Copy, made: list[float], tmp_path: Path, state_home: Path
) -> None:
    first, table = copy(), tmp_path / "ward.csv"
    finer = copy(noise=0.25)
    assert 0.25 in made
    assert not np.array_equal(finer.X, first.X)
    assert_same(copy(), first)
    names, *rows = table.read_text().splitlines()
    table.write_text("\n".join([names, *rows, f"case {ROWS},0.1,0.2,1"]) + "\n")
    longer = copy()
    assert len(longer.X) == ROWS + 1
    # Another key: of a ledger that a person has begun anew after it was lost.
    shutil.rmtree(state_home / "tables")
    end_ledger(tmp_path / "state")
    link_own_table(site())
    other = copy()
    assert not np.array_equal(other.X, longer.X)
    # Only the latest is kept.
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_a_kept_copy_does_not_stand_in_for_a_lost_key(
    copy: Copy, made: list[float], state_home: Path
) -> None:
    copy()
    (file,) = state_home.glob("tables/*/budget.json")
    file.unlink()
    with pytest.raises(BudgetError, match="missing"):
        copy()
