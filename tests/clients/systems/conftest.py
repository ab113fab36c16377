"""Hospitals that have joined, and were told what their systems' sums are about."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from flower_pansvm.terms import Scalar
from strategies.federation.federation import Federation

SHIFT, SCALE = np.array([50.0, 0.001]), np.array([10.0, 0.01])


@pytest.fixture
def joined(enrolled: Callable[..., Federation], tell_maps: Any) -> Callable[..., Federation]:
    """Return a function that has hospitals with such a node config join and be told a scaling and feature maps.

    Feature map 0 is of the rows themselves, in scaled units; map 1 of the ages only.
    """

    def join(run_id: int | None = None, **node: Scalar) -> Federation:
        pins = {key.replace("_", "-"): value for key, value in node.items()}
        federation = enrolled(pins, run_id, kernel="linear")
        tell_maps(federation, SHIFT, SCALE, [True, True], [True, False])
        return federation

    return join
