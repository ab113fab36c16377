"""What is left of the noise of level `perturbed`: ``python -m simulations.benchmarks filters --data-dir DIR``.

An attacker who knows the columns' covariance filters the copy, and one who has records looks for their copies.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from clients.checking.perturbation import (
    SIGMAS,
    filter_errors,
    membership_auc,
    standardised,
    varying_columns,
)
from simulations.attack.active.levels import TABLES as ATTACKED
from simulations.data.datasets import load_dataset

OTHERS = ("fourclass", "german.numer", "letter", "pendigits", "satimage", "spambase", "splice", "vowel")
GENES = ("breast-gravier", "colon", "dlbcl", "leukemia")
"""Tables of genes: more columns than rows."""


def lines(data_dir: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of 20 tables."""
    for data in (*ATTACKED, *OTHERS, *GENES):
        yield from lines_of(data, data_dir)


def lines_of(data: str, data_dir: Path) -> Iterator[dict[str, Any]]:
    """Return the error of the best linear filter, in deviations, and the area of membership inference, by noise.

    Membership is not measured on genes, of which each record is alone.
    """
    table = replace(load_dataset(data, data_dir=data_dir), labels=None)
    Z = standardised(table.X[:, varying_columns(table.X)])
    for noise in SIGMAS:
        error = float(np.sqrt(np.mean(filter_errors(Z, noise, np.arange(len(Z))) ** 2)))
        yield {
            "data": data,
            "genes": data in GENES,
            "records": len(table.X),
            "columns": len(table.columns),
            "noise": noise,
            "error": error,
            "share_left": error / noise,
            "membership": None if data in GENES else membership_auc(table, None, noise),
        }


TABLES = {"filters": lines}
