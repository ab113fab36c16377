"""Only a process that a simulation has started is one; what a node config says is no proof."""

import subprocess
import sys
from pathlib import Path

import pytest
from flwr.app import Context, RecordDict

from clients.app import app
from clients.hospital import SimulatedContext, hospital_of, is_simulated
from clients.table.opening import open_table
from clients.table.source import schema_of
from flower_pansvm import records
from flower_pansvm.errors import SettingError, TableError
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid, in_process_grid
from strategies.registry import STRATEGIES
from strategies.settings import make_settings
from tests.contexts import context_of, own_hospital
from tests.tasks import TASKS

Node = dict[str, Scalar]
TUTORIAL: Node = {"partition-id": 0, "num-partitions": 2}
"""What Flower's guides have people start a real SuperNode with."""


def real(grid: InProcessGrid) -> InProcessGrid:
    """Return a grid whose sites are called as a SuperNode calls them."""
    for node, had in grid._contexts.items():
        grid._contexts[node] = Context(had.run_id, node, had.node_config, had.state, had.run_config)
    return grid


def test_a_simulation_in_this_process_is_one() -> None:
    assert is_simulated(context_of(TUTORIAL, kind=SimulatedContext))
    assert all(map(is_simulated, in_process_grid(make_settings(sites=3))._contexts.values()))


@pytest.mark.parametrize(
    "node",
    [
        *({}, {"partition-id": 0}, {"num-partitions": 2}, {"data": "/ward.csv"}),
        *(
            {**TUTORIAL, key: value}
            for key, value in (("data", "/w.csv"), ("name", "north"), ("privacy", "exact"))
        ),
    ],
    ids=str,
)
def test_a_site_of_any_other_node_config_is_a_hospital_s_even_there(node: Node) -> None:
    assert not is_simulated(context_of(node, kind=SimulatedContext))


def test_a_node_config_alone_switches_no_protection_off(state_home: Path) -> None:
    here = context_of(TUTORIAL, data="wine", sites=2, min_sites=2)
    assert not is_simulated(here)
    with pytest.raises(SettingError, match="partition-id"):
        hospital_of(here)


@pytest.mark.parametrize("kind", [Context, SimulatedContext])
@pytest.mark.parametrize("more", [{"data": "/ward.csv", "label": "outcome"}, {"name": "north"}], ids=str)
def test_both_kinds_of_keys_are_an_error(more: Node, kind: type[Context]) -> None:
    for node in ({**TUTORIAL, **more}, {**more, "partition-id": 0}):
        with pytest.raises(SettingError, match="Leave"):
            own_hospital(node, kind=kind)


@pytest.mark.parametrize("more", [{}, {"data": "ward.csv", "label": "outcome", "name": "north"}], ids=str)
def test_a_real_supernode_with_the_tutorial_s_node_config_answers_no_task(
    more: Node, hospital_files: list[Path], state_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the first message, for which it would read a file that the run config names."""
    for module in ("clients.table.simulated.simulated_tables", "clients.table.reading.read_table"):
        monkeypatch.setattr(module, lambda *_: pytest.fail("read a table"))
    if more:
        more = {**more, "data": str(hospital_files[0]), "label": "label"}
    settings = make_settings(data=str(hospital_files[1]), sites=2, min_sites=2)
    nodes: list[Node] = [{**TUTORIAL, **more, "partition-id": site} for site in range(2)]
    with pytest.raises(SettingError, match="simulation"):
        STRATEGIES["pan-svm"](settings).start(real(InProcessGrid(app, nodes, settings.to_config())))
    for task in TASKS:
        grid = real(InProcessGrid(app, nodes, settings.to_config()))
        content = RecordDict()
        records.put(content, "inputs", {})
        (reply,) = grid.send_and_receive([grid.create_message(content, task.message_type, 2, "1")])
        assert reply.has_error()


def test_a_hospital_without_a_table_reads_no_file_of_the_run_config(hospital_files: list[Path]) -> None:
    here = own_hospital({"name": "north"}, data=str(hospital_files[0]), schema="/etc/passwd")
    assert schema_of(here) is None
    with pytest.raises(TableError, match="names no table"):
        open_table(here)


RAY = """
import sys
import ray
from flwr.app import Context, RecordDict
from flwr.simulation.ray_transport.ray_actor import ClientAppActor
from clients.hospital import is_simulated

def here(node):
    return is_simulated(Context(1, 2, node, RecordDict(), {}))

def load():
    def app(message, context):
        return here(context.node_config), here({**context.node_config, "data": "/ward.csv"})
    return app

node = {"partition-id": 0, "num-partitions": 2}
print("loaded", here(node), ray.is_initialized())
ray.init(num_cpus=1, include_dashboard=False)
print("driver", here(node))
actor = ClientAppActor.options(num_cpus=1).remote()
print("actor", *ray.get(actor.run.remote(load, None, "0", Context(1, 2, node, RecordDict(), {})))[1])
ray.kill(actor)
print("task", ray.get(ray.remote(here).remote(node)))
"""


@pytest.mark.slow
def test_a_worker_of_flower_s_engine_is_one_and_no_other_process_with_ray() -> None:
    pytest.importorskip("ray")
    here, command = Path(__file__).parents[3], [sys.executable, "-c", RAY]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    said = [
        line
        for line in done.stdout.splitlines()
        if line.startswith(("loaded ", "driver ", "actor ", "task "))
    ]
    assert said == ["loaded False False", "driver False", "actor True False", "task False"]
