"""The baselines by name. Each enters itself, in its own file: a new baseline is a new file in this folder."""

from collections.abc import Callable

from flower_pansvm.registry import Registry, import_modules
from simulations.baselines.figures import BaselineFigures
from simulations.data.pooling import PooledRows
from strategies.svm_settings import PanSvmSettings

Baseline = Callable[[PanSvmSettings, PooledRows, PooledRows], BaselineFigures]
"""Trains on the first rows, in the tables' units, and is judged on the second ones.

The settings are those that PAN-SVM has in the same run; C and gamma are not ``auto``. A baseline reads those that mean
something to it: scaling, kernel, gamma, C, class weights, landmarks, seed.
"""

baselines: Registry[Baseline] = Registry("baseline")
"""What has entered itself so far; its ``register`` is the decorator for a baseline."""


def all_baselines() -> Registry[Baseline]:
    """Return the baselines of all files in this folder.

    Raises
    ------
    SettingError
        If two of them have the same name.
    """
    import_modules("simulations.baselines")
    return baselines
