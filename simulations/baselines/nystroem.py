"""PAN-SVM's model without a federation: scikit-learn's k-means, Nyström map and linear SVM on all rows.

What it lacks of ``central:svc`` is the price of the landmarks; what PAN-SVM lacks of it is the price of the federation.
"""

from dataclasses import replace

from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC

from simulations.baselines.central import class_weight, measure, scaled
from simulations.baselines.figures import BaselineFigures
from simulations.baselines.registry import baselines
from simulations.data.pooling import PooledRows
from strategies.steps.binary_problems import scale_gamma
from strategies.svm_settings import PanSvmSettings

MOST_STEPS = 10_000
"""Passes of liblinear over the rows; its default of a thousand is too few for a large C."""


@baselines.register("central:nystroem")
def nystroem(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train on as many landmarks as PAN-SVM asks its sites for; several classes one versus the rest."""
    train, test = scaled(settings, train, test)
    landmarks = KMeans(settings.landmark_count(len(train.X)), n_init=1, random_state=settings.seed).fit(
        train.X
    )
    (gamma,) = settings.gamma_values(scale_gamma(train.X.shape[1], float(train.X.var())))
    feature_map = Nystroem(
        kernel=settings.kernel,
        gamma=gamma,
        n_components=len(landmarks.cluster_centers_),
        random_state=settings.seed,
    ).fit(landmarks.cluster_centers_)
    linear = LinearSVC(
        C=settings.C or 1.0,
        loss="hinge",
        class_weight=class_weight(settings),
        max_iter=MOST_STEPS,
        random_state=settings.seed,
    )
    train, test = (replace(rows, X=feature_map.transform(rows.X)) for rows in (train, test))
    return measure(linear, train, test)
