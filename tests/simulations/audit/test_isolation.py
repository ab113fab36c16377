"""Isolated rows: all that a brute force over all combinations finds, and no other."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from simulations.audit.isolation import isolated_by_pairs, isolated_by_quads


def _whole(c: np.ndarray) -> list[list[int]]:
    """Return the sums in whole multiples of 2^-40, and the vector of zeros."""
    return [[round(Fraction(weight) * 2**40) for weight in row] for row in c.tolist()] + [[0] * c.shape[1]]


def _alone(vector: tuple[int, ...]) -> set[int]:
    """Return the row in which a vector is non-zero, if that is a single one."""
    places = [place for place, value in enumerate(vector) if value]
    return set(places) if len(places) == 1 else set()


def _by_pairs(c: np.ndarray) -> list[int]:
    """Return what every difference of two sums gives away."""
    found = set()
    for s, t in itertools.permutations(_whole(c), 2):
        found |= _alone(tuple(a - b for a, b in zip(s, t, strict=True)))
    return sorted(found)


def _by_quads(c: np.ndarray) -> list[int]:
    """Return what every difference of two differences gives away."""
    sums = _whole(c)
    differences = {tuple(a - b for a, b in zip(s, t, strict=True)) for s in sums for t in sums}
    found = set()
    for s, t in itertools.combinations(differences, 2):
        found |= _alone(tuple(a - b for a, b in zip(s, t, strict=True)))
    return sorted(found)


def _assert_as_brute_force(c: np.ndarray) -> None:
    assert isolated_by_pairs(c).tolist() == _by_pairs(c)
    rows, looked_at = isolated_by_quads(c)
    assert rows.tolist() == _by_quads(c)
    assert looked_at == len(c)


zero_one = st.sampled_from([0.0, 1.0])
signed = st.sampled_from([-1.0, 0.0, 1.0])
blurred = st.one_of(signed, st.sampled_from([0.25, 0.5, -0.5, 2**-40, 2**-42]), st.floats(-1, 1))


def matrices(
    weights: st.SearchStrategy[float], sums: int = 5, rows: int = 7
) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, st.tuples(st.integers(0, sums), st.integers(0, rows)), elements=weights)


@given(st.one_of(matrices(zero_one), matrices(signed), matrices(blurred), matrices(st.floats(0, 8))))
def test_same_as_brute_force(c):
    _assert_as_brute_force(c)


@given(
    matrices(zero_one, sums=1, rows=12),
    st.lists(st.sets(st.integers(0, 11), max_size=3), max_size=7),
    st.data(),
)
def test_same_as_brute_force_when_few_rows_change_from_sum_to_sum(first, changes, data):
    current = np.zeros(12) if first.size < 12 else first[0]
    sign = data.draw(arrays(np.float64, 12, elements=st.sampled_from([-1.0, 1.0])))
    c = []
    for flipped in changes:
        current = current.copy()
        current[list(flipped)] = 1 - current[list(flipped)]
        c.append(current * sign)
    c = np.array(c).reshape(-1, 12)
    blur = sorted(data.draw(st.sets(st.integers(0, 11), max_size=2)))
    c[:, blur] = data.draw(arrays(np.float64, (len(c), len(blur)), elements=st.floats(-1, 1)))
    _assert_as_brute_force(c)


@pytest.mark.parametrize("seed", range(3))
def test_same_as_brute_force_with_many_sums(seed):
    generator = np.random.default_rng(seed)
    c = np.cumsum(generator.random((20, 40)) < 0.05, axis=0) % 2.0
    found = isolated_by_pairs(c)
    assert 0 < len(found) < 40
    _assert_as_brute_force(c)


def test_two_sums_that_differ_in_one_row_isolate_it():
    c = np.array([[1.0, 0, 1, -1, 0], [1, 0, 1, 0, 0]])
    assert isolated_by_pairs(c).tolist() == [3]


def test_a_sum_of_one_row_isolates_it():
    assert isolated_by_pairs(np.array([[0.0, 0.0, 0.3, 0.0]])).tolist() == [2]


def test_a_sum_that_is_twice_another_but_for_a_row_isolates_it_by_quads():
    c = np.array([[0.5, 0.25, 0.125], [1.0, 0.5, 0.0]])
    assert isolated_by_pairs(c).tolist() == []
    assert isolated_by_quads(c)[0].tolist() == [2]


def test_two_differences_that_differ_in_one_row_isolate_it():
    generator = np.random.default_rng(0)
    c = np.zeros((4, 3000))
    c[:2] = generator.integers(0, 2, (2, 3000))
    c[:2, 100:110] = 0
    c[2:] = c[:2]
    c[2, 100:110] = 1
    c[3, 100:109] = 1
    assert isolated_by_pairs(c).tolist() == []
    assert isolated_by_quads(c)[0].tolist() == [109]

    c[:, 100:102] = generator.random((4, 2))
    assert isolated_by_quads(c)[0].tolist() == [], "weights drawn afresh for two rows hide the third"


def test_one_blurred_row_hides_the_rows_that_change_beside_it():
    c = np.tri(50, 80)
    assert isolated_by_pairs(c).tolist() == list(range(50))
    c[:, 70] = np.random.default_rng(0).random(50)
    assert isolated_by_pairs(c).tolist() == []
    assert isolated_by_quads(c)[0].tolist() == []


def test_identical_sums_give_nothing_away():
    c = np.tile(np.random.default_rng(0).integers(0, 2, 200), (300, 1)).astype(float)
    assert isolated_by_pairs(c).tolist() == []
    assert isolated_by_quads(c)[0].tolist() == []
    c[:150, 17] = 0.5
    assert isolated_by_pairs(c).tolist() == [17]


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_nothing_is_isolated_without_sums_or_rows(shape):
    assert isolated_by_pairs(np.zeros(shape)).tolist() == []
    rows, looked_at = isolated_by_quads(np.zeros(shape))
    assert rows.tolist() == []
    assert looked_at == len(np.zeros(shape))


def test_a_difference_too_small_for_fixed_point_is_none():
    c = np.array([[1.0, 0.5], [1.0 + 2**-42, 0.25]])
    assert isolated_by_pairs(c).tolist() == [1]


def test_zeros_and_ones_are_told_apart_among_very_many_combinations():
    # 80,000 different sums of two, which hashes of few bits would mix up.
    c = np.random.default_rng(0).integers(0, 2, (400, 64)).astype(float)
    c[-1] = c[0] + c[1] - c[2]
    c[-1, 5] += 1
    assert isolated_by_pairs(c).tolist() == []
    assert isolated_by_quads(c)[0].tolist() == [5]


def test_only_the_last_sums_are_looked_at_and_the_answer_says_so():
    c = np.array([[0.0, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1], [0, 1, 1, 1]])
    rows, looked_at = isolated_by_quads(c, limit=1)
    assert (rows.tolist(), looked_at) == ([], 1)
    rows, looked_at = isolated_by_quads(c, limit=2)
    assert (rows.tolist(), looked_at) == ([0], 2)
    rows, looked_at = isolated_by_quads(c, limit=9)
    assert (rows.tolist(), looked_at) == (_by_quads(c), 4)


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf, 2.0**21])
def test_weights_that_fixed_point_cannot_hold_are_refused(weight):
    c = np.zeros((3, 4))
    c[1, 2] = weight
    for isolated in (isolated_by_pairs, isolated_by_quads):
        with pytest.raises(ValueError, match="finite"):
            isolated(c)


def test_weights_are_left_as_they_were():
    c = np.tri(4)
    isolated_by_quads(c)
    np.testing.assert_array_equal(c, np.tri(4))
