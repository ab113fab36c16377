"""The phases that every strategy shares: join, standardise, evaluate."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from logging import INFO
from typing import Any, cast

import numpy as np
from flwr.common.logger import log
from numpy.typing import NDArray

from flower_pansvm import messages
from flower_pansvm.errors import FederationError, TableError
from flower_pansvm.metrics import BINS, Evaluation
from flower_pansvm.model import PanSVC
from flower_pansvm.records import texts
from flower_pansvm.scaling import Scaling, mean_and_variance
from flower_pansvm.schema import Schema
from flower_pansvm.settings import Settings
from strategies.envelope import Contact
from strategies.federation import WILD, Federation

JOIN_SECONDS = 120.0
"""How long the coordinator waits for the sites to connect; a SuperNode may be started after the run."""


@dataclass(frozen=True)
class Standard:
    """The scaling of the features and what it tells about the rows of the federation.

    Parameters
    ----------
    scaling : Scaling
        The scaling.
    class_rows : ndarray of shape (classes,)
        Training rows of each class over all sites.
    test_rows : int
        Rows kept for evaluation over all sites.
    squares : ndarray of shape (features,)
        Sum over all training rows of each scaled feature's square, which bounds every single cell.
    variance : float
        Variance over all scaled cells.
    sites : tuple of str
        The sites whose rows these are.
    """

    scaling: Scaling
    class_rows: NDArray[np.float64]
    test_rows: int
    squares: NDArray[np.float64]
    variance: float
    sites: tuple[str, ...]

    @property
    def rows(self) -> int:
        """Training rows over all sites."""
        return int(self.class_rows.sum())


def join(federation: Federation, settings: Settings) -> Schema:
    """Wait for the sites, learn their names, keys, columns and classes, and tell them the common schema.

    Raises
    ------
    FederationError
        If too few sites connect or two have the same name.
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
    )
    federation.broadcast(
        messages.SCHEMA,
        {
            "columns": texts(schema.columns),
            "classes": texts(schema.classes),
            "positive_labels": texts(schema.positive_labels),
            "test_fraction": settings.test_fraction,
            "seed": settings.seed,
        },
    )
    return schema


def standardise(federation: Federation, schema: Schema, settings: Settings) -> Standard:
    """Learn federated mean and variance by one secure sum and tell the sites the scaling.

    Raises
    ------
    TableError
        If fewer than two classes are left for training.
    """
    counts = ("rows", "test_rows", "count")
    sums = federation.secure_sum(
        messages.MOMENTS, {}, {**dict.fromkeys(counts, messages.COUNT), "total": WILD, "square": WILD}
    )
    sites = tuple(federation.sites)
    count, total, square = sums["count"], sums["total"], sums["square"]
    if np.count_nonzero(sums["rows"]) < 2:
        raise TableError(
            f"The sites' {int(sums['rows'].sum())} training rows are all of one class. Lower test-fraction, or check "
            "the label column."
        )
    if settings.scaling == "minmax":
        scaling = _minmax(federation, count, total, square)
    else:
        scaling = getattr(Scaling, settings.scaling)(count, total, square)
    federation.broadcast(
        messages.SCALING, {"fill": scaling.fill, "shift": scaling.shift, "scale": scaling.scale}
    )
    rows = float(sums["rows"].sum())
    squares, sums_scaled = _scaled_sums(scaling, rows, count, total, square)
    cells = rows * len(schema.columns)
    return Standard(
        scaling=scaling,
        class_rows=sums["rows"],
        test_rows=int(sums["test_rows"][0]),
        squares=squares,
        variance=float(squares.sum() / cells - (sums_scaled.sum() / cells) ** 2),
        sites=sites,
    )


def evaluate(federation: Federation, model: PanSVC) -> Evaluation:
    """Have every site score its test rows and return the figures of the whole federation."""
    weights = np.column_stack([model.coef_, model.intercept_])
    sums = federation.secure_sum(
        messages.SCORES, {"weights": weights}, {"confusion": messages.COUNT, "histogram": messages.COUNT}
    )
    classes = len(model.classes_)
    return Evaluation.from_counts(
        sums["confusion"].reshape(classes, classes), sums["histogram"].reshape(len(weights), 2, BINS)
    )


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


def _by_name(answers: Mapping[int, Mapping[str, Any]]) -> dict[str, int]:
    by_name: dict[str, int] = {}
    for node, answer in answers.items():
        name = str(answer["name"])
        if name in by_name:
            raise FederationError(
                f"Two sites are called '{name}'. Give each SuperNode a name of its own: --node-config 'name=\"…\"'."
            )
        by_name[name] = node
    return by_name


def _minmax(
    federation: Federation,
    count: NDArray[np.float64],
    total: NDArray[np.float64],
    square: NDArray[np.float64],
) -> Scaling:
    answers = federation.collect(messages.EXTREMES, {})
    low = np.min([cast("NDArray[np.float64]", answer["low"]) for answer in answers.values()], axis=0)
    high = np.max([cast("NDArray[np.float64]", answer["high"]) for answer in answers.values()], axis=0)
    seen = low <= high
    mean, _ = mean_and_variance(count, total, square)
    return Scaling.minmax(mean, np.where(seen, low, 0.0), np.where(seen, high, 0.0))


def _scaled_sums(
    scaling: Scaling,
    rows: float,
    count: NDArray[np.float64],
    total: NDArray[np.float64],
    square: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sum of squares and sum of each scaled feature over all rows, missing cells filled."""
    filled = scaling.fill
    total = total + (rows - count) * filled
    square = square + (rows - count) * np.square(filled)
    shifted = square - 2 * scaling.shift * total + rows * np.square(scaling.shift)
    return np.maximum(shifted, 0.0) / np.square(scaling.scale), (total - rows * scaling.shift) / scaling.scale
