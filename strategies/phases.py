"""The phases that every strategy shares: join, and trying models on held-out rows."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from logging import INFO

import numpy as np
from flwr.common.logger import log
from numpy.typing import NDArray

from flower_pansvm import messages
from flower_pansvm.errors import FederationError
from flower_pansvm.metrics import BINS
from flower_pansvm.multiclass import Pair
from flower_pansvm.records import Group, texts
from flower_pansvm.schema import Schema
from flower_pansvm.settings import Settings
from strategies.envelope import Contact
from strategies.federation import Federation
from strategies.join_replies import check_join

JOIN_SECONDS = 120.0
"""How long the coordinator waits for the sites to connect; a SuperNode may be started after the run."""


def join(federation: Federation, settings: Settings) -> Schema:
    """Wait for the sites, learn their names, keys, columns and classes, and tell them the common schema.

    Raises
    ------
    FederationError
        If too few sites connect, two have the same name, or what a site says of itself cannot be.
    TableError
        If the sites' tables do not fit together.
    """
    _wait_for_sites(federation, settings)
    answers = federation.collect(messages.JOIN, {"positive_labels": texts(settings.positive_labels)})
    by_name = _by_name(answers)
    federation.enrol(
        {
            name: Contact(node, *(answers[node][part] for part in ("public_key", "published", "signature")))
            for name, node in by_name.items()
        }
    )
    if len(by_name) == 2:
        log(INFO, "only two sites take part: each learns the other's sums by taking its own off the total")
    schema = Schema.agree(
        {name: [str(column) for column in answers[node]["columns"]] for name, node in by_name.items()},
        {name: [str(label) for label in answers[node]["classes"]] for name, node in by_name.items()},
        settings.positive_labels,
        [name for name, node in by_name.items() if answers[node]["absent_is_zero"]],
    )
    federation.broadcast(
        messages.SCHEMA,
        {
            "columns": texts(schema.columns),
            "classes": texts(schema.classes),
            "positive_labels": texts(schema.positive_labels),
            "test_fraction": settings.test_fraction,
            "folds": settings.folds,
            "seed": settings.seed,
        },
    )
    return schema


@dataclass(frozen=True)
class Trial:
    """A model to be tried on rows that it has not been trained on.

    Parameters
    ----------
    feature_map : int
        Number of its feature map.
    fold : int
        Fold of training rows that it is tried on, or `NO_FOLD` for the test rows.
    weights : ndarray of shape (problems, rank + 1)
        Weights and, last, bias of its binary problems.
    centres, scales : ndarray of shape (columns,)
        Where the class decisions of each histogram lie, and how far apart; by default empty, for no histograms.
    """

    feature_map: int
    fold: int
    weights: NDArray[np.float64]
    centres: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    scales: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


def score(
    federation: Federation, trials: Sequence[Trial], pairs: Sequence[Pair]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Try models on held-out rows of all sites, in one secure sum.

    Parameters
    ----------
    federation : Federation
        The sites.
    trials : sequence of Trial
        The models.
    pairs : sequence of Pair
        The binary problems of each model.

    Returns
    -------
    confusion : ndarray of shape (trials, classes, classes)
        Rows of class i predicted as class j.
    histograms : ndarray of shape (trials, columns, 2, BINS)
        Class decisions of the rows of the other classes and of the class itself.
    """
    sums = federation.secure_sum(
        messages.SCORES,
        {
            "feature_maps": np.array([trial.feature_map for trial in trials]),
            "folds": np.array([trial.fold for trial in trials]),
            "ranks": np.array([trial.weights.shape[1] - 1 for trial in trials]),
            "weights": np.concatenate([trial.weights.ravel() for trial in trials]),
            "positive": np.array([pair.positive for pair in pairs]),
            "negative": np.array([pair.negative for pair in pairs]),
            "centres": np.stack([trial.centres for trial in trials]),
            "scales": np.stack([trial.scales for trial in trials]),
        },
    )
    classes = math.isqrt(sums["confusion"].size // len(trials))
    columns = len(trials[0].centres)
    return (
        sums["confusion"].reshape(len(trials), classes, classes),
        sums["histogram"].reshape(len(trials), columns, 2, BINS),
    )


def shares_right(confusion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of rows predicted right, shape (trials,), of confusion counts as `score` gives them."""
    shares: NDArray[np.float64] = np.trace(confusion, axis1=1, axis2=2) / np.maximum(
        confusion.sum(axis=(1, 2)), 1
    )
    return shares


def _wait_for_sites(federation: Federation, settings: Settings) -> None:
    deadline = time.monotonic() + JOIN_SECONDS
    connected = len(list(federation.grid.get_node_ids()))
    while connected < settings.sites and time.monotonic() < deadline:
        time.sleep(0.5)
        connected = len(list(federation.grid.get_node_ids()))
    if connected < settings.sites:
        raise FederationError(
            f"{connected} of {settings.sites} sites are connected after {JOIN_SECONDS:g} s. Start the missing "
            "SuperNodes, or set 'sites' to the number of hospitals that take part."
        )
    if connected < settings.min_sites:
        raise FederationError(
            f"Only {connected} sites take part and min-sites is {settings.min_sites}: with so few, a site could "
            "work out another's numbers from the sum. Find more sites, or accept it with min-sites=2."
        )


def _by_name(answers: Mapping[int, Group]) -> dict[str, int]:
    by_name: dict[str, int] = {}
    for node, answer in answers.items():
        name = check_join(answer, node)
        if name in by_name:
            raise FederationError(
                f"Two sites are called '{name}'. Give each SuperNode a name of its own: --node-config 'name=\"…\"'."
            )
        by_name[name] = node
    return by_name
