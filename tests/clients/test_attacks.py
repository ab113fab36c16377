"""An active coordinator: what a site prevents, and what is possible all the same."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from flwr.app import Message
from numpy.typing import NDArray

from clients.gate.replay_guard import turn
from clients.hospital import hospital_of
from clients.site import Site
from flower_pansvm import records
from flower_pansvm.errors import FederationError, SettingError, SumError, TableError
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.systems.common import JOIN, SCHEMA, JoinQuestion, SchemaBroadcast
from flower_pansvm.systems.pan_svm.cuts import Cuts, Problem, Question
from flower_pansvm.systems.pan_svm.tasks import (
    CUTS,
    LANDMARKS,
    SCORES,
    LandmarksQuestion,
)
from flower_pansvm.systems.scaling import EXTREMES, MOMENTS, NO_FOLD, ROWS, SCALING, ScalingBroadcast
from flower_pansvm.tasks import UNKNOWN, Broadcast, Nothing, Task, bounds_of, sum_name
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.federation.federation import Federation
from strategies.master.packing import pack_questions, unpack_answers
from tests.conftest import kept_rows
from tests.grids import meddle

Enrolled = Callable[..., Federation]
VICTIM = 3
"""Node id of hospital1."""


def sites_of(federation: Federation) -> InProcessGrid:
    return cast(InProcessGrid, federation.grid)


def sum_name_of(federation: Federation, task: Task, told: dict[str, str]) -> str:
    """Return what sites that were told so call a sum without inputs."""
    bounds = bounds_of(task, Nothing(), federation.terms, len(federation.sites))
    return sum_name(task, {}, bounds, told, federation.terms.digest)


def training_rows(file: Path) -> NDArray[np.float64]:
    """Return how many rows of each class a hospital trains on."""
    labels = np.loadtxt(file, delimiter=",", skiprows=1, usecols=2, dtype=int)
    return np.bincount(labels[~kept_rows(file)]).astype(np.float64)


def all_rows(files: list[Path]) -> NDArray[np.float64]:
    return np.vstack([pd.read_csv(file)[["age", "dose"]].to_numpy() for file in files])


def distance_to_a_row(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    nearest: NDArray[np.float64] = np.abs(points[:, None, :] - rows[None, :, :]).max(axis=2).min(axis=1)
    return nearest


# One site asked something else than the others


def ask_others_something_else(message: Message) -> records.Values | None:
    """Have all sites but the victim keep nearly all their rows for evaluation; return what they were told."""
    schema = records.get(message.content, "broadcast.schema")
    if message.metadata.dst_node_id == VICTIM or not schema:
        return None
    records.put(message.content, "broadcast.schema", {**schema, "seed": 7})
    return records.get(message.content, "broadcast.schema")


def test_a_coordinator_cannot_ask_the_others_something_else(federation: Federation, ask_moments: Any) -> None:
    meddle(sites_of(federation), ask_others_something_else)  # type: ignore[arg-type]
    with pytest.raises(SumError, match="'moments'"):
        ask_moments(federation)


@pytest.mark.usefixtures("unchecked")
def test_if_it_hides_that_from_each_site_it_gets_noise(
    federation: Federation, hospital_files: list[Path], ask_moments: Any
) -> None:
    def rename(message: Message) -> None:
        other = ask_others_something_else(message)
        if other is not None:
            name = sum_name_of(federation, MOMENTS, {"schema": records.digest(other)})
            records.put(message.content, "sum", {**records.get(message.content, "sum"), "task": name})

    meddle(sites_of(federation), rename)
    sums = ask_moments(federation)
    assert np.abs(sums["rows"] - training_rows(hospital_files[1])).min() > 1000


def test_a_site_does_no_task_under_the_name_of_another(federation: Federation, ask_moments: Any) -> None:
    def rename(message: Message) -> None:
        told = {"schema": records.digest(records.get(message.content, "broadcast.schema"))}
        name = sum_name_of(federation, SCORES, told)
        records.put(message.content, "sum", {**records.get(message.content, "sum"), "task": name})

    meddle(sites_of(federation), rename)
    with pytest.raises(SumError, match="'moments'"):
        ask_moments(federation)


# The same site asked again


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"test_fraction": 0.19}, {"folds": 2}, {"columns": ("dose", "age")}],
    ids=str,
)
def test_the_split_cannot_change_within_a_run(
    change: dict[str, Any], federation: Federation, ask_moments: Any
) -> None:
    """Otherwise the difference of two sums is about the rows that changed sides."""
    schema = records.message_of(SchemaBroadcast, federation.pending.broadcasts["schema"], "schema")
    ask_moments(federation)
    federation.broadcast(SCHEMA, schema)
    ask_moments(federation)  # the very same schema may be told again
    federation.broadcast(SCHEMA, replace(schema, **change))
    with pytest.raises(FederationError, match="schema"):
        ask_moments(federation)


def test_a_site_joins_a_run_once(federation: Federation) -> None:
    with pytest.raises(SumError, match="joined"):
        federation.collect(JOIN, JoinQuestion(()))


@pytest.mark.parametrize("bound", [1e-9, 1.0, 1e3, 1e6, 1e12])
def test_no_bound_is_the_coordinators_to_choose(
    bound: float, federation: Federation, ask_moments: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bound tells whether a site's own number is above it: 27 runs told a column's total to three digits."""

    def find(message: Message) -> None:
        assert not records.has(message.content, "bounds")
        records.put(message.content, "bounds", {"total": bound, "square": bound})

    expected = ask_moments(federation)
    meddle(sites_of(federation), find)
    sums = ask_moments(federation)
    assert all((sums[name] == expected[name]).all() for name in expected)
    others = {**dict.fromkeys(MOMENTS.summed, UNKNOWN), "total": bound}
    monkeypatch.setattr("strategies.federation.federation.bounds_of", lambda *_: others)
    with pytest.raises(SumError, match="'moments'"):
        ask_moments(federation)


@pytest.mark.usefixtures("unchecked")
def test_a_refused_value_cannot_be_searched_for(federation: Federation, ask_moments: Any) -> None:
    """The coordinator chooses the units: no value is refused in any. After another refusal a site answers no more."""
    ask_moments(federation)
    # In these units every cell is larger than any is in an honest run.
    gather_landmarks(federation, scale=np.full((1, 2), 1e-12))
    with pytest.raises(SettingError, match="min-cluster"):
        gather_landmarks(federation, min_cluster=1)
    assert all(reply.has_error() for reply in sites_of(federation).replies[-3:])
    for ask in (ask_moments, gather_landmarks):
        with pytest.raises(SumError, match="reported"):
            ask(federation)


def test_after_a_refusal_a_site_discloses_nothing_more(enrolled: Enrolled, ask_moments: Any) -> None:
    """What is disclosed is in no sum: of such tasks a coordinator repeated each refused question with other numbers."""
    federation = enrolled({"extremes": "agreed"}, scaling="minmax")
    ask_moments(federation)
    federation.collect(EXTREMES, Nothing())
    with pytest.raises(SettingError, match="min-cluster"):
        gather_landmarks(federation, min_cluster=1)
    with pytest.raises(SumError, match="reported"):
        federation.collect(EXTREMES, Nothing())


# A few rows only


@pytest.mark.parametrize("fraction", [0.9, 0.98])
def test_a_split_that_leaves_a_few_rows_is_refused(
    fraction: float, enrolled: Enrolled, ask_moments: Any
) -> None:
    federation = enrolled({"min-cluster": 20}, test_fraction=fraction)
    with pytest.raises(TableError, match="rows"):
        ask_moments(federation)


def gather_landmarks(federation: Federation, **inputs: Any) -> dict[str, Any]:
    scale = inputs.pop("scale", np.ones((1, 2)))
    scaling: records.Values = {"fill": np.zeros((1, 2)), "shift": np.zeros((1, 2)), "scale": scale}
    federation.broadcast(SCALING, ScalingBroadcast(**scaling))
    usual = LandmarksQuestion(
        np.array([NO_FOLD]), np.ones(1), slots_per_site=60, slots=180, min_cluster=2, seed=0
    )
    return vars(federation.secure_sum(LANDMARKS, replace(usual, **inputs)))


def test_landmarks_of_single_rows_are_refused(federation: Federation, ask_moments: Any) -> None:
    ask_moments(federation)
    with pytest.raises(SettingError, match="min-cluster=1"):
        gather_landmarks(federation, min_cluster=1)


def test_without_a_floor_landmarks_are_the_rows_themselves(
    enrolled: Enrolled, hospital_files: list[Path], ask_moments: Any
) -> None:
    """What the paper's method discloses when each row is a landmark, and why hospitals have a floor."""
    federation = enrolled({"min-cluster": 1})
    ask_moments(federation)
    sums = gather_landmarks(federation, min_cluster=1)
    found = sums["centres"][sums["filled"] > 0]
    assert len(found) == sum(training_rows(file).sum() for file in hospital_files)
    assert (distance_to_a_row(found, all_rows(hospital_files)) < 1e-9).all()


# What is not the coordinator's to say


@pytest.mark.parametrize(
    ("node", "scaling"),
    [({}, "minmax"), ({"scaling": "minmax"}, "minmax"), ({"extremes": "agreed"}, "standard")],
    ids=str,
)
def test_extremes_are_not_disclosed_in_a_run_that_does_not_scale_by_them(
    node: dict[str, Scalar],
    scaling: str,
    enrolled: Enrolled,
    ask_moments: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor in one without the hospital's consent; and it is refused before anything is computed."""
    federation = enrolled(node, scaling=scaling)
    ask_moments(federation)
    monkeypatch.setattr("clients.systems.scaling._by_fold", None)
    with pytest.raises(SettingError, match="does not disclose"):
        federation.collect(EXTREMES, Nothing())


@pytest.mark.parametrize(
    ("per_site", "slots"),
    [*((slots, slots) for slots in (10**9, 2**62, 0, -1)), *((60, slots) for slots in (60, 100, 179, 2))],
)
def test_a_huge_matrix_is_refused_before_it_is_made_and_slots_that_do_not_do_for_all_sites(
    per_site: int, slots: int, federation: Federation, ask_moments: Any
) -> None:
    """The first site's landmarks alone filled the first slots, and so on by name."""
    ask_moments(federation)
    with pytest.raises(SettingError, match="slots"):
        gather_landmarks(federation, slots_per_site=per_site, slots=slots)


@dataclass(frozen=True)
class Odd:
    """What a site keeps of itself under other names."""

    private: bytes = bytes(32)
    value: bytes = bytes(32)
    memory: str = "{}"


@pytest.mark.parametrize("name", ["../keys", "keys", "sums", "withdrawn", "first.slots", ""])
def test_a_broadcast_of_an_odd_name_changes_nothing_of_the_site(
    name: str, federation: Federation, ask_moments: Any
) -> None:
    context = sites_of(federation)._contexts[VICTIM]
    with turn(context) as hospital:
        keys = records.get(hospital.state, "keys")
    federation.broadcast(Broadcast(name, Odd), Odd())
    ask_moments(federation)
    ask_moments(federation)
    with turn(context) as hospital:
        state = hospital.state
    assert keys
    assert records.get(state, "keys") == keys
    assert "round_trip" in str(records.get(state, "sums")["memory"])
    assert not records.has(state, "withdrawn")
    assert records.get(state, "first.slots")["value"] != bytes(32)


@pytest.mark.parametrize(
    "config",
    [{"data": "../../etc/passwd"}, {"data_dir": "/etc"}, {"label": "age"}, {"split": "by:age"}, {"sites": 2}],
    ids=str,
)
def test_the_run_config_does_not_choose_what_a_hospital_reads(
    config: dict[str, Any], enrolled: Enrolled, ask_moments: Any
) -> None:
    expected, sums = ask_moments(enrolled()), ask_moments(enrolled(**config))
    assert all((sums[name] == expected[name]).all() for name in expected)


# What is possible all the same


SHIFT, SCALE = np.array([50.0, 0.0]), np.array([10.0, 0.01])
STEEP = 2.0**20
"""With weights this large, all but a row or two are far from the margin; a power of 2, as points travel in single
precision."""


def cuts_between_ages(federation: Federation, thresholds: NDArray[np.float64], tell_maps: Any) -> Cuts:
    """Ask for cuts that select the positive rows whose scaled age is below a threshold, and the negative ones above."""
    tell_maps(federation, SHIFT, SCALE)
    planes = [np.full(len(thresholds), STEEP), np.zeros(len(thresholds)), 1.0 - STEEP * thresholds]
    points = np.column_stack(planes).astype(np.float32).astype(np.float64)
    problem, question = Problem("", 2, 180.0, 1.0, Pair(1, REST)), Question(points, points[0])
    (answer,) = unpack_answers(federation.secure_sum(CUTS, pack_questions([problem], [question])), [question])
    return answer.cuts


def rows_between(steps: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what sums that differ in one row say the row is, in the table's units; the sign of y is not known."""
    one_row = np.abs(np.abs(counts) - 1.0) < 1e-3
    return np.vstack([sign * steps[one_row] * SCALE + SHIFT for sign in (1, -1)])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("privacy", ["exact", "perturbed"])
def test_a_coordinator_that_chooses_its_own_points_reads_single_rows_of_what_the_level_shows(
    privacy: str, enrolled: Enrolled, hospital_files: list[Path], ask_moments: Any, tell_maps: Any
) -> None:
    """With a linear map and points of its own choice it finds slopes that differ in one row at will, in one round trip.

    It does not learn which hospital the row is from. At level perturbed the rows are the copies.
    """
    federation = enrolled(kernel="linear", privacy=privacy)
    ask_moments(federation)
    cuts = cuts_between_ages(federation, np.linspace(-3.0, 3.0, 1001), tell_maps)
    found = rows_between(np.diff(cuts.a, axis=0), np.diff(cuts.d))
    near = distance_to_a_row(found, all_rows(hospital_files)) < 1e-6
    assert np.count_nonzero(near) > 20 if privacy == "exact" else not near.any()
    if privacy == "perturbed":
        assert np.count_nonzero(distance_to_a_row(found, copies(federation)) < 1e-6) > 20


def copies(federation: Federation) -> NDArray[np.float64]:
    """Return the rows of all sites' copies."""
    return np.vstack(
        [Site.of(hospital_of(one), "perturbed").table().X for one in sites_of(federation)._contexts.values()]
    )


def test_a_coordinator_that_says_a_site_was_lost_gets_its_numbers_unless_the_sites_insist(
    enrolled: Enrolled, hospital_files: list[Path], ask_moments: Any
) -> None:
    def difference(node: dict[str, Scalar]) -> list[float]:
        federation = enrolled(node, min_sites=2)
        ask_moments(federation)
        everyone = federation.secure_sum(ROWS, Nothing()).rows
        del federation.sites["hospital1"]
        others = federation.secure_sum(ROWS, Nothing()).rows
        return (everyone - others)[0].tolist()  # type: ignore[no-any-return]

    assert difference({"min-sites": 2}) == training_rows(hospital_files[1]).tolist()
    with pytest.raises(SumError, match="requires at least 3"):
        difference({})


def test_a_class_that_one_hospital_alone_has_tells_its_rows(
    enrolled: Enrolled, hospital_files: list[Path], ask_moments: Any
) -> None:
    """Joining names the classes of each site, so a sum about a class of one site only is that site's number."""
    frame = pd.read_csv(hospital_files[1])
    frame.loc[:9, "label"] = 2
    frame.to_csv(hospital_files[1], index=False)
    sums = ask_moments(federation := enrolled())
    joined = [records.get(reply.content, "disclosed") for reply in sites_of(federation).replies[:3]]
    named = [list(disclosed["classes"]) for disclosed in joined]  # type: ignore[arg-type]
    assert named == [["0", "1"], ["0", "1", "2"], ["0", "1"]]
    assert sums["rows"][0, 2] == np.count_nonzero(~kept_rows(hospital_files[1])[:10])
