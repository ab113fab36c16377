"""Runs are tasks of a Ray cluster: a node that is killed costs its own, which are done again."""

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flower_pansvm.errors import EngineError, PanSVMError, SettingError
from simulations.comparison import cluster as cluster_module
from simulations.comparison.cluster import run_on_cluster
from simulations.comparison.comparing import _outcome
from simulations.comparison.finished import RUNS_FILE, finish
from simulations.comparison.workers import failure
from simulations.engines.flower_engine import free_port
from simulations.origin import origin
from tests.command_line import Run

ray = pytest.importorskip("ray")


@dataclass(frozen=True)
class Piece:
    """A piece of work that says where it is done."""

    number: int
    folder: str

    @property
    def key(self) -> dict[str, Any]:
        return {"number": self.number}


def work(piece: Piece) -> dict[str, Any]:
    """Say which node works at a piece, and work a second at it; number 3 fails."""
    node = ray.get_runtime_context().get_node_id()
    (Path(piece.folder) / f"{piece.number}-{node}-{os.getpid()}").touch()
    time.sleep(1)
    if piece.number == 3:
        raise PanSVMError("as it should")
    return {"accuracy": piece.number, "node": node}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two nodes on this machine, of one processor each."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join(filter(None, [str(Path(__file__).parents[3]), *sys.path]))
    )
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    yield made
    made.shutdown()
    del made
    gc.collect()  # Ray leaves files open, of which the next test would be accused


@pytest.mark.slow(minutes=1)
@pytest.mark.filterwarnings("ignore")
def test_a_node_that_dies_costs_no_run(cluster: Any, tmp_path: Path) -> None:
    works = [Piece(number, str(tmp_path)) for number in range(8)]
    killed, found = "", {}
    for piece, result in run_on_cluster(works, cluster.address, work):
        found[piece.number] = result
        if not killed:
            other = next(iter(cluster.worker_nodes))
            killed = other.node_id
            for process in other.all_processes["raylet"]:
                os.kill(process.process.pid, signal.SIGKILL)
    assert sorted(found) == list(range(8))
    assert found[3] == {"error": "as it should", "node": cluster.address.partition(":")[0]}
    assert [found[number]["accuracy"] for number in range(8) if number != 3] == [0, 1, 2, 4, 5, 6, 7]
    begun = {file.name.split("-")[1] for file in tmp_path.iterdir()}
    assert len(begun) == 2


@pytest.mark.slow(minutes=1)
@pytest.mark.filterwarnings("ignore")
def test_a_comparison_on_a_cluster_is_the_same(cluster: Any, pansvm: Run, tmp_path: Path) -> None:
    command = ("compare", "--data", "iris", "--strategies", "central:tree,central:svc", "--repeats", 2)
    pansvm.output(*command, "--cluster", cluster.address, "--out", "there")
    pansvm.output(*command, "--jobs", 1, "--out", "here")
    tables = [(tmp_path / name / "table.md").read_text().splitlines()[:4] for name in ("there", "here")]
    without_seconds = [[line.rsplit("|", 2)[0] for line in table] for table in tables]
    assert without_seconds[0] == without_seconds[1]


class Foreign:
    """A thing that only this process can read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _read, (os.getpid(),)


def _read(number: int) -> Foreign:
    if number != os.getpid():
        raise ModuleNotFoundError("no such package here")
    return Foreign()


def like_foreign(_: Any, piece: Piece) -> dict[str, Any]:
    """Work at a piece with a thing that no node can read."""
    return work(piece)


@pytest.mark.slow(minutes=1)
@pytest.mark.filterwarnings("ignore")
def test_nodes_that_cannot_do_the_runs_are_told(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (_, result), *_ = run_on_cluster(
        [Piece(0, str(tmp_path))], cluster.address, partial(like_foreign, Foreign())
    )
    assert "no such package here" in result["error"]
    monkeypatch.setattr("simulations.comparison.cluster.origin", lambda: {**origin(), "commit": "another"})
    with pytest.raises(EngineError, match="another"):
        list(run_on_cluster([Piece(0, str(tmp_path))], cluster.address, work))
    assert not list(tmp_path.iterdir())


def test_the_node_of_a_failed_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "10.0.0.9")
    result = cluster_module._task(work_nowhere, Piece(3, ""))
    assert "10.0.0.9" in failure(result)
    assert "10.0.0.9" in _outcome(result)
    assert "10.0.0.9" not in failure({"error": "here"})


def work_nowhere(_: Piece) -> dict[str, Any]:
    """Fail as a run does whose node has no data."""
    raise SettingError("The folder of data sets '/data' does not exist.")


def test_other_versions_of_a_node_are_named_and_another_python_is_left_to_ray() -> None:
    here = cluster_module._software()
    assert not cluster_module._unlike(here)
    assert not cluster_module._unlike({**here, "python": "3.0"})
    assert "numpy" in cluster_module._unlike({**here, "numpy": "0.1"})


def test_what_is_no_address_of_a_cluster_is_refused() -> None:
    with pytest.raises(EngineError):
        list(run_on_cluster([], "localhost", work))


def test_finished_runs_need_no_cluster(tmp_path: Path) -> None:
    piece = Piece(0, "")
    (tmp_path / RUNS_FILE).write_text(json.dumps([piece.key, {"accuracy": 1}]) + "\n")
    nowhere = f"127.0.0.1:{free_port()}"
    assert finish([piece], tmp_path, 1, work, lambda *_: None, nowhere) == {piece: {"accuracy": 1}}


def test_a_cluster_that_does_not_answer_is_an_error_at_once() -> None:
    with pytest.raises(EngineError, match="does not answer"):
        list(run_on_cluster([], f"127.0.0.1:{free_port()}", work))


def test_runs_at_a_time_are_of_this_machine(pansvm: Run) -> None:
    assert "--jobs is of this machine" in pansvm.error("compare", "--jobs", 2, "--cluster", "head:6379")
