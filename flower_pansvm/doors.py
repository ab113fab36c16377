"""Doors for other people's Flower apps: modules here that offer what lies in a room above.

What they offer is imported when it is asked for, so that a ClientApp loads nothing of the coordinator's.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[1]
"""Where the four packages are installed."""

ROOMS = ("clients", "strategies", "simulations")


def open_door(door: str, places: Mapping[str, str], name: str) -> Any:
    """Return what a door offers by a name, from the module that ``places`` gives.

    Raises
    ------
    AttributeError
        If it offers nothing of that name.
    ImportError
        If the app has a package of its own that hides the module's.
    """
    if name not in places:
        raise AttributeError(f"module '{door}' has no attribute '{name}'")
    try:
        module = import_module(places[name])
    except ModuleNotFoundError:
        module = None
    for package in ROOMS:
        file = getattr(sys.modules.get(package), "__file__", None)
        if file is not None and Path(file).resolve().parents[1] != HOME.resolve():
            raise ImportError(
                f"{door} needs the package '{package}' of flower-pansvm, and your app has one of its own that hides "
                f"it. Give your folder or module '{package}' another name."
            )
    return getattr(module or import_module(places[name]), name)
