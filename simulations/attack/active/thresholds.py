"""What is settled of a table at first use has thresholds: a record more, on the other side, and all copies show it."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from clients.table.table import LABEL
from flower_pansvm.arrays import Floats
from flower_pansvm.terms import MIN_CLUSTER
from simulations.attack.active.hospitals import Hospitals
from simulations.attack.active.nearness import asked_at
from simulations.attack.active.registry import Attempt, attack

ROWS, TABLES, COLUMNS = 200, 12, 10  # columns of each kind
OTHERS = {"second": 40, "third": 40}

CODES, RARE = 10, 99.0
"""More records than these with others than its ten most frequent values make measurements of a column's codes."""

CHANCE = math.e / (1 + math.e)
"""How often a guess is right of what one record makes at most e times as likely."""

ERRORS = 4.0
"""Standard errors that chance may take guesses beyond that."""


@attack(
    "threshold",
    promise="perturbed: what is settled of a table at first use tells no record.",
    tries="Tells from copies whether a record more has a rare code, or an eleventh other value than its column's ten.",
)
def play(folder: Path) -> Attempt:
    """Count the tables of which it is told on which side of a threshold they are."""
    generator, right = np.random.default_rng(1), np.zeros(len(KINDS))
    for number in range(TABLES):
        more = generator.random((len(KINDS), COLUMNS)) < 0.5
        columns = [make(bool(one)) for (make, _), of in zip(KINDS, more, strict=True) for one in of]
        table = pd.DataFrame(dict(enumerate(columns))).add_prefix("c").assign(**{LABEL: np.arange(ROWS) % 2})
        others = {name: table.sample(rows, random_state=1) for name, rows in OTHERS.items()}
        hospitals = Hospitals(folder / str(number), {"first": table, **others}, asked_at("perturbed"))
        copies = hospitals.copy_of("first").to_numpy().T[: more.size].reshape(*more.shape, ROWS)
        for kind, (_, told) in enumerate(KINDS):
            right[kind] += np.sum([*map(told, copies[kind])] == more[kind])
    tried = TABLES * COLUMNS
    share, most = right.max() / tried, CHANCE + ERRORS * math.sqrt(CHANCE * (1 - CHANCE) / tried)
    return Attempt(
        f"right for {share:.0%} of {tried} columns of the kind that tells most",
        f"{CHANCE:.0%}, of so few columns {most:.0%}",
        bool(share <= most),
    )


def _rare(more: bool) -> Floats:
    """Return a column of three codes, and a fourth that as many records have as a code needs, or one fewer."""
    cells: Floats = np.arange(ROWS, dtype=np.float64) % 3
    cells[: MIN_CLUSTER if more else MIN_CLUSTER - 1] = RARE
    return cells


def _many(more: bool) -> Floats:
    """Return a column of ten codes, and other values of as many records as a column of codes may have, or one more."""
    cells: Floats = np.arange(ROWS, dtype=np.float64) % CODES
    others = CODES + 1 if more else CODES
    cells[:others] = 20 + np.arange(others)
    return cells


def _has_rare(cells: Floats) -> bool:
    return bool((cells == RARE).any())


def _is_measured(cells: Floats) -> bool:
    there = cells[~np.isnan(cells)]
    return bool((there != np.round(there)).any())


KINDS: tuple[tuple[Callable[[bool], Floats], Callable[[Floats], bool]], ...] = (
    (_rare, _has_rare),
    (_many, _is_measured),
)
"""Columns with a record more or less, and how it is told of their copies."""
