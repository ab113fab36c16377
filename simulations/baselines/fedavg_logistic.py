"""Logistic regression by Flower's own FedAvg: the federated baseline that people know (McMahan et al. 2017).

Every site trains on its own rows and sends its weights as they are, without masks or noise; the coordinator takes their
mean by rows. It runs on Flower's messages, in this process.
"""

import logging
from collections.abc import Iterable

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier

from flower_pansvm.errors import TrainingError
from flower_pansvm.terms import Scalar
from simulations.baselines.central import scaled
from simulations.baselines.registry import BaselineFigures, baselines, judge
from simulations.data.pooling import PooledRows
from simulations.engines.flower_log import quieter
from simulations.engines.in_process import InProcessGrid
from strategies.federation.exchange import message_size
from strategies.svm_settings import PanSvmSettings

ROUNDS, EPOCHS = 20, 5
"""Rounds of FedAvg, and passes of each site over its rows in a round."""

LEARNING_RATE = 0.01


class _FedAvgInOrder(FedAvg):
    """Adds the sites' weights up in the order of the sites, so that a run repeats to the last bit."""

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        return super().aggregate_train(
            server_round, sorted(replies, key=lambda reply: reply.metadata.src_node_id)
        )


class _CountingGrid(InProcessGrid):
    """Counts the bytes of what is sent to the sites."""

    bytes_down = 0

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        asked = list(messages)
        self.bytes_down += sum(message_size(message.content) for message in asked)
        return super().push_messages(asked)


@baselines.register("fedavg:logistic")
def fedavg_logistic(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train 20 rounds of five passes each; the rows are scaled as in the federation, and are weighted by C.

    Several classes are one against the rest. A site that lacks a class trains against it all the same.
    """
    train, test = scaled(settings, train, test)
    sites, classes = np.unique(train.sites), np.unique(train.classes)
    columns = 1 if len(classes) == 2 else len(classes)
    nodes: list[dict[str, Scalar]] = [
        {"partition-id": int(site), "num-partitions": len(sites)} for site in sites
    ]
    grid = _CountingGrid(_app(settings, train, classes), nodes, {})
    start = [np.zeros((columns, train.X.shape[1])), np.zeros(columns)]
    strategy = _FedAvgInOrder(fraction_evaluate=0.0, min_train_nodes=len(sites))
    # FedAvg tells dozens of lines.
    with quieter(logging.ERROR):
        found = strategy.start(grid, ArrayRecord(start), num_rounds=ROUNDS)
    failed = [reply for reply in grid.replies if reply.has_error()]
    if failed:
        raise TrainingError(
            f"A site of fedavg:logistic could not train ({failed[0].error.reason}). Are there infinite or huge cells? "
            "Choose scaling=standard."
        )
    weights, intercept = found.arrays.to_numpy_ndarrays()
    decisions = test.X @ weights.T + intercept
    predicted = (decisions[:, 0] > 0).astype(np.int64) if columns == 1 else decisions.argmax(axis=1)
    disclosed = {
        "task": "train",
        "result": "weights",
        "how": "disclosed",
        "numbers_per_site": ROUNDS * (weights.size + intercept.size),
        "times": ROUNDS,
    }
    return BaselineFigures(
        judge(test.classes, predicted, decisions, len(classes)),
        round_trips=ROUNDS,
        bytes_up=sum(message_size(reply.content) for reply in grid.replies),
        bytes_down=grid.bytes_down,
        disclosed=(disclosed,),
    )


def _app(settings: PanSvmSettings, rows: PooledRows, classes: NDArray[np.int64]) -> ClientApp:
    """Return what a site runs: passes of stochastic gradient descent over its own rows from the weights it is sent."""
    app = ClientApp()
    positives = [1] if len(classes) == 2 else classes.tolist()
    (C,) = settings.C_values

    @app.train()
    def train(message: Message, context: Context) -> Message:
        own = rows.of(rows.sites == context.node_config["partition-id"])
        weights, intercept = message.content.array_records["arrays"].to_numpy_ndarrays()
        for column, positive in enumerate(positives):
            model = SGDClassifier(
                loss="log_loss",
                alpha=1.0 / (C * len(rows.classes)),
                learning_rate="constant",
                eta0=LEARNING_RATE,
                class_weight=_weights(settings, rows.classes == positive),
                random_state=settings.seed,
            )
            model.coef_, model.intercept_ = weights[[column]], intercept[[column]]
            for _ in range(EPOCHS):
                model.partial_fit(own.X, own.classes == positive, [False, True])
            weights[column], intercept[column] = model.coef_[0], model.intercept_[0]
        content = RecordDict(
            {
                "arrays": ArrayRecord([weights, intercept]),
                "metrics": MetricRecord({"num-examples": len(own.classes)}),
            }
        )
        return Message(content, reply_to=message)

    return app


def _weights(settings: PanSvmSettings, positive: NDArray[np.bool_]) -> dict[bool, float] | None:
    """Return the weight of a row of each side, by the rows of all sites."""
    if settings.class_weight != "balanced":
        return None
    return {side: len(positive) / (2.0 * np.count_nonzero(positive == side)) for side in (False, True)}
