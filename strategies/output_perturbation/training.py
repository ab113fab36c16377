"""Output perturbation: the exact weights by cutting planes over all sites, their evaluation, and public rows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    logger,
    refusal,
    solve,
    wrong_squares,
)


@dataclass(frozen=True)
class ExactWeights:
    """Weights from exact sums."""

    weights: Floats  # (size,): minimiser of 1/2 ||w||^2 + C / n sum_i max(0, 1 - y_i w.z_i), without a bias
    rows: int  # n, the training rows of all sites
    gap: float  # upper bound of their objective minus the least one
    rounds: int  # round trips of cutting planes


def exact_weights(federation: Federation, size: int, C: float, tol: float) -> ExactWeights:
    """Train over all sites, which have received the map; from the beginning if one drops out.

    Parameters
    ----------
    C : float
        Penalty of the mean loss.
    tol : float
        Largest allowed gap, in shares of C, the objective of zero weights.

    Raises
    ------
    TrainingError
        If the gap stays larger: the noise would not suffice for the guarantee.
    """
    while True:
        try:
            return _exact_weights(federation, size, C, tol)
        except SitesChangedError:
            logger.info("training begins again with %d sites", len(federation.sites))


def _exact_weights(federation: Federation, size: int, C: float, tol: float) -> ExactWeights:
    # With zero weights all rows are within the margin, so the first answer counts them.
    zero = np.zeros((1, size + 1))
    rows = int(_ask(federation, Question(zero, zero[0], 1.0, size)).cuts.m[0])
    sites = tuple(federation.sites)
    problem = Problem("the SVM", size, float(rows), C / rows, Pair(1, REST))

    def ask(questions: Mapping[int, Question]) -> dict[int, Answer]:
        answers = {i: _ask(federation, question) for i, question in questions.items()}
        if tuple(federation.sites) != sites:
            raise SitesChangedError
        return answers

    def report(i: int, states: Sequence[Progress]) -> None:
        logger.info("cutting planes, round %3d: gap %.1e", i, states[0].gap)

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
            f"The weights have a gap of up to {gap:.1e} in their objective, and the noise covers {tol * C:.1e}: "
            f"released, they would not keep the guarantee. {state.failure or 'Lower C-total.'}"
        )
    return ExactWeights(state.best[:-1], rows, gap, state.rounds)


def _ask(federation: Federation, question: Question) -> Answer:
    """Return the answer to a question by exact sums; the model has no bias, whose entries are 0."""
    points, centre = question.points, question.centre.astype(np.float32)
    request = RffCutsQuestion(points[:, :-1], centre[:-1], question.width)
    sums, bias = federation.secure_sum(RFF_CUTS, request), np.zeros(question.points.shape[1])
    return Answer(
        Cuts(sums.a, np.zeros(len(sums.m)), sums.m, sums.loss), np.concatenate([sums.curvature, bias])
    )


def score(federation: Federation, weights: Floats) -> Evaluation:
    """Evaluate a model on the test rows of all sites, by exact sums."""
    scale = SPREAD * float(np.linalg.norm(weights)) or 1.0
    sums = federation.secure_sum(RFF_SCORES, RffScoresQuestion(weights, scale), relations=wrong_squares)
    return Evaluation.from_counts(sums.confusion, sums.histogram[None], squares=sums.squares)


LEAST = 3
"""Least number of public rows."""


def public_rows(federation: Federation, public: str, schema: Schema) -> Floats:
    """Return the public rows of the setting ``public``, shape (rows, columns); NaN is a missing cell.

    Parameters
    ----------
    public : str
        A number of rows, of simulated sites only, rounded up to the same number of each; or a CSV file's absolute path.

    Raises
    ------
    SettingError
        If the file is unreadable or lacks a column, there are too few rows, or a site is not simulated.
    FederationError
        If a site's reply is invalid.
    """
    if public.isdigit():
        each = math.ceil(int(public) / len(federation.sites))
        answers = federation.collect(PUBLIC_ROWS, PublicRowsQuestion(each))
        for name, answer in answers.items():
            if answer.rows.shape != (each, len(schema.columns)):
                raise refusal(name, f"its public rows are not {each} rows of {len(schema.columns)} columns")
        rows = np.vstack([answer.rows for answer in answers.values()])
    else:
        rows = rows_of_file(Path(public), schema)
    if len(rows) < LEAST:
        raise SettingError(
            f"There are {len(rows)} public rows, but at least {LEAST} are needed. Set 'public' to more."
        )
    return rows


def rows_of_file(path: Path, schema: Schema) -> Floats:
    """Return the cells of the schema's columns in a CSV file with a header; SettingError if it cannot be used."""
    try:
        # The C engine would fill a line that is too short with empty cells.
        frame = pd.read_csv(
            path, dtype=str, na_filter=False, encoding="utf-8-sig", index_col=False, engine="python"
        )
    except (OSError, ValueError) as error:  # an empty or damaged file, too
        raise SettingError(
            f"The file of public rows, {path}, cannot be read ({type(error).__name__}). Write a CSV file with the "
            "columns' names in its first line, and name it with public=/an/absolute/path."
        ) from None
    frame.columns = frame.columns.str.strip()
    missing = [column for column in schema.columns if column not in frame.columns]
    if missing:
        raise SettingError(
            f"{path.name}, the file of public rows, has no column '{missing[0]}'. "
            f"{near_matches(missing[0], frame.columns)}"
        )
    try:
        cells = frame[list(schema.columns)].map(lambda cell: float(cell.strip() or "nan"))
    except (ValueError, AttributeError):  # of a line that is too short, cells are no text
        raise SettingError(
            f"{path.name}, the file of public rows, has a cell that is not a number, or a line that is too short. "
            "Correct it; leave a missing cell empty."
        ) from None
    return cells.to_numpy(dtype=np.float64)
