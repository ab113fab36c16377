"""LIBSVM with a linear kernel on all rows: what the kernel brings (Lu 2016, Table 3.2)."""

from sklearn.svm import SVC

from simulations.baselines.central import class_weight, measure, scaled
from simulations.baselines.figures import BaselineFigures
from simulations.baselines.registry import baselines
from simulations.data.pooling import PooledRows
from strategies.svm_settings import PanSvmSettings


@baselines.register("central:linear")
def linear(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train scikit-learn's SVC with a linear kernel, whatever the kernel of the run."""
    classifier = SVC(C=settings.C or 1.0, kernel="linear", class_weight=class_weight(settings))
    return measure(classifier, *scaled(settings, train, test))
