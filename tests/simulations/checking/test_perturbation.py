"""What `pansvm check` says level perturbed is worth: known errors of the filter, and tables it does not protect."""

from dataclasses import replace

import numpy as np
import pytest

from clients.perturb import PerturbedTerms, perturbed_table
from clients.table.table import Table
from simulations.checking.perturbation import filter_errors, next_to_their_own, standardised, worth


def table(X: np.ndarray) -> Table:
    return Table(tuple(f"c{n}" for n in range(X.shape[1])), X, np.resize(["a", "b"], len(X)))


def genes(rows: int = 60, columns: int = 400) -> np.ndarray:
    generator = np.random.default_rng(0)
    factors = generator.normal(size=(rows, 5)) @ generator.normal(size=(5, columns))
    return factors + 0.3 * generator.normal(size=(rows, columns))


@pytest.mark.parametrize("noise", [0.25, 0.5])
def test_the_filters_error_is_that_of_a_filter_on_a_copy(noise: float) -> None:
    generator = np.random.default_rng(1)
    X = generator.normal(size=(4000, 3)) @ generator.normal(size=(3, 8)) + generator.normal(size=(4000, 8))
    Z, copy = standardised(X), perturbed_table(table(X), "", None, PerturbedTerms(noise, False), b"k" * 32).X
    noisy = (copy - X.mean(axis=0)) / X.std(axis=0)
    covariance = Z.T @ Z / len(Z)
    guesses = noisy @ np.linalg.solve(covariance + noise**2 * np.eye(8), covariance)
    found = np.sqrt(np.mean((guesses - Z) ** 2, axis=0))
    assert found == pytest.approx(filter_errors(Z, noise), rel=0.08)


def test_with_more_columns_than_rows_the_error_is_the_same_as_by_the_covariance() -> None:
    Z = standardised(genes())
    C = Z.T @ Z / len(Z)
    left = np.diag(C - C @ np.linalg.solve(C + 0.25 * np.eye(len(C)), C))
    assert filter_errors(Z, 0.5) == pytest.approx(np.sqrt(left), abs=1e-6)


def test_genes_are_not_protected_and_columns_apart_are() -> None:
    assert not worth(table(genes()), None)[0]
    protected, text = worth(table(np.random.default_rng(2).normal(size=(300, 5))), None)
    assert protected
    assert "'c" not in text


def test_columns_that_are_told_by_others_are_named() -> None:
    X = np.random.default_rng(3).normal(size=(300, 30))
    X[:, 1:6] = X[:, [0]] + 0.01 * X[:, 1:6]
    protected, text = worth(table(X), None)
    assert protected
    assert "'c0', 'c1', 'c2', 'c3', 'c4' and 1 more" in text


def test_records_stay_next_to_their_copies_where_columns_are_many() -> None:
    X = np.random.default_rng(4).normal(size=(300, 100))
    assert next_to_their_own(table(X), None, 0.5) > 0.95
    assert next_to_their_own(table(X[:, :2]), None, 0.5) < 0.2


def test_of_a_table_without_columns_that_differ_or_with_few_records_nothing_is_said() -> None:
    nothing = np.column_stack([np.full(50, 3.0), np.full(50, np.nan)])
    assert worth(table(nothing), None) == (True, "")
    assert worth(table(genes(10, 3)), None) == (True, "")
    # One that holds both is sound.
    X = np.column_stack([nothing, np.random.default_rng(5).normal(size=(50, 3))])
    X[::7, 2] = np.nan
    assert worth(table(X), None)[0]
    assert worth(replace(table(X), labels=None), None)[0]
