"""Hospitals with long-lived identities, and a coordinator that hands out keys of its own making."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from flwr.app import Message

from clients.app import app
from flower_pansvm import records
from flower_pansvm.errors import FederationError, SettingError, SumError
from flower_pansvm.secure_sum.contract import Member, SumRound
from flower_pansvm.secure_sum.decoding import decode, words_needed
from flower_pansvm.secure_sum.keys import apply_mask
from flower_pansvm.secure_sum.new_identity import create_identity
from flower_pansvm.summing import AllKeys, keys_digest
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.tasks import COUNT, Nothing
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.federation.federation import Federation
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import Settings, make_settings
from tests.conftest import kept_rows, write_identities
from tests.grids import meddle

pytestmark = pytest.mark.usefixtures("begun_ledgers")

SETTINGS = make_settings(sites=3, min_cluster=2, privacy="exact", tol=1e-3)
NAMES = ("hospital0", "hospital1", "hospital2")
Nodes = list[dict[str, Scalar]]


@pytest.fixture
def anonymous(hospital_files: list[Path]) -> Nodes:
    """Node configs of three hospitals that pin nothing."""
    return [
        {"data": str(file), "name": name, "min-cluster": 2, "privacy": "exact"}
        for name, file in zip(NAMES, hospital_files, strict=True)
    ]


@pytest.fixture
def identified(anonymous: Nodes, tmp_path: Path) -> Nodes:
    """Node configs of three hospitals, each with an identity and the roster file of all."""
    return [{**node, **own} for node, own in zip(anonymous, write_identities(tmp_path, NAMES), strict=True)]


def grid_of(nodes: Nodes, settings: Settings = SETTINGS) -> InProcessGrid:
    return InProcessGrid(app, nodes, settings.to_config())


def train(nodes: Nodes, settings: Settings = SETTINGS) -> PanSVM:
    strategy = PanSVM(settings)
    strategy.start(grid_of(nodes, settings))
    return strategy


@pytest.mark.parametrize("aggregation", ["ring", "k-secure"])
def test_hospitals_with_identities_train_the_same_model(
    aggregation: str, anonymous: Nodes, identified: Nodes
) -> None:
    settings = make_settings(sites=3, min_cluster=2, aggregation=aggregation, privacy="exact", tol=1e-3)
    models = []
    for nodes in (anonymous, identified):
        strategy = train(nodes, settings)
        assert strategy.training.progress[0].gap <= 1e-3
        models.append(strategy.model.sha256())
    assert models[0] == models[1]


def test_signatures_travel_and_differ_from_run_to_run(identified: Nodes) -> None:
    seen = set()
    for run_id in (1, 2):
        grid = InProcessGrid(app, identified, SETTINGS.to_config(), run_id)
        strategy = PanSVM(SETTINGS)
        strategy.join(Federation(grid, SETTINGS))
        seen |= {bytes(records.get(reply.content, "disclosed")["signature"]) for reply in grid.replies}  # type: ignore[arg-type]
    assert len(seen) == 6
    assert {len(signature) for signature in seen} == {64}


def in_the_middle(grid: InProcessGrid, victim: int) -> X25519PrivateKey:
    """Make the coordinator give node ``victim`` its own key in place of every other site's; return that key."""
    false = X25519PrivateKey.generate()
    public = false.public_key().public_bytes_raw()

    def swap(message: Message) -> None:
        if message.metadata.dst_node_id == victim and records.has(message.content, "keys"):
            own = NAMES[victim - 2]
            keys = records.read(message.content, "keys", AllKeys).by_site()
            changed = {
                name: one if name == own else replace(one, public_key=public) for name, one in keys.items()
            }
            records.write(message.content, "keys", AllKeys.of(changed))

    meddle(grid, swap)
    return false


def ask_moments(grid: InProcessGrid) -> None:
    """Join the sites and ask for the first secure sum of a run."""
    strategy = PanSVM(SETTINGS)
    strategy.federation = Federation(grid, SETTINGS)
    strategy.join(strategy.federation)
    strategy.federation.secure_sum(MOMENTS, Nothing())


@pytest.mark.parametrize("victim", [2, 3, 4])
def test_with_a_roster_a_coordinator_that_swaps_keys_is_refused(victim: int, identified: Nodes) -> None:
    grid = grid_of(identified)
    in_the_middle(grid, victim)
    with pytest.raises(SumError, match="signed"):
        ask_moments(grid)
    answered = {reply.metadata.src_node_id for reply in grid.replies[3:] if reply.has_content()}
    assert victim not in answered


def test_without_a_roster_a_coordinator_that_swaps_keys_reads_the_first_sum(
    anonymous: Nodes, hospital_files: list[Path]
) -> None:
    grid, sent = grid_of(anonymous), dict[str, Any]()
    false = in_the_middle(grid, victim=3)
    meddle(grid, lambda message: sent.update(records.get(message.content, "sum")))
    # With false keys the sum is noise; what the first site sent is not, to whom has made them.
    with pytest.raises(FederationError, match="is invalid"):
        ask_moments(grid)

    disclosed: list[Any] = [records.get(reply.content, "disclosed") for reply in grid.replies[:3]]
    own = {"hospital1": next(one["public_key"] for one in disclosed if one["name"] == "hospital1")}
    handed_out = {**dict.fromkeys(NAMES, false.public_key().public_bytes_raw()), **own}
    which = str(sent["task"]), int(sent["round_trip"]), int(sent["attempt"])
    this = SumRound(str(grid.run.run_id), *which, NAMES, keys_digest(handed_out))
    payload: Any = records.get(grid.replies[4].content, "sum")["payload"]
    words = np.frombuffer(payload.tobytes(), dtype="<u8").copy()
    for giver, taker, other in (NAMES[0], NAMES[1], NAMES[0]), (NAMES[1], NAMES[2], NAMES[2]):
        apply_mask(words, this, Member(other, false, own), giver, taker)

    cells = np.loadtxt(hospital_files[1], delimiter=",", skiprows=1)[~kept_rows(hospital_files[1])]
    rows = decode(words[:2], (2,), COUNT, 3)
    assert list(rows) == list(np.bincount(cells[:, 2].astype(int)))
    total = decode(words[7 : 7 + words_needed(2, None)], (2,), None, 3)
    assert np.allclose(total, cells[:, :2].sum(axis=0), rtol=1e-12)


def short_roster(nodes: Nodes, folder: Path) -> None:
    roster = (folder / "roster.json").read_text()
    (folder / "short.json").write_text("{" + roster[roster.index('"hospital1"') :])
    nodes[1]["roster"] = str(folder / "short.json")


def other_identity(nodes: Nodes, folder: Path) -> None:
    create_identity(folder / "new.pem")
    nodes[2]["identity"] = str(folder / "new.pem")


def no_identity(nodes: Nodes, folder: Path) -> None:
    del nodes[0]["identity"], nodes[0]["roster"]


def names_exchanged(nodes: Nodes, folder: Path) -> None:
    nodes[0]["name"], nodes[1]["name"] = nodes[1]["name"], nodes[0]["name"]


def name_spelt_otherwise(nodes: Nodes, folder: Path) -> None:
    nodes[0]["name"] = "Hospital0"


STRANGERS = [short_roster, other_identity, no_identity, names_exchanged, name_spelt_otherwise]


@pytest.mark.parametrize("change", STRANGERS)
def test_a_site_that_is_not_whom_the_roster_names_is_refused(
    change: Callable[[Nodes, Path], None], identified: Nodes, tmp_path: Path
) -> None:
    change(identified, tmp_path)
    with pytest.raises(SumError, match=r"roster|signed"):
        train(identified)


@pytest.mark.parametrize("key", ["identity", "roster"])
def test_a_file_that_cannot_be_used_ends_the_run(key: str, identified: Nodes, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("{")
    identified[1][key] = str(tmp_path / "broken")
    with pytest.raises(SettingError, match="'broken'"):
        train(identified)
