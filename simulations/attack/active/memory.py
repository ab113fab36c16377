"""Memory: whether an answer comes at all tells how many rows a hospital has, if the question chooses what a row takes."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from clients.local.private_training import private_step
from flower_pansvm.errors import PanSVMError
from flower_pansvm.tasks.joining import SCHEMA
from flower_pansvm.tasks.private_training import PRIVATE_MAP, PrivateWeightsQuestion
from simulations.attack.active.hospitals import Hospitals, schema_broadcast
from simulations.attack.active.registry import Attempt, attack
from simulations.attack.active.rounding import fourier_maps

SIZES = (54_153, 2**15, 2**14, 2**13, 2**12, 2**11, 2**10, 2**9)
"""Features of the largest maps that a hospital may accept."""

ROWS = (60, 120, 240, 480, 960, 1920, 3840, 7680)
MOST_BYTES = 2**29
"""What a hospital can be expected to have besides its table; a SuperNode takes half as much by itself."""


@attack(
    "memory",
    promise="dp-svm: whether a hospital can answer does not tell how many rows it has.",
    tries="Sends the largest map that hospitals accept, so that a row takes as much memory as can be.",
)
def play(folder: Path) -> Attempt:
    """Find out how many rows it takes until an answer needs more memory than a hospital has."""
    hospitals = Hospitals(folder, {f"rows-{rows}": rows for rows in ROWS})
    size, peaks = _largest_map(hospitals)
    before = 0
    for rows, peak in zip(ROWS, peaks, strict=False):
        if peak > MOST_BYTES:
            got = f"a map of {size} features: {before / 1e6:.0f} MB for {rows // 2} rows, {peak / 1e6:.0f} MB for {rows}"
            return Attempt(got, f"{MOST_BYTES / 1e6:.0f} MB for any number of rows", held=False)
        before = peak
    got = f"a map of {size} features: {before / 1e6:.0f} MB for {ROWS[-1]} rows"
    return Attempt(got, f"{MOST_BYTES / 1e6:.0f} MB for any number of rows", held=True)


def _largest_map(hospitals: Hospitals) -> tuple[int, Iterator[int]]:
    """Return the size of the largest map that is not refused, and the bytes that answers by it take at each hospital."""
    for size in SIZES:
        feature_map = next(fourier_maps(size))
        question = PrivateWeightsQuestion(1e-6, np.zeros((feature_map.size, 1)))
        told = {SCHEMA: schema_broadcast(hospitals.settings), PRIVATE_MAP: feature_map}

        def peak(name: str, told=told, question=question) -> int:
            tracemalloc.start()
            try:
                hospitals.exact(name, told, private_step, question)
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

        try:
            peak(f"rows-{ROWS[0]}")
        except PanSVMError:
            continue
        return feature_map.size, (peak(f"rows-{rows}") for rows in ROWS)
    raise RuntimeError("Hospitals refuse a map of every size: the attack has to be written anew.")
