"""No row moves a private answer by more than is charged for, whatever the coordinator asks."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from clients.local import private_training
from clients.rows import Rows
from clients.site import Site
from flower_pansvm.errors import SettingError
from flower_pansvm.fourier_map import BINS, FourierMap
from flower_pansvm.schema import Schema
from flower_pansvm.tasks.private_training import (
    PRIVATE_BINS,
    PRIVATE_MAP,
    PRIVATE_MOMENTS,
    PRIVATE_SCORES,
    PRIVATE_STEP,
    BinsQuestion,
    PrivateMomentsQuestion,
    PrivateWeightsQuestion,
)
from flower_pansvm.tasks.task import Task

COLUMNS = 3
WORK: dict[Task[Any, Any], Any] = {
    PRIVATE_BINS: private_training.private_bins,
    PRIVATE_MOMENTS: private_training.private_moments,
    PRIVATE_STEP: private_training.private_step,
    PRIVATE_SCORES: private_training.private_scores,
}


@dataclass
class Fake:
    """What the local work asks of a site."""

    rows: Rows
    feature_map: FourierMap
    classes: int
    name: str = "north"

    def told(self, broadcast: object) -> FourierMap:
        assert broadcast is PRIVATE_MAP
        return self.feature_map

    def schema(self) -> Schema:
        return Schema(("a", "b", "c"), tuple(map(str, range(self.classes))))

    @property
    def context(self) -> SimpleNamespace:
        return SimpleNamespace(node_config={})


def feature_map(generator: np.random.Generator, scale: float) -> FourierMap:
    """Return a map, more or less wild."""
    low = generator.normal(size=COLUMNS) * scale
    return FourierMap(
        low,
        low + generator.normal(size=COLUMNS) * scale,
        *generator.normal(size=(2, COLUMNS, BINS)) * scale,
        *generator.normal(size=(2, COLUMNS)) * scale,
        generator.normal(size=(4, COLUMNS)) * scale,
        float(generator.uniform(-0.5, 1.5)),
    )


def answers(site: Fake, weights: NDArray[np.float64], task: Task[Any, Any]) -> Any:
    low, high = site.feature_map.low, site.feature_map.high
    questions = {
        PRIVATE_BINS: BinsQuestion(0.01, low, high),
        PRIVATE_MOMENTS: PrivateMomentsQuestion(0.01),
        PRIVATE_STEP: PrivateWeightsQuestion(0.01, weights),
        PRIVATE_SCORES: PrivateWeightsQuestion(0.01, weights),
    }
    return WORK[task](cast(Site, site), questions[task])


@pytest.mark.parametrize("task", list(WORK), ids=lambda task: task.name)
@given(
    seed=st.integers(0, 2**32),
    classes=st.sampled_from([2, 3, 5]),
    scale=st.sampled_from([0.3, 1.0, 30.0, 1e200]),
)
def test_one_row_more_changes_an_answer_by_its_sensitivity_at_most(
    task: Task[Any, Any], seed: int, classes: int, scale: float
) -> None:
    """In the norm that the noise is made for: each part divided by what it declares."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(6, COLUMNS)) * generator.choice([1.0, 100.0, 1e300])
    X[generator.random(X.shape) < 0.1] = np.nan
    rows = Rows(X, generator.integers(classes, size=6))
    told = feature_map(generator, scale)
    weights = generator.normal(size=(told.size, 1 if classes == 2 else classes)) * scale
    weights[generator.random(weights.shape) < 0.05] = np.nan
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_training, "lasting_split", lambda site: (site.rows, site.rows))
        whole = answers(Fake(rows, told, classes), weights, task)
        less = answers(Fake(Rows(rows.X[:-1], rows.classes[:-1]), told, classes), weights, task)
    changed = 0.0
    for name, part in task.declared.items():
        assert np.isfinite(getattr(whole, name)).all()
        difference = getattr(whole, name) - getattr(less, name)
        changed += float(np.square(difference / part.sensitivity(whole)).sum())
    assert changed <= 1 + 1e-12


def test_the_bounds_are_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the noise would be larger than it has to be, or the test above could not fail."""
    monkeypatch.setattr(private_training, "lasting_split", lambda site: (site.rows, site.rows))
    generator = np.random.default_rng(0)
    told = feature_map(generator, 0.3)
    long = {
        "high": told.low + 1,
        "mean": np.full(COLUMNS, -9.0),
        "deviation": np.ones(COLUMNS),
        "linear": 0.7,
    }
    told = FourierMap(
        **{**vars(told), "ranks": np.zeros((COLUMNS, BINS)), "rises": np.zeros((COLUMNS, BINS)), **long}
    )
    far = Rows(np.full((1, COLUMNS), 9.0), np.array([1]))
    none = Rows(np.empty((0, COLUMNS)), np.empty(0, dtype=np.int64))
    weights = np.full((told.size, 1), -100.0)
    for task in WORK:
        with_row, without = (answers(Fake(rows, told, 2), weights, task) for rows in (far, none))
        changed = sum(
            np.square((getattr(with_row, name) - getattr(without, name)) / part.sensitivity(with_row)).sum()
            for name, part in task.declared.items()
        )
        assert changed > 0.9, task.name


@pytest.mark.parametrize("shape", [(1, 1), (12, 2), (12,), (0, 1)])
def test_weights_that_do_not_fit_are_refused(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_training, "lasting_split", lambda site: (site.rows, site.rows))
    site = Fake(Rows(np.zeros((2, COLUMNS)), np.array([0, 1])), feature_map(np.random.default_rng(0), 1.0), 2)
    for task in (PRIVATE_STEP, PRIVATE_SCORES):
        with pytest.raises(SettingError, match="do not fit its columns and classes"):
            answers(site, np.zeros(shape), task)


def test_a_map_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_training, "lasting_split", lambda site: (site.rows, site.rows))
    told = feature_map(np.random.default_rng(0), 1.0)
    wrong = FourierMap(**{**vars(told), "mean": np.zeros(COLUMNS + 1)})
    with pytest.raises(SettingError, match="do not fit"):
        answers(
            Fake(Rows(np.zeros((2, COLUMNS)), np.array([0, 1])), wrong, 2), np.zeros((12, 1)), PRIVATE_MOMENTS
        )
