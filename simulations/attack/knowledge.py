"""What the coordinator knows after a run, read from the record of what it asked and what came back.

The attack is on the model itself: its one feature map over all training rows, and one of its binary problems. Other
problems of the same rows (several classes, folds) would add equations of the same kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flower_pansvm.cutting_planes.cuts import Cuts
from flower_pansvm.cutting_planes.problem import NO_FOLD
from flower_pansvm.cutting_planes.question import Question
from flower_pansvm.errors import SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.multiclass import Pair, signs
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.tasks.cutting_planes import CUTS, FEATURE_MAP
from flower_pansvm.tasks.landmarks import LANDMARK_SET
from flower_pansvm.tasks.scaling import MOMENTS, SCALING
from strategies.federation.transcript import TranscriptSum
from strategies.master.curvature import curvature_matrix
from strategies.nystroem_settings import NystroemSettings
from strategies.steps.packing import unpack_answers

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AskedCuts:
    """One question of the problem, and the sums that came back."""

    question: Question
    cuts: Cuts
    curvature: Floats | None


@dataclass(frozen=True)
class Knowledge:
    """What the coordinator has.

    Parameters
    ----------
    feature_map : NystromMap
        The model's feature map; all features, in scaled units.
    asked : sequence of AskedCuts
        Questions of one binary problem over all training rows, in order.
    pair : Pair
        Its two sides.
    class_rows : ndarray of shape (classes,)
        Training rows of each class.
    total, square : ndarray of shape (features,)
        Sums of the scaled cells and of their squares over all rows.
    min_cluster : int
        Fewest rows behind a landmark.
    """

    feature_map: NystromMap
    asked: Sequence[AskedCuts]
    pair: Pair
    class_rows: Floats
    total: Floats
    square: Floats
    min_cluster: int

    @property
    def rows(self) -> int:
        """Number of training rows."""
        return int(self.class_rows.sum())

    @property
    def landmarks(self) -> Floats:
        """The landmarks, shape (landmarks, features)."""
        return self.feature_map.landmarks

    @property
    def curvatures(self) -> list[tuple[Question, Floats]]:
        """The curvatures with their questions."""
        return [(one.question, one.curvature) for one in self.asked if one.curvature is not None]

    def sides(self) -> tuple[int, int]:
        """Return how many rows are on the positive and on the negative side of the problem."""
        side = signs(np.arange(len(self.class_rows)), self.pair)
        return int(self.class_rows[side > 0].sum()), int(self.class_rows[side < 0].sum())


def knowledge_of(settings: NystroemSettings, record: Sequence[TranscriptSum]) -> Knowledge:
    """Return what a coordinator with the record of a run knows.

    Raises
    ------
    SettingError
        If the run trained no model on all rows with one feature map.
    """
    cuts = [one for one in record if one.task == CUTS.name]
    wanted = None
    asked: list[AskedCuts] = []
    for one in cuts:
        question_asked = one.question(CUTS)
        problems, questions = question_asked.problems(), question_asked.questions()
        answers = unpack_answers(one.answer(CUTS), questions)
        for problem, question, answer in zip(problems, questions, answers, strict=True):
            key = (problem.feature_map, problem.pair)
            if problem.fold != NO_FOLD or wanted not in (None, key):
                continue
            wanted = key
            curvature = None
            if question.leading >= 0:
                curvature = curvature_matrix(answer.curvature, problem.rank, question.leading)
            asked.append(AskedCuts(question, answer.cuts, curvature))
    if wanted is None:
        raise SettingError("The record holds no training on all rows. Attack a run of 'pansvm run'.")
    feature_map = feature_map_of(cuts[-1], wanted[0])
    total, square = scaled_moments(record, cuts[-1])
    (moments,) = (one for one in record if one.task == MOMENTS.name)
    return Knowledge(
        feature_map=feature_map,
        asked=asked,
        pair=wanted[1],
        class_rows=moments.sums["rows"].sum(axis=0),
        total=total,
        square=square,
        min_cluster=settings.min_cluster,
    )


def feature_map_of(last: TranscriptSum, number: int) -> NystromMap:
    """Return one of the feature maps that the sites had been told by a sum."""
    told = last.heard(FEATURE_MAP.numbered(number))
    landmarks = last.heard(LANDMARK_SET.numbered(told.landmark_set)).landmarks
    kernel = Kernel(told.kernel, told.gamma, told.degree, told.coef0)  # type: ignore[arg-type]
    return NystromMap(kernel, landmarks[:, told.features], told.normalization.astype(np.float64))


def scaled_moments(record: Sequence[TranscriptSum], last: TranscriptSum) -> tuple[Floats, Floats]:
    """Return sum and sum of squares of the scaled cells; missing ones are filled with the mean."""
    (moments,) = (one for one in record if one.task == MOMENTS.name)
    count, total, square = (moments.sums[name].sum(axis=0) for name in ("count", "total", "square"))
    scaling = last.heard(SCALING)
    fill, shift, scale = scaling.fill[0], scaling.shift[0], scaling.scale[0]
    rows = moments.sums["rows"].sum()
    total, square = total + (rows - count) * fill, square + (rows - count) * np.square(fill)
    scaled = (total - rows * shift) / scale
    return scaled, (square - 2 * shift * total + rows * np.square(shift)) / np.square(scale)


def spread_about(landmarks: Floats, rows: float, square: Floats) -> float:
    """Return the standard deviation of cells about the landmarks, given the sums of their squares, at least 0.1."""
    variance = square.mean() / rows - np.square(landmarks).mean()
    return float(np.sqrt(max(variance, 0.01)))


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
