"""A site that contributes what is invalid: the run ends with a clear error, which names the site if it can be seen."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from clients.gate import pipeline
from clients.gate.private import Private
from clients.gate.reply import encode_reply
from flower_pansvm.arrays import Floats
from flower_pansvm.counts import BINS
from flower_pansvm.errors import FederationError
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.systems.common import MOMENTS
from flower_pansvm.systems.dp_svm import PRIVATE_BINS, PRIVATE_MOMENTS, PRIVATE_SCORES, PRIVATE_STEP
from flower_pansvm.systems.pan_svm.cuts import Problem, Question
from flower_pansvm.systems.pan_svm.tasks import (
    CUTS,
    LANDMARKS,
    SCORES,
    WARM_START,
    ScoresQuestion,
)
from flower_pansvm.systems.selection import CLASS_MOMENTS, SUPPORT
from flower_pansvm.tasks import COUNT, Nothing, Task, summed
from simulations.engines.running import train_in_process
from strategies.federation.checks import AggregateResult, KnownRows, Request, check_sum
from strategies.federation.relations import RELATIONS
from strategies.master.curvature import curvature_diagonal, curvature_matrix, curvature_size
from strategies.settings import make_settings
from strategies.steps.packing import pack_questions

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
        def lying(asked: Task[Any, Any], answer: Any, participation: Any, notes: Any) -> Any:
            if asked is task and participation.member.name == LIAR:
                kind = type(answer) if isinstance(answer, Private) else None
                given = answer.answer if kind else answer
                results = dict(vars(given))
                lie(results)
                changed = replace(given, **results)
                answer = kind(changed) if kind else changed
            return encode_reply(asked, answer, participation, notes)

        monkeypatch.setattr(pipeline, "encode_reply", lying)

    return make


SETTINGS: dict[str, Any] = {"data": "wine", "sites": 4, "landmarks": "20", "tol": 0.2}


@pytest.mark.parametrize(
    ("task", "lie", "settings", "problem"),
    [
        (
            MOMENTS,
            shift("rows", -100),
            {},
            "'rows' holds a count that is negative or not whole",
        ),
        (MOMENTS, shift("rows", 0.5), {}, "negative or not whole"),
        (MOMENTS, shift("count", 1000), {}, "more cells of a column than there are rows"),
        (MOMENTS, shift("total", 1e6), {}, "too large for its number of cells"),
        (MOMENTS, put_first("square", -1e6), {}, "'square' holds a number that is negative"),
        (LANDMARKS, set_all("filled", 0.25), {}, "'filled' holds a count that is negative or not whole"),
        (LANDMARKS, set_all("filled", 1.0), {}, "'filled' holds a slot that two sites have filled"),
        (LANDMARKS, shift("centres", 1.0), {}, "in a slot that is not filled"),
        (WARM_START, put_first("rows", 100), {}, "'rows' is larger than what was asked about"),
        (WARM_START, set_all("rows", -142), {}, "'rows' holds a number that is negative"),
        # The model becomes the point that the site chose: a loss below all others.
        (CUTS, shift("loss", -700), {}, "'loss' holds a number that is negative"),
        (CUTS, shift("m", 100), {}, "'m' is larger than what was asked about"),
        (CUTS, set_all("d", 142), {}, "'d' is larger than 'm'"),
        (CUTS, put_first("loss", -60), {}, "'loss' is below a cutting plane"),
        (CUTS, put_first("curvature", -50), {}, "'curvature' is negative"),
        (
            SCORES,
            shift("confusion", 100_000),
            {},
            "not have the test rows that the sites have counted",
        ),
        (SCORES, put_first("confusion", -50), {}, "negative or not whole"),
        (SCORES, put_first("histogram", 1), {}, "'histogram' does not have the rows of 'confusion'"),
        pytest.param(
            SCORES,
            put_first("confusion", 1),
            {"C": "1,8", "cv_folds": 2},
            "not have the training rows that the sites have counted of each class",
            marks=pytest.mark.slow,
        ),
        (
            CLASS_MOMENTS,
            shift("count", 60),
            {"strategy": "filter-wrapper"},
            "more cells of a column than there are rows of a class",
        ),
        pytest.param(
            SUPPORT,
            put_first("count", -200),
            {"strategy": "svm-t"},
            "'count' holds a count that is negative or not whole",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            SUPPORT,
            put_first("total", 210),
            {"strategy": "svm-t"},
            "too large for its number of cells",
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Task) else None,
)
def test_an_invalid_sum_ends_the_run(
    task: Task, lie: Lie, settings: dict[str, Any], problem: str, liar: Callable[[Task, Lie], None]
) -> None:
    liar(task, lie)
    if not problem:
        train_in_process(make_settings(**{**SETTINGS, **settings}))
        return
    with pytest.raises(
        FederationError, match=f"The sum of task '{task.name}' over 4 sites is invalid: .*{problem}"
    ) as caught:
        train_in_process(make_settings(**{**SETTINGS, **settings}))
    assert "A sum does not say which" in str(caught.value)


def shorten(name: str) -> Lie:
    def lie(results: Results) -> None:
        results[name] = results[name][:-1]

    return lie


PRIVATE: dict[str, Any] = {
    "strategy": "dp-svm",
    "data": "breast_cancer",
    "sites": 4,
    "epsilon": 4.0,
    "steps": 1,
}


@pytest.mark.parametrize(
    ("task", "lie", "problem"),
    [
        (
            PRIVATE_BINS,
            shift("rows", -2000),
            "'rows' holds a number that is negative",
        ),
        (PRIVATE_BINS, put_first("cells", -2000), "'cells' holds a number that is negative"),
        (PRIVATE_BINS, put_first("cells", 3000), "'cells' has more cells in a bin than there are rows"),
        (PRIVATE_MOMENTS, put_first("diagonal", -2000), "'diagonal' holds a number that is negative"),
        (PRIVATE_MOMENTS, put_first("above", 2000), "'above' holds a sum of products that is larger"),
        (PRIVATE_MOMENTS, put_first("above", -2000), "'above' holds a sum of products that is larger"),
        (PRIVATE_STEP, put_first("slope", 2.0**24), ""),
        (PRIVATE_SCORES, put_first("cells", -2000), "'cells' holds a number that is negative"),
    ],
)
def test_an_invalid_private_sum_ends_the_run(
    task: Task, lie: Lie, problem: str, liar: Callable[[Task, Lie], None]
) -> None:
    """And noise does not; a slope may be anything."""
    liar(task, lie)
    if not problem:
        train_in_process(make_settings(**PRIVATE))
        return
    with pytest.raises(
        FederationError, match=f"The sum of task '{task.name}' over 4 sites is invalid: {problem}"
    ):
        train_in_process(make_settings(**PRIVATE))


@pytest.mark.parametrize(
    ("task", "name"),
    [
        *((PRIVATE_BINS, name) for name in PRIVATE_BINS.summed),
        *((PRIVATE_MOMENTS, name) for name in PRIVATE_MOMENTS.summed),
        *((PRIVATE_STEP, "slope"), (PRIVATE_SCORES, "cells")),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_private_sum_of_another_shape_ends_the_run(
    task: Task, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If one site's alone has it, the sites' shapes differ; here all of them are of another version."""

    def changed(asked: Task[Any, Any], answer: Any, *rest: Any) -> Any:
        if asked is task:
            results = dict(vars(answer.answer))
            shorten(name)(results)
            answer = Private(replace(answer.answer, **results))
        return encode_reply(asked, answer, *rest)

    monkeypatch.setattr(pipeline, "encode_reply", changed)
    with pytest.raises(FederationError):
        train_in_process(make_settings(**PRIVATE))


@pytest.mark.parametrize("task", [MOMENTS, CUTS, SCORES], ids=lambda one: one.name)
def test_without_protection_the_site_is_named(task: Task, liar: Callable[[Task, Lie], None]) -> None:
    liar(task, put_first(task.summed[0] if task is not CUTS else "loss", -700))
    with pytest.raises(
        FederationError, match=rf"What site '{LIAR}' contributed to task '{task.name}' is invalid"
    ):
        train_in_process(make_settings(**SETTINGS, aggregation="plain"))


@pytest.mark.slow
def test_a_shift_within_the_rules_goes_unnoticed(liar: Callable[[Task, Lie], None]) -> None:
    """A limit that is known: a loss too large by as much as rows could have."""
    liar(CUTS, shift("loss", 5.0))
    train_in_process(make_settings(**SETTINGS))


# The checks themselves

SITES = ("a", "b", "c")
ROWS = KnownRows(np.array([[30.0, 20.0]]), 10.0, SITES, SITES)
SIZES = {"classes": 2, "columns": 3, "folds": 1}


def result_of(
    task: Task, question: Any, sums: Results, bound: float, sites: tuple[str, ...] = SITES
) -> AggregateResult:
    """Return sums over three sites, or over some."""
    this = SumRound("run", task.name, 1, 0, SITES, "")
    request = Request(this, task, question, dict.fromkeys(sums, bound), {}, SIZES, ROWS)
    return AggregateResult(request, sums, sites)


def check(result: AggregateResult) -> None:
    check_sum(result, RELATIONS.get(result.request.task.name))


NOTHING_TRIED = ScoresQuestion(
    *[np.empty(0, dtype=np.int64)] * 3,
    np.empty(0),
    *[np.empty(0, dtype=np.int64)] * 2,
    *[np.empty((1, 0))] * 2,
)
"""One model, without histograms."""


def scores(confusion: list[list[float]], sites: tuple[str, ...] = SITES) -> AggregateResult:
    sums = {"confusion": np.array([confusion], dtype=np.float64), "histogram": np.zeros((1, 0, 2, BINS))}
    return result_of(SCORES, replace(NOTHING_TRIED, folds=np.array([-1])), sums, COUNT, sites)


def test_counts_are_compared_with_what_was_counted_before() -> None:
    check(scores([[5, 1], [1, 3]]))
    with pytest.raises(FederationError, match="test rows that the sites have counted"):
        check(scores([[5, 1], [1, 2]]))
    # Over fewer sites there may be fewer rows, and not more.
    check(scores([[5, 1], [1, 2]], sites=("a", "b")))
    with pytest.raises(FederationError, match="test rows that the sites have counted"):
        check(scores([[5, 1], [1, 4]], sites=("a", "b")))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_every_sum_must_be_finite(value: float) -> None:
    support = {name: np.full((1, 2), value) for name in SUPPORT.summed}
    with pytest.raises(FederationError, match="not a finite number"):
        check(result_of(SUPPORT, None, support, np.inf))


@dataclass(frozen=True)
class Declared:
    """An answer with a field of each declaration."""

    tall: Floats = summed(shape=lambda asked: (asked.size, "columns"))
    people: Floats = summed(shape=(-1,), count=True)
    length: Floats = summed(not_negative=True)
    part: Floats = summed(10.0, most=lambda asked: asked)


DECLARED = Task("declared", "train", Nothing, Declared)
VALID = {
    "tall": np.ones((2, 3)),
    "people": np.array([3.0]),
    "length": np.zeros(1),
    "part": np.array([-25.0, 2.0]),
}


@pytest.mark.parametrize(
    ("name", "wrong", "problem"),
    [
        ("tall", np.ones((3, 3)), "'tall' does not have the shape"),
        ("tall", np.ones((2, 2)), "'tall' does not have the shape"),
        ("tall", np.ones(6), "'tall' does not have the shape"),
        ("people", np.ones((1, 1)), "'people' does not have the shape"),
        ("people", np.array([0.5]), "'people' holds a count that is negative or not whole"),
        ("people", np.array([-1.0]), "'people' holds a count that is negative or not whole"),
        ("length", np.array([-1e-9]), "'length' holds a number that is negative"),
        ("part", np.array([0.0, 2.1]), "'part' is larger than what was asked about"),
        ("part", np.array([-30.1, 0.0]), "'part' is larger than the bounds of all sites allow"),
    ],
)
def test_every_declaration_is_checked(name: str, wrong: Floats, problem: str) -> None:
    question = np.array([1.0, 2.0])
    for sums in (VALID, {**VALID, name: wrong}):
        result = result_of(DECLARED, question, sums, np.inf)
        result.request.bounds["part"] = 10.0  # type: ignore[index]
        if sums is VALID:
            check(result)
        else:
            with pytest.raises(FederationError, match=problem):
                check(result)


@pytest.mark.parametrize("name", CUTS.summed)
def test_every_result_must_have_the_shape_that_was_asked_for(name: str) -> None:
    result = cuts()
    check(result)
    longer = {**result.sums, name: np.zeros(len(result.sums[name]) + 1)}
    with pytest.raises(FederationError, match=f"'{name}' does not have the shape that was asked for"):
        check(replace(result, sums=longer))


def cuts() -> AggregateResult:
    """Return one cutting plane of a problem of 10 rows and rank 1, at w = 2 and b = 1."""
    sums = {name: np.zeros(1) for name in ("a", "d", "m", "loss")}
    problem, question = (
        Problem("", 1, 10.0, 1.0, Pair(1, REST)),
        Question(np.array([[2.0, 1.0]]), np.zeros(2)),
    )
    return result_of(CUTS, pack_questions([problem], [question]), {**sums, "curvature": np.empty(0)}, 1000.0)


@pytest.mark.parametrize(("rank", "leading"), [(5, 3), (5, 5), (5, 0), (1, 1)])
def test_the_diagonal_of_a_curvature_is_that_of_its_matrix(rank: int, leading: int) -> None:
    curvature = np.random.default_rng(0).normal(size=curvature_size(rank, leading))
    expected = np.diag(curvature_matrix(curvature, rank, leading))
    assert np.array_equal(np.sort(curvature_diagonal(curvature, leading)), np.sort(expected))
