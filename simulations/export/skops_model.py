"""A PAN-SVM as a pipeline of scikit-learn's own estimators, which needs nothing of this project."""

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import ModelFileError
from flower_pansvm.models.model import Model
from flower_pansvm.models.pan_svc import PanSVC
from flower_pansvm.multiclass import REST


def as_pipeline(model: Model) -> Pipeline:
    """Return a fitted pipeline that decides as a model does: imputer, scaler, Nyström map, linear SVM.

    It takes a DataFrame with the model's columns, in the table's own units; NaN is a missing cell. It has no
    ``predict_proba``: ``CalibratedClassifierCV`` would decide by the probabilities, and so otherwise than the model.

    Raises
    ------
    ModelFileError
        If the model is none that scikit-learn has the parts of.
    """
    if not isinstance(model, PanSVC):
        raise ModelFileError(
            f"scikit-learn has no estimator for a model of kind '{model.kind}', only for 'pan-svc'. A model of dp-svm is exported with "
            "--to onnx."
        )
    return Pipeline(
        [
            ("imputer", _imputer(model)),
            ("scaler", _scaler(model)),
            ("nystroem", _nystroem(model)),
            ("svm", _svm(model)),
        ]
    )


def _imputer(model: PanSVC) -> SimpleImputer:
    # The mean of one row is the row.
    fill = pd.DataFrame([model.scaling_.fill], columns=list(model.schema_.columns))
    return SimpleImputer(keep_empty_features=True).fit(fill)


def _scaler(model: PanSVC) -> StandardScaler:
    scaler = StandardScaler()
    scaler.mean_, scaler.scale_ = model.scaling_.shift, model.scaling_.scale
    scaler.var_, scaler.n_features_in_ = np.square(scaler.scale_), model.n_features_in_
    return scaler


def _nystroem(model: PanSVC) -> Nystroem:
    landmarks, kernel = model.feature_map_.landmarks, model.feature_map_.kernel
    parameters = {"gamma": kernel.gamma} if kernel.name == "rbf" else {}
    mapped = Nystroem(kernel=kernel.name, n_components=len(landmarks), **parameters)
    mapped.components_, mapped.component_indices_ = landmarks, np.arange(len(landmarks))
    mapped.normalization_, mapped.n_features_in_ = model.feature_map_.normalization.T, model.n_features_in_
    return mapped


def _svm(model: PanSVC) -> LinearSVC | OneVsOneClassifier:
    classes = model.classes_
    if len(classes) == 2 or model.pairs_[0].negative == REST:
        return _linear(model.coef_, model.intercept_, classes)
    voting = OneVsOneClassifier(LinearSVC())
    voting.classes_, voting.pairwise_indices_ = classes, None
    voting.n_features_in_ = model.coef_.shape[1]
    voting.estimators_ = [
        _linear(w[None], b[None], np.array([0, 1]))
        for w, b in zip(model.coef_, model.intercept_, strict=True)
    ]
    return voting


def _linear(coef: Floats, intercept: Floats, classes: "np.typing.NDArray[np.generic]") -> LinearSVC:
    svm = LinearSVC()
    svm.coef_, svm.intercept_, svm.classes_, svm.n_features_in_ = coef, intercept, classes, coef.shape[1]
    return svm
