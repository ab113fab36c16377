"""Output perturbation: exact sums over rows by a random Fourier map, or the site's own SVM; the gate adds its noise.

Where the site adds noise, a row's part is a function of that row alone, bit for bit
(:mod:`flower_pansvm.privacy.exact`).
"""

import math

import numpy as np

from clients.classes import allowed_classes
from clients.groups import squares_of
from clients.rows import Rows
from clients.site import Site
from clients.systems import answers
from clients.tested import tested_answer
from flower_pansvm.arrays import Floats
from flower_pansvm.counts import confusion_counts, decision_histogram
from flower_pansvm.errors import NOT_FOLLOWED, SettingError
from flower_pansvm.privacy.exact import LARGEST_WEIGHT, WEIGHT_STEP, is_exact, row_blocks
from flower_pansvm.random_fourier import RandomFourierMap
from flower_pansvm.schema import class_names
from flower_pansvm.systems import output_perturbation as tasks
from flower_pansvm.systems.pan_svm.cuts import Labels, Question, cuts_at
from flower_pansvm.tested import TestedAnswer

PUBLIC_STREAM = 3
"""Distinguishes the draw of public rows from other draws by the same seed."""


@answers(tasks.PUBLIC_ROWS)
def public_rows(site: Site, question: tasks.PublicRowsQuestion) -> tasks.PublicRowsAnswer:
    """Disclose some training rows of a simulated site: of each class its share."""
    train = site.train()
    if not 1 <= question.rows <= len(train.X):
        raise SettingError(f"Site '{site.name}' was asked for more public rows than it has, or none.")
    generator = np.random.default_rng([int(site.terms.config.get("seed", 0)), PUBLIC_STREAM])
    order = np.lexsort((generator.permutation(len(train.X)), train.classes))
    every = len(train.X) / question.rows
    chosen = order[(np.arange(question.rows) * every + every / 2).astype(np.int64)]
    return tasks.PublicRowsAnswer(train.X[chosen])


@answers(tasks.RFF_CUTS)
def rff_cuts(site: Site, question: tasks.RffCutsQuestion) -> tasks.RffCutsAnswer:
    """Sum a, m, the hinge loss and its curvature over the site's rows, exactly."""
    labels, plane_question = problem_of(site, question)
    X, inner = site.train().X, plane_question.leading * (plane_question.leading + 1) // 2
    (answer,) = cuts_at(lambda block: mapped_rows(site, X[block]), [labels], [plane_question])
    # Of the curvature, the coordinates before the bias.
    return tasks.RffCutsAnswer(answer.cuts.a, answer.cuts.m, answer.cuts.loss, answer.curvature[:inner])


def problem_of(site: Site, question: tasks.RffCutsQuestion) -> tuple[Labels, Question]:
    """Return the sides of the training rows, and the question with a bias of 0."""
    points, centre = question.points.astype(np.float64), question.centre.astype(np.float64)
    size = site.get_broadcast(tasks.RFF).size
    site.check_size(points.size + (size + 1.0) ** 2)
    if points.shape[1:] != (size,) or centre.shape != (size,) or not question.width > 0:
        raise _misfit(site)
    y = _signs(site.train())
    plane_question = Question(np.pad(points, ((0, 0), (0, 1))), np.append(centre, 0.0), question.width, size)
    return Labels(y, np.ones(len(y))), plane_question


@answers(tasks.RFF_SCORES)
def rff_scores(site: Site, question: tasks.RffScoresQuestion) -> tasks.RffScoresAnswer:
    """Count the test rows by class, predicted class and decision value."""
    rows = site.test()
    decisions = mapped_rows(site, rows.X) @ _fitting(site, question.weights)
    predicted = (decisions > 0).astype(np.int64)
    return tasks.RffScoresAnswer(
        confusion_counts(rows.classes, predicted, 2),
        squares_of(site, predicted, question),
        decision_histogram(decisions, rows.classes == 1, scale=question.scale),
    )


@answers(tasks.LOCAL_WEIGHTS)
def local_weights(site: Site, question: tasks.LocalWeightsQuestion) -> tasks.LocalWeightsAnswer:
    """Find the weights of the least objective over the site's own training rows.

    In a number of steps that follows from the question alone: nothing that is refused depends on a row.
    """
    sound = (
        tasks.LEAST_C < question.C < tasks.LARGEST_C
        and 1 > question.tol >= max(tasks.LEAST_TOL, question.C / tasks.LARGEST_CONDITION)
        and question.epsilon >= tasks.LEAST_EPSILON
    )
    schema = site.schema()
    all_classes = class_names(allowed_classes(site) or schema.classes, schema.positive_labels)
    # Of some of its classes the rows are no public number: from three such numbers followed that of each class.
    sound &= set(all_classes) <= set(schema.classes)
    if not sound or question.size != site.get_broadcast(tasks.RFF).size:
        raise _misfit(site)
    rows = site.train()
    signed = _signs(rows)[:, None] * mapped_rows(site, rows.X)
    return tasks.LocalWeightsAnswer(weights_of(signed, question.C, question.tol))


def weights_of(signed: Floats, C: float, tol: float) -> Floats:
    """Return weights whose objective is above the least one by at most ``tol * C``.

    The objective is 1/2 |w|^2 + C mean max(0, 1 - y w.z).

    Nesterov's accelerated gradient (2004, constant step scheme III, theorem 2.2.3) on the smoothed hinge loss
    (1 - m)^2 / (2 tol) near the margin, which is below the hinge loss by at most tol / 2. The smoothed objective is
    1-strongly convex, its gradient has the Lipschitz constant L = 1 + C / tol as rows have a length of at most 1, and
    it is at most C at 0, as is 1/2 |w|^2 at its least point. So k steps leave 2 C (1 - 1 / sqrt(L))^k: with
    k = sqrt(L) ln(8 / tol), a quarter of ``tol * C``. Rounding has the last quarter: of each gradient it is below
    2^-44 C, which the acceleration makes larger by sqrt(L) at most.

    Parameters
    ----------
    signed : ndarray of shape (rows, size)
        y_i z_i, of a 2-norm of at most 1.
    C : float
        Penalty of the mean loss; at most `LARGEST_CONDITION` times ``tol``.
    tol : float
        As above, in shares of the objective at 0.
    """
    root = math.sqrt(1 + C / tol)
    momentum, last, ahead = (root - 1) / (root + 1), np.zeros(signed.shape[1]), np.zeros(signed.shape[1])
    for _ in range(math.ceil(root * math.log(8 / tol))):
        slopes = ((1 - signed @ ahead) / tol).clip(0, 1)
        weights = ahead - (ahead - C / len(signed) * (slopes @ signed)) / root**2
        last, ahead = weights, weights + momentum * (weights - last)
    return last


@answers(tasks.RFF_PRIVATE_SCORES)
def rff_private_scores(site: Site, question: tasks.RffPrivateScoresQuestion) -> TestedAnswer:
    """Count the test rows by class and by what the model says of them."""
    rows = site.test()
    # The map, too, before there is a row: a refusal must not reveal whether there is one.
    feature_map, weights = _map(site, rows.X.shape[1]), _fitting(site, question.weights)
    if not is_exact(weights, WEIGHT_STEP, LARGEST_WEIGHT):
        raise _misfit(site)
    blocks = row_blocks(len(rows.X), len(weights))
    decisions = [np.empty(0), *(feature_map.transform(rows.X[block]) @ weights for block in blocks)]
    return tested_answer(site, question, rows, np.concatenate(decisions)[:, None])


def _fitting(site: Site, weights: Floats) -> Floats:
    """Return weights after checking that they fit the map."""
    if weights.shape != (site.get_broadcast(tasks.RFF).size,):
        raise _misfit(site)
    return weights


def mapped_rows(site: Site, X: Floats) -> Floats:
    """Return rows by the broadcast map, shape (rows, size)."""
    feature_map = _map(site, X.shape[1])
    site.check_size(float(len(X)) * feature_map.size)
    return feature_map.transform(X)


def _map(site: Site, columns: int) -> RandomFourierMap:
    """Return the broadcast map, after checking it."""
    feature_map = site.get_broadcast(tasks.RFF)
    if not feature_map.fits(columns) or len(site.schema().classes) != 2:
        raise _misfit(site)
    return feature_map


def _signs(rows: Rows) -> Floats:
    return np.where(rows.classes == 1, 1.0, -1.0)


def _misfit(site: Site) -> SettingError:
    return SettingError(
        f"Site '{site.name}' refuses a request that does not fit its columns, its classes or the feature map. "
        f"{NOT_FOLLOWED}"
    )
