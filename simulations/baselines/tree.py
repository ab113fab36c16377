"""A decision tree on all rows (Lu 2016, Table 3.2)."""

from sklearn.tree import DecisionTreeClassifier

from simulations.baselines.central import class_weight, measure, scaled
from simulations.baselines.figures import BaselineFigures
from simulations.baselines.registry import baselines
from simulations.data.pooling import PooledRows
from strategies.svm_settings import PanSvmSettings

SMALLEST_SPLIT = 10
"""Fewest rows of a node that is split, as MATLAB's trees have it, with which the paper's were grown."""


@baselines.register("central:tree")
def tree(settings: PanSvmSettings, train: PooledRows, test: PooledRows) -> BaselineFigures:
    """Train scikit-learn's DecisionTreeClassifier (CART)."""
    classifier = DecisionTreeClassifier(
        min_samples_split=SMALLEST_SPLIT, class_weight=class_weight(settings), random_state=settings.seed
    )
    return measure(classifier, *scaled(settings, train, test))
