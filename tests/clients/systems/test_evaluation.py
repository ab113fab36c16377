"""A true record's part in the test of a model is 1 in one cell, and a function of that record alone, bit for bit."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from clients.gate.private import LEAST_RHO
from clients.rows import Rows
from clients.site import Site
from clients.systems import evaluation
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import PanSVMError, SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.fourier_svc import RandomFourierSVC
from flower_pansvm.models.gaussian_mixtures import GaussianMixtures
from flower_pansvm.models.model import Model
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import one_versus_one
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.privacy.exact import in_turns
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.systems.evaluation import ModelTestQuestion
from flower_pansvm.systems.mixture.tasks import ClassModels
from flower_pansvm.tested import FINE
from tests.clients.fake_site import FakeSite, rows_of
from tests.clocks import set_clock

COLUMNS = ("age", "dose", "pulse")


def schema(classes: int, columns: tuple[str, ...] = COLUMNS) -> Schema:
    return Schema(columns, tuple(map(str, range(classes))))


def scaling(columns: int = 3) -> Scaling:
    return Scaling(np.full(columns, 0.5), np.zeros(columns), np.ones(columns))


def pan_svc(classes: int, kernel: Kernel, weight: float = 1.0, columns: tuple[str, ...] = COLUMNS) -> PanSVC:
    generator = np.random.default_rng(classes)
    pairs = one_versus_one(classes)
    return PanSVC.from_parts(
        schema(classes, columns),
        scaling(len(columns)),
        NystromMap(kernel, generator.normal(size=(40, len(columns))), generator.normal(size=(40, 25))),
        weight * generator.normal(size=(len(pairs), 26)),
        pairs,
    )


def cancelling() -> PanSVC:
    """Return a model that lets the last bits decide: all rows lie on one point, whose products with it cancel."""
    model = pan_svc(2, Kernel("rbf", 0.3))
    model.scaling_ = Scaling(np.zeros(3), np.zeros(3), np.full(3, 1e9))
    point, w = model.feature_map_.transform(np.zeros((1, 3)))[0], model.coef_[0]
    model.coef_ = 1e15 * (w - point * (point @ w) / (point @ point))[None]
    model.intercept_ = np.zeros(1)
    return model


def mixtures() -> GaussianMixtures:
    return GaussianMixtures.from_parts(
        schema(2),
        scaling(),
        ClassModels(
            np.array([5.0, 7.0]),
            np.array([1, 2]),
            np.array([1.0, 0.4, 0.6]),
            np.random.default_rng(0).normal(size=(3, 3)),
            np.stack([np.eye(3)] * 3),
        ),
    )


def fourier() -> RandomFourierSVC:
    generator = np.random.default_rng(1)
    frequencies = in_turns(generator.normal(size=(20, 3)))
    feature_map = RandomFourierMap(np.full(3, -2.0), np.full(3, 2.0), frequencies)
    return RandomFourierSVC.from_parts(schema(2), feature_map, generator.normal(size=(40, 1)))  # type: ignore[arg-type]


MODELS: dict[str, Callable[[], Model]] = {
    "rbf": lambda: pan_svc(2, Kernel("rbf", 0.3)),
    "linear, three classes": lambda: pan_svc(3, Kernel("linear")),
    "some of the columns": lambda: pan_svc(2, Kernel("rbf", 0.3), columns=("pulse", "age")),
    "values that overflow": lambda: pan_svc(3, Kernel("linear"), weight=1e300),
    "weights that are no numbers": lambda: pan_svc(2, Kernel("rbf", 1.0), weight=np.nan),
    "endless weights": lambda: pan_svc(3, Kernel("rbf", 1.0), weight=np.inf),
    "the last bits decide": cancelling,
    "mixtures": mixtures,
    "random Fourier features": fourier,
}


def table(rows: int, classes: int, seed: int = 0) -> Rows:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 3))
    X[generator.random(X.shape) < 0.1] = np.nan
    X[:3] *= [[1e300], [1e-300], [1e150]]
    return rows_of(X, generator.integers(classes, size=rows))


NONE: Floats = np.empty(0)


def cells_of(
    model: Model, rows: Rows, classes: int, rho: float = 0.01, edges: Floats = NONE, **groups: Any
) -> NDArray[np.float64]:
    question = ModelTestQuestion(rho, np.frombuffer(model.to_bytes(), np.uint8), edges=edges, **groups)
    return evaluation.model_test(cast(Site, FakeSite(rows, classes, columns=COLUMNS)), question).cells[0]


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return how long the hospital has waited each time, as it grows: the same in each run of a test."""
    seen, draw = list[float](), Random(0)
    monkeypatch.setattr(evaluation, "SystemRandom", lambda: draw)
    set_clock(monkeypatch, evaluation, sleep=seen.append)
    return seen


@pytest.mark.parametrize("name", list(MODELS))
def test_a_records_part_is_the_same_whichever_others_there_are(name: str) -> None:
    model = MODELS[name]()
    classes = len(model.schema_.classes)
    rows = table(61, classes)
    edges = np.array([-1.0, -1e-9, 0.0, 1e-9, 1.0])
    alone = np.stack(
        [cells_of(model, rows_of(rows.X[[i]], rows.classes[[i]]), classes, edges=edges) for i in range(61)]
    )
    assert (np.count_nonzero(alone, axis=(1, 2)) == 2).all()
    assert (alone[:, :, :2].sum(axis=(1, 2)) == 1).all()
    assert (alone[:, :, 2:].sum(axis=(1, 2)) == FINE).all()
    generator = np.random.default_rng(3)
    for size in (2, 3, 8, 30, 61):
        some = generator.permutation(61)[:size]
        together = cells_of(
            model, rows_of(np.asfortranarray(rows.X[some]), rows.classes[some]), classes, edges=edges
        )
        assert (together == alone[some].sum(axis=0)).all()


def test_it_counts_as_the_model_predicts() -> None:
    for name in ("rbf", "linear, three classes", "some of the columns", "mixtures"):
        model = MODELS[name]()
        classes, rows = len(model.schema_.classes), table(200, len(model.schema_.classes))
        places = [COLUMNS.index(column) for column in model.schema_.columns]
        frame = pd.DataFrame(rows.X[3:, places], columns=list(model.schema_.columns))
        said = model.predict(frame).astype(np.int64)
        expected = np.zeros((classes, 2))
        np.add.at(
            expected, (rows.classes[3:], said if classes == 2 else (said == rows.classes[3:]).astype(int)), 1
        )
        assert (cells_of(model, rows_of(rows.X[3:], rows.classes[3:]), classes) == expected).all()


def test_groups_and_edges_without_number_are_refused_before_there_is_room_for_them() -> None:
    rows, model = table(10, 2), MODELS["rbf"]()
    many = np.arange(1e5)
    asked: dict[str, Any]
    for asked in (
        {"edges": many, "features": COLUMNS[:1], "cuts": many},
        {"sites": ("north",) * 10**5, "edges": many},
    ):
        with pytest.raises(SettingError, match="for more than"):
            cells_of(model, rows, 2, **asked)


def test_a_model_that_fails_for_one_record_tells_nothing_by_that(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = PanSVC.decisions_of

    def failing(model: PanSVC, X: NDArray[np.float64]) -> Any:
        if X[0, 0] > 0:
            raise ValueError
        return decide(model, X)

    monkeypatch.setattr(PanSVC, "decisions_of", failing)
    rows = table(40, 2)
    assert cells_of(MODELS["rbf"](), rows, 2).sum() == 40


@pytest.mark.parametrize(
    "model", [pan_svc(3, Kernel("rbf")), pan_svc(2, Kernel("rbf"), columns=("age", "weight"))]
)
@pytest.mark.parametrize("rows", [0, 5])
def test_a_model_that_does_not_fit_is_refused_whatever_the_records(model: Model, rows: int) -> None:
    with pytest.raises(PanSVMError):
        cells_of(model, table(5, 2) if rows else rows_of(np.empty((0, 3)), np.empty(0, np.int64)), 2)


def test_what_is_no_model_is_refused() -> None:
    content = bytearray(MODELS["rbf"]().to_bytes())
    content[len(content) // 2] ^= 1
    for broken in (b"", bytes(content), bytes(evaluation.MOST_BYTES + 1)):
        question = ModelTestQuestion(0.01, np.frombuffer(broken, np.uint8))
        with pytest.raises(PanSVMError):
            evaluation.model_test(cast(Site, FakeSite(table(5, 2), columns=COLUMNS)), question)


@pytest.mark.parametrize("kind", ["U1", "float16", "longdouble", "complex128", "clongdouble"])
@pytest.mark.parametrize("part", ["fill", "landmarks"])
def test_what_takes_longer_with_one_record_than_the_wait_allows_for_is_refused(kind: str, part: str) -> None:
    """Cells that become texts took five times as long as that: a number of many digits takes longer than one of few."""
    model = pan_svc(2, Kernel("rbf"))
    scaling, feature_map = model.scaling_, model.feature_map_
    if part == "fill":
        model.scaling_ = replace(scaling, fill=np.zeros(3).astype(kind))
    else:
        model.feature_map_ = replace(feature_map, landmarks=feature_map.landmarks.astype(kind))
    with pytest.raises(PanSVMError):
        cells_of(model, table(5, 2), 2)


@pytest.mark.parametrize("rho", [LEAST_RHO, 0.01])
def test_a_hospital_waits_for_longer_than_a_record_takes(rho: float, waited: list[float]) -> None:
    """The wait differs by so much from time to time that a record's own time is a tenth of that, or less.

    Times are not charged: a budget pays for 30,000 of the cheapest tests, whose mean time would give a record.
    """
    model, rows, scale = pan_svc(2, Kernel("rbf")), table(5, 2), 10 * evaluation.ROW_SECONDS
    for _ in range(200):
        cells_of(model, rows, 2, rho)
    assert np.std(waited) > scale
    assert np.mean(waited) > 10 * scale
    assert min(waited) > 0
    # What a budget of 0.01 pays for, in squares of a record's longest time by the variance of the wait.
    assert 0.01 / rho * evaluation.ROW_SECONDS**2 / float(np.var(waited)) < 0.01
