"""Memory: if a question determines the bytes per row, a missing answer reveals the number of rows."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from clients.systems.dp_svm import private_step
from flower_pansvm.errors import PanSVMError
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.dp_svm import PRIVATE_MAP, PrivateWeightsQuestion
from simulations.attack.active.hospitals import Broadcasts, Hospitals, schema_broadcast
from simulations.attack.active.registry import Attempt
from simulations.attack.active.rounding import fourier_maps

SIZES = (54_153, 2**15, 2**14, 2**13, 2**12, 2**11, 2**10, 2**9)
"""Features of the largest maps that a hospital may accept."""

ROWS = (60, 120, 240, 480, 960, 1920, 3840, 7680)
MOST_BYTES = 2**29
"""Memory that a hospital has besides its table; a SuperNode alone takes half as much."""


def play(folder: Path) -> Attempt:
    """Find the number of rows at which an answer needs more memory than a hospital has."""
    hospitals = Hospitals(folder, {f"rows-{rows}": rows for rows in ROWS})
    size, peaks = _largest_map(hospitals)
    taken: list[tuple[int, int]] = []
    for rows, peak in zip(ROWS, peaks, strict=False):
        taken.append((rows, peak))
        if peak > MOST_BYTES:
            break
    shown = ", ".join(f"{peak / 2**20:.0f} MB for {rows} rows" for rows, peak in taken[-2:])
    return Attempt(
        f"a map of {size} features takes {shown}",
        f"{MOST_BYTES / 2**20:.0f} MB for any number of rows",
        taken[-1][1] <= MOST_BYTES,
    )


def _largest_map(hospitals: Hospitals) -> tuple[int, Iterator[int]]:
    """Return the size of the largest map that hospitals accept, and the bytes of an answer at each of them."""
    for size in SIZES:
        try:
            _peak(hospitals, ROWS[0], size)
        except PanSVMError:
            continue
        return size, (_peak(hospitals, rows, size) for rows in ROWS)
    raise PanSVMError("Hospitals refuse a map of every size: the attack needs an update.")


def _peak(hospitals: Hospitals, rows: int, size: int) -> int:
    """Return the peak memory of an answer at a hospital with so many rows, in bytes."""
    feature_map = next(fourier_maps(size))
    question = PrivateWeightsQuestion(1e-6, np.zeros((feature_map.size, 1)))
    broadcasts: Broadcasts = {SCHEMA: schema_broadcast(hospitals.settings), PRIVATE_MAP: feature_map}
    tracemalloc.start()
    try:
        hospitals.exact(f"rows-{rows}", broadcasts, private_step, question)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
