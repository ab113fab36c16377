"""Sites that fail, refuse or fall silent: clear errors that hold no data, and runs that go on."""

from collections.abc import Callable, Iterable, Sequence
from logging import INFO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flwr.app import Message
from sklearn.datasets import dump_svmlight_file

from clients.app import app
from clients.budget import new_ledger
from flower_pansvm.errors import (
    BudgetError,
    FederationError,
    SettingError,
    SumError,
    TableError,
    TrainingError,
)
from flower_pansvm.terms import Scalar
from simulations.app import app as simulated_app
from simulations.data.sites import table_of
from simulations.engines.in_process import InProcessGrid, in_process_grid, train_in_process
from strategies.results import records_of_test
from strategies.settings import Settings, make_settings, settings_from
from strategies.steps import joining
from tests.conftest import MakeGrid
from tests.grids import from_message, silence
from tests.strategies.conftest import check_against_svc, trained


def three(**config: object) -> Settings:
    return make_settings(**{"sites": 3, "min_cluster": 2, **config})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("level", "least", "tested_on"), [("exact", 0.9, "true records"), ("perturbed", 0.8, "perturbed records")]
)
def test_hospitals_with_their_own_files_train(
    level: str, least: float, tested_on: str, hospital_files: list[Path], hospitals: MakeGrid
) -> None:
    settings = three(privacy=level)
    strategy = trained(settings, hospitals(settings, hospital_files))
    assert list(strategy.federation.sites) == ["hospital0", "hospital1", "hospital2"]
    assert records_of_test(strategy.federation) == tested_on
    frame = pd.concat(map(pd.read_csv, hospital_files))
    assert strategy.model.score(frame[["age", "dose"]], frame["label"]) > least


def test_a_libsvm_file_without_the_last_columns_is_as_one_with_zeros_there(
    hospital_files: list[Path], hospitals: MakeGrid
) -> None:
    """LIBSVM text leaves zeros out; so a site where the last features are all zero does not know that there are any."""
    settings = three(privacy="exact")
    files: dict[str, list[Path]] = {"libsvm": [], "csv": []}
    for number, file in enumerate(hospital_files):
        frame = pd.read_csv(file).round(6)
        cells = frame[["age", "dose"]].assign(f3=np.arange(60) % 3, f4=np.arange(60) % 5).to_numpy()
        cells[:, 2:] *= number != 1
        for kind, paths in files.items():
            paths.append(file.with_name(f"{kind}{number}.{kind}"))
        dump_svmlight_file(cells, frame["label"], str(files["libsvm"][-1]), zero_based=False)
        table = pd.DataFrame(cells, columns=["f1", "f2", "f3", "f4"]).assign(label=frame["label"])
        table.to_csv(files["csv"][-1], index=False)
    models = [trained(settings, hospitals(settings, paths)).model for paths in files.values()]
    assert models[0].schema_.columns == ("f1", "f2", "f3", "f4")
    assert models[0].sha256() == models[1].sha256()


@pytest.mark.parametrize("files", [1, 2])
def test_text_in_a_numeric_column_is_reported_without_the_text(
    files: int, hospital_files: list[Path], hospitals: MakeGrid
) -> None:
    for file in hospital_files[:files]:
        frame = pd.read_csv(file).astype({"age": object})
        frame.loc[3, "age"] = "SECRETVALUE"
        frame.to_csv(file, index=False)
    with pytest.raises(TableError) as caught:
        trained(three(), hospitals(three(), hospital_files))
    # Nor does it name the column: in a file without a row of names, that would be a cell.
    assert "'age'" not in str(caught.value)
    assert "data row" not in str(caught.value)
    assert "hospital0.csv" in str(caught.value)
    assert ("hospital1.csv" in str(caught.value)) == (files == 2)
    assert "SECRETVALUE" not in str(caught.value)
    assert str(hospital_files[0].parent) not in str(caught.value)


def test_a_site_with_one_class_only_takes_part(hospital_files: list[Path], hospitals: MakeGrid) -> None:
    exact = three(privacy="exact")
    frame = pd.read_csv(hospital_files[2])
    frame[frame["label"] == 1].to_csv(hospital_files[2], index=False)
    strategy = trained(exact, hospitals(exact, hospital_files))
    assert len(strategy.federation.sites) == 3
    assert strategy.training.progress[0].gap <= 0.02


def test_two_sites_are_refused_unless_agreed(hospital_files: list[Path], hospitals: MakeGrid) -> None:
    settings = make_settings(sites=2, min_cluster=2)
    with pytest.raises(FederationError, match="min-sites"):
        trained(settings, hospitals(settings, hospital_files[:2]))
    agreed = make_settings(sites=2, min_sites=2, min_cluster=2)
    with pytest.raises(SumError, match="at least 3"):
        trained(agreed, hospitals(agreed, hospital_files[:2]))
    pinned = hospitals(agreed, hospital_files[:2], {"min-sites": 2}, run_id=2)
    assert trained(agreed, pinned).training.progress[0].gap <= 0.02


def test_a_hospital_refuses_a_sum_without_protection(hospital_files: list[Path], hospitals: MakeGrid) -> None:
    settings = three(aggregation="plain")
    with pytest.raises(SumError, match="'plain'"):
        trained(settings, hospitals(settings, hospital_files))


@pytest.mark.usefixtures("begun_ledgers")
def test_two_sites_of_the_same_name(hospital_files: list[Path], tmp_path: Path) -> None:
    settings = three(privacy="exact")
    nodes: list[dict[str, Scalar]] = [
        {"name": "same", "data": str(file), "privacy": "exact", "state": str(tmp_path / f"{file.stem}-state")}
        for file in hospital_files
    ]
    with pytest.raises(FederationError, match="'same'"):
        trained(settings, InProcessGrid(app, nodes, settings.to_config()))


def test_too_few_sites_connected(
    hospital_files: list[Path], hospitals: MakeGrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joining, "JOIN_SECONDS", 0.0)
    settings = three(sites=5)
    with pytest.raises(FederationError, match="3 of 5 sites"):
        trained(settings, hospitals(settings, hospital_files))


def test_who_waits_for_sites_says_how_many_are_there(
    hospital_files: list[Path],
    hospitals: MakeGrid,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(joining, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(joining, "PATIENCE_SECONDS", 0.1)
    settings = three()
    grid = hospitals(settings, hospital_files)
    nodes, asked = list(grid.get_node_ids()), iter(range(10**6))
    monkeypatch.setattr(grid, "get_node_ids", lambda: nodes if next(asked) > 30 else nodes[:1])
    with caplog.at_level(INFO, "flwr"):
        trained(settings, grid)
    assert f"1 of 3 sites are connected (node {nodes[0]}) after 0 s" in caplog.text
    monkeypatch.setattr(joining, "JOIN_SECONDS", 0.0)
    monkeypatch.setattr(grid, "get_node_ids", list)
    with pytest.raises(FederationError, match="0 of 3 sites are connected after 0 s"):
        trained(settings, grid)


class InMemoryGrid(InProcessGrid):
    """By its name the grid of Flower's simulation."""


@pytest.mark.parametrize("nodes", [2, 4])
def test_flower_may_simulate_another_number_of_nodes_than_sites(nodes: int) -> None:
    settings = settings_from({"sites": 5, "privacy": "exact"})
    places = [{"partition-id": number, "num-partitions": nodes} for number in range(nodes)]
    strategy = trained(settings, InMemoryGrid(simulated_app, places, settings.run_config))
    assert strategy.outcome.evaluation.accuracy > 0.9
    assert len(strategy.federation.sites) == nodes == strategy.settings.sites


def test_clusters_that_no_site_can_fill() -> None:
    with pytest.raises(TrainingError, match="min-cluster"):
        train_in_process(make_settings(data="iris", min_cluster=60))


SLOW = pytest.mark.slow
TASKS = ("moments", "landmarks", "warm_start", "cuts", "scores")
PROTOCOLS = ("ring", "ring-hops", "k-secure", "k-secure-hops", "double-mask")


@pytest.mark.parametrize(
    ("task", "at", "lost", "aggregation"),
    [
        ("moments", 1, 2, "ring"),
        ("scores", 1, 4, "ring"),
        pytest.param("landmarks", 1, 4, "ring", marks=SLOW),
        pytest.param("cuts", 1, 4, "ring", marks=SLOW),
        pytest.param("cuts", 3, 2, "ring", marks=SLOW),
        # The first site has the keys of Paillier, which is slow, and is the first of a ring.
        *(pytest.param(task, 1, 2, protocol, marks=SLOW) for protocol in PROTOCOLS for task in TASKS),
        pytest.param("warm_start", 1, 2, "paillier", marks=SLOW),
    ],
)
def test_a_run_goes_on_without_a_site_that_falls_silent(
    task: str, at: int, lost: int, aggregation: str
) -> None:
    settings = make_settings(
        data="wine", sites=5, timeout=0.05, landmarks="20", tol=0.02, aggregation=aggregation
    )
    strategy = trained(settings, silence(in_process_grid(settings), from_message(lost, at, task)))
    assert strategy.federation.costs.dropped == [f"site-{lost - 2:03d}"]
    assert len(strategy.federation.sites) == 4
    assert (strategy.evaluation.accuracy or 0) > 0.85


@pytest.mark.parametrize(("task", "at"), [("cuts", 2), ("relay", 4)])
def test_a_double_masked_sum_is_not_asked_for_again(task: str, at: int) -> None:
    """Who drops out of a sum is left out from then on; who drops out while it is opened is in it, and missed later."""
    settings = make_settings(data="wine", sites=5, timeout=0.05, tol=0.05, aggregation="double-mask")
    strategy = trained(settings, silence(in_process_grid(settings), from_message(3, at, task)))
    assert strategy.federation.costs.dropped == ["site-001"]
    asked = [
        (reply.metadata.src_node_id, reply.metadata.message_type)
        for reply in strategy.federation.grid.replies
    ]
    sums = [kind for node, kind in asked if node == 2 and kind not in ("train.relay", "query.join")]
    assert len([kind for node, kind in asked if node == 2 and kind == "train.relay"]) == len(sums)
    assert (strategy.evaluation.accuracy or 0) > 0.85


def test_too_few_sites_to_open_a_double_masked_sum_end_the_run() -> None:
    """Not repeated: the coordinator could hold what opens the sum, and only say that answers are missing."""
    settings = make_settings(data="wine", sites=6, timeout=0.05, aggregation="double-mask")
    grid = in_process_grid(settings)
    for node in (3, 4):
        silence(grid, from_message(node, 4, "relay"))
    with pytest.raises(SumError):
        trained(settings, grid)


@pytest.mark.parametrize(
    ("task", "at"), [*((task, 1) for task in TASKS[1:]), ("landmarks", 2), ("warm_start", 2), ("cuts", 3)]
)
@pytest.mark.slow
def test_model_choice_goes_on_without_a_site_that_falls_silent(task: str, at: int) -> None:
    settings = make_settings(
        data="wine", sites=4, timeout=0.05, landmarks="12", C="1,8", cv_folds=2, tol=0.02
    )
    grid = silence(in_process_grid(settings), from_message(3, at, task))
    strategy = trained(settings, grid)
    assert strategy.federation.costs.dropped == ["site-001"]
    assert not any(point.failure for point in strategy.choice.points)
    assert strategy.choice.best.accuracy > 0.85
    rows = sum(len(table_of(settings, site).X) for site in (0, 2, 3))
    assert strategy.training.rows.sum() < 0.85 * rows
    assert (strategy.evaluation.accuracy or 0) > 0.85


@pytest.mark.slow
def test_late_and_repeated_answers_are_ignored() -> None:
    class Postman(InProcessGrid):
        """Delivers every reply twice, the second time with the next round trip; and one site's much too late."""

        seen: Sequence[Message] = ()
        held: Sequence[Message] = ()
        asked = 0

        def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
            fresh = list(super().pull_messages(message_ids))
            late = [reply for reply in fresh if reply.metadata.src_node_id == 3 and self.asked >= 4]
            self.asked += bool(fresh)
            if fresh:
                self.seen, self.held = (*self.seen, *self.held), late
            in_time = [reply for reply in fresh if reply not in late]
            delivered = [*self.seen, *in_time, *self.seen]
            self.seen = (*self.seen, *in_time)
            return delivered

    settings = make_settings(data="wine", sites=4, timeout=0.05, tol=0.1)
    nodes = [{"partition-id": site, "num-partitions": 4} for site in range(4)]
    strategy = trained(settings, Postman(app, nodes, settings.to_config()))  # type: ignore[arg-type]
    assert strategy.federation.costs.dropped == ["site-001"]
    silent = silence(in_process_grid(settings), from_message(3, 1, "cuts"))
    assert strategy.model.sha256() == trained(settings, silent).model.sha256()


@pytest.mark.parametrize("at", [1, 5])
@pytest.mark.slow
def test_after_a_loss_the_model_is_that_of_the_sites_that_are_left(at: int, pool: Callable[..., Any]) -> None:
    settings = make_settings(data="breast_cancer", sites=4, timeout=0.05, privacy="exact", tol=1e-3)
    strategy = trained(settings, silence(in_process_grid(settings), from_message(3, at, "cuts")))
    (state,), model = strategy.training.progress, strategy.model
    rows = pool(settings, model.schema_)
    rows = rows.of(rows.sites != 1)
    y = np.where(rows.classes == 1, 1.0, -1.0)
    assert state.problem.rows == len(y)
    F = model.feature_map_.transform(model.scaling_.transform(rows.X))
    check_against_svc(state, F, y, np.ones(len(y)))
    assert state.gap <= 1e-3


def test_a_run_stops_when_too_few_sites_are_left() -> None:
    settings = make_settings(data="wine", sites=3, timeout=0.05)
    grid = silence(in_process_grid(settings), from_message(3, 2, "cuts"))
    with pytest.raises(FederationError, match="site-001"):
        trained(settings, grid)


def test_a_site_that_never_joins() -> None:
    settings = make_settings(data="wine", sites=3, timeout=0.05)
    grid = silence(in_process_grid(settings), from_message(3, 1, "join"))
    with pytest.raises(FederationError):
        trained(settings, grid)


def test_a_refusal_says_whose_file_it_is_about(
    hospital_files: list[Path], hospitals: MakeGrid, tmp_path: Path
) -> None:
    """All have roster files of the same name, and state folders."""
    settings = three(privacy="exact")
    folders = [tmp_path / str(number) for number in range(3)]
    nodes: list[dict[str, Scalar]] = []
    for number, (file, folder) in enumerate(zip(hospital_files, folders, strict=True)):
        folder.mkdir(mode=0o700)
        nodes.append({"name": f"h{number}", "data": str(file), "privacy": "exact", "state": str(folder)})
        if number != 1:
            new_ledger(folder, 0.2)
    # The refusal itself names no hospital.
    with pytest.raises(BudgetError, match=r"^Site 'h1'") as caught:
        trained(settings, InProcessGrid(app, nodes, settings.to_config()))
    assert "'h0'" not in str(caught.value)
    new_ledger(folders[1], 0.2)
    (folders[1] / "roster.json").write_text('{"h0": "no identity"}')
    nodes[1]["roster"] = str(folders[1] / "roster.json")
    with pytest.raises(SettingError, match=r"^Site 'h1'"):
        trained(settings, InProcessGrid(app, nodes, settings.to_config(), 2))
