"""Problems, questions and duals as the fields of a message, and a message's sums as answers and Hessians.

The sites' counterparts: `flower_pansvm/systems/pan_svm/tasks.py` and `flower_pansvm/systems/selection.py`. A message's
`curvature` holds the Hessian of the smoothed hinge loss: all entries between the leading coordinates and the bias, and
the diagonal of the other coordinates.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.arrays import Floats
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Problem, Question
from flower_pansvm.systems.pan_svm.tasks import CutsAnswer, CutsQuestion, ProblemsQuestion, flat, pieces
from flower_pansvm.systems.selection import Duals, SupportQuestion


def in_single_precision(numbers: Floats) -> Floats:
    """Return numbers rounded to single precision, and clipped to its range."""
    largest = np.finfo(np.float32).max
    return np.clip(numbers, -largest, largest).astype(np.float32).astype(np.float64)


def pack_problems(problems: Sequence[Problem]) -> ProblemsQuestion:
    """Return the problems without their names."""
    return ProblemsQuestion(**_fields_of(problems))


def pack_questions(problems: Sequence[Problem], questions: Sequence[Question]) -> CutsQuestion:
    """Return one question for each problem."""
    return CutsQuestion(
        **_fields_of(problems),
        endpoints=flat([question.endpoints for question in questions]).astype(np.float32),
        count=np.array([len(question.endpoints) for question in questions]),
        width=np.array([question.width for question in questions], dtype=np.float64),
        leading=np.array([question.leading for question in questions]),
        points=np.array([len(question.fraction) for question in questions]),
        segment=np.concatenate([question.segment for question in questions]),
        fraction=flat([question.fraction for question in questions]),
        centres=flat([question.centre for question in questions if question.needs_centre]).astype(np.float32),
    )


def pack_duals(problems: Sequence[Problem], duals: Sequence[Duals]) -> SupportQuestion:
    """Return the cutting planes that support each problem's solution."""
    return SupportQuestion(
        **_fields_of(problems),
        points=flat([dual.points for dual in duals]),
        cuts=np.array([len(dual.beta) for dual in duals]),
        beta=flat([dual.beta for dual in duals]),
    )


def unpack_answers(sums: CutsAnswer, questions: Sequence[Question]) -> list[Answer]:
    """Return the answer to each of the questions."""
    counts = np.array([question.count for question in questions])
    ranks = np.array([question.endpoints.shape[1] - 1 for question in questions])
    sizes = [curvature_size(rank, question.leading) for rank, question in zip(ranks, questions, strict=True)]
    a = pieces(sums.a, counts * ranks)
    d, m, loss = (pieces(values, counts) for values in (sums.d, sums.m, sums.loss))
    curvature = pieces(sums.curvature, np.array(sizes))
    return [
        Answer(Cuts(a[i].reshape(counts[i], ranks[i]), d[i], m[i], loss[i]), curvature[i])
        for i in range(len(questions))
    ]


def _fields_of(problems: Sequence[Problem]) -> dict[str, NDArray[Any]]:
    return {
        "feature_map": np.array([problem.feature_map for problem in problems]),
        "rank": np.array([problem.rank for problem in problems]),
        "fold": np.array([problem.fold for problem in problems]),
        "positive": np.array([problem.pair.positive for problem in problems]),
        "negative": np.array([problem.pair.negative for problem in problems]),
        "positive_weight": np.array([problem.weights[0] for problem in problems], dtype=np.float64),
        "negative_weight": np.array([problem.weights[1] for problem in problems], dtype=np.float64),
        "problem_rows": np.array([problem.rows for problem in problems], dtype=np.float64),
        "C": np.array([problem.C for problem in problems], dtype=np.float64),
    }


def curvature_size(rank: int, leading: int) -> int:
    """Return the number of entries of a Hessian in an answer."""
    return 0 if leading < 0 else (leading + 1) * (leading + 2) // 2 + rank - leading


def curvature_matrix(curvature: Floats, rank: int, leading: int) -> Floats:
    """Return the Hessian in an answer as a symmetric matrix, shape (rank + 1, rank + 1); the bias is last."""
    inner = [*range(leading), rank]
    lower = np.zeros((leading + 1, leading + 1))
    triangle = (leading + 1) * (leading + 2) // 2
    lower[np.tri(leading + 1, dtype=np.bool_)] = curvature[:triangle]
    matrix = np.zeros((rank + 1, rank + 1))
    matrix[np.ix_(inner, inner)] = lower + np.tril(lower, -1).T
    rest = np.arange(leading, rank)
    matrix[rest, rest] = curvature[triangle:]
    return matrix


def curvature_diagonal(curvature: Floats, leading: int) -> Floats:
    """Return the diagonal of the Hessian in an answer, shape (rank + 1,); the bias follows the leading coordinates."""
    sides = np.arange(1, leading + 2)
    return np.append(curvature[np.cumsum(sides) - 1], curvature[sides.sum() :])
