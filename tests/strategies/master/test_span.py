"""Vectors have the same lengths, angles and combinations in a basis of their span."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.master.quadratic_program import basis_coordinates


@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 12),
    count=st.integers(1, 15),
    log_near=st.integers(-16, 0),
)
def test_coordinates_have_the_vectors_inner_products_and_lead_back(
    seed: int, size: int, count: int, log_near: int
) -> None:
    rng = np.random.default_rng(seed)
    # From vectors in all directions to some that are the same but for rounding.
    vectors = rng.normal(size=(size, 1)) + 10.0**log_near * rng.normal(size=(size, count))
    vectors *= 10.0 ** rng.uniform(-6, 6, size=count)
    coordinates, combine = basis_coordinates(vectors)
    lengths = np.linalg.norm(vectors, axis=0)
    cosines = (coordinates.T @ coordinates) / np.outer(lengths, lengths)
    assert cosines == pytest.approx((vectors.T @ vectors) / np.outer(lengths, lengths), abs=1e-7)
    for vector, own, length in zip(vectors.T, coordinates.T, lengths, strict=True):
        assert combine(own) / length == pytest.approx(vector / length, abs=1e-9)


def test_a_vector_of_zeros_and_one_twice_are_no_trouble() -> None:
    vectors = np.array([[0.0, 3.0, 3.0], [0.0, 4.0, 4.0], [0.0, 0.0, 0.0]])
    coordinates, combine = basis_coordinates(vectors)
    assert np.linalg.norm(coordinates, axis=0) == pytest.approx([0.0, 5.0, 5.0])
    assert combine(coordinates[:, 2]) == pytest.approx([3.0, 4.0, 0.0])
