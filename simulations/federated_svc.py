"""A federation as an estimator of scikit-learn: ``fit`` partitions the rows over simulated sites and trains PAN-SVM."""

import logging
import tempfile
import warnings
from pathlib import Path
from threading import Lock
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from clients.table.cells import LARGEST
from clients.table.table import LABEL
from flower_pansvm.arrays import Bools, Floats
from flower_pansvm.constraints import key_of
from flower_pansvm.errors import SettingError
from flower_pansvm.labels import MOST_CLASSES
from flower_pansvm.lists import first_of
from flower_pansvm.models.pan_svc import PanSVC
from simulations.data.sites import join_data
from simulations.engines.flower_log import quieter
from simulations.engines.in_process import train_in_process
from simulations.running import check, with_sites_of_data
from strategies.settings import Settings, make_settings

LARGEST_SEED = 2**31 - 1
PATIENT = "patient"
MOST_NAMED = 20
FILE_SETTINGS = ("audit", "data-dir", "drop", "label", "out", "positive", "resume", "schema")
"""Settings of runs with files; ``fit`` has none."""

_ONE_AT_A_TIME = Lock()


def _gives_probabilities(estimator: "FederatedSVC") -> bool:
    if hasattr(estimator, "model_") and not hasattr(estimator.model_, "predict_proba"):
        raise AttributeError(
            "This FederatedSVC was fitted without probabilities. Set probability=True, and fit again."
        )
    return estimator.probability


class FederatedSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """PAN-SVM, trained by simulated sites in this process, as a classifier like scikit-learn's ``SVC``.

    Parameters
    ----------
    C : float, 'auto' or tuple of float
        Penalty of margin violations; cross-validation chooses among several.
    kernel : {'rbf', 'linear'}
        The kernel.
    gamma : float, 'scale', 'auto' or tuple of float
        Kernel coefficient; 'scale' as in ``SVC``; cross-validation chooses among several, or with 'auto'.
    landmarks : float, int or 'auto'
        Share of all rows, or number.
    class_weight : {'balanced', None} or dict
        'balanced': both sides of each binary problem have equal weight; or the weight of each label, by default 1.
        With weights and more than two labels, training is one-vs-one, as in ``SVC``.
    probability : bool
        Whether to enable ``predict_proba``. ``predict`` goes by the decision values, as ``SVC`` does: with weights it
        need not be the label with the largest probability.
    aggregation : str
        The secure sum; it does not change the model.
    privacy : {'auto', 'exact', 'perturbed'}
        The level, as docs/threat-model.md explains them; 'auto' is 'perturbed'.
    sites : int
        Number of simulated sites if ``fit`` gets no ``sites``.
    min_cluster : int
        Fewest rows behind a landmark.
    random_state : int, RandomState or None
        Of the split and of k-means.
    settings : dict or None
        Any other settings of ``pan-svm`` by their names in Python, such as ``{'min_sites': 2}``.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        The labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    model_ : PanSVC
        The trained model; its columns are ``x0``, ``x1``, …, its classes the indices in ``classes_``.
    round_trips_ : int
        Round trips of the federation.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> bool(FederatedSVC(sites=3, random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        C: float | str | tuple[float, ...] = 1.0,
        kernel: str = "rbf",
        gamma: float | str | tuple[float, ...] = "scale",
        landmarks: float | str = "auto",
        class_weight: str | dict[Any, float] | None = None,
        probability: bool = False,
        aggregation: str = "ring",
        privacy: str = "auto",
        sites: int = 5,
        min_cluster: int = 5,
        random_state: Any = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.landmarks = landmarks
        self.class_weight = class_weight
        self.probability = probability
        self.aggregation = aggregation
        self.privacy = privacy
        self.sites = sites
        self.min_cluster = min_cluster
        self.random_state = random_state
        self.settings = settings

    def fit(
        self, X: ArrayLike, y: ArrayLike, sites: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Train; several fits in threads of one process take turns.

        Parameters
        ----------
        X : array-like of shape (rows, features)
            The rows; NaN is a missing cell.
        y : array-like of shape (rows,)
            The labels.
        sites : array-like of shape (rows,), optional
            Site of each row. By default rows are partitioned over ``self.sites`` sites.
        groups : array-like of shape (rows,), optional
            Patient of each row, as in scikit-learn's splitters: rows of a patient are in one fold and at one site,
            and ``min_cluster`` counts patients. By default each row is a patient.

        Raises
        ------
        PanSVMError
            If a setting is invalid, a site has too few rows, or the training fails.
        ValueError
            If rows, labels, sites and groups do not fit together, or a number is too large.
        """
        cells, labels = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        if pd.isna(labels).any():
            raise ValueError(
                f"y is None or NaN in {np.count_nonzero(pd.isna(labels))} rows. Fill them in, or leave these rows out."
            )
        check_classification_targets(labels)
        self._check_sizes(cells)
        site_codes, patient_codes = _codes("sites", sites, len(cells)), _codes("groups", groups, len(cells))
        if site_codes is not None and site_codes.max(initial=0) == 0:
            raise ValueError(
                "All rows belong to one site. Leave sites out to partition the rows over simulated sites."
            )
        classes, class_indices = np.unique(labels, return_inverse=True)
        count = len(classes)
        if not 2 <= count <= MOST_CLASSES:
            raise ValueError(
                f"y has {count} class{'' if count == 1 else 'es'}, and a training takes 2 to {MOST_CLASSES}."
            )
        frame = _frame(cells)
        frame[LABEL] = class_indices.astype(str)
        # Log level, warnings and thread limits belong to the process.
        with _ONE_AT_A_TIME, tempfile.TemporaryDirectory() as folder, quieter(logging.WARNING):
            files, schema = _write(frame, site_codes, patient_codes, Path(folder))
            settings = self._settings(files, schema, labels, classes)
            check(settings)
            strategy = train_in_process(settings)
        if constant := strategy.outcome.figures.get("constant_columns"):
            names = self._names(np.isin(frame.columns[:-1], constant))
            warnings.warn(
                f"The model learns nothing of columns {names} of X: they are empty, the same in all rows, or differ "
                "by less than a millionth of their numbers. Of the last, such as dates, subtract a fixed number.",
                UserWarning,
                stacklevel=2,
            )
        # Not before: a fit that fails leaves an earlier model with its own labels.
        self.classes_ = classes
        self.model_: PanSVC = strategy.outcome.model  # type: ignore[assignment]
        self.round_trips_ = strategy.federation.costs.round_trips
        return self

    def _settings(
        self, files: list[str], schema: str, labels: NDArray[Any], classes: NDArray[Any]
    ) -> Settings:
        fixed: dict[str, Any] = {"class_weight": self.class_weight or "none"}
        if isinstance(self.class_weight, dict):
            weights = compute_class_weight(self.class_weight, classes=classes, y=labels)
            if not (weights > 0).all():
                raise ValueError("class_weight must be above 0. To ignore a label, leave its rows out.")
            fixed = {"class_weight": tuple(map(float, weights))}
            if len(classes) > 2:
                fixed["multi_class"] = "ovo"
        seed = check_random_state(self.random_state).randint(LARGEST_SEED)
        fixed |= {"strategy": "pan-svm", "data": join_data(files), "seed": int(seed), "test_fraction": 0.0}
        fixed |= {"schema": schema} if schema else {}
        parameters = self.get_params(deep=False)
        more = _more_settings(parameters.pop("settings") or {})
        twice = sorted({*more} & {*map(key_of, {**parameters, **fixed}), *FILE_SETTINGS})
        if twice:
            raise SettingError(
                f"settings contains {', '.join(twice)}, which is a parameter of FederatedSVC, is set by fit, or has no "
                "effect here. Leave it out, and give the parameter (for seed random_state, for positive a y of two "
                "classes)."
            )
        if more.get("threshold"):
            raise SettingError(
                "settings contains threshold, which FederatedSVC does not apply. Compare predict_proba with it."
            )
        if str(more.get("split", "")).startswith("by:"):
            raise SettingError(
                "settings contains a split by a column, which would then be no feature of the model, and predict would "
                "refuse X. Leave it out, and give the column as sites to fit."
            )
        if self.privacy == "dp":
            raise SettingError(
                "FederatedSVC trains pan-svm, which has no level dp. Choose privacy='perturbed'; or train dp-svm by "
                "pansvm run --strategy dp-svm."
            )
        del parameters["random_state"]
        return with_sites_of_data(make_settings(**{**parameters, **fixed, **more}))

    def _names(self, marked: Bools) -> str:
        """Return the names of some columns of X, or their indices where they have none."""
        names = getattr(self, "feature_names_in_", np.arange(len(marked)))
        return first_of([str(name) for name in names[marked]], MOST_NAMED)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the decision values, as :meth:`flower_pansvm.models.pan_svc.PanSVC.decision_function` does."""
        cells = self._cells(X)
        return self.model_.decision_function(cells)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label of each row, shape (rows,)."""
        cells = self._cells(X)
        indices = np.asarray(self.model_.predict(cells), dtype=np.int64)
        return self.classes_[indices]

    @available_if(_gives_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class, shape (rows, classes); only with ``probability=True``."""
        cells = self._cells(X)
        probabilities: Floats = self.model_.predict_proba(cells)
        return probabilities

    def _cells(self, X: ArrayLike) -> pd.DataFrame:
        """Return rows as a table, or raise ``NotFittedError``: call it before ``model_`` is read."""
        check_is_fitted(self, "model_")
        cells = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        self._check_sizes(cells)
        return _frame(cells)

    def _check_sizes(self, cells: Floats) -> None:
        too_large: Bools = np.any(np.abs(cells) > LARGEST, axis=0)
        if too_large.any():
            raise ValueError(
                f"X has numbers above {LARGEST:g}, too large to add up, in columns {self._names(too_large)}. Are they "
                "mistyped, or ids? Correct them, divide them all, or leave the columns out."
            )

    def __sklearn_tags__(self) -> Any:
        """Declare that missing cells are allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _frame(cells: Floats) -> pd.DataFrame:
    """Return rows as a table with columns ``x0``, ``x1``, …."""
    return pd.DataFrame(cells, columns=[f"x{index}" for index in range(cells.shape[1])])


def _more_settings(given: Any) -> dict[str, Any]:
    """Return the settings beside the parameters by their keys in a run config."""
    if not (isinstance(given, dict) and all(isinstance(name, str) for name in given)):
        raise SettingError(
            "settings must be a dict of names and values, such as {'min_sites': 2}. Write one, or leave settings out."
        )
    return {key_of(name): value for name, value in given.items()}


def _codes(name: str, keys: ArrayLike | None, rows: int) -> NDArray[Any] | None:
    """Return an integer code of each row's site or group, shape (rows,); None without ``keys``."""
    if keys is None:
        return None
    try:
        values = column_or_1d(keys)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} is not one value for each row of X. Give a list, an array or a column, not its name."
        ) from error
    if len(values) != rows:
        raise ValueError(
            f"{name} has {len(values)} values, and X has {rows} rows. Give one value for each row."
        )
    missing = pd.isna(values)
    if missing.any():
        raise ValueError(
            f"{name} is None or NaN in {np.count_nonzero(missing)} rows, the first at index {int(missing.argmax())}. "
            "Fill them in, or leave these rows out."
        )
    codes: NDArray[Any] = pd.factorize(values, sort=True)[0]
    return codes


def _write(
    frame: pd.DataFrame, site_codes: NDArray[Any] | None, patients: NDArray[Any] | None, folder: Path
) -> tuple[list[str], str]:
    """Write a file for each site, or one to be partitioned, and a schema file if there are patients."""
    schema = ""
    if patients is not None:
        columns = "".join(f"[columns.{name}]\n" for name in frame.columns if name != LABEL)
        schema = str(folder / "schema.toml")
        Path(schema).write_text(f'label = "{LABEL}"\npatient-id = "{PATIENT}"\n{columns}', encoding="utf-8")
        frame = frame.assign(**{PATIENT: patients})
    codes = np.zeros(len(frame), dtype=np.int64) if site_codes is None else site_codes
    files = []
    for code in np.unique(codes):
        # The site's name may be no file name.
        files.append(str(folder / f"site-{code:04d}.parquet"))
        frame[codes == code].to_parquet(files[-1], index=False)
    return files, schema
