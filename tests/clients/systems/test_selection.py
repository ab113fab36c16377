"""What a site answers in a feature selection: sums by class, and sums over its support vectors."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from flower_pansvm.errors import TableError
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.secure_sum.fixed_point import scale_exponent
from flower_pansvm.systems.pan_svm.cuts import Problem
from flower_pansvm.systems.scaling import HEADROOM
from flower_pansvm.systems.selection import CLASS_MOMENTS, SUPPORT, Duals, largest_total
from flower_pansvm.tasks import Nothing
from strategies.federation.federation import Federation
from strategies.master.packing import pack_duals
from tests.clients.systems.conftest import SCALE, SHIFT
from tests.conftest import kept_rows

pytestmark = pytest.mark.usefixtures("begun_ledgers")

Sums = dict[str, NDArray[np.float64]]
Ask = Callable[..., Federation]

TINY = 1e-9
"""As C: then every row with a share is a support vector."""


def train_rows(file: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the scaled training rows of a hospital, and their classes."""
    frame = pd.read_csv(file)
    labels = frame["label"].to_numpy()
    kept = ~kept_rows(file)
    return (frame[["age", "dose"]].to_numpy()[kept] - SHIFT) / SCALE, labels[kept]


def class_moments(federation: Federation) -> Sums:
    return vars(federation.secure_sum(CLASS_MOMENTS, Nothing()))


def support(
    federation: Federation,
    points: NDArray[np.float64],
    beta: list[float],
    *,
    feature_map: int = 0,
    C: float = TINY,
) -> Sums:
    """Ask for the sums over the support vectors of one problem, without its axis."""
    problem = Problem("", points.shape[1] - 1, 180.0, C, Pair(1, REST), feature_map)
    found = federation.secure_sum(SUPPORT, pack_duals([problem], [Duals(points, np.array(beta))]))
    return {name: sums[0] for name, sums in vars(found).items()}


def expected_support(
    file: Path, points: NDArray[np.float64], beta: list[float], least: int, C: float
) -> Sums:
    """Return what a hospital's sums are."""
    X, classes = train_rows(file)
    y = np.where(classes == 1, 1.0, -1.0)
    alpha = (1.0 - y[:, None] * (X @ points[:, :-1].T + points[:, -1]) > 0) @ np.array(beta)
    sides = [(alpha > 1e-3 * C) & (y == sign) for sign in (1.0, -1.0)]
    sides = [side if side.sum() >= least else np.zeros_like(side) for side in sides]
    return {
        "weights": (alpha * y) @ X,
        "count": np.array([float(side.sum()) for side in sides]),
        "total": np.stack([X[side].sum(axis=0) for side in sides]),
        "square": np.stack([np.square(X[side]).sum(axis=0) for side in sides]),
    }


def assert_sums_are(found: Sums, parts: list[Sums]) -> None:
    for name in parts[0]:
        np.testing.assert_allclose(found[name], sum(part[name] for part in parts), atol=1e-9)


# Sums by class


def test_sums_by_class_are_those_of_all_rows_with_missing_cells_left_out(
    joined: Ask, hospital_files: list[Path]
) -> None:
    frame = pd.read_csv(hospital_files[1])
    frame.loc[5:20, "dose"] = np.nan
    frame.to_csv(hospital_files[1], index=False)
    parts: list[Sums] = []
    for file in hospital_files:
        X, classes = train_rows(file)
        by_class = [X[classes == one] for one in (0, 1)]
        parts.append(
            {
                "count": np.stack([(~np.isnan(rows)).sum(axis=0) for rows in by_class]).astype(float),
                "total": np.stack([np.nansum(rows, axis=0) for rows in by_class]),
                "square": np.stack([np.nansum(rows**2, axis=0) for rows in by_class]),
            }
        )
    assert_sums_are(class_moments(joined()), parts)
    assert 0 < np.sum([part["count"][:, 1] for part in parts]) < 164


def test_a_class_of_too_few_rows_is_refused_without_a_value_of_the_data(
    joined: Ask, hospital_files: list[Path]
) -> None:
    frame = pd.read_csv(hospital_files[1])
    rare = frame.index[frame["label"] == 1][8:]
    frame.drop(rare).to_csv(hospital_files[1], index=False)
    left = np.count_nonzero(train_rows(hospital_files[1])[1])
    assert class_moments(joined(min_cluster=left))["count"][1, 0] > left
    with pytest.raises(
        TableError, match=f"'hospital1' has a class with fewer than {left + 1} patients"
    ) as refused:
        class_moments(joined(min_cluster=left + 1))
    text = str(refused.value)
    assert not any(str(cell) in text for cell in frame[["age", "dose"]].to_numpy().ravel())
    assert str(left) not in text


def test_a_class_that_a_hospital_has_no_row_of_is_not_refused(
    joined: Ask, hospital_files: list[Path]
) -> None:
    frame = pd.read_csv(hospital_files[1])
    frame[frame["label"] == 0].to_csv(hospital_files[1], index=False)
    others = [train_rows(hospital_files[number])[1].sum() for number in (0, 2)]
    assert class_moments(joined(min_cluster=5))["count"][1, 0] == sum(others)


# Sums over support vectors

POINTS = np.array([[1.6, -3.6, 0.8], [0.4, -4.8, -1.2], [3.2, 1.2, 0.0]])
BETA = [0.5, 0.3, 0.2]


@pytest.mark.parametrize("C", [1.0, 500.0], ids=["every row with a share", "rows with a large share"])
def test_sums_over_support_vectors_are_those_of_numpy(
    C: float, joined: Ask, hospital_files: list[Path]
) -> None:
    found = support(joined(), POINTS, BETA, C=C)
    parts = [expected_support(file, POINTS, BETA, least=2, C=C) for file in hospital_files]
    assert_sums_are(found, parts)
    assert 0 < found["count"].sum() < sum(len(train_rows(file)[0]) for file in hospital_files)


def test_a_side_of_few_support_vectors_is_left_out(joined: Ask, hospital_files: list[Path]) -> None:
    rows = [train_rows(file) for file in hospital_files]
    ages = np.sort(np.concatenate([X[classes == 1, 0] for X, classes in rows]))
    # The twenty youngest of the positive class.
    points = np.array([[1e3, 0.0, 1.0 - 1e3 * ages[19:21].mean()]])
    everyone = [expected_support(file, points, [1.0], 1, TINY) for file in hospital_files]
    counts = [part["count"][0] for part in everyone]
    assert min(counts) < 7 <= max(counts)
    assert sum(counts) == 20
    found = support(joined(min_cluster=7), points, [1.0])
    assert_sums_are(found, [expected_support(file, points, [1.0], 7, TINY) for file in hospital_files])
    assert found["count"][0] == sum(count for count in counts if count >= 7)


@pytest.mark.usefixtures("unchecked")
def test_no_choice_of_units_is_refused_where_one_hospitals_sums_are_large(
    enrolled: Callable[..., Federation], tell_maps: Callable[..., None]
) -> None:
    """A refusal named the hospital: in a run of growing units the first one told its own sum, to any digit."""
    federation = enrolled()
    for scale in np.geomspace(1.0, 1e-29, 60):
        tell_maps(federation, np.zeros(2), np.full(2, scale))
        class_moments(federation)


@pytest.mark.usefixtures("unchecked")
def test_units_near_the_rounding_tell_each_hospitals_sum_and_not_whose_it_is(
    enrolled: Callable[..., Federation], tell_maps: Callable[..., None], hospital_files: list[Path]
) -> None:
    """Each part is rounded by itself: their sum grows by one where a part passes one half, in 42 questions."""
    federation = enrolled(kernel="linear")
    step = 2.0 ** scale_exponent(HEADROOM * largest_total(3), 3)

    def rounded_parts(unit: float) -> float:
        tell_maps(federation, np.zeros(2), np.full(2, unit * step))
        return float(support(federation, np.zeros((1, 3)), [1.0])["total"][0, 0]) * step

    found = []
    for parts in (1, 2, 3):
        low, high = 100.0, 100_000.0
        for _ in range(14):
            middle = np.sqrt(low * high)
            low, high = (middle, high) if rounded_parts(middle) >= parts else (low, middle)
        found.append(low / 2)
    sums = []
    for file in hospital_files:
        X, classes = train_rows(file)
        sums.append(float((X[classes == 1, 0] * SCALE[0] + SHIFT[0]).sum()))
    np.testing.assert_allclose(sorted(found), sorted(sums), rtol=1e-3)
