"""The checks of what sites contribute, and what they cannot see.

What each system's sums are refused for is declared in ``tests/systems/declarations.py``.
"""

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
from flower_pansvm.schema import Schema
from flower_pansvm.secure_sum.contract import SumRound
from flower_pansvm.systems.dp_svm import PRIVATE_STEP
from flower_pansvm.systems.pan_svm.cuts import Problem, Question
from flower_pansvm.systems.pan_svm.tasks import CUTS, SCORES, ScoresQuestion
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.systems.selection import SUPPORT
from flower_pansvm.tasks import COUNT, Nothing, Task, summed
from simulations.engines.in_process import train_in_process
from strategies.federation.checks import AggregateResult, KnownRows, Relations, Request, check_sum
from strategies.federation.shapes import length, sizes_of
from strategies.master.packing import curvature_diagonal, curvature_matrix, curvature_size, pack_questions
from strategies.settings import make_settings
from strategies.steps.cutting_planes import wrong_cuts
from strategies.steps.scoring import wrong_scores

LIAR = "site-001"

Results = dict[str, Any]
Lie = Callable[[Results], None]


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
PRIVATE = {"strategy": "dp-svm", "data": "breast_cancer", "sites": 4, "epsilon": 4.0, "steps": 1}


@pytest.mark.parametrize(
    ("task", "lie", "settings"),
    [
        pytest.param(CUTS, put_first("loss", 5.0), SETTINGS, marks=pytest.mark.slow),
        (PRIVATE_STEP, put_first("slope", 2.0**24), PRIVATE),
    ],
    ids=["a loss as large as rows could have", "any slope"],
)
def test_a_shift_within_the_rules_goes_unnoticed(
    task: Task, lie: Lie, settings: dict[str, Any], liar: Callable[[Task, Lie], None]
) -> None:
    """A limit that is known."""
    liar(task, lie)
    train_in_process(make_settings(**settings))


@pytest.mark.parametrize("task", [MOMENTS, CUTS, SCORES], ids=lambda one: one.name)
def test_without_protection_the_site_is_named(task: Task, liar: Callable[[Task, Lie], None]) -> None:
    liar(task, put_first(task.summed[0] if task is not CUTS else "loss", -700))
    with pytest.raises(
        FederationError, match=rf"The contribution of site '{LIAR}' to task '{task.name}' is invalid"
    ):
        train_in_process(make_settings(**SETTINGS, aggregation="plain"))


# The checks themselves

SITES = ("a", "b", "c")
ROWS = KnownRows(np.array([[30.0, 20.0]]), 10.0, np.array([50.0, 10.0]), SITES, SITES)
SIZES = sizes_of(Schema(("a", "b", "c"), ("0", "1")), folds=1)


def result_of(
    task: Task,
    question: Any,
    sums: Results,
    bound: float,
    sites: tuple[str, ...] = SITES,
    relations: Relations | None = None,
) -> AggregateResult:
    """Return sums over three sites, or over some."""
    this = SumRound("run", task.name, 1, 0, SITES, "")
    request = Request(this, task, question, dict.fromkeys(sums, bound), {}, SIZES, ROWS, relations)
    return AggregateResult(request, sums, sites)


NOTHING_TRIED = ScoresQuestion(
    *[np.empty(0, dtype=np.int64)] * 3,
    np.empty(0),
    *[np.empty(0, dtype=np.int64)] * 2,
    *[np.empty((1, 0))] * 2,
)
"""One model, without histograms."""


def scores(confusion: list[list[float]], fold: int, sites: tuple[str, ...] = SITES) -> AggregateResult:
    sums = {"confusion": np.array([confusion], dtype=np.float64), "histogram": np.zeros((1, 0, 2, BINS))}
    sums["squares"] = np.empty((0, 4, 4))
    return result_of(SCORES, replace(NOTHING_TRIED, folds=np.array([fold])), sums, COUNT, sites, wrong_scores)


@pytest.mark.parametrize(("fold", "rows"), [(-1, "test"), (0, "training")])
def test_counts_are_compared_with_what_was_counted_before(fold: int, rows: str) -> None:
    right = [[5, 1], [1, 3]] if rows == "test" else [[29, 1], [1, 19]]
    less, more = (np.add(right, [[0, 0], [0, by]]).tolist() for by in (-1, 1))
    check_sum(scores(right, fold))
    with pytest.raises(FederationError, match=f"{rows} rows that the sites have counted"):
        check_sum(scores(less, fold))
    # Over fewer sites there may be fewer rows, and not more.
    check_sum(scores(less, fold, sites=("a", "b")))
    with pytest.raises(FederationError, match=f"{rows} rows that the sites have counted"):
        check_sum(scores(more, fold, sites=("a", "b")))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_every_sum_must_be_finite(value: float) -> None:
    support = {name: np.full((1, 2), value) for name in SUPPORT.summed}
    with pytest.raises(FederationError, match="not finite"):
        check_sum(result_of(SUPPORT, None, support, np.inf))


@dataclass(frozen=True)
class Declared:
    """An answer with a field of each declaration."""

    tall: Floats = summed(shape=lambda asked: (asked.size, "columns"))
    gram: Floats = summed(shape=("columns + 1", "(columns + 1) * class_columns"))
    people: Floats = summed(shape=(-1,), count=True)
    length: Floats = summed(not_negative=True)
    part: Floats = summed(10.0, most=lambda asked: asked)


DECLARED = Task("declared", "train", Nothing, Declared)
VALID = {
    "tall": np.ones((2, 3)),
    "gram": np.ones((4, 4)),
    "people": np.array([3.0]),
    "length": np.zeros(1),
    "part": np.array([-25.0, 2.0]),
}


@pytest.mark.parametrize(
    ("name", "wrong", "problem"),
    [
        ("tall", np.ones((3, 3)), "'tall' does not have the requested shape"),
        ("tall", np.ones((2, 2)), "'tall' does not have the requested shape"),
        ("tall", np.ones(6), "'tall' does not have the requested shape"),
        ("gram", np.ones((3, 4)), "'gram' does not have the requested shape"),
        ("gram", np.ones(16), "'gram' does not have the requested shape"),
        ("people", np.ones((1, 1)), "'people' does not have the requested shape"),
        ("people", np.array([0.5]), "'people' holds a count that is negative or not whole"),
        ("people", np.array([-1.0]), "'people' holds a count that is negative or not whole"),
        ("length", np.array([-1e-9]), "'length' holds a negative number"),
        ("part", np.array([0.0, 2.1]), "'part' is larger than the question allows"),
        ("part", np.array([-30.1, 0.0]), "'part' is larger than the bounds of all sites allow"),
    ],
)
def test_every_declaration_is_checked(name: str, wrong: Floats, problem: str) -> None:
    question = np.array([1.0, 2.0])
    for sums in (VALID, {**VALID, name: wrong}):
        result = result_of(DECLARED, question, sums, np.inf)
        result.request.bounds["part"] = 10.0  # type: ignore[index]
        if sums is VALID:
            check_sum(result)
        else:
            with pytest.raises(FederationError, match=problem):
                check_sum(result)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_side_is_arithmetic_of_what_the_sites_have_agreed_on(classes: int) -> None:
    sizes = sizes_of(Schema(("a", "b", "c"), tuple("012"[:classes])), folds=4)
    assert length("columns * (columns - 1) // 2 + 10 * folds", sizes) == 43
    assert length("class_columns", sizes) == (1 if classes == 2 else 3)
    assert length("columns", {}) == -1


@pytest.mark.parametrize("side", ["colums", "columns ** 2", "columns.real", "print()", "columns * 2.5"])
@pytest.mark.parametrize("sizes", [SIZES, {}], ids=["joined", "before"])
def test_a_side_that_is_misspelt_is_noticed(side: str, sizes: dict[str, int]) -> None:
    with pytest.raises(TypeError):
        length(side, sizes)


@pytest.mark.parametrize(
    ("name", "wrong", "told"),
    [
        *((name, np.zeros(2), f"'{name}' does not have the requested shape") for name in CUTS.summed),
        *(("d", np.full(1, d), "'d' is larger than 'm'") for d in (1.0, -1.0)),
    ],
)
def test_a_cutting_plane_that_cannot_be_is_noticed(name: str, wrong: Floats, told: str) -> None:
    """One of a problem of 10 rows and rank 1, at w = 2 and b = 1, where the loss is 10."""
    problem, at = Problem("", 1, 10.0, 1.0, Pair(1, REST)), Question(np.array([[2.0, 1.0]]), np.zeros(2))
    sums = {**dict.fromkeys(("a", "d", "m"), np.zeros(1)), "loss": np.full(1, 10.0), "curvature": np.empty(0)}
    question = pack_questions([problem], [at])
    check_sum(result_of(CUTS, question, sums, 1000.0, relations=wrong_cuts))
    with pytest.raises(FederationError, match=told):
        check_sum(result_of(CUTS, question, {**sums, name: wrong}, 1000.0, relations=wrong_cuts))


@pytest.mark.parametrize(("rank", "leading"), [(5, 3), (5, 5), (5, 0), (1, 1)])
def test_the_diagonal_of_a_curvature_is_that_of_its_matrix(rank: int, leading: int) -> None:
    curvature = np.random.default_rng(0).normal(size=curvature_size(rank, leading))
    expected = np.diag(curvature_matrix(curvature, rank, leading))
    assert np.array_equal(np.sort(curvature_diagonal(curvature, leading)), np.sort(expected))
