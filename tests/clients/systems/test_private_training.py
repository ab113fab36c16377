"""A row's part in a private answer is a function of that row alone, bit for bit, whatever the coordinator asks.

So no row moves an answer by more than is charged for.
"""

from dataclasses import replace
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from clients import tested
from clients.rows import Rows
from clients.site import Site
from clients.systems import dp_svm as private_training
from clients.systems import output_perturbation
from flower_pansvm.errors import FederationError, SettingError
from flower_pansvm.fourier_map import BINS, FourierMap
from flower_pansvm.privacy import exact
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.systems.dp_svm import (
    PRIVATE_BINS,
    PRIVATE_MAP,
    PRIVATE_MOMENTS,
    PRIVATE_SCORES,
    PRIVATE_STEP,
    BinsQuestion,
    PrivateMomentsQuestion,
    PrivateScoresQuestion,
    PrivateWeightsQuestion,
)
from flower_pansvm.systems.output_perturbation import RFF, RffPrivateScoresQuestion
from flower_pansvm.tasks import Task
from flower_pansvm.tested import FINE
from tests.clients.fake_site import FakeSite, rows_of

WORK: dict[Task[Any, Any], Any] = {
    PRIVATE_BINS: private_training.private_bins,
    PRIVATE_MOMENTS: private_training.private_moments,
    PRIVATE_STEP: private_training.private_step,
    PRIVATE_SCORES: private_training.private_scores,
}
UNORDERED = np.array([-2.0, 2, -1, 1, 3, -2, 3])
SURELY_ROUNDED = 2**-26
"""Multiples of it are no multiples of any step here: what a mutant makes of them."""


def fake(
    rows: Rows, told: FourierMap | None, classes: int, random_map: RandomFourierMap | None = None
) -> FakeSite:
    return FakeSite(rows, classes, {PRIVATE_MAP.name: told, RFF.name: random_map})


def feature_map(generator: np.random.Generator, columns: int, frequencies: int, scale: float) -> FourierMap:
    """Return a map, more or less wild, that sites accept."""
    low = generator.normal(size=columns) * scale
    return FourierMap(
        low,
        low + generator.uniform(0.01, 3, size=columns) * scale,
        *generator.normal(size=(2, columns, BINS)) * scale,
        generator.normal(size=columns) * scale,
        generator.uniform(0.01, 2, size=columns) * scale,
        exact.in_turns(generator.normal(size=(frequencies, columns)) * scale),
        float(generator.choice([0.0, 0.6, 1.0])),
    )


def all_the_same(columns: int, frequencies: int, generator: np.random.Generator) -> FourierMap:
    """Return a map that makes one known point of all rows, as an attacker chooses it who lets the last bit decide."""
    told = feature_map(generator, columns, frequencies, 1.0)
    same = {
        "ranks": np.zeros((columns, BINS)),
        "rises": np.zeros((columns, BINS)),
        "mean": np.full(columns, -1e9),
    }
    return replace(told, **same, deviation=np.full(columns, 1e-9))


def cancelling(told: FourierMap, generator: np.random.Generator, classes: int) -> NDArray[np.float64]:
    """Return weights whose products with the map's point cancel all but the last bits, in floating point."""
    point = told.transform(np.zeros((1, len(told.low))))[0]
    weights = generator.uniform(-1, 1, size=(told.size, 1 if classes == 2 else classes))
    left: NDArray[np.float64] = weights - np.outer(point, point @ weights) / (point @ point)
    return left


def at_the_bounds(told: FourierMap, generator: np.random.Generator, classes: int) -> NDArray[np.float64]:
    """Return such weights as sites accept: as large as can be; the constant lets a row count for half."""
    wild = cancelling(told, generator, classes) * exact.LARGEST_WEIGHT / 2
    near = exact.rounded(wild, exact.WEIGHT_STEP, exact.LARGEST_WEIGHT)
    left = told.transform(np.zeros((1, len(told.low))))[0] @ near - 0.5
    near[-1] = exact.rounded(near[-1] - left / 0.25, exact.WEIGHT_STEP, exact.LARGEST_WEIGHT)
    return near


def table(generator: np.random.Generator, rows: int, columns: int, classes: int) -> Rows:
    X = generator.normal(size=(rows, columns)) * generator.choice([1.0, 100.0, 1e300])
    X[generator.random(X.shape) < 0.1] = np.nan
    return rows_of(X, generator.integers(classes, size=rows))


def answers(site: FakeSite, weights: NDArray[np.float64], task: Task[Any, Any]) -> Any:
    told = site.broadcasts[PRIVATE_MAP.name]
    questions = {
        PRIVATE_BINS: BinsQuestion(0.01, told.low, told.high),
        PRIVATE_MOMENTS: PrivateMomentsQuestion(0.01),
        PRIVATE_STEP: PrivateWeightsQuestion(0.01, weights),
        PRIVATE_SCORES: PrivateScoresQuestion(0.01, weights, edges=UNORDERED),
    }
    return WORK[task](cast(Site, site), questions[task])


def parts(answer: Any) -> NDArray[np.float64]:
    return np.concatenate([np.ravel(part) for part in vars(answer).values()])


def some(rows: Rows, which: slice | NDArray[np.int64]) -> Rows:
    return rows_of(rows.X[which], rows.classes[which])


def test_a_row_moves_no_other_one_among_edges_in_any_order() -> None:
    """In NumPy's search a row at -1.5 moved all rows at 0 behind it from one of these bins to another.

    At a hospital of 500 test rows that was 250 in each of two cells, and the row certain at any epsilon.
    """
    rows = rows_of(np.zeros((9, 1)), np.zeros(9, dtype=np.int64))
    question = PrivateScoresQuestion(0.01, np.zeros((1, 1)), edges=UNORDERED)
    decisions = np.array([[-1.5], *[[0.0]] * 8])
    every, others = (
        tested.tested_answer(cast(Site, fake(part, None, 2)), question, part, decisions[start:]).cells
        for start, part in enumerate((rows, some(rows, slice(1, None))))
    )
    assert np.abs(every - others).sum() == 1 + FINE


@pytest.mark.parametrize("cuts", [[1.0, 0.0], [1.0, np.nan, 0.0]], ids=str)
def test_groups_begin_at_increasing_numbers_only(cuts: list[float]) -> None:
    rows = rows_of(np.zeros((9, 1)), np.zeros(9, dtype=np.int64))
    question = PrivateScoresQuestion(0.01, np.zeros((1, 1)), features=("0",), cuts=np.array(cuts))
    with pytest.raises(FederationError, match="groups"):
        tested.tested_answer(cast(Site, fake(rows, None, 2)), question, rows, np.zeros((9, 1)))


def changed(task: Task[Any, Any], whole: Any, less: Any) -> float:
    """Return by how much two answers differ, in the norm that the noise is made for."""
    return sum(
        float(np.square((getattr(whole, name) - getattr(less, name)) / part.sensitivity(whole)).sum())
        for name, part in task.declared.items()
    )


def case(seed: int, rows: int, classes: int, kind: str, columns: int = 13, frequencies: int = 50) -> Any:
    """Return a table, a map and weights; ``kind`` says how the coordinator has chosen them."""
    generator = np.random.default_rng(seed)
    if kind == "attack":
        told = all_the_same(columns, frequencies, generator)
        weights = at_the_bounds(told, generator, classes)
    elif kind == "off the grid":
        told = all_the_same(columns, frequencies, generator)
        weights = cancelling(told, generator, classes) * 2.0**60
    else:
        told = feature_map(generator, columns, frequencies, float(kind))
        shape = (told.size, 1 if classes == 2 else classes)
        wild = generator.normal(size=shape) * float(generator.choice([1.0, 1e3, exact.LARGEST_WEIGHT]))
        weights = exact.rounded(wild, exact.WEIGHT_STEP, exact.LARGEST_WEIGHT)
    return table(generator, rows, columns, classes), told, weights


KINDS = st.sampled_from(["attack", "attack", "0.3", "1.0", "30.0", "1e200"])


def check_rows_alone(seed: int, rows: int, classes: int, kind: str) -> None:
    """Assert that a table's answer is the sum of the answers about each of its rows alone, to the last bit.

    So it is in another order of the rows, too, as with another kernel of BLAS, which adds up in another order.
    """
    found, told, weights = case(seed, rows, classes, kind)
    order = np.random.default_rng(seed).permutation(rows)

    def answered(task: Task[Any, Any], which: slice | NDArray[np.int64]) -> NDArray[np.float64]:
        return parts(answers(fake(some(found, which), told, classes), weights, task))

    for task in WORK:
        whole = answered(task, slice(None))
        assert np.isfinite(whole).all()
        alone = sum(answered(task, slice(i, i + 1)) for i in range(rows))
        assert np.array_equal(whole, alone), (task.name, seed, rows, classes, kind)
        assert np.array_equal(whole, answered(task, order)), (task.name, seed, rows, classes, kind)


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 40), classes=st.sampled_from([2, 3, 5]), kind=KINDS)
@settings(max_examples=25, deadline=None)
def test_a_rows_part_in_its_table_is_that_of_the_row_alone(
    seed: int, rows: int, classes: int, kind: str
) -> None:
    check_rows_alone(seed, rows, classes, kind)


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 5000), classes=st.sampled_from([2, 4]), kind=KINDS)
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.slow
def test_so_it_is_in_large_tables_and_with_any_number_of_threads(
    threads: int, seed: int, rows: int, classes: int, kind: str
) -> None:
    """One row more, at the end, at the start and within, changes each answer by what it is alone."""
    found, told, weights = case(seed, rows + 1, classes, kind)
    everyone = np.arange(rows + 1)
    with threadpool_limits(threads):
        for task, place in product(WORK, (0, rows // 2, rows)):
            whole, less, alone = (
                parts(answers(fake(some(found, which), told, classes), weights, task))
                for which in (everyone, np.delete(everyone, place), everyone[[place]])
            )
            assert np.array_equal(whole - less, alone), (task.name, seed, rows, place)


@pytest.mark.parametrize("task", list(WORK), ids=lambda task: task.name)
@given(
    seed=st.integers(0, 2**32),
    classes=st.sampled_from([2, 3, 5]),
    kind=KINDS,
    rows=st.sampled_from([0, 5, 300]),
)
@settings(deadline=None, max_examples=30)
def test_one_row_more_changes_an_answer_by_its_sensitivity_at_most(
    task: Task[Any, Any], seed: int, classes: int, kind: str, rows: int
) -> None:
    """In the norm that the noise is made for: each part divided by what it declares."""
    found, told, weights = case(seed, rows + 1, classes, kind)
    whole = answers(fake(found, told, classes), weights, task)
    less = answers(fake(some(found, slice(rows)), told, classes), weights, task)
    assert changed(task, whole, less) <= 1 + 1e-12


def test_the_bounds_are_reached() -> None:
    """Else the noise would be larger than it has to be, or the test above could not fail."""
    told, flat = feature_map(np.random.default_rng(0), 3, 4, 0.3), np.zeros((3, BINS))
    told = replace(told, ranks=flat, rises=flat, high=told.low + 1, linear=0.7)
    told = replace(told, mean=np.full(3, -9.0), deviation=np.ones(3))
    far, none = (
        rows_of(np.full((1, 3), 9.0), np.array([1])),
        rows_of(np.empty((0, 3)), np.empty(0, dtype=np.int64)),
    )
    weights = np.full((told.size, 1), -exact.LARGEST_WEIGHT)
    for task in WORK:
        with_row, without = (answers(fake(rows, told, 2), weights, task) for rows in (far, none))
        assert changed(task, with_row, without) > 0.9, task.name


def float_transform(self: FourierMap, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return features as they were before exact arithmetic: what BLAS rounds."""
    angles = 2 * np.pi * (self.scaled(X) * (1 + SURELY_ROUNDED)) @ self.frequencies.T
    waves = np.hstack([np.cos(angles), np.sin(angles)]) * self.lengths[1]
    return np.hstack([np.zeros((len(X), len(self.low))), waves, np.full((len(X), 1), 0.25)])


def float_slopes(rows: NDArray[np.float64], step: float, longest: float, least: float) -> NDArray[np.float64]:
    """Return slopes of as many bits as a double has: their sums are rounded with every kernel of BLAS."""
    return rows * (2 / 3) / max(1.0, float(np.abs(rows).max(initial=0.0)))


MUTANTS: dict[str, tuple[str, Any, str]] = {
    "features in floating point": ("flower_pansvm.fourier_map.FourierMap.transform", float_transform, "1.0"),
    "slopes that are not cut": ("clients.systems.dp_svm.shortened", float_slopes, "1.0"),
    "weights without step and bound": (
        "clients.systems.dp_svm.is_exact",
        lambda *_: True,
        "off the grid",
    ),
}


@pytest.mark.parametrize("mutant", list(MUTANTS))
def test_arithmetic_that_rounds_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, replacement, kind = MUTANTS[mutant]
    monkeypatch.setattr(target, replacement)
    with pytest.raises(AssertionError):  # noqa: PT012 - at one of the tables
        for seed in range(12):
            check_rows_alone(seed, 23, 2, kind)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 2.0**-17, 2.0**14 + 2.0**-16, -(2.0**20), 5e-324, None])
def test_weights_off_the_grid_or_out_of_bounds_or_of_another_shape_are_refused(wrong: float | None) -> None:
    told = feature_map(np.random.default_rng(0), 3, 4, 1.0)
    random_map = RandomFourierMap(told.low, told.high, told.frequencies)
    site = fake(rows_of(np.zeros((2, 3)), np.array([0, 1])), told, 2, random_map)
    cases = [np.zeros(shape) for shape in ((1, 1), (12, 2), (12,), (0, 1))]
    if wrong is not None:
        cases = [np.zeros((told.size, 1))]
        cases[0][3] = wrong
        asked = RffPrivateScoresQuestion(0.01, np.full(random_map.size, wrong))
        with pytest.raises(SettingError):
            output_perturbation.rff_private_scores(cast(Site, site), asked)
    for weights, task in product(cases, (PRIVATE_STEP, PRIVATE_SCORES)):
        with pytest.raises(SettingError):
            answers(site, weights, task)


MAPS: dict[str, dict[str, Any]] = {
    "mean": {"mean": np.zeros(4)},
    "off the grid": {"frequencies": np.full((4, 3), SURELY_ROUNDED)},
    "size": {"frequencies": np.zeros((50_000, 3))},
    **{
        f"from {low} to {high}": {"low": np.full(3, low), "high": np.full(3, high)}
        for low, high in ((0.0, 0.0), (1.0, 0.0), (np.nan, 1.0))
    },
}


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize("wrong", MAPS)
def test_a_map_that_does_not_fit_is_refused_whatever_rows_there_are(wrong: str, rows: int) -> None:
    """And before there is room for what it asks for: of this size it would ask for 80 gigabytes."""
    told = replace(feature_map(np.random.default_rng(0), 3, 4, 1.0), **MAPS[wrong])
    site = fake(rows_of(np.zeros((rows, 3)), np.zeros(rows, dtype=np.int64)), told, 2)
    for task in (PRIVATE_BINS,) if "low" in MAPS[wrong] else (PRIVATE_MOMENTS, PRIVATE_STEP, PRIVATE_SCORES):
        with pytest.raises(SettingError):
            answers(site, np.zeros((12, 1)), task)


@pytest.mark.parametrize("rows", [0, 2])
@pytest.mark.parametrize(("high", "classes"), [(0.0, 2), (2.0, 3)])
def test_so_is_a_random_map(high: float, classes: int, rows: int) -> None:
    """A site without test rows would answer, and one with a single row refuse."""
    told = RandomFourierMap(np.ones(3), np.full(3, high), np.zeros((2, 3)))
    found = rows_of(np.zeros((rows, 3)), np.zeros(rows, dtype=np.int64))
    asked = RffPrivateScoresQuestion(0.01, np.zeros(told.size))
    with pytest.raises(SettingError):
        output_perturbation.rff_private_scores(cast(Site, fake(found, None, classes, told)), asked)


@given(seed=st.integers(0, 2**32), rows=st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_private_svms_counts_are_those_of_its_rows_alone(seed: int, rows: int) -> None:
    generator = np.random.default_rng(seed)
    found, low = table(generator, rows, 13, 2), generator.normal(size=13)
    told = RandomFourierMap(low, low + 1, exact.in_turns(generator.normal(size=(9, 13)) * 20))
    # All but the last bit of decisions cancels, so that many of them are next to 0.
    weights = generator.uniform(-1, 1, size=told.size) * exact.LARGEST_WEIGHT
    weights[1:18:2] = -weights[0:18:2]
    asked = RffPrivateScoresQuestion(0.01, exact.rounded(weights, exact.WEIGHT_STEP, exact.LARGEST_WEIGHT))

    def counts(which: Rows) -> NDArray[np.float64]:
        site = fake(which, None, 2, told)
        return output_perturbation.rff_private_scores(cast(Site, site), asked).cells

    alone = sum(counts(some(found, slice(i, i + 1))) for i in range(rows))
    assert np.array_equal(counts(found), alone)


def test_memory_does_not_depend_on_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator chooses how many features a row has: blocks have a fixed number of numbers."""
    told = feature_map(np.random.default_rng(0), 3, 2040, 1.0)
    heights: list[int] = []
    transform = FourierMap.transform
    monkeypatch.setattr(
        FourierMap,
        "transform",
        lambda self, X: heights.append(len(X)) or transform(self, X),  # type: ignore[func-returns-value]
    )
    for rows in (240, 242, 2000):
        site = fake(table(np.random.default_rng(0), rows, 3, 2), told, 2)
        answers(site, np.zeros((told.size, 1)), PRIVATE_STEP)
    assert max(heights) * told.size <= exact.BLOCK_NUMBERS
