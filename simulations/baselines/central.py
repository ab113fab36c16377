"""The central baselines: scikit-learn's classifiers on the scaled rows of all sites (those of Lu 2016, Table 3.2)."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from flower_pansvm.arrays import Floats
from flower_pansvm.errors import SettingError
from flower_pansvm.metrics import Evaluation
from simulations.baselines.registry import BaselineFigures, judge
from simulations.data.pooling import PooledRows
from strategies.steps.feature_maps import scale_gamma
from strategies.steps.scaling import scaling_of_rows
from strategies.svm_settings import PanSvmSettings

MOST_STEPS = 10_000
"""Passes of liblinear over the rows; its default of a thousand is too few for a large C."""

SMALLEST_SPLIT = 10
"""Fewest rows of a node that is split, as MATLAB's trees have it, with which the paper's were grown."""


def check_given(settings: PanSvmSettings, name: str = "") -> None:
    """Raise a SettingError if C or gamma is left to cross-validation, or a baseline lacks the weights or kernel."""
    if name == "central:fourier" and settings.kernel != "rbf":
        raise SettingError(
            "central:fourier has features of the kernel rbf only. Leave it out, or choose kernel=rbf."
        )
    if isinstance(settings.class_weight, tuple):
        raise SettingError(
            "A central baseline knows class-weight=balanced and none only, and no weights of each class."
        )
    if settings.tunes:
        raise SettingError(
            "C or gamma is 'auto' or several numbers, but a central baseline does not choose them. Give a number "
            "each, or gamma='scale'; 'pansvm tune' chooses them with pan-svm."
        )


def scaled(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> tuple[PooledRows, PooledRows]:
    """Return both kinds of rows scaled by the rows to train on, as the federation scales them.

    SettingError if C or gamma is ``auto``, or a class has no row to train on.
    """
    if not np.isin(test.classes, train.classes).all():
        raise SettingError("All rows of a class are test rows, so nobody can learn it. Lower test-fraction.")
    check_given(settings)
    scaling = scaling_of_rows(settings.scaling, train.X)
    return replace(train, X=scaling.transform(train.X)), replace(test, X=scaling.transform(test.X))


def measure(classifier: ClassifierMixin, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train a classifier on scaled rows and judge it on others, from `scaled`."""
    with warnings.catch_warnings():
        # Whether it has converged is among the figures.
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(train.X, train.classes)
    if not len(test.X):
        return BaselineFigures(Evaluation(0, None, None, None, None), converged=_converged(classifier))
    predicted, decisions = classifier.predict(test.X), _decisions(classifier, test.X)
    evaluation = judge(test.classes, predicted, decisions, len(classifier.classes_))
    return BaselineFigures(evaluation, converged=_converged(classifier))


def class_weight(settings: PanSvmSettings) -> str | None:
    """Return scikit-learn's name for the class weights of the settings."""
    return "balanced" if settings.class_weight == "balanced" else None


def _decisions(classifier: Any, X: Floats) -> Floats:
    """Return one column of decision values for two classes, else one for each class."""
    if hasattr(classifier, "decision_function"):
        values = classifier.decision_function(X)
        return np.asarray(values[:, None] if values.ndim == 1 else values)
    values = classifier.predict_proba(X)
    return np.asarray(values[:, 1:] if values.shape[1] == 2 else values)


def _converged(classifier: Any) -> bool | None:
    """Return whether the solver has ended by itself; None if there is none."""
    if hasattr(classifier, "fit_status_"):
        return bool(classifier.fit_status_ == 0)
    if hasattr(classifier, "n_iter_"):
        return bool(np.max(classifier.n_iter_) < classifier.max_iter)
    return None


def svc(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train scikit-learn's SVC with the kernel of the run: the best that a federated one comes near.

    Several classes are one versus one, as LIBSVM does it.
    """
    rows = scaled(settings, train, test)
    (C,) = settings.C_values
    classifier = SVC(C=C, kernel=settings.kernel, gamma=settings.gamma, class_weight=class_weight(settings))
    return measure(classifier, *rows)


def linear(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train scikit-learn's SVC with a linear kernel, whatever the kernel of the run."""
    rows = scaled(settings, train, test)
    (C,) = settings.C_values
    return measure(SVC(C=C, kernel="linear", class_weight=class_weight(settings)), *rows)


def nystroem(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train PAN-SVM's model without a federation: as many landmarks, Nyström map and linear SVM on all rows.

    What it lacks of ``central:svc`` is the price of the landmarks; what PAN-SVM lacks of it is the price of the
    federation. Several classes are one versus the rest.
    """
    train, test = scaled(settings, train, test)
    kmeans = KMeans(settings.landmark_count(len(train.X)), n_init=1, random_state=settings.seed).fit(train.X)
    landmarks = kmeans.cluster_centers_
    return _on_map(settings, _nystroem(settings, train, len(landmarks)).fit(landmarks), train, test)


def random_rows(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Do as ``central:nystroem`` with rows drawn at random as landmarks (Williams & Seeger 2001)."""
    train, test = scaled(settings, train, test)
    feature_map = _nystroem(settings, train, settings.landmark_count(len(train.X)))
    return _on_map(settings, feature_map.fit(train.X), train, test)


def fourier(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Do as ``central:nystroem`` with as many random Fourier features, which no row decides (Rahimi & Recht 2007)."""
    check_given(settings, "central:fourier")
    train, test = scaled(settings, train, test)
    features = settings.landmark_count(len(train.X))
    feature_map = RBFSampler(gamma=_gamma(settings, train), n_components=features, random_state=settings.seed)
    return _on_map(settings, feature_map.fit(train.X), train, test)


def _gamma(settings: PanSvmSettings, train: PooledRows) -> float:
    (gamma,) = settings.gamma_values(scale_gamma(train.X.shape[1], float(train.X.var())))
    return gamma


def _nystroem(settings: PanSvmSettings, train: PooledRows, landmarks: int) -> Nystroem:
    gamma, seed = _gamma(settings, train), settings.seed
    return Nystroem(kernel=settings.kernel, gamma=gamma, n_components=landmarks, random_state=seed)


def _on_map(
    settings: PanSvmSettings, feature_map: TransformerMixin, train: PooledRows, test: PooledRows
) -> BaselineFigures:
    """Train a linear SVM on mapped rows, and judge it."""
    (C,) = settings.C_values
    linear = LinearSVC(
        C=C,
        loss="hinge",
        class_weight=class_weight(settings),
        max_iter=MOST_STEPS,
        random_state=settings.seed,
    )
    train, test = (replace(rows, X=feature_map.transform(rows.X)) for rows in (train, test))
    return measure(linear, train, test)


def naive_bayes(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train scikit-learn's GaussianNB; with balanced class weights, all classes are as likely beforehand."""
    classes = len(np.unique(train.classes))
    priors = np.full(classes, 1 / classes) if class_weight(settings) else None
    return measure(GaussianNB(priors=priors), *scaled(settings, train, test))


def tree(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train scikit-learn's DecisionTreeClassifier (CART)."""
    classifier = DecisionTreeClassifier(
        min_samples_split=SMALLEST_SPLIT, class_weight=class_weight(settings), random_state=settings.seed
    )
    return measure(classifier, *scaled(settings, train, test))


def boosting(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train scikit-learn's HistGradientBoostingClassifier with its defaults: boosted trees (Friedman 2001)."""
    classifier = HistGradientBoostingClassifier(
        class_weight=class_weight(settings), random_state=settings.seed
    )
    # A number of trees is no end that it might miss.
    return replace(measure(classifier, *scaled(settings, train, test)), converged=None)
