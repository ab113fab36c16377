"""A site that contributes what cannot be: the run ends with a clear error, and where it can be seen, names the site."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clients import answering
from clients.door import leave
from flower_pansvm import messages
from flower_pansvm.cutting_planes.cuts import curvature_diagonal, curvature_matrix, curvature_size
from flower_pansvm.errors import FederationError
from flower_pansvm.messages import Task
from simulations.running import train_in_process
from strategies.opened import KnownRows, Opened
from strategies.plausible import check_sum
from strategies.settings import make_settings

LIAR = "site-001"

Results = dict[str, Any]
Lie = Callable[[Results], None]


def shift(name: str, by: float) -> Lie:
    def lie(results: Results) -> None:
        results[name] = results[name] + by

    return lie


def set_all(name: str, value: float) -> Lie:
    def lie(results: Results) -> None:
        results[name] = np.full_like(results[name], value)

    return lie


def put_first(name: str, value: float) -> Lie:
    def lie(results: Results) -> None:
        changed = np.array(results[name], dtype=np.float64)
        changed.flat[0] += value
        results[name] = changed

    return lie


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> Callable[[Task, Lie], None]:
    """Return a function that makes one site change its results of a task before they are masked."""

    def make(task: Task, lie: Lie) -> None:
        def lying(asked: Task, results: Results, participation: Any, notes: Any) -> Any:
            if asked is task and participation.member.name == LIAR:
                lie(results)
            return leave(asked, results, participation, notes)

        monkeypatch.setattr(answering, "leave", lying)

    return make


SETTINGS: dict[str, Any] = {"data": "wine", "sites": 4, "landmarks": "20", "tol": 0.05}


@pytest.mark.parametrize(
    ("task", "lie", "settings", "problem"),
    [
        (
            messages.MOMENTS,
            shift("rows", -100),
            {},
            "'rows' holds a number of rows or cells that is negative",
        ),
        (messages.MOMENTS, shift("rows", 0.5), {}, "negative or not whole"),
        (messages.MOMENTS, shift("count", 1000), {}, "more cells of a column than there are rows"),
        (messages.MOMENTS, shift("total", 1e6), {}, "too large for its number of cells"),
        (messages.MOMENTS, put_first("square", -1e6), {}, "sum of squares that is negative"),
        (messages.LANDMARKS, set_all("filled", 0.25), {}, "something else than a 0 or a 1"),
        (messages.LANDMARKS, set_all("filled", 1.0), {}, "something else than a 0 or a 1"),
        (messages.LANDMARKS, shift("centres", 1.0), {}, "in a slot that is not filled"),
        (
            messages.ASSIGN,
            put_first("weights", -200),
            {"landmark_method": "federated-k-means"},
            "a weight that is negative",
        ),
        (
            messages.ASSIGN,
            set_all("weights", 100),
            {"landmark_method": "federated-k-means"},
            "more weight than all rows",
        ),
        (messages.BOX, put_first("below", -0.5), {"landmark_method": "random"}, "numbers of sites"),
        (messages.BOX, lambda results: None, {"landmark_method": "random"}, ""),
        (messages.WARM_START, put_first("rows", 100), {}, "more rows than the problem"),
        (messages.WARM_START, set_all("rows", -142), {}, "number of rows that is negative"),
        # The model becomes the point that the site chose: a loss below all others.
        (messages.CUTS, shift("loss", -700), {}, "'loss' is negative"),
        (messages.CUTS, shift("m", 100), {}, "'m' has more rows than the problem"),
        (messages.CUTS, set_all("d", 142), {}, "'d' is larger than 'm'"),
        (messages.CUTS, put_first("loss", -60), {}, "'loss' is below a cutting plane"),
        (messages.CUTS, put_first("curvature", -50), {"preset": "exact"}, "'curvature' is negative"),
        (
            messages.SCORES,
            shift("confusion", 100_000),
            {},
            "not have the test rows that the sites have counted",
        ),
        (messages.SCORES, put_first("confusion", -50), {}, "negative or not whole"),
        (messages.SCORES, put_first("histogram", 1), {}, "'histogram' does not have the rows of 'confusion'"),
        (
            messages.SCORES,
            put_first("confusion", 1),
            {"C": "auto", "C_grid": "1,8", "cv_folds": 2},
            "not have the training rows that the sites have counted of each class",
        ),
        (
            messages.CLASS_MOMENTS,
            shift("count", 60),
            {"strategy": "filter-wrapper"},
            "more cells of a column than there are rows of a class",
        ),
        (
            messages.SUPPORT,
            put_first("count", -200),
            {"strategy": "svm-t"},
            "support vectors that is negative",
        ),
        (
            messages.SUPPORT,
            put_first("total", 210),
            {"strategy": "svm-t"},
            "too large for its number of cells",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Task) else None,
)
def test_a_sum_that_cannot_be_ends_the_run(
    task: Task, lie: Lie, settings: dict[str, Any], problem: str, liar: Callable[[Task, Lie], None]
) -> None:
    liar(task, lie)
    if not problem:
        train_in_process(make_settings(**{**SETTINGS, **settings}))
        return
    with pytest.raises(
        FederationError, match=f"The sum of task '{task.name}' over 4 sites cannot be: .*{problem}"
    ) as caught:
        train_in_process(make_settings(**{**SETTINGS, **settings}))
    assert "A sum does not say which" in str(caught.value)


@pytest.mark.parametrize("task", [messages.MOMENTS, messages.CUTS, messages.SCORES], ids=lambda one: one.name)
def test_without_protection_the_site_is_named(task: Task, liar: Callable[[Task, Lie], None]) -> None:
    liar(task, put_first(task.summed[0] if task is not messages.CUTS else "loss", -700))
    with pytest.raises(
        FederationError, match=rf"What site '{LIAR}' contributed to task '{task.name}' cannot"
    ):
        train_in_process(make_settings(**SETTINGS, aggregation="plain"))


@pytest.mark.parametrize("lie", [shift("loss", 5.0), put_first("curvature", -50)], ids=["loss", "curvature"])
def test_a_shift_within_the_rules_goes_unnoticed(lie: Lie, liar: Callable[[Task, Lie], None]) -> None:
    """Limits that are known: a loss too large by as much as rows could have; a curvature that noise may have made."""
    liar(messages.CUTS, lie)
    train_in_process(make_settings(**SETTINGS))


# The checks themselves

ROWS = KnownRows(np.array([[30.0, 20.0]]), 10.0, 3, ("a", "b", "c"), ("a", "b", "c"))


def scores(confusion: list[list[float]], **more: Any) -> Opened:
    opened = Opened(
        messages.SCORES,
        {"folds": np.array([-1]), "centres": np.empty((1, 0))},
        {"confusion": np.array([confusion]), "histogram": np.zeros((1, 0, 2, 4))},
        {"confusion": messages.COUNT, "histogram": messages.COUNT},
        ("a", "b", "c"),
        {},
        ROWS,
        3,
    )
    return replace(opened, **more)


def test_counts_are_compared_with_what_was_counted_before() -> None:
    check_sum(scores([[5, 1], [1, 3]]))
    with pytest.raises(FederationError, match="test rows that the sites have counted"):
        check_sum(scores([[5, 1], [1, 2]]))
    # Over fewer sites there may be fewer rows, and not more.
    check_sum(scores([[5, 1], [1, 2]], sites=("a", "b")))
    with pytest.raises(FederationError, match="test rows that the sites have counted"):
        check_sum(scores([[5, 1], [1, 4]], sites=("a", "b")))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_every_sum_must_be_finite(value: float) -> None:
    support = {name: np.full((1, 2), value) for name in messages.SUPPORT.summed}
    bounds = dict.fromkeys(support, np.inf)
    with pytest.raises(FederationError, match="not a finite number"):
        check_sum(Opened(messages.SUPPORT, {}, support, bounds, ("a", "b", "c"), {}, None, 3))


@pytest.mark.parametrize("name", messages.CUTS.summed)
def test_every_result_must_have_the_shape_that_was_asked_for(name: str) -> None:
    check_sum(cuts({}))
    opened = cuts({})
    longer = {**opened.sums, name: np.zeros(len(opened.sums[name]) + 1)}
    with pytest.raises(FederationError, match=f"'{name}' does not have the shape that was asked for"):
        check_sum(replace(opened, sums=longer))


def cuts(slack: dict[str, float], **results: list[float]) -> Opened:
    """Return one cutting plane of a problem of 10 rows and rank 1, at w = 2 and b = 1."""
    sums = {name: np.array(results.get(name, [0.0])) for name in ("a", "d", "m", "loss", "curvature")}
    inputs = {
        "rank": np.array([1]),
        "problem_rows": np.array([10.0]),
        "points": np.array([2.0, 1.0]),
        "count": np.array([1]),
        "blur": np.array([0]),
        "width": np.array([1.0]),
        "leading": np.array([-1]),
        "centres": np.empty(0),
    }
    sums["curvature"] = np.empty(0)
    bounds = dict.fromkeys(sums, 1000.0)
    return Opened(messages.CUTS, inputs, sums, bounds, ("a", "b", "c"), slack, None, 3)


@pytest.mark.parametrize(
    ("results", "slack"),
    [
        ({"loss": [-0.5]}, {"loss": 0.6}),
        ({"m": [-0.5]}, {"m": 0.6, "d": 0.6, "loss": 0.1}),
        ({"d": [-1.5], "m": [1.0], "loss": [9.0]}, {"d": 0.3, "m": 0.3}),
        ({"d": [1.5], "m": [1.0], "loss": [9.0]}, {"d": 0.3, "m": 0.3}),
        ({"m": [10.5], "loss": [20.0]}, {"m": 0.6}),
        # 5 - 2 * 1 - 1 * 1 = 2 is above the loss; an error of 0.3 in a is one of 0.6 there.
        ({"m": [5.0], "a": [1.0], "d": [1.0], "loss": [1.3]}, {"a": 0.3, "d": 0.15}),
    ],
)
def test_noise_that_is_announced_is_no_lie(results: dict[str, list[float]], slack: dict[str, float]) -> None:
    check_sum(cuts(slack, **results))
    with pytest.raises(FederationError, match="cannot be"):
        check_sum(cuts({}, **results))
    with pytest.raises(FederationError, match="cannot be"):
        check_sum(cuts({name: 0.5 * most for name, most in slack.items()}, **results))


@pytest.mark.parametrize(("rank", "leading"), [(5, 3), (5, 5), (5, 0), (1, 1)])
def test_the_diagonal_of_a_curvature_is_that_of_its_matrix(rank: int, leading: int) -> None:
    curvature = np.random.default_rng(0).normal(size=curvature_size(rank, leading))
    expected = np.diag(curvature_matrix(curvature, rank, leading))
    assert np.array_equal(np.sort(curvature_diagonal(curvature, leading)), np.sort(expected))
