"""Landmarks: good k-means centres, none of which shows fewer records than allowed; the steps of the bounding box."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from flower_pansvm.errors import SettingError
from flower_pansvm.systems.pan_svm import landmarks
from flower_pansvm.systems.pan_svm.landmarks import cluster_centres


def blobs(rows: int, features: int = 3, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, features)) + 6.0 * rng.integers(0, 3, size=(rows, 1))


@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(0, 80),
    clusters=st.integers(1, 100),
    min_cluster=st.integers(1, 12),
    seed=st.integers(0, 2**31),
)
def test_every_centre_is_the_mean_of_enough_rows(
    rows: int, clusters: int, min_cluster: int, seed: int
) -> None:
    # Row i also carries the i-th unit vector, so a centre times its size says which rows it is the mean of.
    place = blobs(rows, seed=seed)
    marked = np.hstack([place, 1e-3 * np.eye(rows)])
    centres, sizes = cluster_centres(marked, clusters, min_cluster, seed)
    if rows < min_cluster:
        assert centres.shape == (0, rows + 3)
        assert sizes.shape == (0,)
        return
    members = np.rint(centres[:, 3:] * sizes[:, None] * 1e3)
    assert centres[:, 3:] * sizes[:, None] * 1e3 == pytest.approx(members, abs=1e-6)
    assert set(np.unique(members)) <= {0.0, 1.0}
    assert (members.sum(axis=0) == 1).all(), "every row is in exactly one cluster"
    assert (members.sum(axis=1) == sizes).all()
    assert sizes.min() >= min_cluster
    assert len(sizes) <= clusters
    assert centres[:, :3] == pytest.approx(members @ place / sizes[:, None])


@settings(deadline=None, max_examples=60)
@given(
    whose=st.lists(st.integers(0, 15), min_size=1, max_size=80),
    clusters=st.integers(1, 40),
    min_cluster=st.integers(1, 6),
    seed=st.integers(0, 2**31),
)
def test_of_several_rows_of_a_patient_every_centre_is_the_mean_of_enough_patients(
    whose: list[int], clusters: int, min_cluster: int, seed: int
) -> None:
    """Each patient weighs as much in a centre: of one with half of all rows it would be nearly that patient."""
    patients = np.array(whose)
    marked = np.hstack([blobs(len(whose), seed=seed), 1e-3 * np.eye(16)[patients]])
    centres, sizes = cluster_centres(marked, clusters, min_cluster, seed, patients)
    if len(np.unique(patients)) < min_cluster:
        assert len(centres) == 0
        return
    shares = centres[:, 3:] * 1e3
    assert ((shares > 1e-6).sum(axis=1) == sizes).all()
    assert sizes.min() >= min_cluster
    for share, size in zip(shares, sizes, strict=True):
        assert share[share > 1e-6] == pytest.approx(np.full(size, 1 / size))


def test_with_min_cluster_1_they_are_plain_k_means_centres() -> None:
    X = blobs(200)
    centres, _ = cluster_centres(X, 40, 1, seed=3)
    expected = KMeans(40, n_init=1, random_state=3).fit(X).cluster_centers_
    order, expected_order = np.lexsort(centres.T), np.lexsort(expected.T)
    assert centres[order] == pytest.approx(expected[expected_order], abs=1e-9)


def distortion(X: NDArray[np.float64], centres: NDArray[np.float64]) -> float:
    return float(np.square(X[:, None] - centres).sum(axis=2).min(axis=1).sum())


@pytest.mark.parametrize(("clusters", "filled", "least"), [(20, True, 20), (100, True, 80), (100, False, 40)])
def test_small_clusters_are_filled_up_or_merged_at_little_cost_of_quality(
    clusters: int, filled: bool, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are merged where filling up would take too long; filled up, they are as many as the rows suffice for."""
    if not filled:
        monkeypatch.setattr(landmarks, "LARGEST_ASSIGNMENT", 0)
    X = blobs(400)
    centres, sizes = cluster_centres(X, clusters, 5, seed=0)
    plain = KMeans(len(centres), n_init=1, random_state=0).fit(X).cluster_centers_
    assert least <= len(centres) <= (least if filled else 79)
    assert sizes.min() >= 5
    assert distortion(X, centres) <= 1.5 * distortion(X, plain)


@pytest.mark.parametrize("filled", [True, False])
def test_a_small_cluster_gets_the_rows_that_cost_least_or_is_merged_with_the_nearest_one(
    filled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not filled:
        monkeypatch.setattr(landmarks, "LARGEST_ASSIGNMENT", 0)
    X = np.array([[0.0], [0.1], [0.2], [50.0], [50.1], [50.2], [90.0]])
    centres, sizes = cluster_centres(X, 3, 2, seed=0)
    order = np.argsort(centres[:, 0])
    assert sizes[order].tolist() == ([3, 2, 2] if filled else [3, 4])
    expected = [0.1, 50.05, (50.2 + 90.0) / 2] if filled else [0.1, (50.0 + 50.1 + 50.2 + 90.0) / 4]
    assert centres[order, 0] == pytest.approx(expected)


def test_duplicate_rows_give_no_empty_clusters_and_no_warning() -> None:
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 10, axis=0)
    centres, sizes = cluster_centres(X, 8, 5, seed=0)
    assert sorted(map(tuple, centres)) == [(1.0, 2.0), (3.0, 4.0)]
    assert sizes.tolist() == [10, 10]


@pytest.mark.parametrize(("clusters", "min_cluster"), [(0, 5), (3, 0), (-1, 1)])
def test_senseless_counts_are_an_error(clusters: int, min_cluster: int) -> None:
    with pytest.raises(SettingError):
        cluster_centres(blobs(10), clusters, min_cluster, seed=0)
