"""A run series: Flower passes the state of a series' last run to the next, whichever app the coordinator submits."""

from pathlib import Path

import numpy as np

from flower_pansvm.privacy.accountant import rho_of
from flower_pansvm.systems.dp_svm import PRIVATE_BINS, BinsQuestion
from simulations.attack.active.hospitals import COLUMNS, Hospitals
from simulations.attack.active.registry import Attempt
from simulations.attack.active.rounding import DELTA

LEAST_SECRET = 16
"""Bytes of the shortest key."""


def play(folder: Path) -> Attempt:
    """Search the state that a run leaves for bytes that the coordinator has neither sent nor received."""
    hospitals = Hospitals(folder, {"first": 60, "second": 60, "third": 60})
    coordinator = hospitals.coordinator()
    coordinator.join()
    ends = np.zeros(len(COLUMNS)), np.ones(len(COLUMNS))
    coordinator.ask(PRIVATE_BINS, BinsQuestion(rho_of(0.1, DELTA), *ends))
    published = [site.keys for site in coordinator.federation.sites.values()]
    seen = b"".join(value for keys in published for value in vars(keys).values())
    states = coordinator.grid.states()
    secret = {
        f"{group}/{name}"
        for state in states
        for group, record in state.items()
        for name, value in record.items()
        if isinstance(value, bytes) and len(value) >= LEAST_SECRET and value not in seen
    }
    names = ", ".join(sorted(secret))
    return Attempt(f"{len(secret)} secrets of each hospital{names and ': '}{names}", "none", not secret)
