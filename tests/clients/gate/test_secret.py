"""A site's secret: the same as long as its key and its table are the same, and another for any other."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from flwr.app import RecordDict

from clients.gate.blur import KEY_FILE, secret_of
from clients.gate.simulated import SimulatedContext
from clients.site import Site
from flower_pansvm.errors import SettingError
from flower_pansvm.terms import Scalar
from strategies.settings import make_settings

Node = dict[str, Scalar]


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """Return a hospital's table, with a missing cell."""
    cells = {
        "age": [61.5, 47.25, 70.0, np.nan],
        "dose": [0.1, 0.2, 0.25, 0.3],
        "label": ["yes", "no", "yes", "no"],
    }
    pd.DataFrame(cells).to_csv(tmp_path / "ward.csv", index=False)
    return tmp_path / "ward.csv"


@pytest.fixture
def node(ward: Path, tmp_path: Path) -> Node:
    """Return the hospital's node config."""
    return {"name": "north", "data": str(ward), "state": str(tmp_path / "state of north")}


def secret(node: Node, run_id: int = 1, **config: object) -> bytes:
    settings = make_settings(**config)  # type: ignore[arg-type]
    return secret_of(
        Site(SimulatedContext(run_id, 7 + run_id, dict(node), RecordDict(), settings.to_config()))
    )


# The secret of a hospital


def test_it_is_the_same_in_every_run_whatever_its_settings(node: Node) -> None:
    first = secret(node)
    assert len(first) == 32
    assert {secret(node, run_id) for run_id in range(2, 6)} == {first}
    assert secret(node, seed=1, C=7.0, gamma="0.1", test_fraction=0.4, aggregation="k-secure") == first


@pytest.mark.slow
def test_it_is_the_same_after_a_restart(node: Node, forget: Callable[[], None]) -> None:
    first = secret(node)
    forget()
    assert secret(node) == first
    program = (
        "from flwr.app import Context, RecordDict\n"
        "from clients.gate.blur import secret_of\n"
        "from clients.site import Site\n"
        "from strategies.settings import make_settings\n"
        f"context = Context(3, 4, {node!r}, RecordDict(), make_settings().to_config())\n"
        "print(secret_of(Site(context)).hex())"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert bytes.fromhex(told.stdout) == first


def test_it_is_the_same_wherever_the_same_table_is_read_from(
    node: Node, ward: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forget: Callable[[], None]
) -> None:
    first = secret(node)
    moved = ward.rename(tmp_path / "moved.csv")
    assert secret({**node, "data": str(moved)}) == first
    monkeypatch.setattr("clients.table.source.LARGE", 0)
    cached = {**node, "data": str(moved), "cache": str(tmp_path / "cache")}
    for _ in range(2):
        forget()
        assert secret(cached) == first
    assert any((tmp_path / "cache").iterdir())


def other_cell(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age=[61.5, 47.25, 70.000001, np.nan])


def filled_cell(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.fillna(0.0)


def other_label(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(label=["yes", "no", "yes", "yes"])


def row_less(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[:-1]


def row_more(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([frame, frame.iloc[:1]])


def rows_exchanged(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[[1, 0, 2, 3]]


def other_name_of_a_column(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={"age": "years"})


@pytest.mark.parametrize(
    "change",
    [other_cell, filled_cell, other_label, row_less, row_more, rows_exchanged, other_name_of_a_column],
)
def test_a_changed_table_has_another(
    change: Callable[[pd.DataFrame], pd.DataFrame], node: Node, ward: Path
) -> None:
    """With the same secret, the difference of two runs would be the change, without any noise."""
    first, frame = secret(node), pd.read_csv(ward)
    change(frame).to_csv(ward, index=False)
    assert secret(node) != first
    frame.to_csv(ward, index=False)
    assert secret(node) == first


def test_another_hospital_has_another_for_the_same_table(node: Node, tmp_path: Path) -> None:
    assert secret({**node, "name": "south", "state": str(tmp_path / "state of south")}) != secret(node)


def test_hospitals_of_one_account_have_keys_of_their_own(node: Node, state_home: Path) -> None:
    del node["state"]
    assert len({secret({**node, "name": name}) for name in ("north", "south")}) == 2
    assert len({key.read_bytes() for key in state_home.glob(f"site-*/{KEY_FILE}")}) == 2


def test_a_new_key_makes_another_and_the_old_one_brings_it_back(node: Node) -> None:
    first, path = secret(node), Path(str(node["state"])) / KEY_FILE
    key = path.read_bytes()
    path.unlink()
    assert secret(node) != first
    path.write_bytes(key)
    assert secret(node) == first


# Its key


def test_the_key_is_the_hospitals_own_and_nothing_else_is_left(node: Node) -> None:
    secret(node)
    (key,) = Path(str(node["state"])).iterdir()
    assert key.name == KEY_FILE
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


def test_the_key_is_not_open_to_others_whatever_files_are_by_default(node: Node) -> None:
    before = os.umask(0)
    try:
        secret(node)
    finally:
        os.umask(before)
    assert (Path(str(node["state"])) / KEY_FILE).stat().st_mode & 0o777 == 0o600


def test_of_two_processes_that_make_a_key_the_first_wins(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a hospital's messages may have a process of its own."""
    link, path = os.link, Path(str(node["state"])) / KEY_FILE

    def late(unfinished: Path, place: Path) -> None:
        place.write_bytes(b"k" * 32)
        link(unfinished, place)

    monkeypatch.setattr("clients.gate.blur.os.link", late)
    found = secret(node)
    assert path.read_bytes() == b"k" * 32
    assert list(path.parent.iterdir()) == [path]
    monkeypatch.undo()
    assert secret(node) == found


@pytest.mark.parametrize("content", [b"", b"k" * 31, b"k" * 33, b"\n" * 64])
def test_a_damaged_key_is_refused_and_kept(content: bytes, node: Node) -> None:
    secret(node)
    path = Path(str(node["state"])) / KEY_FILE
    path.write_bytes(content)
    with pytest.raises(SettingError, match=r"'noise\.key' in the site's state folder is damaged") as refused:
        secret(node)
    assert str(node["state"]) not in str(refused.value)
    assert path.read_bytes() == content


def test_a_key_that_cannot_be_read_is_refused_without_its_path(node: Node) -> None:
    (Path(str(node["state"])) / KEY_FILE).mkdir(parents=True)
    Path(str(node["state"])).chmod(0o700)
    with pytest.raises(SettingError, match=r"Site 'north' cannot read or write 'noise\.key'") as refused:
        secret(node)
    assert str(node["state"]) not in str(refused.value)


def test_numpys_generators_have_no_part_in_it(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not cryptographic, and the run's seed would tell what they give."""

    def refuse(*_: object) -> None:
        raise AssertionError

    for name in ("default_rng", "random", "rand", "bytes", "uniform", "RandomState", "Generator", "PCG64"):
        monkeypatch.setattr(np.random, name, refuse)
    np.random.seed(0)
    first = secret(node)
    path = Path(str(node["state"])) / KEY_FILE
    path.unlink()
    np.random.seed(0)
    assert secret(node) != first


def test_that_of_a_simulated_site_follows_from_the_seed(state_home: Path) -> None:
    def simulated(site: int, seed: int, run_id: int = 1) -> bytes:
        node: Node = {"partition-id": site, "num-partitions": 3}
        return secret(node, run_id, data="wine", sites=3, seed=seed)

    assert simulated(0, 0) == simulated(0, 0, run_id=2)
    assert len({simulated(site, seed) for site in range(3) for seed in range(3)}) == 9
    assert not state_home.exists()
