"""Extremes of columns: the bounding box of landmarks says beyond which steps a hospital has a record."""

from pathlib import Path

import numpy as np

from flower_pansvm.errors import PanSVMError
from flower_pansvm.systems.common import NO_FOLD, SCALING, ScalingBroadcast
from flower_pansvm.systems.pan_svm.tasks import BOX, BoxQuestion
from simulations.attack.active.hospitals import COLUMNS, Hospitals
from simulations.attack.active.nearness import PROMISE, asked_at
from simulations.attack.active.registry import Attempt, attack, refusal

TABLES = {"first": 30, "second": 30, "third": 30}
MIDDLE, REACH, STEPS = 0.5, 1.0, 4000


@attack(
    "extremes", promise=PROMISE, tries="Asks for the box of the records with steps that are close together."
)
def play(folder: Path, level: str = "perturbed") -> Attempt:
    """Read the largest cell of each column, which is one patient's."""
    hospitals = Hospitals(folder, TABLES, asked_at(level))
    coordinator = hospitals.coordinator()
    coordinator.join()
    middle = np.full((1, len(COLUMNS)), MIDDLE)
    coordinator.tell({SCALING: ScalingBroadcast(middle, middle, np.ones_like(middle))})
    steps = np.linspace(0.0, REACH, STEPS + 1)
    try:
        above = np.reshape(
            coordinator.ask(BOX, BoxQuestion(np.array([NO_FOLD]), steps)).above, (-1, STEPS + 1)
        )
    except PanSVMError as error:
        return Attempt(refusal(error), "none", held=True)
    read = MIDDLE + steps[np.count_nonzero(above > 0.5, axis=1) - 1]
    sites = hospitals.records()
    true, seen = (np.vstack([getattr(one, part) for one in sites]) for part in ("true", "seen"))
    off, of_copy = (
        np.sqrt(np.mean(np.square((read - X.max(axis=0)) / true.std(axis=0)))) for X in (true, seen)
    )
    return Attempt(
        f"the largest cells of the columns, off by {off:.3f} deviations, and by {of_copy:.3f} from those of the copy",
        "the largest cells of the copy, whose ends several records share",
        bool(of_copy < off / 2),
    )
