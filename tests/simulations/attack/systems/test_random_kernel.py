"""A documented weakness, and no failure: who knows B_j computes rows from published kernel rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.kernels import Kernel
from flower_pansvm.systems.random_kernel import random_matrix
from simulations.attack.systems.random_kernel import rows_from_kernel

KERNELS = [Kernel("linear"), Kernel("rbf", 0.5)]


def found(kernel: Kernel, X: Floats, rows: int, zero_one: Bools) -> int:
    """Return how many rows are computed to a millionth."""
    B = random_matrix(bytes(32), rows, X.shape[1])
    solved = rows_from_kernel(kernel, kernel(X, B), B, zero_one)
    return int((np.abs(solved - X).max(axis=1) < 1e-6).sum())


def heart(folder: Path) -> tuple[Floats, Bools]:
    X = pd.read_csv(folder / "heart-cleveland.csv.gz").dropna().drop(columns="label").to_numpy(dtype=float)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    zero_one: Bools = np.array([set(column) <= {0.0, 1.0} for column in X.T])
    return X, zero_one


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_all_of_clevelands_patients_are_computed_with_the_paper_s_number_of_rows(
    kernel: Kernel, shared_data: Path
) -> None:
    """sex, fbs and exang are 0 or 1, and that is enough; with half as many rows of B none is found."""
    X, zero_one = heart(shared_data)
    assert (X.shape, zero_one.sum()) == ((297, 13), 3)
    assert found(kernel, X, 12, zero_one) == 297
    assert found(kernel, X, 6, zero_one) == 0


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_two_columns_of_zero_and_one_do_and_none_do_not(kernel: Kernel) -> None:
    generator = np.random.default_rng(0)
    X = generator.random((40, 6))
    X[:, :3] = X[:, :3] < 0.5
    zero_one: Bools = np.arange(6) < 3
    assert found(kernel, X, 5, zero_one) == 40
    assert found(kernel, X, 5, np.zeros(6, dtype=np.bool_)) == 0


def test_a_kernel_row_shows_to_anybody_which_rows_are_alike() -> None:
    """An outsider without B sees that two rows are equal, or near."""
    X = np.random.default_rng(0).random((5, 6))
    X[3] = X[0]
    K = Kernel("rbf", 0.5)(X, random_matrix(bytes(32), 3, 6))
    assert np.allclose(K[0], K[3])
    assert not np.allclose(K[0], K[1])


def test_an_outsider_with_as_many_rows_as_columns_has_the_matrix() -> None:
    """Of the linear kernel: known rows and their published numbers are linear equations for B_j."""
    X, B = np.random.default_rng(0).random((6, 6)), random_matrix(bytes(32), 4, 6)
    K = Kernel("linear")(X, B)
    assert pytest.approx(B, abs=1e-8) == np.linalg.solve(X, K).T


def test_two_runs_with_other_ranges_give_all_rows_without_a_column_of_zero_and_one() -> None:
    """B stays the same from run to run, but the units of the columns are the coordinator's and the other sites'."""
    generator = np.random.default_rng(0)
    X, B, equations, right = generator.random((30, 6)), random_matrix(bytes(32), 5, 6), [], []
    for width in (np.ones(6), np.array([1.0, 1.0, 1.5, 1.0, 1.0, 1.0])):
        equations.append(B / width)
        right.append(Kernel("linear")(X / width, B))
    solved = np.linalg.lstsq(np.vstack(equations), np.hstack(right).T, rcond=None)[0].T
    assert solved == pytest.approx(X, abs=1e-8)
