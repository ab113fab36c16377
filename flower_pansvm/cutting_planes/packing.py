"""Problems, questions and answers as the flat arrays that a message holds; written once for both sides.

Problems differ in rank and in number of points, so what belongs to them is put end to end, in order.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.cutting_planes.cuts import Answer, Cuts, Question, curvature_size
from flower_pansvm.cutting_planes.problem import Problem
from flower_pansvm.multiclass import Pair

Arrays = dict[str, NDArray[Any]]


def pack_problems(problems: Sequence[Problem]) -> Arrays:
    """Return the problems, but for their names, as arrays of shape (problems,)."""
    return {
        "feature_map": np.array([problem.feature_map for problem in problems]),
        "rank": np.array([problem.rank for problem in problems]),
        "fold": np.array([problem.fold for problem in problems]),
        "positive": np.array([problem.pair.positive for problem in problems]),
        "negative": np.array([problem.pair.negative for problem in problems]),
        "positive_weight": np.array([problem.weights[0] for problem in problems]),
        "negative_weight": np.array([problem.weights[1] for problem in problems]),
        "problem_rows": np.array([problem.rows for problem in problems]),
        "C": np.array([problem.C for problem in problems]),
    }


def unpack_problems(values: Mapping[str, Any]) -> list[Problem]:
    """Return the problems that :func:`pack_problems` has packed, without names."""
    return [
        Problem(
            name="",
            rank=int(values["rank"][i]),
            rows=float(values["problem_rows"][i]),
            C=float(values["C"][i]),
            pair=Pair(int(values["positive"][i]), int(values["negative"][i])),
            feature_map=int(values["feature_map"][i]),
            fold=int(values["fold"][i]),
            weights=(float(values["positive_weight"][i]), float(values["negative_weight"][i])),
        )
        for i in range(len(values["rank"]))
    ]


def pack_questions(questions: Sequence[Question]) -> Arrays:
    """Return one question for each problem as flat arrays."""
    return {
        "points": _flat([question.points for question in questions]),
        "count": np.array([len(question.points) for question in questions]),
        "blur": np.array([question.blur for question in questions]),
        "width": np.array([question.width for question in questions]),
        "leading": np.array([question.leading for question in questions]),
        "centres": _flat([question.centre for question in questions if question.leading >= 0]),
    }


def unpack_questions(values: Mapping[str, Any]) -> list[Question]:
    """Return the questions that :func:`pack_questions` has packed, given the problems' ranks besides."""
    sizes = values["rank"] + 1
    points = _pieces(values["points"], values["count"] * sizes)
    centres = _pieces(values["centres"], np.where(values["leading"] >= 0, sizes, 0))
    return [
        Question(
            points[i].reshape(-1, sizes[i]),
            int(values["blur"][i]),
            centres[i],
            float(values["width"][i]),
            int(values["leading"][i]),
        )
        for i in range(len(sizes))
    ]


def pack_answers(answers: Sequence[Answer]) -> dict[str, NDArray[np.float64]]:
    """Return the answers as flat arrays; they add up over the sites."""
    return {
        "a": _flat([answer.cuts.a for answer in answers]),
        "d": _flat([answer.cuts.d for answer in answers]),
        "m": _flat([answer.cuts.m for answer in answers]),
        "loss": _flat([answer.cuts.loss for answer in answers]),
        "curvature": _flat([answer.curvature for answer in answers]),
    }


def unpack_answers(sums: Mapping[str, NDArray[np.float64]], questions: Sequence[Question]) -> list[Answer]:
    """Return the answers that :func:`pack_answers` has packed, one for each question."""
    counts = np.array([len(question.points) for question in questions])
    ranks = np.array([question.points.shape[1] - 1 for question in questions])
    sizes = [curvature_size(rank, question.leading) for rank, question in zip(ranks, questions, strict=True)]
    a = _pieces(sums["a"], counts * ranks)
    d, m, loss = (_pieces(sums[name], counts) for name in ("d", "m", "loss"))
    curvature = _pieces(sums["curvature"], np.array(sizes))
    return [
        Answer(Cuts(a[i].reshape(counts[i], ranks[i]), d[i], m[i], loss[i]), curvature[i])
        for i in range(len(questions))
    ]


def _flat(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate([np.empty(0), *(part.ravel() for part in parts)])


def _pieces(flat: NDArray[np.float64], sizes: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    return np.split(flat, np.cumsum(sizes)[:-1])
