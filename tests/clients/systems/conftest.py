"""Hospitals that have joined, and were told what their systems' sums are about."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flower_pansvm.terms import Scalar
from simulations.engines.in_process import InProcessGrid
from strategies.federation.federation import Federation
from strategies.settings import Settings

SHIFT, SCALE = np.array([50.0, 0.001]), np.array([10.0, 0.01])


@pytest.fixture
def joined(
    settings: Settings,
    hospital_files: list[Path],
    hospitals: Callable[..., InProcessGrid],
    enrol: Any,
    tell_maps: Any,
) -> Callable[..., Federation]:
    """Return a function that has hospitals with such a node config join and be told a scaling and feature maps.

    Feature map 0 is of the rows themselves, in scaled units; map 1 of the ages only.
    """
    linear = replace(settings, kernel="linear")

    def join(run_id: int | None = None, **node: Scalar) -> Federation:
        pins = {key.replace("_", "-"): value for key, value in node.items()}
        federation: Federation = enrol(hospitals(linear, hospital_files, pins, run_id), linear)
        tell_maps(federation, SHIFT, SCALE, [True, True], [True, False])
        return federation

    return join
