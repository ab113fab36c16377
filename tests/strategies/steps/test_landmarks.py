"""Landmarks by each of the three methods: as good as central ones, and what the sites' rows have to do with them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_wine, make_moons
from sklearn.metrics import pairwise_distances_argmin_min

from flower_pansvm import records
from flower_pansvm.systems.pan_svm.tasks import BOX
from flower_pansvm.tasks import Task
from simulations.engines.in_process import InProcessGrid
from simulations.engines.running import in_process_grid, train_in_process
from strategies.federation.federation import Federation
from strategies.pan_svm.strategy import PanSVM
from strategies.settings import Settings, make_settings
from strategies.steps import landmarks as methods
from strategies.steps.landmarks import gather_landmarks
from strategies.steps.scaling import ScaledFeatures, learn_moments, tell_scalings

Matrix = NDArray[np.float64]
Pool = Callable[..., Any]


def gathered(settings: Settings, folds: bool = False) -> tuple[list[Matrix], list[ScaledFeatures], PanSVM]:
    """Return the landmarks of a run, or those of each of its folds, with their scalings."""
    strategy = PanSVM(settings)
    federation = Federation(in_process_grid(settings), settings, strategy)
    strategy.federation = federation
    strategy.join(federation)
    moments = learn_moments(federation, settings)
    scaled_sets = [moments.scaled(fold) for fold in moments.folds] if folds else [moments.scaled()]
    tell_scalings(federation, scaled_sets)
    return gather_landmarks(federation, settings, scaled_sets), scaled_sets, strategy


def inertia(X: Matrix, centres: Matrix) -> float:
    return float(np.square(pairwise_distances_argmin_min(X, centres)[1]).sum())


@pytest.fixture
def numbers(write_table: Callable[..., str]) -> Callable[[NDArray[np.int64]], str]:
    """Return a function that writes a table of whole numbers, whose sums are exact in any order."""

    def write(X: NDArray[np.int64]) -> str:
        return write_table(X, np.arange(len(X)) % 2, f"table{abs(hash(X.tobytes()))}")

    return write


def whole_numbers(rows: int = 120) -> NDArray[np.int64]:
    return np.random.default_rng(0).integers(-50, 50, size=(rows, 3))


# Federated k-means


@pytest.mark.parametrize("sites", [3, 6])
def test_federated_centres_fit_the_rows_better_than_each_sites_own(sites: int, pool: Pool) -> None:
    fits = {}
    for method in ("k-means", "federated-k-means"):
        settings = make_settings(
            data="wine", sites=sites, landmarks="15", landmark_method=method, min_cluster=2
        )
        (centres,), (scaled,), strategy = gathered(settings)
        schema = strategy.join(Federation(in_process_grid(settings), settings, strategy))
        X = scaled.scaling.transform(pool(settings, schema).X)
        fits[method] = inertia(X, centres)
    assert fits["federated-k-means"] <= 1.02 * fits["k-means"]


def test_federated_steps_are_lloyds_on_the_pooled_rows(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With clusters of any size the steps are those of central k-means."""
    monkeypatch.setattr(methods, "K_MEANS_STEPS", 4)
    settings = make_settings(
        data="wine",
        sites=4,
        landmarks="12",
        landmark_method="federated-k-means",
        min_cluster=1,
        privacy="exact",
    )
    (found,), (scaled,), strategy = gathered(settings)
    (start,), _, _ = gathered(replace(settings, landmark_method="k-means"))
    X = scaled.scaling.transform(
        pool(settings, strategy.join(Federation(in_process_grid(settings), settings, strategy))).X
    )
    centres = start
    for _ in range(4):
        nearest = pairwise_distances_argmin_min(X, centres)[0]
        centres = np.array(
            [X[nearest == i].mean(axis=0) for i in range(len(centres)) if (nearest == i).any()]
        )
    expected = centres[np.lexsort(centres.T[::-1])]
    assert found == pytest.approx(expected, abs=1e-9)


def test_centres_lie_among_the_rows() -> None:
    settings = make_settings(
        data="wine", sites=3, landmarks="10", landmark_method="federated-k-means", privacy="exact"
    )
    (centres,), (scaled,), strategy = gathered(settings)
    X = scaled.scaling.transform(load_wine().data)
    assert (centres >= X.min(axis=0) - 1e-9).all()
    assert (centres <= X.max(axis=0) + 1e-9).all()
    assert strategy.federation.costs.round_trips == 1 + 1 + 1 + methods.K_MEANS_STEPS


@pytest.mark.parametrize(
    "method",
    [
        "k-means",
        pytest.param("federated-k-means", marks=pytest.mark.slow),
        pytest.param("random", marks=pytest.mark.slow),
    ],
)
def test_every_method_is_the_same_in_every_run_and_trains(
    method: str, write_table: Callable[..., str]
) -> None:
    X, y = make_moons(400, noise=0.15, random_state=0)
    settings = make_settings(data=write_table(X, y), landmark_method=method, landmarks="30", C=4.0, tol=0.1)
    strategies = [train_in_process(settings) for _ in range(2)]
    assert strategies[0].model.sha256() == strategies[1].model.sha256()
    assert (strategies[0].evaluation.accuracy or 0) >= 0.9


# Random points of the bounding box


def test_random_landmarks_depend_on_no_row_within_the_box(
    numbers: Callable[[NDArray[np.int64]], str],
) -> None:
    """Rows made of other rows' cells: the same moments and extremes, and so the same landmarks."""
    X = whole_numbers()
    settings = make_settings(
        data=numbers(X), sites=4, landmarks="25", landmark_method="random", test_fraction=0.0, privacy="exact"
    )
    (before,), _, strategy = gathered(settings)
    assert strategy.federation.costs.round_trips == 3
    rng = np.random.default_rng(1)
    shuffled = X.copy()
    sites = site_of_each_row(settings, X)
    for site in range(4):
        for column in range(3):
            own = np.flatnonzero(sites == site)
            shuffled[own, column] = rng.permutation(X[own, column])
    assert (shuffled != X).any(axis=1).mean() > 0.9
    (after,), _, _ = gathered(replace(settings, data=numbers(shuffled)))
    assert (before == after).all()


def site_of_each_row(settings: Settings, X: NDArray[np.int64]) -> NDArray[np.int64]:
    from simulations.data.sites import table_of  # noqa: PLC0415

    owner = {
        tuple(row): site
        for site in range(settings.sites)
        for row in table_of(settings, site).X.astype(int).tolist()
    }
    return np.array([owner[tuple(row)] for row in X.tolist()])


def test_random_landmarks_lie_in_a_box_that_holds_all_rows(pool: Pool) -> None:
    settings = make_settings(data="wine", sites=3, landmarks="100", landmark_method="random", privacy="exact")
    (landmarks,), (scaled,), strategy = gathered(settings)
    schema = strategy.join(Federation(in_process_grid(settings), settings, strategy))
    X = scaled.scaling.transform(pool(settings, schema).X)
    width, box = np.ptp(X, axis=0), np.ptp(landmarks, axis=0)
    # The box is known to the next of 64 steps in geometric progression.
    assert (box > 0.8 * width).all()
    assert (box < 1.5 * width).all()


def test_what_is_told_of_the_box_is_numbers_of_sites() -> None:
    settings = make_settings(data="wine", sites=3, landmarks="10", landmark_method="random")
    sums: dict[str, Matrix] = {}
    ask = Federation.secure_sum

    def look(self: Federation, task: Task[Any, Any], *arguments: Any) -> Any:
        found = ask(self, task, *arguments)
        if task is BOX:
            sums.update(vars(found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Federation, "secure_sum", look)
        gathered(settings)
    assert set(sums) == {"below", "above"}
    for side in sums.values():
        assert side.shape == (1, 13, methods.BOX_STEPS)
        assert set(np.unique(side)) <= {0.0, 1.0, 2.0, 3.0}
        # Who has a row beyond a step has one beyond all smaller steps.
        assert (np.diff(side, axis=2) <= 0).all()


# Folds


@pytest.mark.parametrize("method", ["k-means", "federated-k-means", "random"])
def test_each_fold_has_landmarks_of_its_own(method: str) -> None:
    settings = make_settings(
        data="wine", sites=3, landmarks="12", landmark_method=method, C="auto", cv_folds=3
    )
    found, scaled_sets, _ = gathered(settings, folds=True)
    assert len(found) == len(scaled_sets) == 3
    assert all(0 < len(landmarks) <= 12 for landmarks in found)
    assert not any(np.isin(found[0], other).any() for other in found[1:])


# Slots


def test_the_first_site_writes_the_seed_of_the_slots_to_each_other_and_the_coordinator_cannot_read_it() -> (
    None
):
    settings = make_settings(data="wine", sites=3, landmarks="10")
    _, _, strategy = gathered(settings)
    grid = strategy.federation.grid
    assert isinstance(grid, InProcessGrid)
    seeds = {
        bytes(records.get(context.state, "first.slots")["value"])  # type: ignore[arg-type]
        for context in grid._contexts.values()
    }
    assert len(seeds) == 1
    (seed,) = seeds
    sent = b"".join(
        bytes(note)
        for reply in grid.replies
        for note in records.get(reply.content, "notes").values()  # type: ignore[arg-type]
    )
    assert len(seed) == 32
    assert seed not in sent


# What is said of their number


def warnings_of(caplog: pytest.LogCaptureFixture, **config: Any) -> list[str]:
    with caplog.at_level("WARNING", logger="flwr"):
        gathered(make_settings(**{"sites": 3, **config}))
    return [record.getMessage() for record in caplog.records if "landmarks" in record.getMessage()]


def test_fewer_landmarks_than_asked_for_are_explained_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    (text,) = warnings_of(caplog, data="wine", landmarks="60")
    assert "instead of 60: each is the mean of at least min-cluster=5 rows" in text


def test_few_landmarks_by_auto_are_a_warning_that_says_what_more_would_disclose(
    caplog: pytest.LogCaptureFixture,
) -> None:
    (text,) = warnings_of(caplog, data="wine")
    assert "min-cluster=1" in text
    assert "single rows" in text


@pytest.mark.parametrize(
    "config",
    [
        {"data": "breast_cancer"},
        {"data": "wine", "landmarks": "12"},
        # Each of ten sites rounds its share of the landmarks.
        {"data": "wine", "sites": 10, "landmarks": "36", "min_cluster": 1},
    ],
    ids=str,
)
def test_enough_landmarks_and_few_that_were_asked_for_need_no_word(
    config: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert warnings_of(caplog, **config) == []
