"""Another Flower app, for the tests of secure sums: a logistic model in NumPy, trained by as many sites as wanted."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import Result, Strategy

from flower_pansvm.arrays import Floats
from flower_pansvm.secagg import SecureAggregation, secure_client_app
from simulations.engines.in_process import InProcessGrid

SITES, FEATURES = 5, 6
BOUND = 16.0
Change = Callable[[RecordDict, int, int], Any]
"""What a test does to a site's reply: of the reply, the site's number and the round."""


def rows(site: int) -> tuple[Floats, Floats]:
    """Return a site's rows, of which each has another number, and their labels."""
    generator = np.random.default_rng(site)
    X = generator.normal(size=(20 + 10 * site, FEATURES))
    return X, np.where(X @ np.arange(1.0, FEATURES + 1) + generator.normal(size=len(X)) > 0, 1.0, -1.0)


def trained(arrays: ArrayRecord, mu: float, site: int) -> tuple[Floats, Floats, float]:
    """Return what a site's training makes of the weights, and its loss."""
    X, y = rows(site)
    start = arrays["w"].numpy().astype(float), arrays["b"].numpy().astype(float)
    w, b = (part.copy() for part in start)
    for _ in range(10):
        slope = -y / (1 + np.exp(y * (X @ w + b)))
        w -= 0.2 * ((X * slope[:, None]).mean(0) + mu * (w - start[0]))
        b -= 0.2 * (slope.mean() + mu * (b - start[1]))
    return w, b, float(np.logaddexp(0, -y * (X @ w + b)).mean())


def with_handlers(app: ClientApp, change: Change | None = None) -> ClientApp:
    """Return the app with its handlers, as anybody would write them."""

    @app.train()
    def train(message: Message, context: Context) -> Message:
        site, config = int(context.node_config["partition-id"]), message.content["config"]
        w, b, loss = trained(message.content["arrays"], float(config.get("proximal-mu", 0.0)), site)
        reply = RecordDict(
            {
                "arrays": ArrayRecord({"w": Array(w.astype(np.float32)), "b": Array(b.astype(np.float32))}),
                "metrics": MetricRecord({"num-examples": len(rows(site)[0]), "loss": loss}),
            }
        )
        if change is not None:
            reply = change(reply, site, int(config["server-round"])) or reply
        return Message(reply, reply_to=message)

    @app.evaluate()
    def evaluate(message: Message, context: Context) -> Message:
        X, y = rows(int(context.node_config["partition-id"]))
        arrays = message.content["arrays"]
        right = np.sign(X @ arrays["w"].numpy() + arrays["b"].numpy()) == y
        metrics = {
            "num-examples": len(X),
            "accuracy": float(right.mean()),
            "by-class": [float(right.sum()), 1.0],
        }
        return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)

    return app


ALL = ("plain", "ring", "ring-hops", "k-secure", "k-secure-hops", "double-mask", "paillier")


def secured(
    change: Change | None = None, *, sites: int = SITES, run: int = 7, **options: Any
) -> InProcessGrid:
    """Return a grid with the app at each site, whose replies leave in secure sums."""
    app = secure_client_app(**{"bound": BOUND, "protocols": ALL, **options})
    return grid_of(with_handlers(app, change), sites=sites, run=run)


def grid_of(app: ClientApp, *, sites: int = SITES, run: int = 7) -> InProcessGrid:
    """Return a grid with an app at each site."""
    return InProcessGrid(
        app, [{"partition-id": site, "num-partitions": sites} for site in range(sites)], {}, run
    )


def start_arrays() -> ArrayRecord:
    """Return the weights to begin with."""
    return ArrayRecord({"w": Array(np.zeros(FEATURES, np.float32)), "b": Array(np.zeros(1, np.float32))})


def run(strategy: Strategy, grid: InProcessGrid, rounds: int = 3) -> Result:
    """Run a strategy from zero."""
    return strategy.start(grid, start_arrays(), num_rounds=rounds)


def weights(result: Result) -> Floats:
    """Return a result's weights as one vector."""
    return np.concatenate([array.numpy().ravel() for _, array in sorted(result.arrays.items())])


def secure(inner: Strategy, protocol: str = "k-secure", **options: Any) -> SecureAggregation:
    """Return a strategy around another one, as the sites of `secured` have agreed."""
    return SecureAggregation(inner, **{"protocol": protocol, "bound": BOUND, **options})


def losing(nodes: Sequence[int]) -> Change:
    """Return what makes sites fail in the second round."""

    def change(reply: RecordDict, site: int, server_round: int) -> None:
        if site in nodes and server_round == 2:
            raise RuntimeError(f"patient {4000 + 711} is ill")

    return change
