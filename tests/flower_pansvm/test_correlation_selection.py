"""Correlation-based feature selection: by hand, by brute force, and the sets that Lin et al. 2011 have by Weka."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import mutual_info_score

from flower_pansvm.systems.ssvd import best_first, cut_points, entropy, select, symmetrical_uncertainty

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SONAR = [4, 5, 9, 10, 11, 12, 13, 21, 28, 36, *range(44, 50), 51, 52, 54]
IONOSPHERE = [1, 3, 4, 5, 6, 7, 8, 14, 18, 21, 27, 28, 29, 34]
WDBC = [2, 7, 8, 14, 19, 21, 23, 24, 25, 27, 28]
"""The columns, from 1 on; 19, 14 and, with the patients' number, 12 are the paper's counts."""


def read(folder: Path, name: str) -> tuple[Floats, Ints]:
    frame = pd.read_csv(folder / f"{name}.csv.gz")
    return frame.drop(columns="label").to_numpy(float), np.unique(frame["label"], return_inverse=True)[1]


@pytest.mark.parametrize(("name", "chosen"), [("sonar", SONAR), ("ionosphere", IONOSPHERE), ("", WDBC)])
def test_the_paper_s_selections(request: pytest.FixtureRequest, name: str, chosen: list[int]) -> None:
    shipped = load_breast_cancer(return_X_y=True)
    X, y = read(request.getfixturevalue("shared_data"), name) if name else shipped
    assert (np.flatnonzero(select(X, y)) + 1).tolist() == chosen


def test_a_column_is_cut_where_the_classes_part() -> None:
    values = np.arange(20.0)
    assert cut_points(values, (values >= 8).astype(np.int64)).tolist() == [7.5]
    three = np.digitize(values, [6.5, 13.5])
    assert cut_points(values, three).tolist() == [6.5, 13.5]


def test_a_cut_has_to_be_worth_its_description() -> None:
    """Two against two: a gain of 1 bit costs (log2 3 + log2 7 - 2) / 4 = 0.598. In turns: 0.311 costs more than 1."""
    classes = np.array([0, 0, 1, 1])
    assert cut_points(np.arange(4.0), classes).tolist() == [1.5]
    assert cut_points(np.arange(4.0), np.array([0, 1, 0, 1])).tolist() == []


def test_the_cost_counts_different_cuts_and_not_rows() -> None:
    """Ten equal cells on either side: one candidate, which costs nothing to name, and not 19."""
    values, classes = np.repeat([0.0, 1.0], 10), np.array([0] * 9 + [1] + [0] * 4 + [1] * 6)
    whole, left, right = (
        float(entropy(np.bincount(part).astype(float))) for part in (classes, classes[:10], classes[10:])
    )
    gain = whole - (left + right) / 2
    delta = np.log2(3**2 - 2) - 2 * (whole - left - right)
    assert (np.log2(1) + delta) / 20 < gain < (np.log2(19) + delta) / 20
    assert cut_points(values, classes).tolist() == [0.5]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_symmetrical_uncertainty_is_twice_the_mutual_information_over_entropies(
    pairs: list[tuple[int, int]],
) -> None:
    a, b = (np.array(part, dtype=np.int64) for part in zip(*pairs, strict=True))
    bits = mutual_info_score(a, b) / np.log(2)
    both = sum(mutual_info_score(part, part) / np.log(2) for part in (a, b))
    assert symmetrical_uncertainty(a, b) == pytest.approx(2 * bits / both if both > 1e-12 else 0.0, abs=1e-9)
    assert symmetrical_uncertainty(a, b) == pytest.approx(symmetrical_uncertainty(b, a), abs=1e-12)


def merit(subset: tuple[int, ...], relevance: Floats, between: Floats) -> float:
    pairs = sum(between[one, other] for one, other in combinations(subset, 2))
    return float(relevance[list(subset)].sum() / np.sqrt(len(subset) + 2 * pairs))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_of_few_columns_the_best_subset_of_all_is_found(seed: int, columns: int) -> None:
    """With so few columns, five expansions without a better subset are nearly all there are."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 3, size=(30, columns))
    y = (codes.sum(axis=1) + generator.integers(0, 2, 30) > columns).astype(np.int64)
    relevance = np.array([symmetrical_uncertainty(code, y) for code in codes.T])
    between = np.array([[symmetrical_uncertainty(a, b) for b in codes.T] for a in codes.T])
    np.fill_diagonal(between, 0.0)
    found = best_first(relevance, between.__getitem__)
    subsets = [one for size in range(1, columns + 1) for one in combinations(range(columns), size)]
    best = max(merit(one, relevance, between) for one in subsets)
    if best <= 1e-5:
        assert not found
    else:
        assert merit(tuple(found), relevance, between) == pytest.approx(best, abs=columns * 1e-5)


def test_a_column_that_others_repeat_is_left_out_and_one_that_is_told_by_none_joins() -> None:
    generator = np.random.default_rng(0)
    y = np.arange(200) % 2
    strong = y + 0.5 * generator.normal(size=200)
    weak = y + 1.5 * generator.normal(size=200)
    noise = generator.normal(size=200)
    chosen = select(np.column_stack([noise, strong, strong**3, weak, np.ones(200)]), y)
    assert chosen[1] != chosen[2]
    assert not chosen[0]
    assert not chosen[4]


@pytest.mark.parametrize(
    ("X", "y"),
    [(np.zeros((10, 3)), np.arange(10) % 2), (np.arange(30.0).reshape(10, 3), np.zeros(10, np.int64))],
)
def test_without_two_classes_or_values_nothing_is_cut_or_chosen(X: Floats, y: Ints) -> None:
    assert len(cut_points(X[:, 0], y)) == 0
    assert not select(X, y).any()
