"""FedProx, SCAFFOLD and FedAvg with differential privacy, on logistic regression and a small network.

All train the same models on the same rows by stochastic gradient descent; they differ in the term added to the
gradient. FedAvg (McMahan et al. 2017) adds none. FedProx (Li et al. 2020, equation 2) pulls each site's weights towards
those that it was sent. SCAFFOLD (Karimireddy et al. 2020, Algorithm 1, option II) takes off the site's own drift: its
control variate, and adds that of all. `dp-fedavg` is Flower's FedAvg with clipped updates and noise: its promise is of
a whole hospital, which few hospitals cannot hide.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, Strategy
from scipy.special import log_softmax

from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.privacy.accountant import rho_of
from simulations.baselines.central import class_weight, scaled
from simulations.baselines.federated import (
    EPOCHS,
    ROUNDS,
    Arrays,
    FedProxInOrder,
    app_of,
    average,
    judged,
    rounds,
)
from simulations.baselines.registry import BaselineFigures
from simulations.data.pooling import PooledRows
from strategies.svm_settings import PanSvmSettings

HIDDEN, BATCH, LEARNING_RATE, MU = 16, 32, 0.1, 0.1
"""Units of the network's one hidden layer; rows of a step; its length; weight of FedProx's term."""

EPSILON, DELTA, CLIP = 1.0, 1e-5, 1.0
"""Of ``dp-fedavg``: ε and δ of all rounds together for a hospital, and the norm that its update is clipped to."""


@dataclass(frozen=True)
class Algorithm:
    """The differences between the algorithms."""

    strategy: Callable[[int], Strategy]  # Flower's, for so many sites
    proximal: float = 0.0  # mu of FedProx
    controls: bool = False  # whether each array is followed by its control variate


def _with_noise(sites: int) -> Strategy:
    """Return FedAvg with the Gaussian mechanism: of zCDP, each round costs 1 / (2 z²) (Bun & Steinke 2016)."""
    noise = math.sqrt(ROUNDS / (2 * rho_of(EPSILON, DELTA)))
    return DifferentialPrivacyServerSideFixedClipping(average(sites), noise, CLIP, sites)


ALGORITHMS = {
    "fedavg": Algorithm(average),
    "fedprox": Algorithm(
        lambda sites: FedProxInOrder(fraction_evaluate=0.0, min_train_nodes=sites, proximal_mu=MU),
        proximal=MU,
    ),
    # Where all sites take part, the mean of weights and control variates is all that the coordinator does.
    "scaffold": Algorithm(average, controls=True),
    "dp-fedavg": Algorithm(_with_noise),
}


def train_and_judge(
    algorithm: str, hidden: int, settings: PanSvmSettings, train: PooledRows, test: PooledRows
) -> BaselineFigures:
    """Train 20 rounds of five passes each; the rows are scaled as in the federation, and are weighted by C."""
    train, test = scaled(settings, train, test)
    how, sites, classes = ALGORITHMS[algorithm], len(np.unique(train.sites)), int(train.classes.max()) + 1
    start = first_weights(train.X.shape[1], hidden, classes, settings.seed)
    arrays = [*start, *(np.zeros_like(array) for array in start)] if how.controls else start
    name = f"{algorithm}:{'network' if hidden else 'logistic'}"
    with _numpy_seed(settings.seed):  # Flower's noise is from NumPy's own generator
        weights, costs = rounds(name, how.strategy, _app(how, settings, train, classes), arrays, sites)
    scores = outputs(weights[: len(start)], test.X)[-1]
    return judged(test, scores[:, [1]] - scores[:, [0]] if classes == 2 else scores, classes, costs)


def first_weights(columns: int, hidden: int, classes: int, seed: int) -> Arrays:
    """Return weights and intercepts, layer by layer: small random ones of a hidden layer, else zeros."""
    if not hidden:
        return [np.zeros((columns, classes)), np.zeros(classes)]
    generator, sizes = np.random.default_rng(seed), (columns, hidden, classes)
    layers = [(generator.normal(size=(m, n)) / math.sqrt(m), np.zeros(n)) for m, n in pairwise(sizes)]
    return [array for layer in layers for array in layer]


def outputs(weights: Sequence[Floats], X: Floats) -> Arrays:
    """Return each layer's input and, last, the classes' scores; between layers negative values become 0."""
    layers = [X]
    for index in range(0, len(weights), 2):
        scores = layers[-1] @ weights[index] + weights[index + 1]
        layers.append(scores if index + 2 == len(weights) else np.maximum(scores, 0))
    return layers


def gradient(weights: Arrays, X: Floats, classes: Ints, of_row: Floats) -> Arrays:
    """Return the gradient of the mean logistic loss of weighted rows, array by array."""
    *given, scores = outputs(weights, X)
    error = np.exp(log_softmax(scores, axis=1))
    error[np.arange(len(X)), classes] -= 1
    error *= of_row[:, None] / len(X)
    gradients: Arrays = []
    for index in range(len(weights) - 2, -2, -2):
        inputs = given[index // 2]
        gradients = [inputs.T @ error, error.sum(axis=0), *gradients]
        error = (error @ weights[index].T) * (inputs > 0)
    return gradients


def _app(how: Algorithm, settings: PanSvmSettings, rows: PooledRows, classes: int) -> ClientApp:
    """Return a site's app: passes of stochastic gradient descent from the weights it is sent."""
    (C,) = settings.C_values
    counts = np.bincount(rows.classes, minlength=classes)
    balanced = len(rows.classes) / (classes * np.maximum(counts, 1))
    of_class = balanced if class_weight(settings) else np.ones(classes)
    decay = 1.0 / (C * len(rows.classes))

    def train(own: Bools, arrays: Arrays, context: Context) -> Arrays:
        site, local = int(context.node_config["partition-id"]), rows.of(own)
        half = len(arrays) // 2 if how.controls else len(arrays)
        sent, of_all = arrays[:half], arrays[half:]
        kept = context.state.array_records.get("control")
        mine = kept.to_numpy_ndarrays() if kept else [np.zeros_like(array) for array in of_all]
        weights, steps = [array.copy() for array in sent], 0
        for batch in _batches(len(local.classes), settings.seed, site):
            slopes = gradient(weights, local.X[batch], local.classes[batch], of_class[local.classes[batch]])
            for index, slope in enumerate(slopes):
                penalty = decay * weights[index] if weights[index].ndim == 2 else 0.0  # not on intercepts
                added = penalty + how.proximal * (weights[index] - sent[index])
                drift = of_all[index] - mine[index] if how.controls else 0.0
                weights[index] = weights[index] - LEARNING_RATE * (slope + added + drift)
            steps += 1
        if how.controls:
            far = steps * LEARNING_RATE
            mine = [
                control - common + (before - after) / far
                for control, common, before, after in zip(mine, of_all, sent, weights, strict=True)
            ]
            context.state["control"] = ArrayRecord(mine)
        return [*weights, *mine]

    return app_of(rows, train)


def _batches(rows: int, seed: int, site: int) -> Iterator[Ints]:
    """Yield the rows of each step of a round, in an order that a site draws anew each pass."""
    generator = np.random.default_rng([seed, site])
    for _ in range(EPOCHS):
        order = generator.permutation(rows)
        yield from (order[start : start + BATCH] for start in range(0, rows, BATCH))


@contextmanager
def _numpy_seed(seed: int) -> Iterator[None]:
    """Let NumPy's own generator draw by a seed in a ``with`` block."""
    before = np.random.get_state()
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        np.random.set_state(before)


fedavg_network = partial(train_and_judge, "fedavg", HIDDEN)
fedprox_logistic, fedprox_network = (partial(train_and_judge, "fedprox", hidden) for hidden in (0, HIDDEN))
scaffold_logistic, scaffold_network = (partial(train_and_judge, "scaffold", hidden) for hidden in (0, HIDDEN))
dp_fedavg_logistic = partial(train_and_judge, "dp-fedavg", 0)
