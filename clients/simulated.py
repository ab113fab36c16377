"""Where simulated sites get what hospitals have themselves: their tables, and which rows are for what."""

import importlib
from types import ModuleType

from flower_pansvm.errors import TableError


def sites_module() -> ModuleType:
    """Return the module that makes the tables of a run config's simulated sites, and draws their test rows and folds.

    The one arrow against the rule that clients do not know the simulations. The name is fixed, not the coordinator's,
    and the module is in no bundle: it is the one that is installed where the simulation runs.
    """
    try:
        return importlib.import_module("simulations.data.sites")
    except ModuleNotFoundError as error:
        raise TableError(
            f"A simulated site's rows need the package {error.name}, which is not installed. Where it runs: "
            "pip install 'flower-pansvm[simulation]'."
        ) from None
