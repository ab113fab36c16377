"""The fitted model: a scikit-learn classifier that lives in one file without pickle."""

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from flower_pansvm.errors import ModelFileError, PanSVMError, TrainingError
from flower_pansvm.kernels import Kernel
from flower_pansvm.metrics import winners
from flower_pansvm.nystroem import NystromMap
from flower_pansvm.scaling import Scaling
from flower_pansvm.schema import Schema

FORMAT = 1
"""Version of the file format; raised when a file of the old one can no longer be read."""


class PanSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A trained PAN-SVM; ``predict``, ``decision_function`` and ``score`` work as in scikit-learn.

    It is made by a federated run (:class:`strategies.pan_svm.PanSVM`) or read from ``model.npz``, not by
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
        Weights w of each binary problem, on mapped rows; one problem for two classes, else one per class.
    intercept_ : ndarray of shape (problems,)
        Bias b of each problem.

    Examples
    --------
    >>> model = PanSVC.load("runs/latest/model.npz")  # doctest: +SKIP
    >>> model.predict(table[model.feature_names_in_])  # doctest: +SKIP
    """

    @classmethod
    def from_parts(
        cls,
        schema: Schema,
        scaling: Scaling,
        feature_map: NystromMap,
        weights: NDArray[np.float64],
    ) -> Self:
        """Put a model together.

        Parameters
        ----------
        schema : Schema
            Columns and classes.
        scaling : Scaling
            Scaling of the features.
        feature_map : NystromMap
            The Nyström map.
        weights : ndarray of shape (problems, rank + 1)
            Weights and, last, bias of each problem.
        """
        model = cls()
        model.schema_ = schema
        model.scaling_ = scaling
        model.feature_map_ = feature_map
        model.coef_ = np.ascontiguousarray(weights[:, :-1])
        model.intercept_ = np.ascontiguousarray(weights[:, -1])
        model.classes_ = _as_labels(schema.classes)
        model.feature_names_in_ = np.array(schema.columns, dtype=object)
        model.n_features_in_ = len(schema.columns)
        return model

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: ARG002
        """Refuse: the rows of this model's training are at the sites.

        scikit-learn takes an object without this method for no estimator.

        Raises
        ------
        TrainingError
            Always.
        """
        raise TrainingError(
            "A PanSVC is trained by a federation, not by fit: run 'pansvm run' or strategies.pan_svm.PanSVM. To use "
            "a loaded model where scikit-learn would fit it, wrap it in sklearn.frozen.FrozenEstimator."
        )

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the decision values.

        Parameters
        ----------
        X : array-like of shape (rows, features)
            Rows in the table's own units, columns in the order of ``feature_names_in_``.

        Returns
        -------
        ndarray of shape (rows,) or (rows, classes)
            Above 0 for ``classes_[1]`` with two classes; else one value per class, the largest wins.
        """
        check_is_fitted(self, "coef_")
        cells = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")
        mapped = self.feature_map_.transform(self.scaling_.transform(cells))
        values: NDArray[np.float64] = mapped @ self.coef_.T + self.intercept_
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class of each row, shape (rows,)."""
        values = self.decision_function(X)
        classes: NDArray[Any] = self.classes_[winners(values.reshape(len(values), -1))]
        return classes

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that missing cells are allowed and that there is nothing to fit."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.requires_fit = False
        return tags

    def sha256(self) -> str:
        """Return a digest of all numbers and names in the model, the same on every machine."""
        return _digest(self._arrays())

    def save(self, path: Path | str) -> None:
        """Write the model to an ``.npz`` file; nothing in it is pickled."""
        np.savez_compressed(
            path,
            format=np.array(FORMAT),
            sha256=np.array(self.sha256()),
            **self._arrays(),  # type: ignore[arg-type]
        )

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read a model file.

        Raises
        ------
        ModelFileError
            If the file is missing, damaged, no model, or written by another version.
        """
        name = Path(path).name
        try:
            with np.load(io.BytesIO(Path(path).read_bytes()), allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
        except FileNotFoundError:
            raise ModelFileError(
                f"There is no model file at {path}. A run leaves one named model.npz."
            ) from None
        except Exception as error:  # a damaged file makes zipfile and numpy raise nearly anything
            raise ModelFileError(
                f"{name} cannot be read as a model: the file is truncated, damaged or no model. Copy it again from "
                "the run's folder."
            ) from error
        version = str(arrays.pop("format", "unknown"))
        if version != str(FORMAT):
            raise ModelFileError(
                f"{name} has model format {version}, this program reads format {FORMAT}. Install the version of "
                "flower-pansvm that wrote it, or train again."
            )
        if str(arrays.pop("sha256", "")) != _digest(arrays):
            raise ModelFileError(
                f"{name} does not match its own digest: it was changed or damaged after it was saved. Copy it again "
                "from the run's folder."
            )
        try:
            return cls._from_arrays(arrays)
        except (KeyError, TypeError, ValueError, OverflowError, PanSVMError) as error:
            raise ModelFileError(
                f"{name} lacks a part of the model or holds one that cannot be. Copy it again from the run's folder."
            ) from error

    def _arrays(self) -> dict[str, NDArray[Any]]:
        kernel = self.feature_map_.kernel
        return {
            "columns": np.array(self.schema_.columns, dtype=np.str_),
            "classes": np.array(self.schema_.classes, dtype=np.str_),
            "positive_labels": np.array(self.schema_.positive_labels, dtype=np.str_),
            "fill": self.scaling_.fill,
            "shift": self.scaling_.shift,
            "scale": self.scaling_.scale,
            "kernel": np.array(kernel.name),
            "kernel_parameters": np.array([kernel.gamma, kernel.degree, kernel.coef0]),
            "landmarks": self.feature_map_.landmarks,
            "normalization": self.feature_map_.normalization,
            "coef": self.coef_,
            "intercept": self.intercept_,
        }

    @classmethod
    def _from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        gamma, degree, coef0 = (float(value) for value in arrays["kernel_parameters"])
        kernel = Kernel(str(arrays["kernel"]), gamma, int(degree), coef0)  # type: ignore[arg-type]
        return cls.from_parts(
            Schema(
                tuple(map(str, arrays["columns"])),
                tuple(map(str, arrays["classes"])),
                tuple(map(str, arrays["positive_labels"])),
            ),
            Scaling(arrays["fill"], arrays["shift"], arrays["scale"]),
            NystromMap(kernel, arrays["landmarks"], arrays["normalization"]),
            np.column_stack([arrays["coef"], arrays["intercept"]]),
        )


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a digest of names, types, shapes and contents of the arrays."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _as_labels(classes: tuple[str, ...]) -> NDArray[Any]:
    """Return class names as integers if all of them are written as integers, else as text."""
    try:
        numbers = np.array([int(name) for name in classes], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(classes, dtype=np.str_)
    if [str(number) for number in numbers] != list(classes):
        return np.array(classes, dtype=np.str_)
    return numbers
