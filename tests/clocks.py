"""A module's own clock: threads that other tests have left keep the process's."""

import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


def set_clock(patch: pytest.MonkeyPatch, module: ModuleType, **functions: Callable[..., Any]) -> None:
    """Let a module, and no other, see changed functions of `time`."""
    patch.setattr(module, "time", SimpleNamespace(**{**vars(time), **functions}))
