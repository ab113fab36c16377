"""The strategies by name. Each enters itself, in its own file: a new strategy is a new file in this folder."""

from typing import TYPE_CHECKING

from flower_pansvm.registry import Registry, import_modules

if TYPE_CHECKING:
    from strategies.strategy import PhasedStrategy

strategies: "Registry[type[PhasedStrategy]]" = Registry("strategy")
"""What has entered itself so far; its ``register`` is the decorator for a strategy's class."""


def all_strategies() -> "Registry[type[PhasedStrategy]]":
    """Return the strategies of all files in this folder.

    Raises
    ------
    SettingError
        If two of them have the same name.
    """
    import_modules("strategies")
    return strategies
