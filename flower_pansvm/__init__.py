"""The method itself: kernels, feature map, cutting planes, secure sums and the fitted model, ``PanSVC``.

Plain numpy in, plain numpy out; nothing here knows about Flower or about files of patients.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "PanSVC":
        raise AttributeError(f"module 'flower_pansvm' has no attribute '{name}'")
    from flower_pansvm.models.pan_svc import PanSVC  # noqa: PLC0415 - hospitals need no model

    return PanSVC
