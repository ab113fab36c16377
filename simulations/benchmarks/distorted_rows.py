"""What distorted rows give away, one owner's whole table: ``python -m simulations.benchmarks.distorted_rows``."""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.metrics import pairwise_distances_argmin

from clients.local.distortion import filled
from flower_pansvm.correlation_selection import select
from flower_pansvm.ssvd import distort
from simulations.data.datasets import load_dataset
from simulations.distortion import column_correlation, distortion, linked_rows, matched_rows, standardised
from simulations.markdown import markdown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

KNOWN, PAIRS, DRAWS = 10, 100, 20
"""Patients that are known, rows known with their copies, and draws of both."""

CLOSE, NEAR = 0.1, 0.25
"""Standard deviations within which a cell is close, and a row near."""


def main(
    data: Annotated[list[str], typer.Argument(help="Data sets.")],
    data_dir: Annotated[Path | None, typer.Option(help="Folder of data sets.")] = None,
) -> None:
    """Print a table with a line for the selected columns of each set, and one for all columns."""
    rows = []
    for name in data:
        table = load_dataset(name, data_dir=data_dir)
        assert table.labels is not None
        X, y = filled(table.X), np.unique(table.labels, return_inverse=True)[1]
        chosen = select(X, y)
        for which, original in ((f"{chosen.sum()} selected", X[:, chosen]), ("all", X)):
            rows.append([name, which, *line(original, y)])
    header = ["data", "columns", "VD", "RM", "nearest", "matched", "correlation", "cells close"]
    header += [f"of {KNOWN} known found", "class read", f"near by {PAIRS} pairs"]
    sys.stdout.write(markdown(header, rows))


def line(original: Floats, y: Ints) -> list[str]:
    """Return the numbers of a table, distorted by one owner."""
    distorted, count = distort(original), len(original)
    metrics = distortion(original, distorted)
    deviation = np.where(original.std(axis=0) > 0, original.std(axis=0), 1.0)
    draws = [known_patients(original, distorted, y, seed) for seed in range(DRAWS)]
    near = [near_by_pairs(original, distorted, seed) for seed in range(DRAWS)] if count >= 2 * PAIRS else []
    shares = [
        linked_rows(original, distorted) / count,
        matched_rows(original, distorted) / count,
        (np.abs(distorted - original) <= CLOSE * deviation).mean(),
        *np.mean(draws, axis=0),
    ]
    told = [f"{share:.0%}" for share in shares]
    correlation = f"{column_correlation(original, distorted):.2f}"
    last = f"{np.mean(near):.0%}" if near else ""
    return [f"{metrics.VD:.2f}", f"{metrics.RM:.2f}", *told[:2], correlation, *told[2:], last]


def known_patients(original: Floats, distorted: Floats, y: Ints, seed: int) -> tuple[float, float]:
    """Return which share of known patients is the nearest published row, and for which the class there is right.

    Columns are standardised by what is published.
    """
    known = np.random.default_rng(seed).permutation(len(original))[:KNOWN]
    scale = np.where(distorted.std(axis=0) > 0, distorted.std(axis=0), 1.0)
    nearest = pairwise_distances_argmin(original[known] / scale, distorted / scale)
    return float((nearest == known).mean()), float((y[nearest] == y[known]).mean())


def near_by_pairs(original: Floats, distorted: Floats, seed: int) -> float:
    """Return which share of the other rows a linear map comes near to, learned from some rows and their copies."""
    order = np.random.default_rng(seed).permutation(len(original))
    known, others = order[:PAIRS], order[PAIRS:]
    truth, copies = standardised(original), standardised(distorted)
    guess = RidgeCV(np.logspace(-4, 3, 15)).fit(copies[known], truth[known]).predict(copies[others])
    return float((np.sqrt(np.square(guess - truth[others]).mean(axis=1)) <= NEAR).mean())


if __name__ == "__main__":
    typer.run(main)
