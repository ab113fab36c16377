"""Sites that were not told the same share no masks, and what a hospital insists on without being told."""

import secrets
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from flwr.app import Message
from numpy.typing import NDArray

from clients.gate.replay_guard import turn
from clients.membership import ALL_KEYS
from clients.policy import HospitalPolicy, accepted_protocol, warn_of_risks
from clients.seeds import SLOTS
from clients.site import Site
from clients.systems.pan_svm import own_slots
from flower_pansvm import records
from flower_pansvm.errors import FederationError, PanSVMError, SettingError, SumError, TableError
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.secure_sum.decoding import decode
from flower_pansvm.secure_sum.mask_graph import partners
from flower_pansvm.secure_sum.protocols.k_secure import KSecure
from flower_pansvm.secure_sum.protocols.ring_hops import RingHops
from flower_pansvm.secure_sum.registry import PROTOCOLS
from flower_pansvm.secure_sum.wire import from_bytes
from flower_pansvm.summing import RELAY, AllKeys, keys_digest
from flower_pansvm.systems.pan_svm.cuts import Problem, Question
from flower_pansvm.systems.pan_svm.tasks import (
    CUTS,
    FEATURE_MAP,
    LANDMARK_SET,
    WARM_START,
    FeatureMapBroadcast,
    LandmarkBroadcast,
)
from flower_pansvm.systems.scaling import ROWS, SCALING, ScalingBroadcast
from flower_pansvm.systems.selection import SUPPORT, Duals
from flower_pansvm.tasks import COUNT, Nothing, Task, bounds_of, sum_name
from flower_pansvm.terms import Scalar, Terms
from simulations.engines.in_process import InProcessGrid, in_process_grid
from strategies.federation.federation import Federation
from strategies.master.packing import pack_duals, pack_problems, pack_questions
from strategies.settings import Settings, make_settings
from tests.conftest import MakeGrid, kept_rows, write_hospitals
from tests.contexts import own_hospital
from tests.grids import meddle

Join = Callable[[InProcessGrid, Settings], Federation]
Enrolled = Callable[..., Federation]
VICTIM = 3
"""Node id of hospital1."""


def grid_of(federation: Federation) -> InProcessGrid:
    return cast(InProcessGrid, federation.grid)


# Sites that are told different protocols


@pytest.fixture
def five_files(tmp_path: Path) -> list[Path]:
    return write_hospitals(tmp_path, 200, 5)


NAMES = tuple(f"hospital{number}" for number in range(5))
RING = make_settings(sites=5, min_sites=5, min_cluster=2, privacy="exact")
PAIRS = replace(RING, protocol=KSecure(k=2))
OUTSIDE = NAMES[0]
"""The hospital whose masks are to fall away: the sum of the others is learned, and so are its own numbers."""

TOLD = {
    OUTSIDE: RING,
    **dict.fromkeys(("hospital2", "hospital3"), RING),
    **dict.fromkeys(("hospital1", "hospital4"), PAIRS),
}
WANTED = [{"hospital1", "hospital2"}, {"hospital1", "hospital4"}, {"hospital3", "hospital4"}]
"""Pairs that must share masks on the circle of k-secure, so that with those of the ring four sites cancel."""


def rows_of(files: list[Path]) -> NDArray[np.float64]:
    """Return the training rows of each class in the files together."""
    parts = []
    for file in files:
        labels = pd.read_csv(file)["label"].to_numpy()
        parts.append(np.bincount(labels[~kept_rows(file)], minlength=2))
    return np.sum(parts, axis=0).astype(np.float64)


def sum_of_four(files: list[Path], hospitals: MakeGrid, enrol: Join) -> NDArray[np.float64]:
    """Return what four of five payloads add up to, if the sites were told protocols whose masks cancel so.

    The circle of k-secure suits one run in twelve; before it was drawn from the keys, one number of a round trip in
    twelve.
    """
    for run_id in range(1, 400):
        grid = hospitals(RING, files, {"min-sites": 5}, run_id=run_id)
        for context in grid._contexts.values():
            context.run_config = dict(TOLD[str(context.node_config["name"])].to_config())
        federation = enrol(grid, RING)
        keys = keys_digest(
            {name: one.keys.public_key + one.keys.published for name, one in federation.sites.items()}
        )
        this = SumRound(str(run_id), "", 1, 0, NAMES, keys)
        circle = [{name, other} for name in NAMES for other in partners(this, name, 2)]
        if all(pair in circle for pair in WANTED):
            return _added_up(federation)
    raise AssertionError("no circle suits the attack")


def _added_up(federation: Federation) -> NDArray[np.float64]:
    grid = grid_of(federation)
    schema = {"schema": records.digest(federation.pending.broadcasts["schema"])}

    def rename(message: Message) -> None:
        settings = TOLD[str(grid._contexts[message.metadata.dst_node_id].node_config["name"])]
        bounds = bounds_of(ROWS, Nothing(), settings.terms, 5)
        name = sum_name(ROWS, {}, bounds, schema, settings.terms.digest)
        records.put(message.content, "sum", {**records.get(message.content, "sum"), "task": name})

    meddle(grid_of(federation), rename)
    federation.secure_sum(ROWS, Nothing())
    others = [reply for reply in grid.replies[-5:] if reply.metadata.src_node_id != 2]
    payloads = [cast(NDArray[np.uint8], records.get(reply.content, "sum")["payload"]) for reply in others]
    words = np.sum([from_bytes(payload.tobytes(), "") for payload in payloads], axis=0, dtype=np.uint64)
    return decode(words, (2,), COUNT, 5)


@pytest.mark.usefixtures("unchecked")
def test_sites_that_were_told_different_protocols_share_no_masks(
    five_files: list[Path], hospitals: MakeGrid, enrol: Join
) -> None:
    found = sum_of_four(five_files, hospitals, enrol)
    assert np.abs(found - rows_of(five_files[1:])).min() > 1000


@pytest.mark.usefixtures("unchecked")
def test_they_would_if_the_settings_were_not_in_the_name(
    five_files: list[Path], hospitals: MakeGrid, enrol: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack itself works: the test above does not pass because of a fault in it."""
    monkeypatch.setattr("flower_pansvm.terms.Terms.digest", "")
    assert (sum_of_four(five_files, hospitals, enrol) == rows_of(five_files[1:])).all()


def test_the_settings_cannot_change_within_a_run(federation: Federation, ask_moments: Any) -> None:
    ask_moments(federation)
    context = grid_of(federation)._contexts[VICTIM]
    context.run_config = dict(replace(federation.settings, protocol=RingHops()).to_config())
    with pytest.raises(SumError, match="not those that site 'hospital1' has joined it with"):
        ask_moments(federation)


def test_in_a_relay_step_no_other_keys_are_handed_out(enrolled: Enrolled, ask_moments: Any) -> None:
    """Otherwise the coordinator puts a key of its own in the place of the next site's."""
    federation = enrolled(protocol=RingHops())

    def swap(message: Message) -> None:
        if message.metadata.message_type == RELAY.message_type:
            context = grid_of(federation)._contexts[VICTIM]
            with turn(context) as hospital:
                public = records.read(hospital.state, ALL_KEYS, AllKeys).by_site()
            other = replace(public["hospital2"], public_key=secrets.token_bytes(32))
            records.write(message.content, "keys", AllKeys.of({**public, "hospital2": other}))

    meddle(grid_of(federation), swap)
    with pytest.raises(SumError, match="step"):
        ask_moments(federation)


# Landmarks that are asked for again


@pytest.mark.parametrize("turned_by", [1, 2])
def test_a_rotated_roster_is_refused(turned_by: int, federation: Federation, ask_moments: Any) -> None:
    """By landmarks asked for with each rotation, each of them could be told apart by its site."""
    ask_moments(federation)
    names = list(federation.sites)
    turned = names[turned_by:] + names[:turned_by]
    federation.enrol(federation.sites)
    public = {name: federation.sites[name].keys for name in turned}
    meddle(grid_of(federation), lambda message: records.write(message.content, "keys", AllKeys.of(public)))
    federation.sites = {name: federation.sites[name] for name in turned}
    with pytest.raises(SumError, match="sorted"):
        federation.secure_sum(ROWS, Nothing())


def test_a_site_that_was_left_out_does_not_come_back(enrolled: Enrolled, ask_moments: Any) -> None:
    federation = enrolled({"min-sites": 2}, min_sites=2)
    everyone = dict(federation.sites)
    ask_moments(federation)
    del federation.sites["hospital0"]
    federation.secure_sum(ROWS, Nothing())
    federation.sites = {name: everyone[name] for name in ("hospital0", "hospital1")}
    with pytest.raises(SumError, match="gained"):
        federation.secure_sum(ROWS, Nothing())


def test_a_second_seed_of_slots_is_refused(federation: Federation, ask_moments: Any) -> None:
    ask_moments(federation)
    ask_moments(federation)  # the first sum may be asked again: the seed stays the same
    federation.secure_sum(ROWS, Nothing())
    context = grid_of(federation)._contexts[2]
    with turn(context) as hospital:
        records.put(hospital.state, f"first.{SLOTS}", {"value": secrets.token_bytes(32)})
    ask_moments(federation)
    with pytest.raises(FederationError, match="slots"):
        federation.secure_sum(ROWS, Nothing())


def slots(
    this: SumRound, seed: bytes, slots_per_site: int, total: int = 0, number: int = 0
) -> dict[str, set[int]]:
    """Return the slots of each site of a sum, which has no more than its name, a seed and the sum."""
    known: dict[str, Any] = {"participation": SimpleNamespace(sum_round=this), "remembered": lambda _: seed}
    sites = [SimpleNamespace(name=name, **known) for name in this.roster]
    total = total or slots_per_site * len(this.roster)
    return {
        site.name: set(own_slots(cast(Site, site), slots_per_site, total, number).tolist()) for site in sites
    }


def test_slots_of_a_sum_are_dealt_out_once_and_all() -> None:
    dealt = slots(SumRound("r", "landmarks x", 4, 0, NAMES), bytes(32), 7)
    assert all(len(own) == 7 for own in dealt.values())
    assert set.union(*dealt.values()) == set(range(35))
    turns = [slots(SumRound("r", "landmarks x", trip, 0, NAMES), bytes(32), 1, total=2) for trip in range(40)]
    assert all(sorted(map(len, dealt.values())) == [0, 0, 0, 1, 1] for dealt in turns)
    assert all(set.union(*dealt.values()) == {0, 1} for dealt in turns)
    assert all(any(dealt[name] for dealt in turns) for name in NAMES)


@pytest.mark.parametrize(
    ("change", "slots_per_site", "number"),
    [
        *(({"round_trip": 5}, 40, 0), ({"attempt": 1}, 40, 0)),
        *(({"task": "landmarks y"}, slots_per_site, 0) for slots_per_site in (40, 41)),
        ({}, 40, 1),  # of the scaling, within one sum
    ],
    ids=str,
)
def test_slots_of_two_sums_have_nothing_to_do_with_each_other(
    change: dict[str, Any], slots_per_site: int, number: int
) -> None:
    """With more slots for each site, those of the first site were always among the lowest of the same draw.

    One question with several shares of rows as landmarks told which are of the same site, and how many rows it has.
    """
    this = SumRound("r", "landmarks x", 4, 0, NAMES)
    shares = []
    for seed in (count.to_bytes(32, "big") for count in range(40)):
        first = slots(this, seed, 40)
        second = slots(replace(this, **change), seed, slots_per_site, number=number)
        shares += [len(first[name] & second[name]) / 40 for name in NAMES]
    assert abs(np.mean(shares) - 0.2) < 0.02


# Feature maps and weights of classes


def tell_map(federation: Federation, **changed: records.Value) -> None:
    scaling = ScalingBroadcast(np.zeros((1, 2)), np.array([[50.0, 0.0]]), np.array([[10.0, 0.01]]))
    federation.broadcast(SCALING, scaling)
    federation.broadcast(LANDMARK_SET.numbered(0), LandmarkBroadcast(0, np.array([[0.0, 0.0]])))
    told = FeatureMapBroadcast(0, np.full(2, True), "rbf", 1.0, np.eye(1, dtype=np.float32))
    federation.broadcast(FEATURE_MAP.numbered(0), replace(told, **changed))


def ask_cuts(federation: Federation, weights: tuple[float, float] = (1.0, 1.0), width: float = 1.0) -> Any:
    problem = Problem("", 1, 180.0 * max(weights), 1.0, Pair(1, REST), weights=weights)
    inputs = pack_questions([problem], [Question(np.zeros((1, 2)), np.zeros(2), width)])
    return federation.secure_sum(CUTS, inputs)


@pytest.mark.parametrize(
    ("kernel", "normalization"),
    [("linear", np.eye(1)), ("rbf", np.full((1, 1), 1e6)), ("rbf", np.full((1, 2), 0.7))],
)
def test_a_map_that_makes_rows_longer_than_agreed_is_refused(
    kernel: str, normalization: NDArray[np.float64], federation: Federation, ask_moments: Any
) -> None:
    """With a length of the coordinator's choice, a bound would be of its choice, too."""
    ask_moments(federation)
    tell_map(federation)
    assert np.isfinite(ask_cuts(federation).a).all()
    tell_map(federation, kernel=kernel, normalization=normalization.astype(np.float32))
    with pytest.raises(FederationError, match="'rbf'"):
        ask_cuts(federation)


def ask_with(task: Task[Any, Any], federation: Federation, weights: tuple[float, float]) -> Any:
    problem = Problem("", 1, 180.0, 1.0, Pair(1, REST), weights=weights)
    own = {
        SUPPORT: lambda: pack_duals([problem], [Duals(np.zeros((1, 2)), np.ones(1))]),
        WARM_START: lambda: pack_problems([problem]),
    }
    return federation.secure_sum(task, own[task]()) if task in own else ask_cuts(federation, weights)


@pytest.mark.parametrize("task", [CUTS, SUPPORT, WARM_START], ids=lambda task: task.name)
@pytest.mark.parametrize(
    ("class_weight", "allowed", "wrong"),
    [
        ("none", [(1.0, 1.0)], [(0.0, 1.0), (1.0, 2.0)]),
        (
            "balanced",
            [(0.5, 1000.0), (1.0, 1.0), (7.25, 0.6)],
            [(1.0, 0.0), (0.4, 1.0), (1.0, 1001.0), (float("nan"), 1.0), (-1.0, 1.0)],
        ),
    ],
)
def test_weights_of_classes_that_the_settings_do_not_allow_are_refused(
    class_weight: str,
    allowed: list[tuple[float, float]],
    wrong: list[tuple[float, float]],
    task: Task[Any, Any],
    enrolled: Enrolled,
    ask_moments: Any,
) -> None:
    for run_id, weights in enumerate(wrong, start=2):
        federation = enrolled(run_id=run_id, class_weight=class_weight)
        ask_moments(federation)
        tell_map(federation)
        if task is CUTS:
            for right in allowed:
                assert np.isfinite(ask_cuts(federation, right).loss).all()
        with pytest.raises(SettingError, match="weights"):
            ask_with(task, federation, weights)


# What a hospital insists on

WARNING = "the node config has no"


def test_paillier_is_refused_by_hospitals_that_have_not_agreed_to_it(
    enrolled: Enrolled, hospital_files: list[Path], ask_moments: Any
) -> None:
    paillier = PROTOCOLS["paillier"](key_bits=2048)
    with pytest.raises(SumError, match="'paillier'"):
        enrolled(protocol=paillier)
    agreed = enrolled({"aggregation": "paillier"}, 2, protocol=paillier)
    assert ask_moments(agreed)["rows"].sum() == rows_of(hospital_files).sum()


def test_a_site_has_no_more_rows_than_the_bounds_are_made_for(
    federation: Federation, ask_moments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clients.rows.MOST_ROWS", 59)
    with pytest.raises(TableError, match="rows") as refused:
        ask_moments(federation)
    assert "60" not in str(refused.value)


@pytest.mark.parametrize(
    ("node", "aggregation", "missing"),
    [
        ({}, "ring", ["roster", "aggregation"]),
        ({}, "k-secure", ["roster", "aggregation", "k"]),
        ({"aggregation": "ring"}, "ring", ["roster"]),
        ({"aggregation": "k-secure", "k": 3}, "k-secure", ["roster"]),
        ({"aggregation": "k-secure"}, "k-secure", ["roster", "k"]),
    ],
    ids=str,
)
def test_a_hospital_is_warned_of_pins_that_it_has_not(
    node: dict[str, Scalar], aggregation: str, missing: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    here = own_hospital({"name": "north", **node}, aggregation=aggregation)
    warn_of_risks(here.policy, here.terms)
    warned = [line for line in caplog.messages if line.startswith(WARNING)]
    assert [line.split("'")[1] for line in warned] == missing


def test_hospitals_are_warned_when_they_join_and_simulated_sites_are_not(
    enrolled: Enrolled, enrol: Join, caplog: pytest.LogCaptureFixture
) -> None:
    enrolled()
    assert sum(line.startswith(WARNING) for line in caplog.messages) == 3 * 2
    caplog.clear()
    simulated = make_settings(data="wine", sites=3)
    enrol(in_process_grid(simulated), simulated)
    assert not any(line.startswith(WARNING) for line in caplog.messages)


# The state folder


def test_an_open_state_folder_ends_the_run_before_anything_is_sent(
    settings: Settings, hospital_files: list[Path], hospitals: MakeGrid, enrol: Join, tmp_path: Path
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    grid = hospitals(settings, hospital_files, {"state": str(tmp_path / "open")})
    with pytest.raises(PanSVMError, match="accounts"):
        enrol(grid, settings)
    assert grid.replies
    assert all(reply.has_error() for reply in grid.replies)


def test_a_secure_sum_of_another_package_is_refused_and_not_imported_unless_the_hospital_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = EntryPoint("theirs", "a_package_that_raises_when_it_is_imported:Sum", "flower_pansvm.protocols")
    monkeypatch.setattr("flower_pansvm.registry._installed", lambda _: (point,))
    asked = Terms(aggregation="theirs")
    with pytest.raises(SumError, match="'theirs'"):
        accepted_protocol(HospitalPolicy(), asked, "north")
    with pytest.raises(SettingError, match="ModuleNotFoundError"):
        accepted_protocol(HospitalPolicy(aggregation="theirs"), asked, "north")
