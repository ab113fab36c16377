"""A Flower app that adds up the same vectors by this project's secure sum and by Flower's legacy SecAgg+.

:mod:`simulations.benchmarks.secagg_plus` runs it on Flower's simulation engine. Both take turns in one run, with the
same sites and the same processes. Its run config holds this project's settings; the figures are written to ``out``.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import flwr.compat.common.recorddict_compat as compat
import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server import LegacyContext
from flwr.server.compat.app_utils import start_update_client_manager_thread
from flwr.server.strategy import FedAvg
from flwr.server.workflow import SecAggPlusWorkflow
from flwr.server.workflow.constant import MAIN_CONFIGS_RECORD, MAIN_PARAMS_RECORD, Key
from flwr.serverapp import Grid, ServerApp
from flwr.superlink.grid import InMemoryGrid
from numpy.typing import NDArray

import clients.local.joining  # noqa: F401 - enters what answers JOIN
from clients.gate.answering import HANDLERS, answers
from clients.site import Site
from flower_pansvm.arrays import Floats
from flower_pansvm.tasks.joining import JOIN
from flower_pansvm.tasks.task import Nothing, Task, summed
from strategies.federation.exchange import POLL_SECONDS
from strategies.federation.federation import Federation
from strategies.pan_svm import PanSVM
from strategies.settings import Settings, settings_from
from strategies.steps.joining import join

VALUES = 10_000
SUMS = 15
RESULT_FILE = "seconds.json"


@dataclass(frozen=True)
class VectorAnswer:
    """The site's vector."""

    values: Floats = summed(1.0)


VECTOR = Task("vector", "train", Nothing, VectorAnswer, since="0.1.0")

OURS, THEIRS, THEIRS_FAST, BARE = (
    "secure sum",
    "SecAgg+",
    "SecAgg+, polled every 20 ms",
    "one bare round trip",
)

client = ClientApp()
client.query(JOIN.name)(HANDLERS[JOIN])


def vector_of(site: int) -> NDArray[np.float64]:
    """Return the vector that a site holds, values between -1 and 1."""
    return np.random.default_rng(site).uniform(-1.0, 1.0, VALUES)


@answers(VECTOR)
def give_vector(site: Site, question: Nothing) -> VectorAnswer:  # noqa: ARG001
    """Answer with the vector; it leaves through the secure sum."""
    return VectorAnswer(vector_of(_number(site.context)))


client.train(VECTOR.name)(HANDLERS[VECTOR])


@client.train(mods=[secaggplus_mod])
def give_vector_to_secagg(message: Message, context: Context) -> Message:
    """Answer with the vector as Flower's legacy clients do; the mod masks it."""
    parameters = ndarrays_to_parameters([vector_of(_number(context))])
    result = FitRes(Status(Code.OK, ""), parameters, num_examples=1, metrics={})
    return Message(compat.fitres_to_recorddict(result, keep_input=False), reply_to=message)


@client.query("bare")
def give_vector_unprotected(message: Message, context: Context) -> Message:
    """Answer with the vector as it is."""
    return Message(RecordDict({"values": ArrayRecord([vector_of(_number(context))])}), reply_to=message)


server = ServerApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    """Run each way in turn, and write the seconds of each sum and the largest error."""
    settings = settings_from(context.run_config)
    sum_ours = _ours(grid, settings)
    sum_theirs = _theirs(grid, context, settings.sites)
    engine = cast(InMemoryGrid, grid)  # the grid of Flower's simulation engine
    usual_pause = engine.pull_interval

    def sum_theirs_fast() -> NDArray[np.float64]:
        engine.pull_interval = POLL_SECONDS
        total = sum_theirs()
        engine.pull_interval = usual_pause
        return total

    ways: Mapping[str, Callable[[], NDArray[np.float64]]] = {
        OURS: sum_ours,
        THEIRS: sum_theirs,
        THEIRS_FAST: sum_theirs_fast,
        BARE: lambda: _bare(grid),
    }
    expected = np.sum([vector_of(site) for site in range(settings.sites)], axis=0)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    errors = dict.fromkeys(ways, 0.0)
    for _ in range(SUMS):
        for name, run in ways.items():
            started = time.perf_counter()
            total = run()
            seconds[name].append(time.perf_counter() - started)
            errors[name] = max(errors[name], float(np.abs(total - expected).max()))
    text = json.dumps({"seconds": seconds, "errors": errors})
    (Path(settings.out) / RESULT_FILE).write_text(text, encoding="utf-8")


def _ours(grid: Grid, settings: Settings) -> Callable[[], NDArray[np.float64]]:
    strategy = PanSVM(settings)
    strategy.federation = Federation(grid, settings, strategy)
    join(strategy.federation, settings)
    return lambda: strategy.federation.secure_sum(VECTOR, Nothing()).values


def _theirs(grid: Grid, context: Context, sites: int) -> Callable[[], NDArray[np.float64]]:
    """Return SecAgg+ with two neighbours for each site, as in our ring, and with no weights to lose digits to."""
    legacy = LegacyContext(context, strategy=FedAvg(min_fit_clients=sites, min_available_clients=sites))
    thread, stop, ready = start_update_client_manager_thread(grid, legacy.client_manager)
    ready.wait()
    legacy.client_manager.num_available()
    stop.set()
    thread.join()
    workflow = SecAggPlusWorkflow(num_shares=3, reconstruction_threshold=2, max_weight=1.0)

    def run() -> NDArray[np.float64]:
        legacy.state.config_records[MAIN_CONFIGS_RECORD] = ConfigRecord({Key.CURRENT_ROUND: 1})
        legacy.state.array_records[MAIN_PARAMS_RECORD] = ArrayRecord([np.zeros(1)])
        workflow(grid, legacy)
        mean = compat.arrayrecord_to_parameters(legacy.state.array_records[MAIN_PARAMS_RECORD], True)
        return parameters_to_ndarrays(mean)[0] * sites

    return run


def _bare(grid: Grid) -> NDArray[np.float64]:
    requests = [Message(RecordDict(), node, "query.bare") for node in grid.get_node_ids()]
    replies = grid.send_and_receive(requests)
    vectors = [cast(ArrayRecord, reply.content["values"]).to_numpy_ndarrays()[0] for reply in replies]
    total: NDArray[np.float64] = np.add.reduce(vectors)
    return total


def _number(context: Context) -> int:
    return int(cast(int, context.node_config["partition-id"]))
