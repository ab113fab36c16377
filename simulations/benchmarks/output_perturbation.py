"""How accurate private and hybrid SVM are: ``python -m simulations.benchmarks.output_perturbation --data-dir DIR``.

The rows of all sites are in one place here, which gives the weights of a federated run; noise is drawn many times. C, D
and sigma are the best for the test rows, by set, epsilon and mode: better than anybody could know beforehand.
"""

import argparse
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from clients.local.consensus import solve
from flower_pansvm.arrays import Floats, Ints
from flower_pansvm.privacy.discrete_noise import random_bits
from flower_pansvm.privacy.exact import in_turns
from flower_pansvm.privacy.output_perturbation import Perturbation, perturbed
from flower_pansvm.random_fourier import RandomFourierMap
from simulations.data.datasets import FOLDER_VARIABLE
from simulations.data.pooling import PooledRows, pooled
from simulations.data.sites import SEPARATOR
from simulations.markdown import machine, markdown
from strategies.settings import make_settings
from strategies.steps.frequencies import drawn, fitted, generator_of, median_distance

HEART = SEPARATOR.join(f"heart-{place}" for place in ("cleveland", "hungarian", "switzerland", "va"))
SETS = {
    "diabetes": "diabetes",
    "breast_cancer": "breast_cancer",
    "australian": "australian",
    "heart": HEART,
    "spambase": "spambase",
    "cod-rna.scaled": "cod-rna.scaled",
    "a9a": "a9a",
}
LARGE, LARGE_SPLITS = 10_000, 3
"""Sets of more rows have fewer splits, and a solver that is not quite exact."""

EPSILONS = (0.5, 1.0, 4.0)
MODES = ("release", "local")
PENALTIES = (3.0, 10.0, 30.0, 100.0, 300.0)
COUNTS = (5, 10, 25)
WIDTHS = (0.5, 1.0)
"""Of the kernel, in median distances of public rows."""

PUBLIC, DRAWS, EXACTNESS = 20, 5, 1e-7

Case = tuple[str, str, float, float, int, float]
"""Method, mode, epsilon, penalty, frequencies, width."""


def rows_of(data: str, seed: int) -> tuple[PooledRows, PooledRows]:
    """Return the training and the test rows of five sites, or of the four hospitals of heart."""
    hospitals = data == HEART
    settings = make_settings(
        data=data, seed=seed, sites=4 if hospitals else 5, positive="1,2,3,4" if hospitals else ""
    )
    found = pooled(settings)
    return found.train, found.test


def weights_of(signed: Floats, C: float) -> Floats:
    """Return the weights of least objective for rows times their sides."""
    if len(signed) > LARGE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            solver = LinearSVC(C=C / len(signed), loss="hinge", fit_intercept=False, tol=1e-5, max_iter=5000)
            # One side only would be no problem to it: half of the rows on the other.
            sides = np.where(np.arange(len(signed)) % 2 == 0, 1.0, -1.0)
            weights: Floats = solver.fit(signed * sides[:, None], sides).coef_[0]
            return weights
    duals = solve(signed, np.full(len(signed), C / len(signed)), np.ones(len(signed)), EXACTNESS)
    return np.asarray(duals @ signed)


def accuracies(data: str, seed: int) -> Iterator[tuple[Case, float]]:
    """Yield the accuracy of each case on one split, as the mean over some draws of the noise."""
    train, test = rows_of(data, seed)
    low, high = np.nanmin(train.X, axis=0), np.nanmax(train.X, axis=0)
    columns, generator = len(low), generator_of(seed)
    public = train.X[np.random.default_rng(seed).permutation(len(train.X))[:PUBLIC]]
    bits = random_bits(generator.bytes(32))
    y = np.where(train.classes == 1, 1.0, -1.0)
    for width in WIDTHS:
        for count in COUNTS:
            seen = RandomFourierMap(low, high, np.empty((0, columns)), 0.0).inside(public)
            sigma = width * median_distance(seen)
            maps = {
                "private": drawn(count, columns, sigma, generator),
                "hybrid": fitted(seen, count, sigma, generator),
            }
            for method, frequencies in maps.items():
                feature_map = RandomFourierMap(low, high, in_turns(frequencies), 0.0)
                signed, z = y[:, None] * feature_map.transform(train.X), feature_map.transform(test.X)
                for C in PENALTIES:
                    whole = weights_of(signed, C)
                    parts = [signed[train.sites == site] for site in np.unique(train.sites)]
                    own = [weights_of(part, C) for part in parts]
                    for epsilon in EPSILONS:
                        noise = Perturbation(2 * count, C, epsilon, EXACTNESS)
                        right = defaultdict(list)
                        for _ in range(DRAWS):
                            released = perturbed(whole, noise.scale(len(y)), bits)
                            noisy = [
                                perturbed(w, noise.scale(len(part)), bits)
                                for w, part in zip(own, parts, strict=True)
                            ]
                            for mode, w in zip(MODES, (released, np.mean(noisy, axis=0)), strict=True):
                                right[mode].append(_accuracy(z @ w, test.classes))
                        for mode, values in right.items():
                            yield (method, mode, epsilon, C, count, width), float(np.mean(values))


def best(data: str, splits: int) -> dict[tuple[str, str, float], float]:
    """Return for each method, mode and epsilon the best case's mean accuracy over the splits, in per cent."""
    found: dict[Case, list[float]] = defaultdict(list)
    for seed in range(splits):
        for case, accuracy in accuracies(data, seed):
            found[case].append(accuracy)
    top: dict[tuple[str, str, float], float] = defaultdict(float)
    for case, values in found.items():
        top[case[:3]] = max(top[case[:3]], 100 * float(np.mean(values)))
    return top


def _accuracy(decisions: Floats, classes: Ints) -> float:
    return float(((decisions > 0) == (classes == 1)).mean())


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    asked = parser.parse_args()
    os.environ[FOLDER_VARIABLE] = str(asked.data_dir)
    header = ["set", "splits", "method", *(f"{mode}, {epsilon:g}" for mode in MODES for epsilon in EPSILONS)]
    lines = []
    for name in asked.sets:
        train, _ = rows_of(SETS[name], 0)
        splits = min(asked.splits, LARGE_SPLITS) if len(train.X) > LARGE else asked.splits
        top = best(SETS[name], splits)
        for method in ("private", "hybrid"):
            numbers = [f"{top[method, mode, epsilon]:.1f}" for mode in MODES for epsilon in EPSILONS]
            lines.append([name, str(splits), method, *numbers])
            print(*lines[-1], file=sys.stderr, flush=True)  # noqa: T201
    print(markdown(header, lines))  # noqa: T201
    print(machine())  # noqa: T201


if __name__ == "__main__":
    main()
