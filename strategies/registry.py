"""The strategies by name. Each enters itself, in its own file: a new strategy is a new file in this folder."""

from collections.abc import Sequence
from typing import Any, Protocol

from flower_pansvm.errors import SettingError
from flower_pansvm.registry import Registry, import_modules


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


strategies: Registry[StrategyClass] = Registry("strategy")
"""What has entered itself so far; its ``register`` is the decorator for a strategy's class."""


def all_strategies() -> Registry[StrategyClass]:
    """Return the strategies of all files in this folder.

    Raises
    ------
    SettingError
        If two of them have the same name.
    """
    import_modules("strategies")
    return strategies


def check_classes(strategy: str, classes: Sequence[str]) -> None:
    """Raise a SettingError if there are more classes than a strategy tells apart."""
    if len(classes) > 2 and not all_strategies()[strategy].several_classes:
        raise SettingError(
            f"The strategy {strategy} tells two classes apart, and there are {len(classes)}: {', '.join(classes)}. "
            "Name the labels that count as positive in the setting 'positive', which makes two classes of them, or "
            "choose another strategy."
        )
