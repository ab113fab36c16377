"""The strategies by name. Each enters itself, in its own file: a new strategy is a new file in this folder."""

from typing import Any, Protocol

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
