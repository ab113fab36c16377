"""A site's part of a cutting plane: sums over its own rows, at every point asked for.

Paper: Lu 2016, section 3.2.2.3, Algorithm 2, lines 4-8. The paper's c_i is 1 for a row inside the margin and 0
outside. The hinge max(0, z), z = 1 - y (w.f + b), is the largest c z over all c in [0, 1], so that any c in [0, 1]
gives a plane below the loss. That freedom is used to *blur*: two cuts whose c differ in one row would give that row
away by their difference. So for the rows nearest the margin c is drawn at random.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from flower_pansvm.arrays import Floats, Ints, Singles
from flower_pansvm.cutting_planes.question import Question

BLOCK = 4096  # rows that are mapped at a time: the map of all rows of a large site would not fit into memory

EVERYWHERE = 0.1
"""What a row counts for in a curvature wherever it lies; next to the margin 1 / width comes on top. Were it 0, and the
rows next to the margin fewer than the coordinates, the curvature would say exactly which space their f span; who looks
for rows whose f lie in that space finds just these."""

LARGEST_JITTER = 1.5  # largest random weight that a site gives a row or a cell; the smallest is 0.5

Mapped = Callable[[slice | Ints], Floats]
"""``mapped(rows)`` returns the mapped rows F[rows], shape (len(rows), rank)."""

Draw = Callable[[str, int], Floats]
"""``draw(purpose, count)`` returns secret random numbers from [0, 1), the same for the same purpose."""


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


@dataclass(frozen=True)
class Duals:
    """The cutting planes that hold up the solution of one problem."""

    points: Floats  # (cuts, rank + 1): where they were asked for
    blurred: Ints  # (cuts,): at how many rows of each site they are random
    beta: Floats  # (cuts,): their dual variables


def cuts_at(
    mapped: Mapped, labels: Sequence[Labels], questions: Sequence[Question], draw: Sequence[Draw]
) -> list[Answer]:
    """Return one site's share of the cutting planes of several problems over the same mapped rows.

    Line 5 of Algorithm 2 as printed leaves the bias out of the test for c_i; as its line 9 shows, it belongs
    in: c_i = 1 where y_i (w.f_i + b) < 1. Rows are mapped a block at a time, so that memory does not grow with them.
    """
    sums = [_Sums(*one) for one in zip(labels, questions, draw, strict=True)]
    points = np.vstack([one.looked_at for one in questions])
    for block in blocks(len(labels[0].y)):
        _add_block(sums, points, mapped(block), block)
    for one in sums:
        one.blur(mapped)
    return [one.answer() for one in sums]


def blocks(rows: int) -> Iterator[slice]:
    """Return the slices of at most `BLOCK` rows that make up all rows."""
    return (slice(start, min(start + BLOCK, rows)) for start in range(0, rows, BLOCK))


class Rough(NamedTuple):
    """Decision values w.f + b of a block of rows in single precision, and by how much they may be off.

    They tell on which side of the margin most rows certainly are; it is computed in double precision for the others.
    """

    rows: Singles  # (rows, rank): the block
    values: Singles  # (looked at, rows): what is looked at of one problem lies together
    off: Floats  # (looked at,)

    @classmethod
    def of(cls, F: Floats, points: Floats) -> Self:
        """Return those of a block of rows at some points.

        With u = 2^-24, the unit roundoff of single precision, and n = rank + 1 products (the bias's factor is 1):
        rounding f and w to single precision and adding up n products, in whatever order, puts w.f + b off by at most
        ((1 + u)^(n + 2) - 1) (|w|.|f| + |b|) (Higham 2002, "Accuracy and Stability of Numerical Algorithms", sections
        3.1 and 3.5), and |w|.|f| <= ||w|| ||f|| by Cauchy and Schwarz. (1 + u)^k - 1 <= 2 k u as long as k u <= 1, for
        any rank below 10^7. `off` is twice that, which covers the rounding of ||f||, of double precision, and that of
        z = 1 - y (w.f + b) in single precision, at most u (1 + |w.f + b|); the 1 in `reach` is for the 1 of z, and for
        products too small for single precision.
        """
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # what single precision cannot hold, `off` does not vouch for
            rows, narrow = F.astype(np.float32), points.astype(np.float32)
            longest = math.sqrt(np.vecdot(rows, rows).max(initial=0.0))
            values = narrow[:, :-1] @ rows.T + narrow[:, -1:]
        reach = longest * np.linalg.norm(points[:, :-1], axis=1) + np.abs(points[:, -1]) + 1.0
        off: Floats = 4.0 * (points.shape[1] + 2) * 2.0**-24 * reach
        return cls(rows, values, off)

    def at(self, points: slice) -> Self:
        """Return those at some of what is looked at."""
        return self._replace(values=self.values[points], off=self.off[points])

    def at_points(self, question: Question) -> tuple[Singles, Floats]:
        """Return values, shape (T, rows), and how far off they may be at the points of the question looked at.

        With c and e the values at both ends of a way, 3 roundings of each and that of a point to single precision put
        (1 - share) c + share e off by at most 6 u (reach of c + reach of e); 16 u of them is 4 / (n + 2) of `off`.
        """
        way, share = question.way, question.share
        if not len(share):
            return self.values[: len(question.ends)], self.off[: len(question.ends)]
        part = share.astype(np.float32)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.values[way]
            values *= part
            values += (1 - part) * self.values[-1]
        centre, end = self.off[-1], self.off[way]
        return values, (1 - share) * centre + share * end + 4.0 / (self.rows.shape[1] + 3) * (centre + end)


class Near(NamedTuple):
    """The rows of a block that are not certainly outside of the margin at all points: those with a part in the cuts."""

    rows: Ints  # (near,): which ones, of all of the site's
    F: Floats  # (near, rank): mapped
    c: Floats  # (near, T): the paper's c at every point, times weight


class RowFactors:
    """What each of a site's rows is multiplied by in the sums of one problem, while the blocks of rows go by."""

    def __init__(self, labels: Labels, question: Question, draw: Draw) -> None:
        self.labels, self.question, self.draw = labels, question, draw
        # The rows nearest the margin so far, for each point: distance, row and the c they were counted with.
        count, kept = len(question.points), min(question.blur, int(np.count_nonzero(labels.y)))
        self.distance = np.full((kept, count), np.inf)
        self.nearest = np.zeros((kept, count), dtype=np.int64)
        self.counted = np.zeros((kept, count))
        self.jitter, self.everywhere = np.empty(0), np.empty(0)
        if question.leading >= 0:
            # Two sums over all but one and the same row would give it away, too.
            key = f"curvature {question.width} {text_of(question.centre)}"
            self.jitter = 0.5 + draw(key, len(labels.y))
            # As many of a site's rows as there are coordinates will do, and all of a large table would take long.
            share = len(question.centre) / max(1, int(np.count_nonzero(labels.y)))
            self.everywhere = np.where(draw(f"{key} everywhere", len(labels.y)) < share, EVERYWHERE, 0.0)

    def of_cuts(self, F: Floats, block: slice, rough: Rough) -> Near:
        """Return the rows of a block that have a part in the cuts.

        ``rough`` is what is known of the decisions at `Question.looked_at`. Mostly nearly all rows are so far from the
        margin that they certainly are on one side of it: z is computed exactly for the others only.
        """
        y, points = self.labels.y[block], self.question.points
        values, off = rough.at_points(self.question)
        with np.errstate(invalid="ignore"):  # 0 times infinite; it is replaced
            z = np.float32(1.0) - y.astype(np.float32) * values
        z[:, y == 0] = -np.inf
        distance = np.abs(z)
        kept = min(len(self.distance), len(y))
        if kept:
            # Those that may be among the nearest are exact, too: the choice is the same whatever is asked besides.
            # `min` of one is several times faster.
            last = distance.min(axis=1) if kept == 1 else np.partition(distance, kept - 1)[:, kept - 1]
            off = 2.0 * off + last
        # In single precision the product at a point far away may be no number, or infinite on the wrong side.
        unsure = (y != 0) & ~((distance > off[:, None]) & (distance < np.inf)).all(axis=0)
        near = np.flatnonzero(unsure | (z > 0).any(axis=0))
        rows, mapped, weight = block.start + near, F[near], self.labels.weight[block][near]
        inside, few = z[:, near].T > 0, np.flatnonzero(unsure[near])
        exact = 1.0 - y[near[few], None] * (mapped[few] @ points[:, :-1].T + points[:, -1])
        inside[few] = exact > 0
        if kept:
            self._keep_nearest(np.abs(exact), inside[few].astype(np.float64), rows[few])
        return Near(rows, mapped, weight[:, None] * inside)

    def of_curvature(self, block: slice, rough: Rough) -> Floats:
        """Return v of a block, shape (rows,): a bump around the margin and a floor, times jitter.

        It is only a hint, so single precision will do; ``rough`` as of `of_cuts`.
        """
        y, width = self.labels.y[block], self.question.width
        with np.errstate(invalid="ignore"):
            distance = np.abs(1.0 - y * rough.values[-1])
        # Not `maximum`: a centre beyond single precision is far away.
        bump = np.fmax(0.0, 1.0 - distance / width) / width + self.everywhere[block]
        return np.where(y != 0, bump * (self.labels.weight[block] * self.jitter[block]), 0.0)

    def blurred(self) -> tuple[Ints, Floats]:
        """Return, after the last block, the rows whose c is drawn at random, and the change of c times weight.

        Shapes (blurred,) and (blurred, T).
        """
        # In the order of the rows, so that the draws do not depend on how the rows are cut into blocks.
        order = np.argsort(self.nearest, axis=0)
        nearest = np.take_along_axis(self.nearest, order, axis=0)
        counted = np.take_along_axis(self.counted, order, axis=0)
        rows, place = np.unique(nearest, return_inverse=True)
        place = place.reshape(nearest.shape)
        change = np.zeros((len(rows), len(self.question.points)))
        for t, point in enumerate(self.question.points if len(rows) else ()):
            # With the same draws for one row more, two cuts at the same point would differ in that row alone.
            key = f"blur {len(place)} {text_of(point)}"
            change[place[:, t], t] = self.draw(key, len(place)) - counted[:, t]
        change *= self.labels.weight[rows][:, None]
        return rows, change

    def _keep_nearest(self, distance: Floats, c: Floats, numbers: Ints) -> None:
        kept = len(self.distance)
        rows = np.broadcast_to(numbers[:, None], distance.shape)
        distance = np.vstack([self.distance, distance])
        chosen = np.argpartition(distance, kept - 1, axis=0)[:kept]
        self.distance = np.take_along_axis(distance, chosen, axis=0)
        self.nearest = np.take_along_axis(np.vstack([self.nearest, rows]), chosen, axis=0)
        self.counted = np.take_along_axis(np.vstack([self.counted, c]), chosen, axis=0)


class _Sums:
    """The sums of one problem while the blocks of rows go by."""

    def __init__(self, labels: Labels, question: Question, draw: Draw) -> None:
        self.factors = RowFactors(labels, question, draw)
        self.y, self.leading = labels.y, question.leading
        count, rank = len(question.points), question.points.shape[1] - 1
        self.a, self.d = np.zeros((count, rank)), np.zeros(count)
        self.m, self.loss = np.zeros(count), np.zeros(count)
        self.triangle = np.zeros((self.leading + 1, self.leading + 1))
        self.diagonal = np.zeros(rank - max(self.leading, 0))

    def add_cuts(self, F: Floats, block: slice, rough: Rough) -> None:
        """Add a block of mapped rows, with the paper's c; ``rough`` as of `RowFactors.of_cuts`."""
        near = self.factors.of_cuts(F, block, rough)
        self._add(near.F, self.y[near.rows], near.c)

    def blur(self, mapped: Mapped) -> None:
        """Take the loss, and replace the c of the rows nearest the margin by random ones."""
        # With the paper's c the hinge is c z, so that each cut touches the loss.
        w, b = self.factors.question.points[:, :-1], self.factors.question.points[:, -1]
        self.loss = np.maximum(self.m - np.einsum("ij,ij->i", self.a, w) - self.d * b, 0.0)
        rows, change = self.factors.blurred()
        if len(rows):
            self._add(mapped(rows), self.y[rows], change)

    def answer(self) -> Answer:
        """Return the sums."""
        curvature = np.empty(0)
        if self.leading >= 0:
            curvature = np.append(self.triangle[np.tri(self.leading + 1, dtype=np.bool_)], self.diagonal)
        return Answer(Cuts(self.a, self.d, self.m, self.loss), curvature)

    def _add(self, F: Floats, y: Floats, c: Floats) -> None:
        signed = y[:, None] * c
        self.a += signed.T @ F
        self.d += signed.sum(axis=0)
        self.m += c.sum(axis=0)


def _add_block(sums: Sequence[_Sums], points: Floats, F: Floats, block: slice) -> None:
    """Add a block of mapped rows to all sums; ``points`` are what is looked at of all of them, one after the other."""
    rough, curved = Rough.of(F, points), []
    sizes = [len(one.factors.question.looked_at) for one in sums]
    for one, size, end in zip(sums, sizes, np.cumsum(sizes), strict=True):
        own = rough.at(slice(end - size, end))
        one.add_cuts(F, block, own)
        if one.leading >= 0:
            curved.append((one, one.factors.of_curvature(block, own)))
    if curved:
        _add_curvatures(curved, rough.rows)


def _add_curvatures(curved: Sequence[tuple[_Sums, Floats]], rows: Singles) -> None:
    """Add v f f^T of a block of rows for each v; only a hint, so single precision will do."""
    least = min(one.leading for one, _ in curved)
    narrow = np.array([v for _, v in curved], dtype=np.float32)
    diagonals = narrow @ np.square(rows[:, least:])  # the squares serve all problems
    for (one, v), diagonal in zip(curved, diagonals, strict=True):
        near = np.flatnonzero(v)
        root = np.sqrt(v[near]).astype(np.float32)
        inner = rows[near, : one.leading]
        inner *= root[:, None]
        one.triangle[:-1, :-1] += inner.T @ inner  # of a matrix with itself numpy computes one half only
        one.triangle[-1, :-1] += root @ inner
        one.triangle[-1, -1] += v.sum()
        one.diagonal += diagonal[one.leading - least :]


def row_duals(mapped: Mapped, labels: Labels, duals: Duals, draw: Draw) -> Floats:
    """Return the dual variable alpha_i = sum_t beta_t c_i(t) of each of a site's rows, shape (rows,).

    The master's solution is w = sum_t beta_t a_t, and a_t = sum_i c_i(t) y_i f_i. So w = sum_i alpha_i y_i f_i with
    this alpha, which satisfies 0 <= alpha_i <= C weight_i and sum_i alpha_i y_i = 0: it is a solution of the SVM's dual
    problem, as exact as the master's lower bound. ``draw`` has to be that of the cutting planes.
    """
    rows = len(labels.y)
    alpha = np.zeros(rows)
    for count in np.unique(duals.blurred):
        own = duals.blurred == count
        points, beta = duals.points[own], duals.beta[own]
        factors = RowFactors(labels, Question(points, int(count), points[0]), draw)
        for block in blocks(rows):
            F = mapped(block)
            near = factors.of_cuts(F, block, Rough.of(F, points))
            alpha[near.rows] += near.c @ beta
        chosen, change = factors.blurred()
        alpha[chosen] += change @ beta
    # A row whose c are 0 in all of them but for a difference of roundings is no support vector.
    cleaned: Floats = np.maximum(alpha, 0.0)
    return cleaned


def text_of(point: Floats) -> str:
    """Return a point as part of the purpose of a draw."""
    return hashlib.sha256(point.tobytes()).hexdigest()
