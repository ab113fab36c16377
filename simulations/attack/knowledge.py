"""What the coordinator knows after a run, read from the record of what it asked and what came back."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.kernels import Kernel
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.scaling import Scaling
from flower_pansvm.systems.admm import CONSENSUS
from flower_pansvm.systems.pan_svm.cuts import Answer, Problem, Question
from flower_pansvm.systems.pan_svm.tasks import CUTS, FEATURE_MAP, LANDMARK_SET
from flower_pansvm.systems.scaling import MOMENTS, NO_FOLD, SCALING
from strategies.federation.transcript import TranscriptSum
from strategies.master.packing import curvature_matrix, unpack_answers


@dataclass(frozen=True)
class KnownMap:
    """A feature map that the sites have been told, and the scaling of what it looks at."""

    feature_map: NystromMap  # the map, of scaled cells
    features: Bools  # (columns,): which columns it looks at
    scaling: Scaling  # of all columns

    @property
    def digest(self) -> str:
        """Digest of the map: sums over the same map can be subtracted from one another."""
        parts = (
            self.feature_map.landmarks,
            self.feature_map.normalization,
            self.features,
            self.scaling.scale,
        )
        return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()

    def seen(self, X: Floats) -> Floats:
        """Return rows of the table as the map looks at them, shape (rows, features of the map)."""
        return self.scaling.of(self.features).transform(X[:, self.features])

    def of_complete(self, X: Floats) -> Floats:
        """Return the same of those rows of which all features of the map are known."""
        return self.seen(X[~np.isnan(X[:, self.features]).any(axis=1)])

    def rows(self, seen: Floats) -> Floats:
        """Return rows of the table; a column that the map does not look at is NaN."""
        own, X = self.scaling.of(self.features), np.full((len(seen), len(self.features)), np.nan)
        X[:, self.features] = seen * own.scale + own.shift
        return X


@dataclass(frozen=True)
class SumsOfRows:
    """Sums over the records themselves, in the table's units, of which it is known how many records each is over."""

    features: Bools  # (columns,): which columns they are of
    # count, total, square: (sums, features): cells, their sum, and that of their squares.
    count: Floats
    total: Floats
    square: Floats

    def of(self, features: Bools) -> "SumsOfRows":
        """Return the sums of some of their columns, which a mask of shape (columns,) picks."""
        own = features[self.features]
        return SumsOfRows(features, self.count[:, own], self.total[:, own], self.square[:, own])


@dataclass(frozen=True)
class Knowledge:
    """What the coordinator has of a model that was trained on all rows."""

    # The model's feature map, of those coordinates between which the curvature was asked for. Of the others
    # only the diagonal is known, which is left aside.
    known: KnownMap
    curvatures: Sequence[Floats]  # (rank + 1, rank + 1): Hessians of the smoothed hinge loss at some points
    class_rows: Floats  # (classes,): training rows of each class
    # total, square: (features,): sums of the scaled cells and of their squares over all rows, of the features
    # that the map looks at.
    total: Floats
    square: Floats

    @property
    def feature_map(self) -> NystromMap:
        """The map, of scaled cells."""
        return self.known.feature_map

    @property
    def rows(self) -> int:
        """Number of training rows."""
        return int(self.class_rows.sum())

    @property
    def landmarks(self) -> Floats:
        """The landmarks, shape (landmarks, features)."""
        return self.feature_map.landmarks


def knowledge_of(record: Sequence[TranscriptSum]) -> Knowledge | None:
    """Return what a coordinator knows of a model that was trained on all rows; None without a Hessian.

    Of several models that of most features, of those the one with most Hessians.
    """
    curvatures: dict[str, list[tuple[int, Floats]]] = {}
    maps: dict[str, tuple[KnownMap, TranscriptSum]] = {}
    for one, problem, question, answer in _cuts_of(record):
        if problem.fold == NO_FOLD and question.leading >= 0:
            known = map_of(one, problem.feature_map)
            maps[known.digest] = known, one
            H = curvature_matrix(answer.curvature, problem.rank, question.leading)
            curvatures.setdefault(known.digest, []).append((question.leading, H))
    moments = [one for one in record if one.task == MOMENTS.name]
    if not curvatures or not moments:
        return None
    digest = max(curvatures, key=lambda one: (maps[one][0].features.sum(), len(curvatures[one])))
    known, last = maps[digest]
    asked = np.array([leading for leading, _ in curvatures[digest]])
    # Early Hessians are of fewer coordinates than late ones: as many coordinates as give most numbers.
    most = max(asked.tolist(), key=lambda leading: (asked >= leading).sum() * (leading + 1) * (leading + 2))
    normalization = known.feature_map.normalization[:, :most]
    inner = [*range(most), -1]
    total, square = _scaled_moments(moments[-1], scaling_of(last))
    return Knowledge(
        known=replace(known, feature_map=replace(known.feature_map, normalization=normalization)),
        curvatures=[H[np.ix_(inner, inner)] for leading, H in curvatures[digest] if leading >= most],
        class_rows=moments[-1].sums["rows"].sum(axis=0),
        total=total[known.features],
        square=square[known.features],
    )


def _scaled_moments(moments: TranscriptSum, scaling: Scaling) -> tuple[Floats, Floats]:
    """Return sum and sum of squares of the scaled cells; missing ones are filled with the mean."""
    count, total, square = (moments.sums[name].sum(axis=0) for name in ("count", "total", "square"))
    fill, shift, scale = scaling.fill, scaling.shift, scaling.scale
    rows = moments.sums["rows"].sum()
    total, square = total + (rows - count) * fill, square + (rows - count) * np.square(fill)
    scaled = (total - rows * shift) / scale
    return scaled, (square - 2 * shift * total + rows * np.square(shift)) / np.square(scale)


def map_of(one: TranscriptSum, number: int) -> KnownMap:
    """Return one of the feature maps that the sites had been told by a sum."""
    told = one.received(FEATURE_MAP.numbered(number))
    landmark_set = one.received(LANDMARK_SET.numbered(told.landmark_set))
    kernel = Kernel(told.kernel, told.gamma)  # type: ignore[arg-type]
    landmarks = landmark_set.landmarks[:, told.features]
    feature_map = NystromMap(kernel, landmarks, told.normalization.astype(np.float64))
    return KnownMap(feature_map, told.features, scaling_of(one, landmark_set.scaling))


def scaling_of(one: TranscriptSum, number: int = 0) -> Scaling:
    """Return one of the scalings that the sites had been told by a sum."""
    told = one.received(SCALING)
    return Scaling(told.fill[number], told.shift[number], told.scale[number])


def sums_by_map(record: Sequence[TranscriptSum]) -> list[tuple[KnownMap, Floats]]:
    """Return every feature map with all sums of weighted mapped rows (f, 1) over it that came, shape (sums, rank + 1).

    Folds, classes, values of C and steps of the training that share a map share its sums.
    """
    maps: dict[str, KnownMap] = {}
    sums = defaultdict(list)
    for known, total in chain(_sums_of_cuts(record), _sums_of_models(record)):
        maps[known.digest] = known
        sums[known.digest].append(total)
    return [(maps[digest], np.vstack(parts)) for digest, parts in sums.items()]


def _sums_of_cuts(record: Sequence[TranscriptSum]) -> Iterator[tuple[KnownMap, Floats]]:
    """Yield the subgradients and offsets of cuts: sums of signed rows on the wrong side of the margin."""
    for one, problem, _, answer in _cuts_of(record):
        yield map_of(one, problem.feature_map), np.column_stack([answer.cuts.a, answer.cuts.d])


def _sums_of_models(record: Sequence[TranscriptSum]) -> Iterator[tuple[KnownMap, Floats]]:
    """Yield what is left of sums of consensus models without what the coordinator has sent: sum_i alpha_i y_i (f_i, 1).

    From one step to the next only those alpha_i change whose rows are at a site's margin.
    """
    for one in record:
        if one.task == CONSENSUS.name and one.received(FEATURE_MAP.numbered(0)).kernel == "rbf":
            question = one.question(CONSENSUS)
            models = one.answer(CONSENSUS).models - len(one.sites) * question.z[-1]
            for problem, rho, model in zip(question.problems(), question.rho[-1], models, strict=True):
                yield map_of(one, problem.feature_map), rho * model


def _cuts_of(record: Sequence[TranscriptSum]) -> Iterator[tuple[TranscriptSum, Problem, Question, Answer]]:
    """Yield each problem of each sum of cuts over a map of the rbf kernel, its question and its answer."""
    for one in record:
        if one.task == CUTS.name and one.received(FEATURE_MAP.numbered(0)).kernel == "rbf":
            asked = one.question(CUTS)
            questions = asked.questions()
            answers = unpack_answers(one.answer(CUTS), questions)
            for problem, question, answer in zip(asked.problems(), questions, answers, strict=True):
                yield one, problem, question, answer


def numbers_received(record: Sequence[TranscriptSum]) -> dict[str, int]:
    """Return how many numbers each result of each task has brought the coordinator, the largest first."""
    found: dict[str, int] = {}
    for one in record:
        for name, total in one.sums.items():
            kind = f"{one.task}: {name}"
            found[kind] = found.get(kind, 0) + total.size
    return {kind: count for kind, count in sorted(found.items(), key=lambda pair: -pair[1]) if count}


def unknown_cells(record: Sequence[TranscriptSum]) -> int:
    """Return how many cells all training rows have together; 0 if the record does not say."""
    moments = [one.sums for one in record if one.task == MOMENTS.name]
    return int(moments[0]["rows"].sum()) * moments[0]["count"].shape[-1] if moments else 0
