"""The console script ``pansvm``: one file a command, each of which enters its own."""

from flower_pansvm.registry import import_modules
from simulations.cli.app import main

__all__ = ["main"]

import_modules(__name__)
