"""The model of PAN-SVM: a scikit-learn classifier."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from flower_pansvm.arrays import Floats, blocks
from flower_pansvm.calibration import Calibration
from flower_pansvm.class_columns import positive_classes
from flower_pansvm.errors import TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.models.decisions import DecidingModel, as_labels
from flower_pansvm.models.model_file import schema_from_arrays, schema_to_arrays
from flower_pansvm.multiclass import Pair, class_decisions, one_versus_all, one_versus_one
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema


def _is_calibrated(model: "PanSVC") -> bool:
    if getattr(model, "calibration_", None) is None:
        raise AttributeError(
            "This model gives no probabilities: it was trained without them. Train again with --probability true."
        )
    return True


class PanSVC(ClassifierMixin, BaseEstimator, DecidingModel):  # type: ignore[misc]
    """A trained PAN-SVM; ``predict``, ``decision_function`` and ``score`` work as in scikit-learn.

    So does ``predict_proba`` if the run was asked for probabilities (``--probability true``); else the model has no
    such method.

    It is made by a federated run (:class:`strategies.pan_svm.strategy.PanSVM`) or read from ``model.npz``, not by
    ``fit``. Missing cells (NaN) are filled with the federated mean, as in training.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        Class names; integers if all of them are.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (features,)
        Names of the features.
    schema_, scaling_, feature_map_ : Schema, Scaling, NystromMap
        The parts the model was made of.
    coef_ : ndarray of shape (problems, rank)
        Weights w of each binary problem, on mapped rows.
    intercept_ : ndarray of shape (problems,)
        Bias b of each problem.
    pairs_ : tuple of Pair
        The two sides of each problem: one-vs-rest, or one-vs-one.
    calibration_ : Calibration or None
        Sigmoids that turn class decisions into probabilities.

    Examples
    --------
    >>> model = PanSVC.load("runs/latest/model.npz")  # doctest: +SKIP
    >>> model.predict(table[model.feature_names_in_])  # doctest: +SKIP
    """

    missing_cells = "mean"

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        scaling: Scaling,
        feature_map: NystromMap,
        weights: Floats,
        pairs: Sequence[Pair] | None = None,
        calibration: Calibration | None = None,
    ) -> Self:
        """Put a model together; ValueError if the parts do not fit together.

        Parameters
        ----------
        schema, scaling, feature_map : Schema, Scaling, NystromMap
            Columns and classes, the scaling of the features, and the Nyström map.
        weights : ndarray of shape (problems, rank + 1)
            Weights and, last, bias of each problem.
        pairs : sequence of Pair, optional
            The two sides of each problem; by default one-vs-rest.
        calibration : Calibration, optional
            Sigmoids for probabilities.
        """
        classes = len(schema.classes)
        decompositions = one_versus_all(classes), one_versus_one(classes)
        problems = decompositions[0] if pairs is None else tuple(pairs)
        if problems not in decompositions:
            raise ValueError(
                f"The pairs are neither one-vs-rest nor one-vs-one of {classes} classes. Make them with "
                "flower_pansvm.multiclass.one_versus_all or one_versus_one."
            )
        columns = len(positive_classes(classes))
        if len(weights) != len(problems) or (calibration and len(calibration.slopes) != columns):
            raise ValueError(
                f"{classes} classes need {len(problems)} rows of weights and {columns} sigmoids, if any."
            )
        vectors = {vector.shape for vector in (scaling.fill, scaling.shift, scaling.scale)}
        landmarks, normalization = feature_map.landmarks, feature_map.normalization
        shapes = vectors | {landmarks.shape[1:], (len(schema.columns),)}
        rank = normalization.shape == (len(landmarks), weights.shape[1] - 1)
        if len(shapes) > 1 or not rank:
            raise ValueError("Columns, scaling, feature map and weights do not fit together.")
        model = cls()
        model.schema_ = schema
        model.scaling_ = scaling
        model.feature_map_ = feature_map
        model.coef_ = np.ascontiguousarray(weights[:, :-1])
        model.intercept_ = np.ascontiguousarray(weights[:, -1])
        model.pairs_ = problems
        model.calibration_ = calibration
        model.classes_ = as_labels(schema.classes)
        model.feature_names_in_ = np.array(schema.columns, dtype=object)
        model.n_features_in_ = len(schema.columns)
        return model

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: ARG002
        """Raise a TrainingError: the rows of this model's training are at the sites.

        scikit-learn takes an object without this method for no estimator.
        """
        raise TrainingError(
            "A PanSVC is trained by a federation, not by fit: 'pansvm run' or flower_pansvm.serverapp.PanSVM. To use a "
            "loaded model where scikit-learn would fit it, wrap it in sklearn.frozen.FrozenEstimator."
        )

    def binary_decisions(self, X: ArrayLike) -> Floats:
        """Return the decision value w f + b of each binary problem, shape (rows, problems), in ``pairs_``'s order."""
        check_is_fitted(self, "coef_")
        cells = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        values = np.empty((len(cells), len(self.pairs_)))
        for block in blocks(len(cells)):
            values[block] = self._binary(cells[block])
        return values

    def decisions_of(self, X: Floats) -> Floats:
        """Return the class decisions of a block of rows.

        One-vs-one, they are the votes of the class and a tie-break, as in scikit-learn's ``OneVsOneClassifier``.
        """
        return class_decisions(self._binary(X), self.pairs_, len(self.classes_))

    @available_if(_is_calibrated)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class, shape (rows, classes), columns in the order of ``classes_``.

        They are Platt's sigmoids of the decision values, as in scikit-learn's ``CalibratedClassifierCV``. Near the
        boundary, the most probable class need not be the predicted one, as in ``SVC``: of two classes, with class
        weights, and one-vs-one. A model without probabilities has no such method.
        """
        calibration: Calibration = self.calibration_
        return calibration.probabilities(self._decisions(X))

    def _binary(self, X: Floats) -> Floats:
        mapped = self.feature_map_.transform(self.scaling_.transform(X))
        values: Floats = mapped @ self.coef_.T + self.intercept_
        return values

    def _decisions(self, X: ArrayLike) -> Floats:
        return class_decisions(self.binary_decisions(X), self.pairs_, len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that missing cells are allowed and that there is nothing to fit."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return schema, scaling, feature map, weights and sigmoids as arrays."""
        kernel, fit = self.feature_map_.kernel, self.calibration_
        sigmoids = np.empty((2, 0)) if fit is None else np.stack([fit.slopes, fit.intercepts])
        return {
            **schema_to_arrays(self.schema_),
            "fill": self.scaling_.fill,
            "shift": self.scaling_.shift,
            "scale": self.scaling_.scale,
            "kernel": np.array(kernel.name),
            "gamma": np.array(kernel.gamma),
            "landmarks": self.feature_map_.landmarks,
            "normalization": self.feature_map_.normalization,
            "coef": self.coef_,
            "intercept": self.intercept_,
            "pairs": np.array(self.pairs_, dtype=np.int64),
            "calibration": sigmoids,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Put the model together again from what :meth:`to_arrays` returned."""
        kernel = Kernel(str(arrays["kernel"]), float(arrays["gamma"]))  # type: ignore[arg-type]
        slopes, intercepts = arrays["calibration"]
        return cls.from_parts(
            schema_from_arrays(arrays),
            Scaling(arrays["fill"], arrays["shift"], arrays["scale"]),
            NystromMap(kernel, arrays["landmarks"], arrays["normalization"]),
            np.column_stack([arrays["coef"], arrays["intercept"]]),
            [Pair(int(positive), int(negative)) for positive, negative in arrays["pairs"]],
            Calibration(slopes, intercepts) if slopes.size else None,
        )
