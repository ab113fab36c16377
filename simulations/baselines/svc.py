"""LIBSVM on all rows, with the kernel of the run: the best that a federated one comes near (Lu 2016, Table 3.2)."""

from sklearn.svm import SVC

from simulations.baselines.central import class_weight, measure, scaled
from simulations.baselines.figures import BaselineFigures
from simulations.baselines.registry import baselines
from simulations.data.pooling import PooledRows
from strategies.svm_settings import PanSvmSettings


@baselines.register("central:svc")
def svc(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train scikit-learn's SVC; several classes one versus one, as LIBSVM does it."""
    classifier = SVC(
        C=settings.C or 1.0,
        kernel=settings.kernel,
        gamma=settings.gamma,
        class_weight=class_weight(settings),
    )
    return measure(classifier, *scaled(settings, train, test))
