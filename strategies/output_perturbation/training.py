"""Output perturbation: the exact weights by cutting planes over all sites, and how the model is tried."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from logging import INFO
from pathlib import Path

import numpy as np
import pandas as pd

from flower_pansvm.arrays import Floats
from flower_pansvm.constraints import near_matches
from flower_pansvm.errors import SettingError, TrainingError
from flower_pansvm.metrics import Evaluation
from flower_pansvm.multiclass import REST, Pair
from flower_pansvm.schema import Schema
from flower_pansvm.systems.output_perturbation import (
    PUBLIC_ROWS,
    RFF_CUTS,
    RFF_SCORES,
    PublicRowsQuestion,
    RffCutsQuestion,
    RffScoresQuestion,
)
from flower_pansvm.systems.pan_svm.cuts import Answer, Cuts, Problem, Question
from strategies.api import (
    SPREAD,
    Federation,
    PointSearch,
    Progress,
    SitesChangedError,
    log,
    refusal,
    solve,
    wrong_squares,
)


@dataclass(frozen=True)
class ExactWeights:
    """What training by exact sums has found."""

    weights: Floats  # (size,): of least 1/2 ||w||^2 + C / n sum_i max(0, 1 - y_i w.z_i), without a bias
    rows: int  # n, the training rows of all sites
    gap: float  # by how much their objective is above the least one, at most
    rounds: int  # round trips of cutting planes


def exact_weights(federation: Federation, size: int, C: float, tol: float) -> ExactWeights:
    """Train over all sites, which have been told the map; from the beginning if one is lost.

    Parameters
    ----------
    federation : Federation
        The sites.
    size : int
        Number of weights.
    C : float
        Penalty of the mean loss.
    tol : float
        Largest gap that is allowed, in shares of C, the objective without weights.

    Raises
    ------
    TrainingError
        If the gap stays larger: noise that was sized for exact weights would not keep its promise.
    """
    while True:
        try:
            return _exact_weights(federation, size, C, tol)
        except SitesChangedError:
            log(INFO, "training begins again with %d sites", len(federation.sites))


def _exact_weights(federation: Federation, size: int, C: float, tol: float) -> ExactWeights:
    # Without weights all rows are within the margin, so the first answer counts them.
    zero = np.zeros((1, size + 1))
    rows = int(_ask(federation, Question(zero, zero[0], 1.0, size)).cuts.m[0])
    sites = tuple(federation.sites)
    problem = Problem("the SVM", size, float(rows), C / rows, Pair(1, REST))

    def ask(wanted: Mapping[int, Question]) -> dict[int, Answer]:
        answers = {number: _ask(federation, question) for number, question in wanted.items()}
        if tuple(federation.sites) != sites:
            raise SitesChangedError
        return answers

    def report(number: int, states: Sequence[Progress]) -> None:
        log(INFO, "cutting planes, round %3d: gap %.1e", number, states[0].gap)

    (state,) = solve(
        [problem],
        [np.empty((0, size + 1))],
        ask,
        tol=tol,
        search=lambda: PointSearch(early=math.inf),
        report=report,
    )
    gap = max(state.upper - state.lower, 0.0)
    if state.failure or not gap <= tol * C:
        raise TrainingError(
            f"The weights are known to a gap of {gap:.1e} in their objective, and the noise is sized for "
            f"{tol * C:.1e}: released, they would not keep the promise. "
            f"{state.failure or 'Lower C-total.'}"
        )
    return ExactWeights(state.best[:-1], rows, gap, state.rounds)


def _ask(federation: Federation, question: Question) -> Answer:
    """Ask for exact sums; what an answer holds of the bias, which there is not, is 0."""
    points, centre = question.points, question.centre.astype(np.float32)
    asked = RffCutsQuestion(points[:, :-1], centre[:-1], question.width)
    sums, bias = federation.secure_sum(RFF_CUTS, asked), np.zeros(question.points.shape[1])
    return Answer(
        Cuts(sums.a, np.zeros(len(sums.m)), sums.m, sums.loss), np.concatenate([sums.curvature, bias])
    )


def score(federation: Federation, weights: Floats) -> Evaluation:
    """Try a model on the test rows of all sites, by exact sums."""
    scale = SPREAD * float(np.linalg.norm(weights)) or 1.0
    sums = federation.secure_sum(RFF_SCORES, RffScoresQuestion(weights, scale), relations=wrong_squares)
    return Evaluation.from_counts(sums.confusion, sums.histogram[None], squares=sums.squares)


LEAST = 3
"""Fewer rows have no distances to speak of."""


def public_rows(federation: Federation, public: str, schema: Schema) -> Floats:
    """Return the public rows that the setting ``public`` names, shape (rows, columns); NaN is a missing cell.

    Parameters
    ----------
    federation : Federation
        The sites.
    public : str
        A number of rows, of simulated sites only, rounded up to as many of each; or a CSV file's absolute path.
    schema : Schema
        The columns.

    Raises
    ------
    SettingError
        If the file cannot be read or lacks a column, there are too few rows, or a site is a hospital.
    FederationError
        If what a site disclosed cannot be.
    """
    if public.isdigit():
        each = math.ceil(int(public) / len(federation.sites))
        answers = federation.collect(PUBLIC_ROWS, PublicRowsQuestion(each))
        for name, answer in answers.items():
            if answer.rows.shape != (each, len(schema.columns)):
                raise refusal(name, "these are not the public rows that it was asked for")
        rows = np.vstack([answer.rows for answer in answers.values()])
    else:
        rows = rows_of_file(Path(public), schema)
    if len(rows) < LEAST:
        raise SettingError(f"There are {len(rows)} public rows, but it takes {LEAST} or more. Set 'public'.")
    return rows


def rows_of_file(path: Path, schema: Schema) -> Floats:
    """Return the cells of the schema's columns in a CSV file with a header; other columns are ignored."""
    try:
        # Of the other engine's frame nobody could tell a line that is too short from one with empty cells.
        text = pd.read_csv(
            path, dtype=str, na_filter=False, encoding="utf-8-sig", index_col=False, engine="python"
        )
    except (OSError, ValueError) as error:  # an empty or damaged file, too
        raise SettingError(
            f"The file of public rows, {path}, cannot be read ({type(error).__name__}). Write a CSV file with the "
            "columns' names in its first line, and name it with public=/an/absolute/path."
        ) from None
    text.columns = text.columns.str.strip()
    missing = [column for column in schema.columns if column not in text.columns]
    if missing:
        raise SettingError(
            f"{path.name}, the file of public rows, has no column '{missing[0]}'. "
            f"{near_matches(missing[0], text.columns)}"
        )
    try:
        cells = text[list(schema.columns)].map(lambda cell: float(cell.strip() or "nan"))
    except (ValueError, AttributeError):  # of a line that is too short, cells are no text
        raise SettingError(
            f"{path.name}, the file of public rows, has a cell that is no number, or a line that is too short. A "
            "missing cell is an empty one."
        ) from None
    return cells.to_numpy(dtype=np.float64)
