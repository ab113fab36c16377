"""Gaussian naive Bayes on all rows (Lu 2016, Table 3.2)."""

import numpy as np
from sklearn.naive_bayes import GaussianNB

from simulations.baselines.central import class_weight, measure, scaled
from simulations.baselines.figures import BaselineFigures
from simulations.baselines.registry import baselines
from simulations.data.pooling import PooledRows
from strategies.svm_settings import PanSvmSettings


@baselines.register("central:naive-bayes")
def naive_bayes(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train scikit-learn's GaussianNB; with balanced class weights, all classes are as likely beforehand."""
    classes = len(np.unique(train.classes))
    priors = np.full(classes, 1 / classes) if class_weight(settings) else None
    return measure(GaussianNB(priors=priors), *scaled(settings, train, test))
