"""A site's part of a cutting plane: sums over its own rows, at every point asked for.

Paper: Lu 2016, section 3.2.2.3, Algorithm 2, lines 4-8. The paper's c_i is 1 for a row inside the margin and 0
outside: a plane that touches the hinge max(0, z), z = 1 - y (w.f + b), and lies below it elsewhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from flower_pansvm.arrays import Floats, Ints, Singles, blocks
from flower_pansvm.multiclass import Pair
from flower_pansvm.systems.scaling import NO_FOLD

LEAST_WEIGHT, LARGEST_WEIGHT = 0.5, 1000.0
"""Limits of the balanced weight of a class: n / (2 n_class) is never below one half, and above a thousand it is that of
so few rows that sums would be about them."""


@dataclass(frozen=True)
class Problem:
    """One linear SVM over mapped rows of all sites: min 1/2 ||w||^2 + C sum_i weight_i max(0, 1 - y_i (w.f_i + b))."""

    name: str  # in log lines, for instance the positive class
    rank: int  # coordinates of a mapped row
    rows: float  # sum of the rows' weights over all sites
    C: float  # penalty, positive
    pair: Pair  # its positive class and its negative one, or all the others
    feature_map: int = 0  # number of the feature map that maps its rows
    fold: int = NO_FOLD  # fold whose rows are left out
    weights: tuple[float, float] = (1.0, 1.0)  # of a row of the positive class and of one of the negative


@dataclass(frozen=True)
class Question:
    """The question of one problem in one round trip."""

    endpoints: Floats  # (endpoints, rank + 1): where the segments end; weights w and, last, the bias b
    centre: Floats  # (rank + 1,): where all segments begin, and where the curvature of the loss is wanted
    width: float = 1.0  # distance from the margin, in z, up to which a row counts for the curvature
    # Leading coordinates between which the curvature is wanted, or -1 for no curvature at all; of the coordinates after
    # them only the diagonal is.
    leading: int = -1
    # (T,) both: on which segment a point lies, and at which fraction of it; empty if the endpoints are the points. With
    # 26 problems (letter) points sent in full take twice as many bytes and two fifths more of the sites' time.
    segment: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    fraction: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def count(self) -> int:
        """T, the number of points."""
        return len(self.fraction) or len(self.endpoints)

    @cached_property
    def points(self) -> Floats:
        """Where cutting planes are wanted, shape (T, rank + 1)."""
        if not len(self.fraction):
            return self.endpoints
        fraction = self.fraction[:, None]
        return (1.0 - fraction) * self.centre + fraction * self.endpoints[self.segment]

    @property
    def needs_centre(self) -> bool:
        """Whether anything is asked at the centre or on a segment from it."""
        return self.leading >= 0 or len(self.fraction) > 0

    @cached_property
    def evaluated_at(self) -> Floats:
        """Where a site computes decision values, shape (any, rank + 1): endpoints and, if needed, last the centre."""
        return np.vstack([self.endpoints, self.centre]) if self.needs_centre else self.endpoints

    def at_points(self, decisions: Floats) -> Floats:
        """Return decision values at the points, shape (T, rows), from those at `evaluated_at`: they are linear."""
        at_points: Floats = decisions[: len(self.endpoints)]
        if not len(self.fraction):
            return at_points
        fraction = self.fraction[:, None]
        at_points = (1.0 - fraction) * decisions[-1] + fraction * decisions[self.segment]
        return at_points


EVERYWHERE = 0.1
"""What a row counts for in a curvature wherever it lies; next to the margin 1 / width comes on top. Were it 0, the
curvature would know nothing of coordinates in which no row next to the margin lies."""

Mapped = Callable[[slice | Ints], Floats]
"""``mapped(rows)`` returns the mapped rows F[rows], shape (len(rows), rank)."""


@dataclass(frozen=True)
class Labels:
    """Which of a site's rows are in a problem, on which side, and how much they count; both of shape (rows,)."""

    y: Floats  # +1 or -1; 0 for a row that is not in the problem
    weight: Floats  # factor of each row's loss, not negative


@dataclass(frozen=True)
class Cuts:
    """Cutting planes L >= m_t - w.a_t - b d_t of one problem, t = 1 ... T, and the loss where they touch."""

    a: Floats  # (T, rank): sum over rows of c_i y_i f_i
    d: Floats  # (T,): sum over rows of c_i y_i
    m: Floats  # (T,): sum over rows of c_i
    loss: Floats  # (T,): sum of the hinge max(0, 1 - y_i (w.f_i + b)) at the point of cut t


@dataclass(frozen=True)
class Answer:
    """The answer to a `Question`; adding those of all sites gives the federation's."""

    cuts: Cuts  # one for each point
    # (numbers,): sum over rows of v_i f_i f_i^T, f_i with a 1 appended for the bias: the lower triangle of the
    # leading coordinates and the bias, row by row, then the diagonal of the other coordinates
    curvature: Floats


def cuts_at(mapped: Mapped, labels: Sequence[Labels], questions: Sequence[Question]) -> list[Answer]:
    """Return one site's share of the cutting planes of several problems over the same mapped rows.

    Line 5 of Algorithm 2 as printed leaves the bias out of the test for c_i; as its line 9 shows, it belongs
    in: c_i = 1 where y_i (w.f_i + b) < 1. Rows are mapped a block at a time, so that memory does not grow with them.
    """
    sums = [_Sums(*problem) for problem in zip(labels, questions, strict=True)]
    points = np.vstack([problem.evaluated_at for problem in questions])
    for block in blocks(len(labels[0].y)):
        _add_block(sums, points, mapped(block), block)
    return [problem.answer() for problem in sums]


def rows_in_cuts(labels: Labels, question: Question, block: slice, decisions: Floats) -> tuple[Ints, Floats]:
    """Return the rows of a block that are inside of the margin at some of the points: those with a part in the cuts.

    ``decisions`` are those at `Question.evaluated_at`, shape (evaluated at, rows).

    Returns
    -------
    near : ndarray of shape (near,)
        Which ones, of the block's.
    c : ndarray of shape (near, T)
        The paper's c at every point, times weight.
    """
    y = labels.y[block]
    inside = (y * question.at_points(decisions) < 1.0) & (y != 0)
    near = np.flatnonzero(inside.any(axis=0))
    return near, labels.weight[block][near][:, None] * inside[:, near].T


class _Sums:
    """The sums of one problem, block by block."""

    def __init__(self, labels: Labels, question: Question) -> None:
        self.labels, self.question, self.leading = labels, question, question.leading
        count, rank = len(question.points), question.points.shape[1] - 1
        self.a, self.d, self.m = np.zeros((count, rank)), np.zeros(count), np.zeros(count)
        self.triangle = np.zeros((self.leading + 1, self.leading + 1))
        self.diagonal = np.zeros(rank - max(self.leading, 0))
        # Every so many rows: as many as there are coordinates will do, and all of a large table would take long.
        members = int(np.count_nonzero(labels.y))
        self.everywhere = np.zeros(len(labels.y))
        self.everywhere[:: max(1, members // (rank + 1))] = EVERYWHERE

    def add_cuts(self, F: Floats, block: slice, decisions: Floats) -> None:
        """Add a block of mapped rows; ``decisions`` as of `rows_in_cuts`."""
        near, c = rows_in_cuts(self.labels, self.question, block, decisions)
        signed = self.labels.y[block][near][:, None] * c
        self.a += signed.T @ F[near]
        self.d += signed.sum(axis=0)
        self.m += c.sum(axis=0)

    def curvature_of(self, block: slice, decisions: Floats) -> Floats:
        """Return v of a block, shape (rows,): a bump around the margin and a floor; ``decisions`` as above."""
        y, width = self.labels.y[block], self.question.width
        distance = np.abs(1.0 - y * decisions[-1])
        bump = np.maximum(0.0, 1.0 - distance / width) / width + self.everywhere[block]
        return np.where(y != 0, bump * self.labels.weight[block], 0.0)

    def answer(self) -> Answer:
        """Return the sums; the hinge is c z, so that each cut touches the loss."""
        w, b = self.question.points[:, :-1], self.question.points[:, -1]
        loss = np.maximum(self.m - np.einsum("ij,ij->i", self.a, w) - self.d * b, 0.0)
        curvature = np.empty(0)
        if self.leading >= 0:
            curvature = np.append(self.triangle[np.tri(self.leading + 1, dtype=np.bool_)], self.diagonal)
        return Answer(Cuts(self.a, self.d, self.m, loss), curvature)


def _add_block(sums: Sequence[_Sums], points: Floats, F: Floats, block: slice) -> None:
    """Add a block of mapped rows to all sums; ``points`` are where they are evaluated, one problem after the other."""
    decisions, curved = points[:, :-1] @ F.T + points[:, -1:], []
    sizes = [len(problem.question.evaluated_at) for problem in sums]
    for problem, size, end in zip(sums, sizes, np.cumsum(sizes), strict=True):
        problem_decisions = decisions[end - size : end]
        problem.add_cuts(F, block, problem_decisions)
        if problem.leading >= 0:
            curved.append((problem, problem.curvature_of(block, problem_decisions)))
    if curved:
        _add_curvatures(curved, F.astype(np.float32))


def _add_curvatures(curved: Sequence[tuple[_Sums, Floats]], rows: Singles) -> None:
    """Add v f f^T of a block of rows for each v; only a hint, so single precision will do."""
    least = min(problem.leading for problem, _ in curved)
    narrow = np.array([v for _, v in curved], dtype=np.float32)
    diagonals = narrow @ np.square(rows[:, least:])  # the squares serve all problems
    for (problem, v), diagonal in zip(curved, diagonals, strict=True):
        rows_in = np.flatnonzero(v)
        root = np.sqrt(v[rows_in]).astype(np.float32)
        inner = rows[rows_in, : problem.leading]
        inner *= root[:, None]
        problem.triangle[:-1, :-1] += inner.T @ inner  # of a matrix with itself numpy computes one half only
        problem.triangle[-1, :-1] += root @ inner
        problem.triangle[-1, -1] += v.sum()
        problem.diagonal += diagonal[problem.leading - least :]
