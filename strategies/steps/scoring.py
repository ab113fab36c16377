"""Trying models on rows that they have not been trained on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from flower_pansvm.arrays import Floats
from flower_pansvm.counts import BINS
from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.systems.pan_svm.tasks import SCORES, ScoresAnswer, ScoresQuestion
from flower_pansvm.systems.scaling import NO_FOLD
from strategies.federation.checks import AggregateResult, Problems
from strategies.federation.federation import Federation
from strategies.master.progress import Progress

SPREAD = 0.3
"""How far decision values lie apart, in shares of the largest distance that is to be expected."""


@dataclass(frozen=True)
class Trial:
    """A model to be tried on rows that it has not been trained on."""

    feature_map: int  # number of its feature map
    fold: int  # of training rows that it is tried on, or `NO_FOLD` for the test rows
    weights: Floats  # (problems, rank + 1): weights and, last, bias of its binary problems
    # (columns,): where the class decisions of each histogram lie; by default empty, for no histograms
    centres: Floats = field(default_factory=lambda: np.empty(0))
    # (columns,): how far apart they lie; likewise empty
    scales: Floats = field(default_factory=lambda: np.empty(0))


def score(
    federation: Federation, trials: Sequence[Trial], pairs: Sequence[Pair], *, by_patient: bool = False
) -> ScoresAnswer:
    """Try models on held-out rows of all sites, in one secure sum.

    Parameters
    ----------
    trials : sequence of Trial
        The models.
    pairs : sequence of Pair
        The binary problems of each model.
    by_patient : bool
        Whether squares by patient are asked for, of the first model, which is tried on the test rows: once a run.
    """
    return federation.secure_sum(
        SCORES,
        ScoresQuestion(
            feature_maps=np.array([trial.feature_map for trial in trials]),
            folds=np.array([trial.fold for trial in trials]),
            ranks=np.array([trial.weights.shape[1] - 1 for trial in trials]),
            weights=np.concatenate([trial.weights.ravel() for trial in trials]),
            positive=np.array([pair.positive for pair in pairs]),
            negative=np.array([pair.negative for pair in pairs]),
            centres=np.stack([trial.centres for trial in trials]),
            scales=np.stack([trial.scales for trial in trials]),
            by_patient=by_patient,
        ),
        relations=wrong_scores,
    )


def evaluate(federation: Federation, model: PanSVC) -> Evaluation:
    """Try a model, whose feature map is the sites' number 0, on the test rows of all sites."""
    weights = np.column_stack([model.coef_, model.intercept_])
    scored = score(federation, [Trial(0, NO_FOLD, weights, *frame(model))], model.pairs_, by_patient=True)
    return Evaluation.from_counts(scored.confusion[0], scored.histogram[0], squares=scored.squares[0])


def evaluate_counts(counts: Floats, squares: Floats | None = None) -> Evaluation:
    """Return the figures of counts of test rows, shape (classes, classes), true by predicted; without AUC."""
    return Evaluation.from_counts(counts, np.empty((0, 2, BINS)), squares=squares)


def score_held_out(
    federation: Federation,
    models: Sequence[Sequence[Progress]],
    pairs: Sequence[Pair],
    class_weight: str | tuple[float, ...] = "none",
) -> tuple[Floats, Floats]:
    """Try trained models on the rows of the fold that each has not seen, or on the test rows, in one secure sum.

    Parameters
    ----------
    models : sequence of sequence of Progress
        Of each model, one of each binary problem; at least one model.
    pairs : sequence of Pair
        The binary problems of each model.
    class_weight : str or tuple of float
        How much a row of each class counts, as in training; with 'balanced' the share is the balanced accuracy.

    Returns
    -------
    right, rows : ndarray of shape (models,)
        The share of rows predicted right, 0 without rows, and how many rows there are.
    """
    trials = [
        Trial(m[0].problem.feature_map, m[0].problem.fold, np.stack([state.best for state in m]))
        for m in models
    ]
    confusion = score(federation, trials, pairs).confusion
    right, rows = np.diagonal(confusion, axis1=1, axis2=2), confusion.sum(axis=2)
    weights = 1 / np.maximum(rows, 1) if class_weight == "balanced" else np.ones(rows.shape)
    weights = np.broadcast_to(class_weight, rows.shape) if isinstance(class_weight, tuple) else weights
    weighed = (weights * rows).sum(axis=1)
    shares = np.divide((weights * right).sum(axis=1), weighed, out=np.zeros(len(rows)), where=weighed > 0)
    return shares, rows.sum(axis=1)


def typical_norm(feature_map: NystromMap) -> float:
    """Return the root mean square of ||f|| over the landmarks, of which k(x, x) is the square: 1 of the RBF kernel."""
    if feature_map.kernel.name == "rbf":
        return 1.0
    return math.sqrt(float(np.mean(np.square(feature_map.landmarks).sum(axis=1))))


def frame(model: PanSVC) -> tuple[Floats, Floats]:
    """Return centre and scale of a model's class decisions of each column: see `Trial`."""
    if model.pairs_[0].negative != REST:
        # The bins are finest around the most votes that a class can have.
        classes = len(model.classes_)
        return np.full(classes, classes - 1.0), np.ones(classes)
    # Decision values lie around b, and a small C or a rare class draws them together there.
    scales = SPREAD * typical_norm(model.feature_map_) * np.linalg.norm(model.coef_, axis=1)
    return model.intercept_, np.where(scales > 0, scales, 1.0)


def wrong_scores(result: AggregateResult) -> Problems:
    """Yield the errors of counts: each row of a fold, or test row, is counted once by each model."""
    folds, columns = result.request.question.folds, result.request.question.centres.shape[1]
    confusion, histogram = result.sums["confusion"], result.sums["histogram"]
    by_class, rows, known = confusion.sum(axis=2), confusion.sum(axis=(1, 2)), result.request.rows
    tested = by_class[folds == NO_FOLD]
    if (tested != tested[:1]).any():
        yield "'confusion' does not have the same test rows of each class with every model"
    if known is not None:
        for fold in np.unique(folds[folds != NO_FOLD]):
            if _miscounted(by_class[folds == fold], known.train[fold], result.sites, known.train_sites):
                yield "'confusion' does not have the training rows that the sites have counted of each class"
        if _miscounted(rows[folds == NO_FOLD], known.test, result.sites, known.test_sites):
            yield "'confusion' does not have the test rows that the sites have counted"
    if columns and (
        (histogram.sum(axis=(2, 3)) != rows[:, None]).any()
        or (histogram[:, :, 1].sum(axis=2) != (by_class if columns > 1 else by_class[:, 1:])).any()
    ):
        yield "'histogram' does not have the rows of 'confusion'"
    yield from wrong_squares(result)


def wrong_squares(result: AggregateResult) -> Problems:
    """Yield the errors of sums of products of patients' counts: from a count to its square, of one patient."""
    classes = result.sums["confusion"].shape[-1]
    confusion = result.sums["confusion"].reshape(-1, classes, classes)
    sums = np.reshape(result.sums["squares"], (-1, 2 * classes, 2 * classes))
    for counts, squares in zip(confusion, sums, strict=False):
        right = np.diag(counts)
        cells = counts if classes == 2 else np.stack([counts.sum(axis=1) - right, right], axis=1)
        if not_by_patient(cells.ravel(), squares):
            yield "'squares' are no sums of products of the counts by patient"


def not_by_patient(counts: Floats, products: Floats) -> bool:
    """Tell whether no patients have such counts, shape (cells,), with such sums of products, (cells, cells)."""
    return bool(
        (products != products.T).any()
        or (np.diag(products) < counts).any()
        or (products > np.outer(counts, counts)).any()
    )


def _miscounted(
    counts: Floats, expected: Floats | float, sites: tuple[str, ...], sites_then: tuple[str, ...]
) -> bool:
    """Tell whether counts are not what was counted before, or more than that if it was over other sites."""
    wrong = counts != expected if sites == sites_then else counts > expected
    return bool(wrong.any())
