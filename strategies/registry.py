"""The strategies by name: a new one is a row in the table."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

from flower_pansvm.errors import SettingError
from flower_pansvm.log import logger
from flower_pansvm.registry import Registry


class StrategyClass(Protocol):
    """A class of strategies, a subclass of :class:`strategies.strategy.PhasedStrategy`.

    That class is built on the settings, and to read these the strategies have to be known; so it is not named here.
    """

    settings_class: type[Any]
    several_classes: bool
    by_columns: bool
    makes_model: bool

    def __call__(self, settings: Any, checkpoint: Any = None) -> Any:
        """Return the strategy of a run."""


STRATEGIES: Registry[StrategyClass] = Registry(
    "strategy",
    {
        "dp-svm": "strategies.dp_svm.strategy:DpSvm",
        "filter-wrapper": "strategies.selection.filter_wrapper:FilterWrapper",
        "hybrid-svm": "strategies.output_perturbation.strategies:HybridSvm",
        "local-only": "strategies.local_only:LocalOnly",
        "mixture": "strategies.mixture:WeakMixtures",
        "pan-svm": "strategies.pan_svm.strategy:PanSVM",
        "private-svm": "strategies.output_perturbation.strategies:PrivateSvm",
        "random-kernel": "strategies.random_kernel.strategy:RandomKernel",
        "rsvm": "strategies.selection.voted_wrapper:Rsvm",
        "ssvd": "strategies.ssvd:Ssvd",
        "svm-admm": "strategies.admm:SvmAdmm",
        "svm-ensemble": "strategies.ensemble:SvmEnsemble",
        "svm-rfe": "strategies.selection.voted_wrapper:SvmRfe",
        "svm-t": "strategies.selection.voted_wrapper:SvmT",
        "voted-wrapper": "strategies.selection.voted_wrapper:VotedWrapper",
    },
    "flower_pansvm.strategies",
    lambda thing: isinstance(thing, type) and hasattr(thing, "settings_class"),
)
"""All strategies by name: those of this package, and those of installed packages."""


def usable(registry: Registry[Any]) -> list[str]:
    """Return the names in a registry but those of installed packages that cannot be loaded, of which it warns once."""
    return [name for name in registry if name in registry.data or _is_usable(registry, name)]


def _is_usable(registry: Registry[Any], name: str) -> bool:
    try:
        return registry[name] is not None
    except SettingError as error:
        _warn(error.with_detail())
        return False


@cache
def _warn(text: str) -> None:
    logger.warning("%s", text)


def check_classes(strategy: str, classes: Sequence[str]) -> None:
    """Raise a SettingError if there are more classes than a strategy tells apart."""
    if len(classes) > 2 and not STRATEGIES[strategy].several_classes:
        raise SettingError(
            f"The strategy {strategy} tells two classes apart, and there are {len(classes)}: {', '.join(classes)}. "
            "Name the labels that count as positive in the setting 'positive', which makes two classes of them, or "
            "choose another strategy."
        )
