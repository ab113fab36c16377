"""Distorted rows by sparsified singular value decomposition, with feature selection (Lin et al. 2011)."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.svm import SVC

from flower_pansvm.arrays import Bools, Floats, Ints
from flower_pansvm.constraints import one_of, setting
from flower_pansvm.errors import SettingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.metrics import Evaluation
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import one_versus_one
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema
from flower_pansvm.systems.ssvd import (
    COLUMN_VOTES,
    DISTORTED_ROWS,
    DistortedRowsAnswer,
    DistortedRowsQuestion,
    select,
)
from flower_pansvm.tasks import Nothing
from strategies.api import (
    Federation,
    Outcome,
    PhasedStrategy,
    SvmSettings,
    broadcast_feature_map,
    broadcast_landmarks,
    broadcast_scalings,
    evaluate,
    fit_map,
    join,
    logger,
    note_differences,
    refusal,
    scale_gamma,
    scaling_of_rows,
    share_differences,
)


def vote_on_columns(federation: Federation) -> Bools:
    """Return the columns that more than half of the sites vote for, shape (columns,).

    Raises
    ------
    SettingError
        If there are none.
    """
    votes, sites = federation.secure_sum(COLUMN_VOTES, Nothing()).votes, len(federation.sites)
    mask: Bools = votes > sites / 2
    if not mask.any():
        raise SettingError(
            f"No column has the votes of more than half of the {sites} sites, {votes.max():.0f} at the most. A site "
            "with few rows, or rows of one class only, votes for no column. Set ssvd-order=perturb-first, which "
            "selects columns on the published rows of all sites."
        )
    logger.info("%d of %d columns have the votes of most sites", mask.sum(), len(mask))
    return mask


def gather_rows(federation: Federation, schema: Schema, columns: Bools) -> tuple[Floats, Ints]:
    """Return the distorted training rows of all sites, one site after the other, and the class index of each.

    Parameters
    ----------
    columns : ndarray of shape (columns,)
        Mask of the distorted columns.

    Raises
    ------
    FederationError
        If a site's reply is not a table of these columns with a class for each row.
    SettingError
        If a class has no training row.
    """
    answers = federation.collect(DISTORTED_ROWS, DistortedRowsQuestion(columns))
    for name, answer in answers.items():
        if not _fits(answer, int(columns.sum()), len(schema.classes)):
            raise refusal(
                name,
                f"its distorted rows are not a table of {columns.sum()} columns with a class for each row",
            )
    counts = {
        name: np.bincount(answer.classes, minlength=len(schema.classes)).astype(float)
        for name, answer in answers.items()
    }
    note_differences(federation, share_differences(schema.classes, counts))
    X = np.concatenate([answer.rows for answer in answers.values()])
    classes = np.concatenate([answer.classes for answer in answers.values()])
    missing = np.setdiff1d(np.arange(len(schema.classes)), classes)
    if len(missing):
        raise SettingError(
            f"No site has published a training row of the class '{schema.classes[missing[0]]}'. Lower test-fraction, "
            "or merge rare classes with the setting 'positive'."
        )
    return X, classes


def _fits(answer: DistortedRowsAnswer, columns: int, classes: int) -> bool:
    rows = len(answer.classes)
    shapes = answer.rows.shape == (rows, columns) and answer.classes.shape == (rows,)
    valid = ((answer.classes >= 0) & (answer.classes < classes)).all()
    return bool(shapes and valid and np.isfinite(answer.rows).all())


MOST_STEPS = 10_000_000
"""Most steps of the solver, as in libsvm. scikit-learn has no limit, and some settings would never end."""


@dataclass(frozen=True)
class SsvdSettings(SvmSettings):
    """The settings of the SVM on the published rows, and the order of steps.

    The sites distort their rows in the tables' units, for any ``scaling``: the units decide the kept singular values.
    """

    ssvd_order: str = setting(
        "select-first",
        one_of("select-first", "perturb-first"),
        "Whether the sites select columns by votes before rows are distorted, or the coordinator on published rows.",
    )


class Ssvd(PhasedStrategy):
    """Every site publishes a distorted copy of its rows; scikit-learn's SVC is trained on all of them.

    The paper has one data owner. New here: each site distorts its rows by its own decomposition, a vote selects columns
    first, and the model is evaluated on undistorted test rows.
    """

    settings_class = SsvdSettings
    settings: SsvdSettings

    def fit(self, federation: Federation) -> Outcome:
        """Select columns and have rows distorted, in the order of the settings; train, and evaluate the model.

        SettingError if no column of the published rows separates the classes.
        """
        settings, phase = self.settings, federation.costs.phase
        logger.warning(
            "ssvd publishes the sites' rows, distorted: many can be re-identified, see docs/rivals.md"
        )
        with phase("join"):
            schema = join(federation, settings)
        columns = np.ones(len(schema.columns), dtype=np.bool_)
        if settings.ssvd_order == "select-first":
            with phase("votes"):
                columns = vote_on_columns(federation)
        with phase("distorted rows"):
            X, classes = gather_rows(federation, schema, columns)
        if settings.ssvd_order == "perturb-first":
            with phase("selection"):
                selected = select(X, classes)
                if not selected.any():
                    raise SettingError(
                        "No column of the published rows separates the classes. Check the label column at every site, "
                        "or use another strategy."
                    )
                columns[columns], X = selected, X[:, selected]
        with phase("training"):
            selected_columns = tuple(np.array(schema.columns)[columns].tolist())
            model, converged = train_svc(settings, replace(schema, columns=selected_columns), X, classes)
        with phase("evaluation"):
            evaluation = evaluate_at_sites(federation, model, columns)
        figures = {
            "rows_train": len(X),
            "rows_train_by_class": np.bincount(classes, minlength=len(schema.classes)).tolist(),
            "columns_kept": list(model.schema_.columns),
            "support_vectors": len(model.feature_map_.landmarks),
            "converged": converged,
        }
        return Outcome(model, evaluation, figures)


def train_svc(settings: SsvdSettings, schema: Schema, X: Floats, classes: Ints) -> tuple[PanSVC, bool]:
    """Return scikit-learn's SVC as a model of its support vectors, and whether its solver has converged.

    With all support vectors as landmarks, the Nyström map gives the SVC's decisions but for rounding.
    """
    scaling = scaling_of_rows(settings.scaling, X)
    X = scaling.transform(X)
    (C,), (gamma,) = settings.C_values, settings.gamma_values(scale_gamma(X.shape[1], float(X.var())))
    kernel = Kernel(settings.kernel, gamma)  # type: ignore[arg-type]
    svc = SVC(
        C=C,
        kernel=kernel.name,
        gamma=gamma,
        class_weight="balanced" if settings.class_weight == "balanced" else None,
        decision_function_shape="ovo",
        max_iter=MOST_STEPS,
    ).fit(X, classes)
    # With several classes, the earlier class of a pair is positive in libsvm, the later in a PanSVC.
    sign = 1.0 if len(schema.classes) == 2 else -1.0
    feature_map = fit_map(kernel, X[svc.support_])
    decisions = sign * svc.decision_function(X[svc.support_]).reshape(len(svc.support_), -1)
    bias = sign * svc.intercept_
    weights = np.column_stack([(decisions - bias).T @ feature_map.normalization, bias])
    pairs = one_versus_one(len(schema.classes)) if len(schema.classes) > 2 else None
    return PanSVC.from_parts(schema, scaling, feature_map, weights, pairs), svc.fit_status_ == 0


def evaluate_at_sites(federation: Federation, model: PanSVC, columns: Bools) -> Evaluation:
    """Broadcast a model to the sites and return its evaluation on their undistorted test rows.

    Parameters
    ----------
    columns : ndarray of shape (all columns,)
        Mask of the model's columns.
    """

    def spread(values: Floats, elsewhere: float) -> Floats:
        wide = np.full((*values.shape[:-1], len(columns)), elsewhere)
        wide[..., columns] = values
        return wide

    scaling, feature_map = model.scaling_, model.feature_map_
    wide = Scaling(spread(scaling.fill, 0.0), spread(scaling.shift, 0.0), spread(scaling.scale, 1.0))
    broadcast_scalings(federation, [wide])
    broadcast_landmarks(federation, 0, spread(feature_map.landmarks, 0.0), scaling=0)
    broadcast_feature_map(federation, 0, feature_map, landmark_set=0, features=columns)
    return evaluate(federation, model)
