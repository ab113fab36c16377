"""Hospitals with long-lived identities, and a coordinator that hands out keys of its own making."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from flwr.app import Message

from clients.app import app
from flower_pansvm import records
from flower_pansvm.errors import FederationError, PanSVMError, SettingError, SumError
from flower_pansvm.secure_sum.contract import Member, SumRound
from flower_pansvm.secure_sum.decoding import decode, words_needed
from flower_pansvm.secure_sum.keys import apply_mask
from flower_pansvm.secure_sum.new_identity import create_identity
from flower_pansvm.secure_sum.wire import keys_digest
from flower_pansvm.summing import AllKeys
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
    grid = grid_of(anonymous)
    false = in_the_middle(grid, victim=3)
    sent: dict[str, object] = {}
    answer = grid._answer

    def look(number: str, message: Message) -> Message:
        sent.update(records.get(message.content, "sum"))
        return answer(number, message)

    grid._answer = look  # type: ignore[method-assign]
    # With false keys the sum is noise; what the first site sent is not, to whom has made them.
    with pytest.raises(FederationError, match="is invalid"):
        ask_moments(grid)

    keys = {
        records.get(reply.content, "disclosed")["name"]: records.get(reply.content, "disclosed")["public_key"]
        for reply in grid.replies[:3]
    }
    handed_out = {
        **dict.fromkeys(NAMES, false.public_key().public_bytes_raw()),
        "hospital1": keys["hospital1"],
    }
    this = SumRound(
        *(str(grid.run.run_id), str(sent["task"]), int(sent["round_trip"]), int(sent["attempt"]), NAMES),  # type: ignore[call-overload]
        keys_digest(handed_out),  # type: ignore[arg-type]
    )
    payload = records.get(grid.replies[4].content, "sum")["payload"]
    words = np.frombuffer(payload.tobytes(), dtype="<u8").copy()  # type: ignore[union-attr]
    for giver, taker, other in (
        ("hospital0", "hospital1", "hospital0"),
        ("hospital1", "hospital2", "hospital2"),
    ):
        apply_mask(words, this, Member(other, false, {"hospital1": keys["hospital1"]}), giver, taker)  # type: ignore[dict-item]

    cells = np.loadtxt(hospital_files[1], delimiter=",", skiprows=1)
    labels = cells[:, 2].astype(int)
    trained = ~kept_rows(hospital_files[1])
    rows = decode(words[:2], (2,), COUNT, 3)
    assert list(rows) == list(np.bincount(labels[trained]))
    total = decode(words[5 : 5 + words_needed(2, None)], (2,), None, 3)
    assert np.allclose(total, cells[trained, :2].sum(axis=0), rtol=1e-12)


def test_a_site_that_the_roster_does_not_name(identified: Nodes, tmp_path: Path) -> None:
    roster = (tmp_path / "roster.json").read_text()
    (tmp_path / "short.json").write_text("{" + roster[roster.index('"hospital1"') :])
    identified[1]["roster"] = str(tmp_path / "short.json")
    with pytest.raises(SumError, match="roster"):
        train(identified)


def test_a_site_without_an_identity_is_refused_by_those_with_a_roster(identified: Nodes) -> None:
    del identified[0]["identity"], identified[0]["roster"]
    with pytest.raises(SumError, match="signed"):
        train(identified)


def test_a_site_with_another_identity_than_the_roster_says(identified: Nodes, tmp_path: Path) -> None:
    create_identity(tmp_path / "new.pem")
    identified[2]["identity"] = str(tmp_path / "new.pem")
    with pytest.raises(SumError, match="signed"):
        train(identified)


def test_two_sites_cannot_exchange_their_names(identified: Nodes) -> None:
    identified[0]["name"], identified[1]["name"] = identified[1]["name"], identified[0]["name"]
    with pytest.raises(SumError, match="signed"):
        train(identified)


@pytest.mark.parametrize("key", ["identity", "roster"])
def test_files_that_cannot_be_used(key: str, identified: Nodes, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("{")
    identified[1][key] = str(tmp_path / "broken")
    with pytest.raises(SettingError, match="'broken'"):
        train(identified)


def test_a_name_in_two_spellings_is_two_sites(identified: Nodes) -> None:
    identified[0]["name"] = "Hospital0"
    with pytest.raises(PanSVMError, match="roster"):
        train(identified)
