"""The coordinator's knowledge after a run, from the record of its requests and the sums."""

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
from strategies.steps.scaling import ColumnSums, scaled_sums


@dataclass(frozen=True)
class KnownMap:
    """A broadcast feature map, and the scaling of its features."""

    feature_map: NystromMap  # the map, of scaled cells
    features: Bools  # (columns,): mask of its columns
    scaling: Scaling  # of all columns

    @property
    def digest(self) -> str:
        """Digest of the map: sums over the same map can be subtracted."""
        parts = (
            self.feature_map.landmarks,
            self.feature_map.normalization,
            self.features,
            self.scaling.scale,
        )
        return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in parts)).hexdigest()

    def seen(self, X: Floats) -> Floats:
        """Return the map's input for rows of the table, shape (rows, features of the map)."""
        return self.scaling.of(self.features).transform(X[:, self.features])

    def of_complete(self, X: Floats) -> Floats:
        """Return the map's input for the rows without unknown features."""
        return self.seen(X[~np.isnan(X[:, self.features]).any(axis=1)])

    def rows(self, seen: Floats) -> Floats:
        """Return rows of the table for inputs of the map; its other columns are NaN."""
        scaling, X = self.scaling.of(self.features), np.full((len(seen), len(self.features)), np.nan)
        X[:, self.features] = seen * scaling.scale + scaling.shift
        return X


@dataclass(frozen=True)
class SumsOfRows:
    """Sums over records, in the table's units, with their numbers of records."""

    features: Bools  # (columns,): mask of their columns
    # count, total, square: (sums, features): cells, their sum, and that of their squares.
    count: Floats
    total: Floats
    square: Floats

    def of(self, features: Bools) -> "SumsOfRows":
        """Return the sums of the columns of a mask of shape (columns,)."""
        chosen = features[self.features]
        return SumsOfRows(features, self.count[:, chosen], self.total[:, chosen], self.square[:, chosen])


@dataclass(frozen=True)
class Knowledge:
    """The coordinator's knowledge of a model that was trained on all rows."""

    # The model's feature map, restricted to the coordinates of the requested Hessians. Of the others only the
    # diagonal is known, which is not used.
    known: KnownMap
    hessians: Sequence[Floats]  # (rank + 1, rank + 1): Hessians of the smoothed hinge loss at some points
    class_rows: Floats  # (classes,): training rows of each class
    # total, square: (features,): sums of the scaled cells and of their squares over all rows, of the map's features.
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
    """Return the coordinator's knowledge of a model that was trained on all rows; None without a Hessian.

    The model is the one with most features, and among these with most Hessians.
    """
    hessians: dict[str, list[tuple[int, Floats]]] = {}
    maps: dict[str, tuple[KnownMap, TranscriptSum]] = {}
    for entry, problem, question, answer in _cuts_of(record):
        if problem.fold == NO_FOLD and question.leading >= 0:
            known_map = map_of(entry, problem.feature_map)
            maps[known_map.digest] = known_map, entry
            H = curvature_matrix(answer.curvature, problem.rank, question.leading)
            hessians.setdefault(known_map.digest, []).append((question.leading, H))
    moments = [entry for entry in record if entry.task == MOMENTS.name]
    if not hessians or not moments:
        return None
    digest = max(hessians, key=lambda digest: (maps[digest][0].features.sum(), len(hessians[digest])))
    known_map, last = maps[digest]
    leadings = np.array([leading for leading, _ in hessians[digest]])
    # Early Hessians have fewer coordinates than late ones: take as many as give most numbers.
    most = max(
        leadings.tolist(), key=lambda leading: (leadings >= leading).sum() * (leading + 1) * (leading + 2)
    )
    normalization = known_map.feature_map.normalization[:, :most]
    inner = [*range(most), -1]
    sums = moments[-1].sums
    cells = ColumnSums(*(sums[name].sum(axis=0) for name in ("count", "total", "square")))
    square, total = scaled_sums(scaling_of(last), float(sums["rows"].sum()), cells)
    return Knowledge(
        known=replace(known_map, feature_map=replace(known_map.feature_map, normalization=normalization)),
        hessians=[H[np.ix_(inner, inner)] for leading, H in hessians[digest] if leading >= most],
        class_rows=sums["rows"].sum(axis=0),
        total=total[known_map.features],
        square=square[known_map.features],
    )


def map_of(entry: TranscriptSum, index: int) -> KnownMap:
    """Return a feature map that the sites had at the time of a sum."""
    broadcast = entry.received(FEATURE_MAP.numbered(index))
    landmark_set = entry.received(LANDMARK_SET.numbered(broadcast.landmark_set))
    kernel = Kernel(broadcast.kernel, broadcast.gamma)  # type: ignore[arg-type]
    landmarks = landmark_set.landmarks[:, broadcast.features]
    feature_map = NystromMap(kernel, landmarks, broadcast.normalization.astype(np.float64))
    return KnownMap(feature_map, broadcast.features, scaling_of(entry, landmark_set.scaling))


def scaling_of(entry: TranscriptSum, index: int = 0) -> Scaling:
    """Return a scaling that the sites had at the time of a sum."""
    broadcast = entry.received(SCALING)
    return Scaling(broadcast.fill[index], broadcast.shift[index], broadcast.scale[index])


def sums_by_map(record: Sequence[TranscriptSum]) -> list[tuple[KnownMap, Floats]]:
    """Return every feature map with all received sums of weighted (f, 1) over it, shape (sums, rank + 1).

    Folds, classes, values of C and training steps with the same map share its sums.
    """
    maps: dict[str, KnownMap] = {}
    sums = defaultdict(list)
    # The subgradients and offsets of cuts are sums of signed rows that violate the margin.
    of_cuts = (
        (map_of(entry, problem.feature_map), np.column_stack([answer.cuts.a, answer.cuts.d]))
        for entry, problem, _, answer in _cuts_of(record)
    )
    for known_map, total in chain(of_cuts, _sums_of_models(record)):
        maps[known_map.digest] = known_map
        sums[known_map.digest].append(total)
    return [(maps[digest], np.vstack(parts)) for digest, parts in sums.items()]


def _sums_of_models(record: Sequence[TranscriptSum]) -> Iterator[tuple[KnownMap, Floats]]:
    """Yield sum_i alpha_i y_i (f_i, 1): sums of consensus models without the coordinator's own part.

    Between steps only the alpha_i of rows at a site's margin change.
    """
    for entry in record:
        if entry.task == CONSENSUS.name and entry.received(FEATURE_MAP.numbered(0)).kernel == "rbf":
            question = entry.question(CONSENSUS)
            models = entry.answer(CONSENSUS).models - len(entry.sites) * question.z[-1]
            for problem, rho, model in zip(question.problems(), question.rho[-1], models, strict=True):
                yield map_of(entry, problem.feature_map), rho * model


def _cuts_of(record: Sequence[TranscriptSum]) -> Iterator[tuple[TranscriptSum, Problem, Question, Answer]]:
    """Yield each problem of each sum of cuts over a map of the rbf kernel, its question and its answer."""
    for entry in record:
        if entry.task == CUTS.name and entry.received(FEATURE_MAP.numbered(0)).kernel == "rbf":
            combined = entry.question(CUTS)
            questions = combined.questions()
            answers = unpack_answers(entry.answer(CUTS), questions)
            for problem, question, answer in zip(combined.problems(), questions, answers, strict=True):
                yield entry, problem, question, answer


def numbers_received(record: Sequence[TranscriptSum]) -> dict[str, int]:
    """Return the number of values received by task and result, the largest first."""
    counts: dict[str, int] = {}
    for entry in record:
        for name, total in entry.sums.items():
            kind = f"{entry.task}: {name}"
            counts[kind] = counts.get(kind, 0) + total.size
    return {kind: count for kind, count in sorted(counts.items(), key=lambda pair: -pair[1]) if count}


def unknown_cells(record: Sequence[TranscriptSum]) -> int:
    """Return the number of cells of all training rows; 0 if the record does not contain it."""
    moments = [entry.sums for entry in record if entry.task == MOMENTS.name]
    return int(moments[0]["rows"].sum()) * moments[0]["count"].shape[-1] if moments else 0
