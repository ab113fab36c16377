"""What both sides agree on: messages, secure sums, kernels, cutting planes; and the fitted model, ``PanSVC``."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "PanSVC":
        raise AttributeError(f"module 'flower_pansvm' has no attribute '{name}'")
    from flower_pansvm.models.pan_svc import PanSVC  # noqa: PLC0415 - hospitals need no model

    return PanSVC
