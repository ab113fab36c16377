"""Things that enter themselves into a registry, found by looking into a folder; never done inside a hospital."""

from importlib import import_module
from pkgutil import iter_modules


def import_modules(package: str) -> None:
    """Import every module of a package, so that what they hold is in its registry.

    Parameters
    ----------
    package : str
        Name of the package: ``flower_pansvm.models``.
    """
    for module in iter_modules(import_module(package).__path__, f"{package}."):
        import_module(module.name)
