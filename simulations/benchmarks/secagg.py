"""Secure sums for other Flower apps: ``python -m simulations.benchmarks secagg``.

What a round costs beside Flower's own strategies, how near the models are to theirs, what drop-outs do, and what a
coordinator gets that does not follow the protocol. All sites are in this process, so CPU seconds are those of all sites
and of the coordinator together.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import (
    FedAdagrad,
    FedAdam,
    FedAvg,
    FedAvgM,
    FedProx,
    FedYogi,
    Result,
    Strategy,
)

from clients.table.simulated import simulated_nodes
from flower_pansvm.arrays import Floats
from flower_pansvm.secagg import SecureAggregation, secure_client_app
from flower_pansvm.weighted_mean import MeanTerms
from simulations.benchmarks.results import in_new_process
from simulations.engines.in_process import InProcessGrid
from strategies.federation.exchange import message_size
from strategies.secagg.strategy import REQUESTED

SITES, FEATURES, BOUND = 5, 30, 16.0
ROUNDS = 5
PROTOCOLS = ("plain", "ring", "k-secure", "double-mask", "ring-hops", "k-secure-hops")
FEW = 100.0
"""A largest weight with which two numbers share a word."""

COSTS: dict[int, tuple[tuple[str, float], ...]] = {
    1_000_000: (
        *((name, 2.0**24) for name in ("flower", *PROTOCOLS)),
        ("k-secure", FEW),
        ("double-mask", FEW),
    ),
    10_000_000: (("flower", 2.0**24), ("k-secure", 2.0**24), ("k-secure", FEW), ("double-mask", FEW)),
}
"""Which protocols are measured, and with which largest weight, by the numbers in the model."""

KINDS: dict[str, Callable[..., Strategy]] = {
    "FedAvg": FedAvg,
    "FedProx": lambda **options: FedProx(proximal_mu=0.1, **options),
    "FedAvgM": lambda **options: FedAvgM(server_momentum=0.9, **options),
    "FedAdam": FedAdam,
    "FedAdagrad": FedAdagrad,
    "FedYogi": FedYogi,
}

Train = Callable[[RecordDict, int], tuple[ArrayRecord, dict[str, float]]]
"""A site's training: of a message's content and the site's number, its arrays and metrics."""


def app_of(base: ClientApp, train: Train) -> ClientApp:
    """Return an app with a handler that trains."""

    @base.train()
    def handle(message: Message, context: Context) -> Message:
        arrays, metrics = train(message.content, int(cast(int, context.node_config["partition-id"])))
        reply = RecordDict({"arrays": arrays, "metrics": MetricRecord(dict(metrics))})
        return Message(reply, reply_to=message)

    return base


def grid_of(app: ClientApp, sites: int = SITES) -> InProcessGrid:
    """Return a grid with an app at each site."""
    return InProcessGrid(app, simulated_nodes(sites), {})


def secured(train: Train, most_examples: float = 2.0**24, min_difference: int = 1) -> InProcessGrid:
    """Return a grid whose replies leave in secure sums, of any protocol."""
    app = secure_client_app(
        bound=BOUND, most_examples=most_examples, min_difference=min_difference, protocols=PROTOCOLS
    )
    return grid_of(app_of(app, train))


def flower_strategy(kind: str = "FedAvg") -> Strategy:
    """Return a strategy of Flower's in which all sites train."""
    return KINDS[kind](min_train_nodes=SITES, min_available_nodes=SITES, fraction_evaluate=0.0)


def rows(site: int) -> tuple[Floats, Floats]:
    """Return a site's rows, shape (rows, features), and their labels."""
    rng = np.random.default_rng(site)
    X = rng.normal(size=(60 + 10 * site, FEATURES))
    return X, np.where(X[:, :5].sum(axis=1) + rng.normal(size=len(X)) > 0, 1.0, -1.0)


def logistic(content: RecordDict, site: int) -> tuple[ArrayRecord, dict[str, float]]:
    """Train a logistic model for twenty steps; with a proximal term if the message says so."""
    (X, y), start = rows(site), content.array_records["arrays"]["w"].numpy().astype(np.float64)
    w, mu = start.copy(), float(cast(float, content.config_records["config"].get("proximal-mu", 0.0)))
    for _ in range(20):
        w -= 0.1 * (X.T @ (-y / (1 + np.exp(y * (X @ w)))) / len(X) + mu * (w - start))
    loss = float(np.logaddexp(0, -y * (X @ w)).mean())
    return ArrayRecord({"w": Array(w.astype(np.float32))}), {"num-examples": len(X), "loss": loss}


def failing(content: RecordDict, site: int) -> tuple[ArrayRecord, dict[str, float]]:
    """Train, but for one site of each round, which drops out."""
    if site == int(cast(int, content.config_records["config"]["server-round"])) % SITES:
        raise RuntimeError
    return logistic(content, site)


def zeros(numbers: int = FEATURES) -> ArrayRecord:
    """Return the weights to begin with."""
    return ArrayRecord({"w": Array(np.zeros(numbers, np.float32))})


def round_cost(protocol: str, numbers: int, most_examples: float) -> dict[str, Any]:
    """Return the costs of a round without those of training: medians of the rounds after the first."""

    def train(content: RecordDict, site: int) -> tuple[ArrayRecord, dict[str, float]]:
        moved = content.array_records["arrays"]["w"].numpy() + np.float32(0.01 * site)
        return ArrayRecord({"w": Array(moved)}), {"num-examples": 60 + 10 * site}

    strategy, of_flower = flower_strategy(), protocol == "flower"
    grid = grid_of(app_of(ClientApp(), train)) if of_flower else secured(train, most_examples)
    if not of_flower:
        strategy = SecureAggregation(strategy, protocol=protocol, bound=BOUND, most_examples=most_examples)
    seconds: list[float] = []
    replies: list[int] = []

    def after_round(_: int, __: ArrayRecord) -> None:
        seconds.append(time.process_time())
        # The strategy has made one reply the mean: of the others, each is as large.
        replies.append(max((message_size(reply.content) for reply in grid.replies), default=0))
        grid.replies.clear()

    strategy.start(grid, zeros(numbers), num_rounds=4, evaluate_fn=after_round)
    return {
        "protocol": protocol,
        "numbers": numbers,
        "bits": "" if of_flower else bits(most_examples),
        "cpu_seconds": statistics.median(np.diff(seconds)[1:].tolist()),
        "bytes_up_per_site": replies[-1],
    }


def bits(most_examples: float) -> int:
    """Return the number of bits for a number in sums over all sites."""
    return 32 if MeanTerms(bound=BOUND, most_examples=most_examples).narrow(SITES) else 64


def costs() -> Iterator[dict[str, Any]]:
    """Yield the costs of a round with each protocol, each in a process of its own."""
    for numbers, cases in COSTS.items():
        for protocol, most in cases:
            yield in_new_process(round_cost, protocol, numbers, most)


def weights(result: Result) -> Floats:
    """Return the weights of a result."""
    return result.arrays["w"].numpy().astype(np.float64)


def equality(
    kinds: Sequence[str] = tuple(KINDS), protocols: Sequence[str] = PROTOCOLS
) -> Iterator[dict[str, Any]]:
    """Yield the largest difference of the weights from those of Flower's own strategy after some rounds."""
    for kind in kinds:
        flower = weights(flower_strategy(kind).start(grid_of(app_of(ClientApp(), logistic)), zeros(), ROUNDS))
        for most in (2.0**24, 200.0):
            by_protocol = {}
            for protocol in protocols:
                strategy = SecureAggregation(
                    flower_strategy(kind), protocol=protocol, bound=BOUND, most_examples=most
                )
                by_protocol[protocol] = weights(strategy.start(secured(logistic, most), zeros(), ROUNDS))
            first = by_protocol[protocols[0]]
            yield {
                "strategy": kind,
                "bits": bits(most),
                "largest_difference": float(np.abs(first - flower).max()),
                "protocols": len(by_protocol),
                "same_bits": all(np.array_equal(first, other) for other in by_protocol.values()),
            }


def drop_outs() -> Iterator[dict[str, Any]]:
    """Yield the completed rounds of a run in which another site drops out of each round."""
    flower = weights(flower_strategy().start(grid_of(app_of(ClientApp(), failing)), zeros(), ROUNDS))
    for protocol in ("ring", "k-secure", "double-mask"):
        strategy = SecureAggregation(flower_strategy(), protocol=protocol, bound=BOUND)
        result = strategy.start(secured(failing), zeros(), ROUNDS)
        opened = ROUNDS - len(strategy.skipped)
        yield {
            "protocol": protocol,
            "rounds": ROUNDS,
            "opened": opened,
            "largest_difference": float(np.abs(weights(result) - flower).max()) if opened == ROUNDS else None,
        }


VICTIM = 2
"""The site that the coordinator attacks."""

ATTACKS = (
    ("same sum again", 0.0, 1),
    ("next round", 0.0, 1),
    ("next round, weights moved", 0.01, 1),
    ("next round", 0.0, 2),
)
"""The coordinator's request without that site, the change of the weights, and the sites' min_difference."""


def mean_over(strategy: SecureAggregation, grid: InProcessGrid, nodes: list[int], start: ArrayRecord) -> Any:
    """Return the mean that a coordinator has of these sites' replies in one more round; None if they refuse."""
    strategy.strategy = FedAvg(min_train_nodes=len(nodes), fraction_evaluate=0.0)
    grid.get_node_ids = lambda: nodes  # type: ignore[method-assign]
    messages = strategy.configure_train(1, start, ConfigRecord(), grid)
    mean = strategy._mean("train", 1, grid.send_and_receive(messages))
    return None if mean is None else mean.content


def attacks() -> Iterator[dict[str, Any]]:
    """Yield the error of a site's weights that a coordinator computes after it falsely reports a drop-out."""
    arrays, metrics = logistic(RecordDict({"arrays": zeros(), "config": ConfigRecord()}), VICTIM)
    for protocol in ("k-secure", "double-mask"):
        for attack, moved, least in ATTACKS:
            grid = secured(logistic, min_difference=least)
            strategy = SecureAggregation(flower_strategy(), protocol=protocol, bound=BOUND)
            nodes = list(grid.get_node_ids())
            whole = mean_over(strategy, grid, nodes, zeros())
            others = [node for node in nodes if node != nodes[VICTIM]]
            if attack == "same sum again":
                REQUESTED[grid.run.run_id] -= 1
            second = ArrayRecord({"w": Array(np.full(FEATURES, moved, np.float32))})
            rest = mean_over(strategy, grid, others, second)
            line: dict[str, Any] = {"protocol": protocol, "attack": attack, "min_difference": least}
            line |= {"examples_of_site": metrics["num-examples"]}
            if rest is None:
                yield {**line, "refused": True, "examples_found": None, "largest_error": None}
                continue
            totals = [mean.metric_records["metrics"]["num-examples"] for mean in (whole, rest)]
            sums = [
                mean.array_records["arrays"]["w"].numpy() * total
                for mean, total in zip((whole, rest), totals, strict=True)
            ]
            guess = (sums[0] - sums[1]) / (totals[0] - totals[1])
            yield {
                **line,
                "refused": False,
                "examples_found": totals[0] - totals[1],
                "largest_error": float(np.abs(guess - arrays["w"].numpy()).max()),
            }


TABLES = {"costs": costs, "equality": equality, "drop_outs": drop_outs, "attacks": attacks}
