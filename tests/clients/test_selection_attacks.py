"""What a coordinator can make of the sums of a feature selection, and what a site prevents."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from clients.gate.blur import draw_for
from flower_pansvm.cutting_planes.cuts import Draw, Duals
from flower_pansvm.cutting_planes.problem import NO_FOLD, Problem
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.tasks.selection import CLASS_MOMENTS, SUPPORT
from flower_pansvm.tasks.task import Nothing
from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from simulations.engines.running import in_process_grid
from strategies.federation.federation import Federation
from strategies.pan_svm import PanSVM
from strategies.settings import Settings, make_settings
from strategies.steps.packing import pack_duals
from strategies.steps.scaling import learn_moments
from strategies.subsets import Subsets

Floats = NDArray[np.float64]
Sums = dict[str, Floats]
MakeGrid = Callable[..., InProcessGrid]

SHIFT, SCALE = np.array([50.0, 0.0]), np.array([10.0, 0.01])


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Return settings with which the rows themselves are a feature map that hospitals accept."""
    return replace(settings, kernel="linear")


def distance_to_a_row(points: Floats, rows: Floats) -> Floats:
    """Return how far each point is from the row next to it."""
    nearest: Floats = np.abs(points[:, None, :] - rows[None, :, :]).max(axis=2).min(axis=1)
    return nearest


def support_sums(federation: Federation, points: Floats, beta: Floats, blur: int) -> Sums:
    """Ask for sums over the support vectors of one problem for each row of ``points`` and ``beta``."""
    rank = points.shape[2] - 1
    # As C is small, every row with a share is a support vector.
    problems = [Problem("", rank, 144.0, 1e-9, Pair(1, REST))] * len(points)
    duals = [Duals(own, np.full(len(own), blur), part) for own, part in zip(points, beta, strict=True)]
    return vars(federation.secure_sum(SUPPORT, pack_duals(problems, duals, blur=bool(blur))))


# Sums that differ in one row


def found_between_ages(federation: Federation, blur: int) -> dict[str, Floats]:
    """Return what differences of sums say, if support vectors are those below an age and then those below the next.

    From step to step of a selection few rows become or cease to be support vectors; here the coordinator chooses them.
    """
    ages, steep = np.linspace(-3.0, 3.0, 151), 1e6
    points = np.column_stack([np.full(len(ages), steep), np.zeros(len(ages)), 1.0 - steep * ages])[:, None]
    sums = support_sums(federation, points, np.ones((len(ages), 1)), blur)
    # The sum of two cutting planes, one of them taken off, is their difference at once.
    both = np.concatenate([points[1:], points[:-1]], axis=1)
    taken_off = np.tile([1.0, -1.0], (len(both), 1))
    of_two = support_sums(federation, both, taken_off, blur)
    steps = np.diff(sums["weights"], axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = np.diff(sums["total"], axis=0) / np.diff(sums["count"], axis=0)[:, :, None]
    found = {"weights": np.vstack([steps, -steps]), "sides": np.nan_to_num(sides.reshape(-1, 2))}
    found["of two"] = np.vstack([of_two["weights"], -of_two["weights"]])
    return {name: values * SCALE + SHIFT for name, values in found.items()}


@pytest.mark.slow
def test_sums_over_support_vectors_differ_in_one_row_only_if_the_hospital_allows_it(
    settings: Settings,
    hospital_files: list[Path],
    hospitals: MakeGrid,
    enrol: Any,
    ask_moments: Any,
    tell_maps: Any,
) -> None:
    rows = np.vstack([pd.read_csv(file)[["age", "dose"]].to_numpy() for file in hospital_files])

    def stolen(preset: str, blur: int) -> dict[str, int]:
        run = replace(settings, preset=preset)
        node: dict[str, Scalar] = {"exact-sums": "agreed", "blur": blur}
        federation = enrol(hospitals(run, hospital_files, node), run)
        ask_moments(federation)
        tell_maps(federation, SHIFT, SCALE)
        found = found_between_ages(federation, blur)
        return {
            name: int(np.count_nonzero(distance_to_a_row(own, rows) < 1e-6)) for name, own in found.items()
        }

    assert min(stolen("exact", blur=0).values()) > 20
    for preset in ("exact", "private"):
        assert stolen(preset, blur=1) == {"weights": 0, "sides": 0, "of two": 0}


# More features than rows


def test_cells_of_a_support_vector_have_weights_of_their_own(
    settings: Settings, hospital_files: list[Path], hospitals: MakeGrid, enrol: Any, tell_maps: Any
) -> None:
    """With one weight for a whole row, sums of squares of many features are equations with few unknowns."""
    for file in hospital_files:
        frame = pd.read_csv(file)
        frame.assign(dose=frame["age"]).to_csv(file, index=False)
    alike, everyone = np.array([50.0, 50.0]), np.array([[[1e-9, 0.0, 0.0]]])

    def sums(blur: int) -> Sums:
        federation = enrol(hospitals(settings, hospital_files, {"blur": blur}), settings)
        tell_maps(federation, alike, np.array([10.0, 10.0]))
        return support_sums(federation, everyone, np.ones((1, 1)), blur)

    for name in ("total", "square"):
        exact, found = sums(blur=0)[name], sums(blur=1)[name]
        np.testing.assert_allclose(exact[..., 0], exact[..., 1])
        assert not np.isclose(found[..., 0], found[..., 1], rtol=1e-8).any()


FEATURES = 600


@pytest.fixture
def wide(tmp_path: Path) -> tuple[Settings, Floats]:
    """Return settings of three hospitals with ten training rows each of 600 features, and all their rows."""
    generator, files, parts = np.random.default_rng(0), [], []
    columns = [f"gene{number}" for number in range(FEATURES)]
    for number in range(3):
        cells = generator.normal(50.0, 10.0, size=(12, FEATURES)).round(1)
        parts.append(cells)
        files.append(str(tmp_path / f"hospital{number}.csv"))
        frame = pd.DataFrame(cells, columns=columns)
        frame.assign(label=np.arange(12) % 2).to_csv(files[-1], index=False)
    settings = make_settings(
        data="|".join(files), sites=3, strategy="voted-wrapper", min_cluster=2, test_fraction=0.2
    )
    return settings, np.vstack(parts)


@pytest.mark.parametrize(
    ("weights", "preset"), [("of each cell", "private"), ("of each cell", "exact"), ("of each row", "exact")]
)
@pytest.mark.slow
def test_many_more_features_than_rows_tell_the_rows_if_a_row_has_one_weight(
    weights: str, preset: str, wide: tuple[Settings, Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack on moments by class and fold and the landmarks, and what stands against it.

    n rows of f features lie in a space of n dimensions, which landmarks of six scalings span if each is a mean of rows.
    Then the sums of squares of the rows of a class, or of a fold, are f linear equations about a matrix with
    n (n + 1) / 2 unknowns, which says in which part of the space these rows lie. A landmark's part in that of a class
    and a fold is often a single row. Where every cell has a weight of its own, landmarks are outside of that space; and
    the noise in the landmarks of a run with noise takes them out of it, too.
    """

    def of_rows(*about: Any) -> Draw:
        usual = draw_for(*about)
        # Other draws, such as which centres a site gives, are no weights of cells.
        return lambda purpose, count: (
            usual(purpose, count)
            if count % FEATURES
            else np.repeat(usual(purpose, count // FEATURES), FEATURES)
        )

    if weights == "of each row":
        monkeypatch.setattr("clients.local.landmarks.draw_for", of_rows)
    settings, rows = wide
    subsets = gather(replace(settings, preset=preset))
    scaling = subsets.scaled_sets[NO_FOLD].scaling
    moments, federation = subsets.moments, subsets.federation
    by_class = vars(federation.secure_sum(CLASS_MOMENTS, Nothing()))
    count = moments.count
    total = (moments.total - count * scaling.shift) / scaling.scale
    square = moments.square - 2 * scaling.shift * moments.total + count * scaling.shift**2
    groups = list(zip(count, total, square / scaling.scale**2, strict=True))
    groups += zip(by_class["count"], by_class["total"], by_class["square"], strict=True)
    landmarks = [
        (subsets.landmarks[fold] * own.scaling.scale + own.scaling.shift - scaling.shift) / scaling.scale
        for fold, own in subsets.scaled_sets.items()
    ]
    found = rows_in_the_span(np.vstack(landmarks), groups) * scaling.scale + scaling.shift
    read = np.count_nonzero(distance_to_a_row(rows, found) < 1e-3)
    assert read > 10 if weights == "of each row" else read == 0


def gather(settings: Settings) -> Subsets:
    """Have sites do what comes before the first step of a selection."""
    strategy = PanSVM(settings)
    strategy.federation = Federation(in_process_grid(settings), settings, strategy)
    schema = strategy.join(strategy.federation)
    moments = learn_moments(strategy.federation, settings)
    return Subsets(strategy.federation, settings, schema, moments)


def rows_in_the_span(landmarks: Floats, groups: list[tuple[Floats, Floats, Floats]]) -> Floats:
    """Return candidates for rows, given count, total and sum of squares of each feature over groups of them."""
    known = [np.append(landmark, 1.0) for landmark in landmarks]
    known += [np.append(total, count[0]) for count, total, _ in groups]
    known = [vector / np.linalg.norm(vector) for vector in known]
    _, singular, basis = np.linalg.svd(np.array(known), full_matrices=False)
    basis = basis[singular > 1e-10 * singular[0]]
    # A row is m.basis, and the sum of its squares over a group is basis_j^T Q basis_j, with Q the sum of m m^T.
    n = len(basis)
    i, k = np.triu_indices(n)
    equations = (basis[i] * basis[k] * np.where(i == k, 1.0, 2.0)[:, None])[:, :-1].T
    last = np.stack([basis[:, -1] @ _symmetric(unit, n) @ basis for unit in np.eye(len(i))], axis=1)
    right = [np.concatenate([square, total, count[:1]]) for count, total, square in groups]
    solved, *_ = np.linalg.lstsq(np.vstack([equations, last]), np.array(right).T, rcond=1e-12)
    inner = [_symmetric(column, n) for column in solved.T]
    # In units in which Q of all rows is 1, rows are at right angles, and each Q is 1 on its rows and 0 on others.
    values, vectors = np.linalg.eigh(inner[-1] + inner[-2])
    values = np.maximum(values, 1e-9)  # where the known vectors do not span the rows, there is no such Q
    white = vectors / np.sqrt(values)
    mixed = sum(np.sqrt(number) * white.T @ Q @ white for number, Q in enumerate(inner, start=1))
    values_of_groups, turned = np.linalg.eigh(np.asarray(mixed))
    blocks = np.split(np.arange(n), np.flatnonzero(np.diff(values_of_groups) > 1e-6) + 1)
    candidates = []
    for vector in known:
        seen = white.T @ (basis @ vector)
        for block in blocks:
            part = turned[:, block] @ (turned[:, block].T @ seen)
            row = (vectors * np.sqrt(values)) @ part @ basis
            if abs(row[-1]) > 1e-6:
                candidates.append(row[:-1] / row[-1])
    return np.array(candidates)


def _symmetric(triangle: Floats, size: int) -> Floats:
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = triangle
    return matrix + np.triu(matrix, 1).T


# Cells that few have


def test_a_column_that_one_row_of_a_class_has_filled_tells_the_cell(
    settings: Settings, hospital_files: list[Path], hospitals: MakeGrid, enrol: Any, tell_maps: Any
) -> None:
    frame = pd.read_csv(hospital_files[1])
    others = frame.index[frame["label"] == 1]
    frame.loc[others[1:], "dose"] = np.nan
    frame.to_csv(hospital_files[1], index=False)
    for file in (hospital_files[0], hospital_files[2]):
        own = pd.read_csv(file)
        own.loc[own["label"] == 1, "dose"] = np.nan
        own.to_csv(file, index=False)
    settings = replace(settings, test_fraction=0.0)
    federation = enrol(hospitals(settings, hospital_files), settings)
    tell_maps(federation, np.zeros(2), np.ones(2))
    sums = vars(federation.secure_sum(CLASS_MOMENTS, Nothing()))
    assert sums["count"][1, 1] == 1
    assert sums["total"][1, 1] == pytest.approx(frame.loc[others[0], "dose"])
