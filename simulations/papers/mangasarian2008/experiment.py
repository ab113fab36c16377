"""One fold of Table 1: the error of one of the three ways to train, on one data set in so many column blocks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist, pdist
from sklearn.model_selection import LeaveOneOut, StratifiedKFold

from flower_pansvm.arrays import Floats
from flower_pansvm.random_kernel import random_matrix
from simulations.data.datasets import load_dataset
from simulations.papers.mangasarian2008.nested_design import choose
from simulations.papers.run import EXPERIMENTS, Run, make_experiment
from strategies.master.one_norm_svm import one_norm_svm
from strategies.steps.random_kernel import most_rows

FOLDS, INNER_FOLDS = 10, 5
ROWS_OF_A_CELL = 25
CELLS = 4
"""Cells of a fold that are trained alone, drawn at random; the paper's mean is over all of them."""

ROWS, IDEAL, SHARED, ALONE = (f"mangasarian:{what}" for what in ("rows", "ideal", "ppsvm", "no-sharing"))


def fold_run(what: str, data: str, blocks: int, fold: int) -> Run:
    """Return one fold of ten; that of the ideal classifier is the same for any number of column blocks."""
    return make_experiment(what, data, fold=fold, blocks=1 if what == IDEAL else blocks)


@dataclass(frozen=True)
class Part:
    """Rows of [0, 1] and their classes, 1 or -1: of a training part or a test part."""

    X: Floats
    d: Floats

    def of(self, rows: Any, columns: Any = slice(None)) -> "Part":
        """Return some of the rows and columns."""
        return Part(self.X[rows][:, columns], self.d[rows])


def load(source: str) -> Part:
    """Return a data set with each column scaled to [0, 1] over all rows; a constant one becomes 0."""
    table = load_dataset(source)
    assert table.labels is not None
    low, width = table.X.min(axis=0), np.ptp(table.X, axis=0)
    X = (table.X - low) / np.where(width > 0, width, 1.0)
    return Part(X, np.where(table.labels == np.unique(table.labels)[1], 1.0, -1.0))


def split(whole: Part, fold: int) -> tuple[Part, Part]:
    """Return the training and the test part of one of ten folds."""
    parts = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(whole.X, whole.d)
    train, test = list(parts)[fold]
    return whole.of(train), whole.of(test)


def column_blocks(columns: int, blocks: int) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the columns of each block, contiguous and as equal as can be."""
    return np.array_split(np.arange(columns), blocks)


def rows_of_b(whole: Part, blocks: int) -> int:
    """Return the number of rows of B."""
    return most_rows(len(whole.X), min(map(len, column_blocks(whole.X.shape[1], blocks))))


def random_rows(whole: Part, blocks: int, fold: int) -> Floats:
    """Return B of all column blocks side by side, each from a seed of its own."""
    rows = rows_of_b(whole, blocks)
    seeds = (f"fold {fold}, block {block} of {blocks}".encode() for block in range(blocks))
    sizes = map(len, column_blocks(whole.X.shape[1], blocks))
    return np.hstack([random_matrix(seed, rows, size) for seed, size in zip(seeds, sizes, strict=True)])


def errors(decisions: Floats, d: Floats) -> float:
    """Return the share of rows on the wrong side."""
    return float((np.where(decisions > 0, 1.0, -1.0) != d).mean())


def tuned(train: Part, test: Part, Z: Floats | None, folds: Sequence[Any], seed: int) -> float:
    """Return the test error of K(A, Z'), nu and mu chosen by cross-validation; without Z by K(A, A').

    The Gaussian kernel of all columns is the product of those of the column blocks (3.9), so it is computed at once.
    """
    D = cdist(train.X, train.X if Z is None else Z, "sqeuclidean")

    def errors_of(mu: float, nus: Floats) -> Floats:
        K, found = np.exp(-mu * D), []
        for nu in nus:
            wrong = 0.0
            for inside, outside in folds:
                # Of the kernel with the rows themselves only columns of rows that are trained on.
                used = inside if Z is None else slice(None)
                u, gamma = one_norm_svm(K[inside][:, used], train.d[inside], nu)
                wrong += len(outside) * errors(K[outside][:, used] @ u - gamma, train.d[outside])
            found.append(wrong / len(train.d))
        return np.array(found)

    distances = pdist(train.X, "sqeuclidean")
    nu, mu = choose(float(np.median(distances)) or 1.0, errors_of, seed)
    u, gamma = one_norm_svm(np.exp(-mu * D), train.d, nu)
    K_test = np.exp(-mu * cdist(test.X, train.X if Z is None else Z, "sqeuclidean"))
    return errors(K_test @ u - gamma, test.d)


def inner_folds(train: Part) -> list[Any]:
    """Return five folds of the training part, the same for all points."""
    return list(StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=1).split(train.X, train.d))


@EXPERIMENTS.register(ROWS)
def rows(source: str, *, blocks: int, fold: int) -> dict[str, Any]:  # noqa: ARG001
    """Return how many rows B has."""
    return {"rows_of_matrix": rows_of_b(load(source), blocks)}


@EXPERIMENTS.register(SHARED)
def shared(source: str, *, blocks: int, fold: int) -> dict[str, Any]:
    """Return the error of K(A, B')."""
    whole = load(source)
    train, test = split(whole, fold)
    error = tuned(train, test, random_rows(whole, blocks, fold), inner_folds(train), fold)
    return {"accuracy": 1.0 - error}


@EXPERIMENTS.register(IDEAL)
def ideal(source: str, *, blocks: int, fold: int) -> dict[str, Any]:  # noqa: ARG001
    """Return the error of K(A, Ā'), where Ā is a random tenth of the training rows."""
    train, test = split(load(source), fold)
    tenth = np.random.default_rng(fold).permutation(len(train.X))[: len(train.X) // 10]
    return {"accuracy": 1.0 - tuned(train, test, train.X[tenth], inner_folds(train), fold)}


@EXPERIMENTS.register(ALONE)
def alone(source: str, *, blocks: int, fold: int) -> dict[str, Any]:
    """Return the mean error of some cells that train on their own rows and columns."""
    train, test = split(load(source), fold)
    generator = np.random.default_rng([fold, blocks])
    row_blocks = np.array_split(
        generator.permutation(len(train.X)), max(1, round(len(train.X) / ROWS_OF_A_CELL))
    )
    columns = column_blocks(train.X.shape[1], blocks)
    places = generator.permutation(len(row_blocks) * blocks)[:CELLS]
    found = []
    for place in places:
        own, here = columns[place % blocks], row_blocks[place // blocks]
        cell = train.of(here, own)
        found.append(
            tuned(cell, test.of(slice(None), own), None, list(LeaveOneOut().split(cell.X)), int(place))
        )
    return {"accuracy": 1.0 - float(np.mean(found)), "cells": len(found)}
