"""Rounds of Flower's own strategies over simulated sites, in this process: what all federated baselines share.

Every site trains on its own rows and sends its weights as they are, without masks or noise.
"""

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg, FedProx, Strategy
from numpy.typing import NDArray

from clients.table.simulated import simulated_nodes
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.errors import TrainingError
from simulations.baselines.registry import BaselineFigures, judge
from simulations.data.pooling import PooledRows
from simulations.engines.flower_log import quieter
from simulations.engines.in_process import InProcessGrid
from strategies.federation.exchange import message_size

ROUNDS, EPOCHS = 20, 5
"""Rounds, and passes of each site over its rows in a round."""

Arrays = list[Floats]

SiteWork = Callable[[Bools, list[NDArray[Any]], Context], Sequence[NDArray[Any]]]
"""A site's training: of the mask of its rows, the arrays that it is sent, and its context, the arrays of its reply."""


class FedAvgInOrder(FedAvg):
    """Adds the sites' weights up in the order of the sites, so that a run repeats to the last bit."""

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the mean of the sites' weights, as FedAvg does."""
        return super().aggregate_train(
            server_round, sorted(replies, key=lambda reply: reply.metadata.src_node_id)
        )


class FedProxInOrder(FedAvgInOrder, FedProx):
    """The same of FedProx, which is FedAvg at the coordinator."""


class _CountingGrid(InProcessGrid):
    """Counts the bytes of what is sent to the sites."""

    bytes_down = 0

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        asked = list(messages)
        self.bytes_down += sum(message_size(message.content) for message in asked)
        return super().push_messages(asked)


def app_of(rows: PooledRows, work: SiteWork) -> ClientApp:
    """Return the app of sites that train each on its own rows."""
    app = ClientApp()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        own = rows.sites == context.node_config["partition-id"]
        arrays = work(own, message.content.array_records["arrays"].to_numpy_ndarrays(), context)
        metrics = MetricRecord({"num-examples": int(own.sum())})
        return Message(
            RecordDict({"arrays": ArrayRecord(list(arrays)), "metrics": metrics}), reply_to=message
        )

    return app


def average(sites: int) -> Strategy:
    """Return FedAvg of so many sites, all of which take part."""
    return FedAvgInOrder(fraction_evaluate=0.0, min_train_nodes=sites)


def rounds(
    name: str, strategy: Callable[[int], Strategy], app: ClientApp, start: Sequence[NDArray[Any]], sites: int
) -> tuple[Arrays, dict[str, Any]]:
    """Train `ROUNDS` rounds, and return the last arrays and the costs, as `BaselineFigures` has them.

    ``strategy`` makes Flower's of a number of sites. TrainingError if a site could not train.
    """
    grid = _CountingGrid(app, simulated_nodes(sites), {})
    # Flower's strategies log dozens of lines.
    with quieter(logging.ERROR):
        result = strategy(sites).start(grid, ArrayRecord(list(start)), num_rounds=ROUNDS)
    failed = [reply for reply in grid.replies if reply.has_error()]
    if failed:
        raise TrainingError(
            f"A site of {name} could not train ({failed[0].error.reason}). Are there infinite or huge cells? "
            "Choose scaling=standard."
        )
    sent = [array for reply in grid.replies for array in reply.content.array_records["arrays"].values()]
    disclosed = {
        "task": "train",
        "result": "weights",
        "how": "disclosed",
        "numbers_per_site": sum(math.prod(array.shape) for array in sent) // sites,
        "times": ROUNDS,
    }
    return result.arrays.to_numpy_ndarrays(), {
        "round_trips": ROUNDS,
        "bytes_up": sum(message_size(reply.content) for reply in grid.replies),
        "bytes_down": grid.bytes_down,
        "disclosed": (disclosed,),
    }


def judged(test: PooledRows, decisions: Floats, classes: int, costs: dict[str, Any]) -> BaselineFigures:
    """Return the figures of decision values: one column for two classes, else one for each class."""
    column = decisions.shape[1] == 1
    predicted = (decisions[:, 0] > 0).astype(np.int64) if column else decisions.argmax(axis=1)
    return BaselineFigures(judge(test.classes, predicted, decisions, classes), **costs)
