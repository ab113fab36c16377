"""What is settled of a table at first use has thresholds: a record more, on the other side, and all copies show it."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from clients.table.table import LABEL
from flower_pansvm.arrays import Floats
from flower_pansvm.terms import MIN_CLUSTER
from simulations.attack.active.hospitals import Hospitals
from simulations.attack.active.nearness import asked_at
from simulations.attack.active.registry import Attempt, attack

ROWS, TABLES, COLUMNS = 200, 12, 10
OTHERS = {"second": 40, "third": 40}

CODES, RARE = 10, 99.0
"""More records than these with others than its ten most frequent values make measurements of a column's codes."""

HALF = COLUMNS // 2
CHANCE = math.e / (1 + math.e)
"""How often a guess is right of what one record makes at most e times as likely."""

ERRORS = 4.0
"""Standard errors that chance may take guesses beyond that."""


@attack(
    "threshold",
    promise="perturbed: what is settled of a table at first use tells no record.",
    tries="Tells from copies whether four or five records have a rare code, and ten or eleven other values than ten.",
)
def play(folder: Path) -> Attempt:
    """Count the tables of which it is told on which side of a threshold they are."""
    generator, right = np.random.default_rng(1), []
    for number in range(TABLES):
        more = generator.random(COLUMNS) < 0.5
        cells = {
            f"c{place}": (_rare if place < HALF else _many)(ROWS, bool(one)) for place, one in enumerate(more)
        }
        table = pd.DataFrame(cells).assign(**{LABEL: np.arange(ROWS) % 2})
        others = {name: table.sample(rows, random_state=1) for name, rows in OTHERS.items()}
        hospitals = Hospitals(folder / str(number), {"first": table, **others}, asked_at("perturbed"))
        copy = hospitals.copy_of("first").to_numpy()
        guesses = [*map(_has_rare, copy.T[:HALF]), *map(_is_measured, copy.T[HALF:COLUMNS])]
        right += (np.array(guesses) == more).tolist()
    share, most = np.mean(right), CHANCE + ERRORS * math.sqrt(CHANCE * (1 - CHANCE) / len(right))
    return Attempt(
        f"right for {share:.0%} of {len(right)} columns",
        f"{CHANCE:.0%}, of so few columns {most:.0%}",
        bool(share <= most),
    )


def _rare(rows: int, more: bool) -> Floats:
    """Return a column of three codes, and a fourth that as many records have as a code needs, or one fewer."""
    cells: Floats = np.arange(rows, dtype=np.float64) % 3
    cells[: MIN_CLUSTER if more else MIN_CLUSTER - 1] = RARE
    return cells


def _many(rows: int, more: bool) -> Floats:
    """Return a column of ten codes, and other values of as many records as a column of codes may have, or one more."""
    cells: Floats = np.arange(rows, dtype=np.float64) % CODES
    others = CODES + 1 if more else CODES
    cells[:others] = 20 + np.arange(others)
    return cells


def _has_rare(cells: Floats) -> bool:
    return bool((cells == RARE).any())


def _is_measured(cells: Floats) -> bool:
    there = cells[~np.isnan(cells)]
    return bool((there != np.round(there)).any())
