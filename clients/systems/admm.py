"""Consensus: the site's own linear SVMs on its mapped rows, drawn to the points that all sites are to agree on.

Boyd et al. 2011, section 7.1 and 8.2.3, with the dual variables y unscaled:
y += rho (x - z); x = argmin C sum_i weight_i max(0, 1 - y_i (w.f_i + b)) + rho/2 ||x - z + y/rho||^2, where x = (w, b).
What the models share, 1/2 ||w||^2, is the coordinator's; of the bias b each site has its own, like of w.
"""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.svm import SVR

from clients.site import Site
from clients.systems import answers
from clients.systems.local_only import MOST_STEPS as MOST_SOLVER_STEPS
from clients.systems.pan_svm import allowed_problems, feature_map, labels_of, mapped_train
from flower_pansvm import records
from flower_pansvm.arrays import Floats
from flower_pansvm.errors import NOT_FOLLOWED, FederationError, SettingError
from flower_pansvm.systems.admm import CONSENSUS, MOST_STEPS, ConsensusAnswer, ConsensusQuestion
from flower_pansvm.systems.pan_svm.cuts import Problem

STATE = "consensus"
"""What the state of the run calls the site's models."""

PRECISION = 1e-5
"""How exactly the local problem is solved, in units of a row's distance from the margin."""

MOST_WORK, MOST_STEPS_A_ROW = 2_000_000_000, 80
"""Rows times steps, and steps for each row, after both of which the solver is taken to stall."""


@dataclass(frozen=True)
class LocalModels:
    """What a site keeps from step to step; it does not leave, and can be made again from all points asked so far."""

    steps: int  # how many have been taken
    asked: str  # digest of the last question
    x: Floats  # (problems, rank + 1)
    y: Floats  # (problems, rank + 1): dual variables
    rho: Floats  # (problems,): of the last step
    sizes: Floats  # (3, problems): ||x - z||^2, ||x||^2, ||y||^2 of the step before, with the last z


@answers(CONSENSUS)
def consensus(site: Site, question: ConsensusQuestion) -> ConsensusAnswer:
    """Move on to the step of the question; a repeated question gets the same answer.

    SettingError if the question is invalid. FederationError if the site does not have its models of the step before.
    """
    problems = allowed_problems(site, question)
    _check(site, question, problems)
    state = site.state
    zeros = np.zeros(question.points.shape[1:])
    models = LocalModels(0, "", zeros, zeros, question.rho[0], np.zeros((3, len(zeros))))
    if records.has(state, STATE):
        models = records.read(state, STATE, LocalModels)
    digest = records.digest(records.values_of(question))
    if models.asked != digest:
        if models.steps != question.first:
            raise FederationError(
                f"Site '{site.name}' has taken {models.steps} steps of its models, and the request is for step "
                f"{question.first}: it was started again during the run, or a message did not arrive. Resume the run."
            )
        for z, rho in zip(question.z, question.rho, strict=True):
            models = next_models(site, problems, models, z, rho)
        models = replace(models, asked=digest)
        records.write(state, STATE, models)
    return ConsensusAnswer(models.x + models.y / models.rho[:, None], *models.sizes)


def next_models(
    site: Site, problems: list[Problem], last: LocalModels, z: Floats, rho: Floats
) -> LocalModels:
    """Return the site's models one step on: dual variables by (7.7) of the last point, then new models for it.

    Each model is the minimum of the site's loss and rho/2 times the squared distance from a centre.
    """
    off = last.x - z
    y = last.y + last.rho[:, None] * off
    sizes = np.square([off, last.x, y]).sum(axis=2)
    x = z - y / rho[:, None]
    for index, problem in enumerate(problems):
        rows, weights = row_duals(site, problem, x[index], rho[index])
        x[index] += weights @ rows
    return LocalModels(last.steps + 1, "", x, y, rho, sizes)


def row_duals(site: Site, problem: Problem, centre: Floats, rho: float) -> tuple[Floats, Floats]:
    """Return the site's rows y_i (f_i, 1), and by how much each draws the model away from the centre: alpha_i / rho."""
    labels = labels_of(site, problem)
    F = mapped_train(site, problem.feature_map)(np.arange(len(labels.y)))
    rows = labels.y[:, None] * np.column_stack([F, np.ones(len(F))])
    return rows, solve(rows, problem.C / rho * labels.weight, 1.0 - rows @ centre)


def solve(rows: Floats, cost: Floats, margin: Floats, tol: float = PRECISION) -> Floats:
    """Return the dual variables of min 1/2 ||d||^2 + sum_i cost_i max(0, margin_i - rows_i.d), shape (rows,).

    scikit-learn's ``SVC`` has the same margin for all rows. Its ``SVR`` loses what a row is outside of a tube of half
    width E about its target. About margin_i + E that is max(0, margin_i - rows_i.d), as long as no row leaves the tube
    by the other side; 1/2 ||d||^2 is at most the loss at d = 0, which says how wide a tube none of them can leave.
    ``SVR`` adds an intercept, and the rows have one: two rows of nothing, heavier than all others, hold it at 0.

    It keeps products of rows in single precision. Of rows that hardly differ it then may set aside some that still
    have to move (``shrinking``), and stand still 1 % short of the optimum for ever: then it starts again and sets none
    aside, which takes twice as long.
    """
    duals = np.zeros(len(cost))
    with np.errstate(over="ignore", invalid="ignore"):
        loss, longest = float(cost @ np.maximum(margin, 0.0)), np.linalg.norm(rows, axis=1).max(initial=0.0)
        half = float(longest * np.sqrt(2 * loss) + np.abs(margin).max(initial=0.0))
    # A failure of the solver at numbers that are too large would tell of this site's loss.
    if loss == 0 or not np.isfinite([half, 2 * cost.sum()]).all():
        return duals
    used = np.flatnonzero(cost)
    inputs = np.vstack([rows[used], np.zeros((2, rows.shape[1]))])
    targets = np.concatenate([margin[used] + half, [half, -half]])
    weights = np.concatenate([cost[used], np.full(2, 2 * cost.sum())])
    most_steps = min(MOST_SOLVER_STEPS, max(MOST_WORK // len(used), MOST_STEPS_A_ROW * len(used)))
    for shrinking in (True, False):
        svr = SVR(kernel="linear", C=1.0, epsilon=half, tol=tol, shrinking=shrinking, max_iter=most_steps)
        svr.fit(inputs, targets, sample_weight=weights)
        if svr.fit_status_ == 0:  # it has come to its precision
            break
    of_rows = svr.support_ < len(used)
    duals[used[svr.support_[of_rows]]] = svr.dual_coef_[0, of_rows]
    return duals


def _check(site: Site, question: ConsensusQuestion, problems: list[Problem]) -> None:
    """Check the question before anything is computed."""
    site.check_size(float(question.points.size))
    steps = len(question.points)
    ranks = {feature_map(site, problem.feature_map).nystrom.rank for problem in problems}
    shaped = question.points.shape == (steps, len(problems), ranks.pop() + 1) and not ranks
    if not (shaped and question.rho.shape == (steps, len(problems))):
        raise SettingError(
            f"Site '{site.name}' refuses to train consensus models without a point and a rho for each of them, of one "
            f"feature map. {NOT_FOLLOWED}"
        )
    if len({problem.pair for problem in problems}) < len(problems):
        raise SettingError(
            f"Site '{site.name}' refuses a step with the same classes more than once: it would be several "
            f"steps, and only so many are taken in a run. {NOT_FOLLOWED}"
        )
    if question.first + steps > MOST_STEPS:
        raise SettingError(
            f"Site '{site.name}' takes at most {MOST_STEPS} steps of consensus models in a run: "
            "each step reveals more of its rows. Start a new run, with larger tolerances."
        )
