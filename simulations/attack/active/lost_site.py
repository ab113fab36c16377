"""One hospital's sums: the sum over all, and again without a hospital that allegedly dropped out."""

from pathlib import Path

import numpy as np

from clients.systems.scaling import moments
from flower_pansvm.errors import SumError
from flower_pansvm.systems.common import SCHEMA
from flower_pansvm.systems.scaling import MOMENTS
from flower_pansvm.tasks import Nothing
from simulations.attack.active.hospitals import Broadcasts, Hospitals, schema_broadcast
from simulations.attack.active.registry import Attempt, refusal

TABLES = {"first": 60, "second": 70, "third": 80, "fourth": 90, "victim": 100}


def play(folder: Path) -> Attempt:
    """Subtract the second sum from the first."""
    hospitals = Hospitals(folder, TABLES, settings={"strategy": "pan-svm"})
    coordinator = hospitals.coordinator()
    coordinator.join()
    every = coordinator.ask(MOMENTS, Nothing())
    del coordinator.federation.sites["victim"]
    broadcasts: Broadcasts = {SCHEMA: schema_broadcast(hospitals.settings)}
    true = hospitals.exact("victim", broadcasts, moments, Nothing())
    try:
        remaining = coordinator.ask(MOMENTS, Nothing())
    except SumError as error:
        return Attempt(refusal(error), "none", held=True)
    off = np.abs(every.total - remaining.total - true.total).max() / np.abs(true.total).max()
    got = f"the sums of one hospital's {true.total.size} columns, off by {off:.0e} of them"
    return Attempt(got, "none", bool(off > 0.01))
